//! What this program makes of the inputs of a case.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::cache::Ttl;
use crate::experiment::{RootSearch, StopRule, breakeven, run as experiment};
use crate::orchestration::Plan;
use crate::pricing::{Charge, PriceBook, RateOptions, charge};
use crate::report::json;
use crate::scenario::{DEFAULT_PRICES, KeyRange, LoadInput, Loaded, load, load_book, trace_policy};
use crate::trace::{AccountOptions, RequestLine, Trace, TraceBlock, account, to_json};
use crate::units::{Money, SimDuration, SimTime, Tokens, parse_duration};
use crate::validation::{Bill, BreakEvenCase, Case, CaseRequest, ScenarioCase, TraceCase};

/// Returns everything that a case asks for, as one object.
///
/// # Errors
/// What is wrong with the inputs.
pub(super) fn answer(case: &Case) -> Result<Value, String> {
    let mut found = Map::new();
    if !case.bills.is_empty() {
        let bills = case.bills.iter().map(|(name, input)| Ok((name.clone(), bill(input)?)));
        found.insert("bills".to_owned(), Value::Object(bills.collect::<Result<_, String>>()?));
    }
    if let Some(input) = &case.trace {
        found.insert("trace".to_owned(), trace(input)?);
    }
    if let Some(input) = &case.scenario {
        found.insert("scenario".to_owned(), scenario(input)?);
        if let Some(search) = &input.breakeven {
            found.insert("breakeven".to_owned(), root(input, search)?);
        }
    }
    Ok(Value::Object(found))
}

fn bill(input: &Bill) -> Result<Value, String> {
    let book = book(input.prices.as_deref())?;
    let options = RateOptions { batch: input.batch, fast: input.fast, data_residency: false };
    let date = input.date.unwrap_or(book.as_of);
    let usages: Vec<_> = input.usage.iter().map(super::UsageRow::usage).collect();
    let used: Vec<_> = crate::pricing::Category::ALL
        .into_iter()
        .filter(|category| usages.iter().any(|usage| !usage.tokens(*category).is_zero()))
        .collect();
    let rates =
        book.rates_for(&input.model, date, options, &used).map_err(|error| error.to_string())?;
    let charges: Vec<Charge> = usages.iter().map(|usage| charge(&rates, usage)).collect();
    let fee = if input.session_hours == 0 {
        Money::ZERO
    } else {
        let hour = book.fees.session_hour.as_ref();
        let hour = hour.ok_or("the price book has no fee for an hour of a session")?;
        (0..input.session_hours).map(|_| hour.usd).sum()
    };
    let sum = charges.iter().fold(Charge::default(), |sum, charge| sum + *charge);
    let tokens: u64 = usages.iter().map(|usage| usage.prompt().get() + usage.output.get()).sum();
    Ok(json!({
        "cost_usd": usd(sum.total() + fee),
        "tokens": tokens,
        "cost_by_item_usd": {
            "uncached": usd(sum.uncached),
            "cache_write_5m": usd(sum.cache_write_5m),
            "cache_write_1h": usd(sum.cache_write_1h),
            "cache_read": usd(sum.cache_read),
            "output": usd(sum.output),
            "fees": usd(fee),
        },
        "requests": charges.iter().map(|charge| usd(charge.total())).collect::<Vec<_>>(),
    }))
}

fn trace(input: &TraceCase) -> Result<Value, String> {
    let sets: Vec<_> = input.set.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
    let policy = trace_policy(&sets).map_err(|problems| problems.to_string())?;
    let book = book(input.prices.as_deref())?;
    let lines = input.requests.iter().enumerate().map(|(index, request)| {
        let line = line(input, request);
        line.map(|line| (index + 1, line)).map_err(|why| format!("request {}: {why}", index + 1))
    });
    let trace = Trace { requests: lines.collect::<Result<_, _>>()?, failed: Vec::new() };
    let options = AccountOptions {
        main_ttl: policy.main_ttl,
        subagent_ttl: policy.subagent_ttl,
        ..AccountOptions::default()
    };
    let found =
        account(&trace, &book, &policy.cache, &options).map_err(|error| format!("{error:?}"))?;
    Ok(to_json(&found, &book))
}

fn line(input: &TraceCase, request: &CaseRequest) -> Result<RequestLine, String> {
    let duration = |text: &str| parse_duration(text).map_err(|error| error.to_string());
    let start = SimTime::ZERO + duration(&request.start)?;
    let begins = request.first_token.as_deref().map(duration).transpose()?;
    let begins = begins.unwrap_or(SimDuration::from_seconds(1));
    let takes = request.takes.as_deref().map(duration).transpose()?;
    let mut blocks = Vec::new();
    for text in &request.prompt {
        blocks.extend(read_blocks(text).ok_or_else(|| format!("`{text}` is no block"))?);
    }
    Ok(RequestLine {
        start,
        first_token: start + begins,
        end: Some(start + takes.unwrap_or(begins)),
        agent: request.agent.clone().unwrap_or_else(|| "main".to_owned()),
        model: request.model.clone().unwrap_or_else(|| input.model.clone()),
        blocks,
        usage: None,
        output: request.output,
        is_paid: false,
    })
}

/// Reads `NAME TOKENS [KIND] [5m|1h]` or `NAME* TOKENS [KIND] [5m|1h] xCOUNT`.
fn read_blocks(text: &str) -> Option<Vec<TraceBlock>> {
    let mut words = text.split_whitespace();
    let (name, tokens) = (words.next()?, Tokens::new(words.next()?.parse().ok()?));
    let (mut kind, mut ttl, mut count) = ("user:text", None, None);
    for word in words {
        match word {
            "5m" => ttl = Some(Ttl::FiveMinutes),
            "1h" => ttl = Some(Ttl::OneHour),
            _ if word.contains(':') => kind = word,
            _ => count = Some(word.strip_prefix('x')?.parse::<u32>().ok()?),
        }
    }
    let block = |id: String, ttl| TraceBlock { id, tokens, kind: kind.to_owned(), ttl };
    let Some(stem) = name.strip_suffix('*') else {
        return count.is_none().then(|| vec![block(name.to_owned(), ttl)]);
    };
    let count = count?;
    let ttl_of = |index| if index == count { ttl } else { None };
    Some((1..=count).map(|index| block(format!("{stem}{index}"), ttl_of(index))).collect())
}

fn scenario(input: &ScenarioCase) -> Result<Value, String> {
    let loaded = loaded(input, &[])?;
    let plans: Vec<(String, Plan)> =
        loaded.variants.iter().map(|one| (one.name.clone(), one.plan.clone())).collect();
    let stop = StopRule::Count(input.replications);
    let results = experiment(&plans, input.seed, stop, &|_| {}).results();
    let variants = results.variants.iter();
    Ok(variants.map(|one| (one.name.clone(), json::variant(one))).collect::<Map<_, _>>().into())
}

fn loaded(input: &ScenarioCase, levels: &[(String, String)]) -> Result<Loaded, String> {
    let sets: Vec<_> = input.set.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
    let input = LoadInput { name: "scenario", text: &input.text, sets: &sets, levels };
    load(&input, &mut no_file).map_err(|problems| problems.to_string())
}

/// The level at which the first two variants cost the same.
fn root(input: &ScenarioCase, search: &BreakEvenCase) -> Result<Value, String> {
    let KeyRange { key, range } = KeyRange::parse(&search.vary)?;
    let how = RootSearch {
        low: range.low,
        high: range.high,
        step: range.step,
        resolution: if search.whole { 1.0 } else { 1e-6 },
        seed: input.seed,
        stop: StopRule::Count(input.replications),
    };
    let mut plans_at = |value: f64| {
        let loaded = loaded(input, &[(key.clone(), range.unit.text(value))])?;
        let mut plans = loaded.variants.into_iter().map(|variant| variant.plan);
        plans
            .next()
            .zip(plans.next())
            .map(|(a, b)| [a, b])
            .ok_or_else(|| "a break-even lies between two variants".to_owned())
    };
    let found = breakeven(&how, &mut plans_at, &|_| {})?;
    let roots: Vec<f64> = found.crossings.iter().map(|crossing| crossing.root.at).collect();
    Ok(json!({ "crossings": roots.len(), "root": roots.first(), "roots": roots }))
}

fn book(name: Option<&str>) -> Result<Arc<PriceBook>, String> {
    let found = load_book(name.unwrap_or(DEFAULT_PRICES), &mut no_file);
    found.map(Arc::new).map_err(|problems| problems.to_string())
}

fn no_file(name: &str) -> Result<String, String> {
    Err(format!("a case names no file such as `{name}`"))
}

fn usd(money: Money) -> Value {
    json!(money.as_usd())
}

/// Goal: the short notation of blocks. Method: by hand.
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_of_blocks_carries_its_breakpoint_at_the_end() {
        let found = read_blocks("step* 100 user:tool_result 1h x3").unwrap();
        let names: Vec<_> = found.iter().map(|block| (block.id.as_str(), block.ttl)).collect();
        assert_eq!(names, [("step1", None), ("step2", None), ("step3", Some(Ttl::OneHour))]);
        assert_eq!(found[0].kind, "user:tool_result");
        assert_eq!(read_blocks("head 5861 5m").unwrap()[0].ttl, Some(Ttl::FiveMinutes));
        for text in ["head", "head x3", "head 5 x3", "head* 5", "head 5 6m"] {
            assert_eq!(read_blocks(text), None, "{text}");
        }
    }
}
