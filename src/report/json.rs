//! Results as one JSON object: the contract for programs (interfaces, section 3).
//!
//! Keys and their order are stable. A scalar that varies over replications is an object with at
//! least `mean`; `probability_b_cheaper`, a share of replications, is a plain number.
//! `differences[].cost_usd` is the cost of `b` minus that of `a`: negative where `b` costs less.
//! `half_width` is `null` where one replication of something random says nothing about it.

use serde_json::{Map, Value, json};

use crate::experiment::{AgentMean, Difference, Results, Summary, VariantResults, Warning};
use crate::report::Header;
use crate::stats::Estimate;

/// Returns the object as indented text with a final line end.
pub fn render(header: &Header, results: &Results) -> String {
    format!("{:#}\n", value(header, results))
}

/// Returns the object.
pub fn value(header: &Header, results: &Results) -> Value {
    let mut value = origin(header, results.seed, results.replications);
    let parts = json!({
        "variants": results.variants.iter().map(variant).collect::<Vec<_>>(),
        "differences": results.differences.iter().map(difference).collect::<Vec<_>>(),
        "warnings": results.warnings.iter().map(message).collect::<Vec<_>>(),
    });
    extend(&mut value, parts);
    value
}

/// Returns the object that says where results come from; results are put into it.
pub(super) fn origin(header: &Header, seed: u64, replications: u64) -> Value {
    json!({
        "format_version": 1,
        "program": header.program,
        "scenario": header.scenario,
        "scenario_sha256": header.scenario_sha256,
        "seed": seed,
        "replications": replications,
        "reproduce": header.reproduce,
        "prices": { "book": header.prices.book, "as_of": header.prices.as_of.to_string() },
        "profile": header.profile,
    })
}

/// Puts the entries of an object behind those of another one.
pub(super) fn extend(object: &mut Value, more: Value) {
    if let (Some(object), Value::Object(more)) = (object.as_object_mut(), more) {
        object.extend(more);
    }
}

/// Returns the object of one variant.
pub fn variant(results: &VariantResults) -> Value {
    let cost = |agent: &AgentMean| (agent.agent.clone(), agent.cost_usd);
    let requests = |agent: &AgentMean| (agent.agent.clone(), agent.requests);
    json!({
        "name": results.name,
        "cost_usd": summary(&results.cost_usd),
        "makespan_s": summary(&results.makespan_s),
        "wait_s": summary(&results.wait_s),
        "tokens": breakdown(&results.tokens),
        "cost_by_item_usd": breakdown(&results.cost_by_item_usd),
        "cost_by_role_usd": breakdown(&results.cost_by_role_usd),
        "cost_by_agent_usd": agents(results.agents.iter().map(cost)),
        "cost_by_cause_usd": breakdown(&results.cost_by_cause_usd),
        "requests": mean(results.requests),
        "requests_by_agent": agents(results.agents.iter().map(requests)),
        "hit_ratio_tokens": mean(results.hit_ratio_tokens),
        "misses": mean(results.misses),
        "expected_rebuilds": mean(results.expected_rebuilds),
        "launches": breakdown(&results.launches),
        "failed_attempts": breakdown(&results.failed_attempts),
        "last_request_tokens": mean(results.last_request_tokens),
        "bounds": {
            "no_cache_usd": mean(results.no_cache_usd),
            "perfect_cache_usd": mean(results.perfect_cache_usd),
        },
        "outcomes": breakdown(&results.outcomes),
    })
}

pub(super) fn summary(summary: &Summary) -> Value {
    let mut object = estimate(&summary.estimate);
    let quantiles = [
        ("p5", summary.p5),
        ("p50", summary.p50),
        ("p95", summary.p95),
        ("p99", summary.p99),
        ("max", summary.max),
    ];
    for (key, value) in quantiles {
        object[key] = value.into();
    }
    object
}

pub(super) fn estimate(estimate: &Estimate) -> Value {
    json!({
        "mean": estimate.mean,
        "half_width": estimate.half_width,
        "confidence": estimate.confidence,
    })
}

fn difference(difference: &Difference) -> Value {
    json!({
        "a": difference.a,
        "b": difference.b,
        "cost_usd": estimate(&difference.cost_usd),
        "probability_b_cheaper": difference.probability_b_cheaper,
        "verdict": difference.verdict_text(),
    })
}

pub(super) fn message(warning: &Warning) -> Value {
    json!({ "code": warning.code(), "message": warning.message() })
}

fn mean(mean: f64) -> Value {
    json!({ "mean": mean })
}

pub(super) fn breakdown(parts: &[(&'static str, f64)]) -> Value {
    object(parts, mean)
}

fn object(parts: &[(&'static str, f64)], value: fn(f64) -> Value) -> Value {
    let entries = parts.iter().map(|(key, part)| ((*key).to_owned(), value(*part)));
    Value::Object(entries.collect::<Map<_, _>>())
}

fn agents(means: impl Iterator<Item = (String, f64)>) -> Value {
    means.map(|(agent, mean)| json!({ "agent": agent, "mean": mean })).collect()
}
