//! The result of a trace as JSON (interfaces section 4).

use serde_json::{Map, Value, json};

use crate::cache::Cause;
use crate::pricing::{PriceBook, Usage};
use crate::trace::{MooncakeReplay, TraceBill, TraceRequest};
use crate::units::Money;

const FORMAT_VERSION: u32 = 1;
const PROGRAM: &str = concat!("forkcast ", env!("CARGO_PKG_VERSION"));

/// Returns the result of a request trace, priced by `book`.
pub fn to_json(found: &TraceBill, book: &PriceBook) -> Value {
    let bill = &found.bill;
    let causes = Cause::ALL.into_iter().zip(bill.causes);
    let causes: Map<_, _> =
        causes.map(|(cause, cost)| (cause.name().to_owned(), usd(cost))).collect();
    json!({
        "format_version": FORMAT_VERSION,
        "program": PROGRAM,
        "prices": prices(book),
        "tokens": parts(&bill.tokens),
        "cost_usd": usd(bill.total),
        "cost_by_cause_usd": causes,
        "bounds": {
            "no_cache_usd": usd(bill.no_cache),
            "perfect_cache_usd": usd(bill.perfect_cache),
        },
        "agrees": found.agrees,
        "recorded_cost_usd": found.recorded_cost.map(usd),
        "misses": bill.misses,
        "expected_rebuilds": bill.expected_rebuilds,
        "failed_attempts": found.failed_attempts,
        "requests": found.requests.iter().map(request).collect::<Vec<_>>(),
        "warnings": found.warnings.iter().map(|text| warning(text)).collect::<Vec<_>>(),
    })
}

/// Returns the result of a Mooncake trace; `cost` with the book and the model that priced it.
pub fn mooncake_to_json(found: &MooncakeReplay, cost: Option<(Money, &PriceBook, &str)>) -> Value {
    json!({
        "format_version": FORMAT_VERSION,
        "program": PROGRAM,
        "prices": cost.map(|(_, book, _)| prices(book)),
        "model": cost.map(|(_, _, model)| model),
        "requests": found.requests,
        "blocks": found.blocks,
        "hit_blocks": found.hit_blocks,
        "block_hit_ratio": found.block_hit_ratio(),
        "hit_tokens": found.hit_tokens.get(),
        "token_hit_ratio": found.token_hit_ratio(),
        "input_tokens": found.input.get(),
        "output_tokens": found.output.get(),
        "cost_usd": cost.map(|(cost, _, _)| usd(cost)),
    })
}

fn request(request: &TraceRequest) -> Value {
    let causes = request.causes.iter().map(|(cause, tokens, cost)| {
        (cause.name().to_owned(), json!({ "tokens": tokens.get(), "usd": usd(*cost) }))
    });
    let mut row = Map::new();
    row.insert("agent".to_owned(), json!(request.agent));
    row.insert("start_s".to_owned(), json!(request.start.as_seconds()));
    if let Value::Object(parts) = parts(&request.usage) {
        row.extend(parts);
    }
    row.insert("cost_usd".to_owned(), usd(request.cost));
    row.insert("causes".to_owned(), Value::Object(causes.collect()));
    row.insert("recorded".to_owned(), request.recorded.as_ref().map_or(Value::Null, parts));
    Value::Object(row)
}

fn parts(usage: &Usage) -> Value {
    json!({
        "uncached": usage.uncached.get(),
        "cache_write_5m": usage.cache_write_5m.get(),
        "cache_write_1h": usage.cache_write_1h.get(),
        "cache_read": usage.cache_read.get(),
        "output": usage.output.get(),
    })
}

fn prices(book: &PriceBook) -> Value {
    json!({ "book": book.name, "as_of": book.as_of.to_string() })
}

fn warning(message: &str) -> Value {
    json!({ "code": "assumed_price", "message": message })
}

fn usd(cost: Money) -> Value {
    json!(cost.as_usd())
}
