//! A case as its file states it.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::pricing::Usage;
use crate::units::{Date, Tokens};

/// A file of cases on one topic.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaseFile {
    /// Version of this format: 1.
    pub format_version: u32,
    /// What the cases are about, as a heading.
    pub topic: String,
    /// The cases, in the order in which they are shown.
    #[serde(rename = "case")]
    pub cases: Vec<Case>,
}

/// A case: inputs from a source, and what must come out.
///
/// Its answer is one JSON object: `bills` by name, `trace` as `forkcast trace --json` prints it,
/// `scenario` by variant as `forkcast compare --json` prints it, `breakeven`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Short name, unique among all cases.
    pub id: String,
    /// What is shown, in one sentence.
    pub title: String,
    /// Where inputs and answer were published, with the date of reading where it matters.
    pub source: String,
    /// What to know beside: a published sum that is wrong, an assumption.
    #[serde(default)]
    pub note: Option<String>,
    /// Usage priced request by request, by name.
    #[serde(default)]
    pub bills: BTreeMap<String, Bill>,
    /// Requests looked up in the cache and priced.
    #[serde(default)]
    pub trace: Option<TraceCase>,
    /// A scenario that is simulated.
    #[serde(default)]
    pub scenario: Option<ScenarioCase>,
    /// What must come out.
    pub expect: Vec<Expectation>,
}

/// The usage of some requests at the prices of one model.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bill {
    /// Id of the model.
    pub model: String,
    /// Price book; none: the newest one shipped.
    #[serde(default)]
    pub prices: Option<String>,
    /// Day whose prices hold; none: the day of the book.
    #[serde(default)]
    pub date: Option<Date>,
    /// Whether the batch price holds.
    #[serde(default)]
    pub batch: bool,
    /// Whether the fast price holds.
    #[serde(default)]
    pub fast: bool,
    /// Hours of a managed session, charged as a fee.
    #[serde(default)]
    pub session_hours: u64,
    /// One row for each request.
    pub usage: Vec<UsageRow>,
}

/// Tokens of one request, in disjoint parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct UsageRow {
    /// Uncached input.
    pub input: Tokens,
    /// Written for five minutes.
    pub write_5m: Tokens,
    /// Written for an hour.
    pub write_1h: Tokens,
    /// Read.
    pub read: Tokens,
    /// Output.
    pub output: Tokens,
}

impl UsageRow {
    /// Returns it as the usage of a request.
    pub fn usage(&self) -> Usage {
        Usage {
            uncached: self.input,
            cache_write_5m: self.write_5m,
            cache_write_1h: self.write_1h,
            cache_read: self.read,
            output: self.output,
        }
    }
}

/// Requests at stated times, accounted like a request trace.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceCase {
    /// Id of the model of requests that name none.
    pub model: String,
    /// Price book; none: the newest one shipped.
    #[serde(default)]
    pub prices: Option<String>,
    /// Settings of the cache, as `--set` takes them.
    #[serde(default)]
    pub set: BTreeMap<String, String>,
    /// The requests.
    pub requests: Vec<CaseRequest>,
}

/// One request.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaseRequest {
    /// When it starts, as a duration since the beginning.
    pub start: String,
    /// How long its response takes to begin; none: one second.
    #[serde(default)]
    pub first_token: Option<String>,
    /// How long the whole response takes; none: until it begins.
    #[serde(default)]
    pub takes: Option<String>,
    /// Who sends it; none: `main`.
    #[serde(default)]
    pub agent: Option<String>,
    /// Id of its model, where it is not that of the case.
    #[serde(default)]
    pub model: Option<String>,
    /// Its prompt, block by block: `"NAME TOKENS"`, with `5m` or `1h` behind it where a breakpoint
    /// stands; `"NAME* TOKENS xCOUNT"` is a run of blocks NAME1, NAME2, ...
    pub prompt: Vec<String>,
    /// Its output.
    #[serde(default)]
    pub output: Tokens,
}

/// A scenario, run as it stands.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScenarioCase {
    /// The text of a scenario file.
    pub text: String,
    /// Settings over it, as `--set` takes them.
    #[serde(default)]
    pub set: BTreeMap<String, String>,
    /// Number of replications; 1 where nothing is random.
    #[serde(default = "one")]
    pub replications: u64,
    /// Seed.
    #[serde(default = "one")]
    pub seed: u64,
    /// A search for the level of a key at which the first two variants cost the same.
    #[serde(default)]
    pub breakeven: Option<BreakEvenCase>,
}

/// A search for a break-even, as `forkcast breakeven` makes it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BreakEvenCase {
    /// `KEY=LOW..HIGH`.
    pub vary: String,
    /// Whether only whole values are possible; the root then lies between two of them.
    #[serde(default)]
    pub whole: bool,
}

const fn one() -> u64 {
    1
}

/// One number, text or truth value that must come out.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// Where it stands in the answer: keys with dots; entries of lists by `name`, by `agent`, or
    /// counted from 0.
    pub value: String,
    /// What it is divided by, where the source states a ratio.
    #[serde(default)]
    pub over: Option<String>,
    /// What is taken off it, where the source states a difference.
    #[serde(default)]
    pub minus: Option<String>,
    /// What must come out.
    pub is: toml::Value,
    /// Largest distance from it: half a unit of the last digit that the source prints, or what the
    /// source says of its own accuracy. None: equal up to the rounding of a double.
    #[serde(default)]
    pub within: Option<f64>,
    /// Largest distance in standard errors of the mean, for what is random.
    #[serde(default)]
    pub standard_errors: Option<f64>,
}
