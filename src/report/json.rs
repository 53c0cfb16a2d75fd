//! Results as one JSON object: the contract for programs (interfaces, section 3).
//!
//! Keys and their order are stable. A scalar that varies over replications is an object with at
//! least `mean`; `probability_b_cheaper`, a share of replications, is a plain number.
//! `differences[].cost_usd` is the cost of `b` minus that of `a`: negative where `b` costs less.
//! With a method of variance reduction, `variance_reduction` names it, and each mean cost has an
//! object of this name that says what it came to; parts of the cost sum to `sample_mean_usd` there.
//! `half_width` is `null` where one replication of something random says nothing about it.

use serde_json::{Map, Value, json};

use crate::experiment::{AgentMean, Difference, Results, Summary, VariantResults, Warning};
use crate::report::{Header, reduction};
use crate::stats::Estimate;

/// Returns the object as indented text with a final line end.
pub fn render(header: &Header, results: &Results) -> String {
    format!("{:#}\n", value(header, results))
}

/// Returns the object.
pub fn value(header: &Header, results: &Results) -> Value {
    let mut value = origin(header, results.seed, results.replications);
    if let Some(method) = reduction::method(results) {
        extend(&mut value, json!({ "variance_reduction": method }));
    }
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
    let mut object = json!({ "name": results.name });
    for Number { key, part, last, value } in numbers(results) {
        let outer = &mut object[key];
        let inner = match part {
            Part::None => outer,
            Part::Key(part) => &mut outer[part],
            Part::Agent(agent) => {
                if outer.is_null() {
                    *outer = json!([]);
                }
                let agents = outer.as_array_mut().expect("agents are a list");
                agents.push(json!({ "agent": agent }));
                agents.last_mut().expect("one was pushed")
            }
        };
        inner[last] = value.into();
    }
    if let Some(reduced) = &results.reduced {
        extend(&mut object, json!({ "variance_reduction": reduction::value(reduced) }));
    }
    object
}

/// A number of a variant, and the keys that lead to it in the variant's object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Number<'a> {
    pub(super) key: &'static str,
    pub(super) part: Part<'a>,
    pub(super) last: &'static str,
    pub(super) value: Option<f64>,
}

/// What stands between the first and the last key.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part<'a> {
    None,
    Key(&'static str),
    /// The entry of an agent in a list.
    Agent(&'a str),
}

/// Returns the numbers of a variant in the order of its object.
pub(super) fn numbers(results: &VariantResults) -> Vec<Number<'_>> {
    let mut numbers = Numbers(Vec::with_capacity(128));
    numbers.summary("cost_usd", &results.cost_usd);
    numbers.summary("makespan_s", &results.makespan_s);
    numbers.summary("wait_s", &results.wait_s);
    numbers.means("tokens", &results.tokens);
    numbers.means("cost_by_item_usd", &results.cost_by_item_usd);
    numbers.means("cost_by_role_usd", &results.cost_by_role_usd);
    numbers.agents("cost_by_agent_usd", &results.agents, |agent| agent.cost_usd);
    numbers.means("cost_by_cause_usd", &results.cost_by_cause_usd);
    numbers.mean("requests", results.requests);
    numbers.agents("requests_by_agent", &results.agents, |agent| agent.requests);
    numbers.mean("hit_ratio_tokens", results.hit_ratio_tokens);
    numbers.mean("misses", results.misses);
    numbers.mean("expected_rebuilds", results.expected_rebuilds);
    numbers.means("launches", &results.launches);
    numbers.means("failed_attempts", &results.failed_attempts);
    numbers.mean("last_request_tokens", results.last_request_tokens);
    let bounds =
        [("no_cache_usd", results.no_cache_usd), ("perfect_cache_usd", results.perfect_cache_usd)];
    numbers.means("bounds", &bounds);
    numbers.means("outcomes", &results.outcomes);
    numbers.0
}

struct Numbers<'a>(Vec<Number<'a>>);

impl<'a> Numbers<'a> {
    fn summary(&mut self, key: &'static str, summary: &Summary) {
        let number = |(last, value)| Number { key, part: Part::None, last, value };
        self.0.extend(parts(summary).map(number));
    }

    fn mean(&mut self, key: &'static str, mean: f64) {
        self.0.push(Number { key, part: Part::None, last: "mean", value: Some(mean) });
    }

    fn means(&mut self, key: &'static str, parts: &[(&'static str, f64)]) {
        let number = |(part, mean): &(&'static str, f64)| Number {
            key,
            part: Part::Key(part),
            last: "mean",
            value: Some(*mean),
        };
        self.0.extend(parts.iter().map(number));
    }

    fn agents(&mut self, key: &'static str, agents: &'a [AgentMean], of: fn(&AgentMean) -> f64) {
        let number = |agent: &'a AgentMean| Number {
            key,
            part: Part::Agent(&agent.agent),
            last: "mean",
            value: Some(of(agent)),
        };
        self.0.extend(agents.iter().map(number));
    }
}

pub(super) fn summary(summary: &Summary) -> Value {
    let parts = parts(summary).map(|(key, value)| (key.to_owned(), value.into()));
    Value::Object(parts.into_iter().collect())
}

fn parts(summary: &Summary) -> [(&'static str, Option<f64>); 8] {
    let Estimate { mean, half_width, confidence, .. } = summary.estimate;
    [
        ("mean", Some(mean)),
        ("half_width", half_width),
        ("confidence", Some(confidence)),
        ("p5", Some(summary.p5)),
        ("p50", Some(summary.p50)),
        ("p95", Some(summary.p95)),
        ("p99", Some(summary.p99)),
        ("max", Some(summary.max)),
    ]
}

pub(super) fn estimate(estimate: &Estimate) -> Value {
    json!({
        "mean": estimate.mean,
        "half_width": estimate.half_width,
        "confidence": estimate.confidence,
    })
}

fn difference(difference: &Difference) -> Value {
    let mut value = json!({
        "a": difference.a,
        "b": difference.b,
        "cost_usd": estimate(&difference.cost_usd),
        "probability_b_cheaper": difference.probability_b_cheaper,
        "verdict": difference.verdict_text(),
    });
    if let Some(reduced) = &difference.reduced {
        extend(&mut value, json!({ "variance_reduction": reduction::value(reduced) }));
    }
    value
}

pub(super) fn message(warning: &Warning) -> Value {
    json!({ "code": warning.code(), "message": warning.message() })
}

pub(super) fn breakdown(parts: &[(&'static str, f64)]) -> Value {
    let entries = parts.iter().map(|(key, mean)| ((*key).to_owned(), json!({ "mean": mean })));
    Value::Object(entries.collect::<Map<_, _>>())
}
