//! One row per request.

use crate::cache::{Breakpoint, PrefixId, Segment, Split};
use crate::ledger::Role;
use crate::ledger::bill::segment_cost;
use crate::pricing::{ModelRates, Usage};
use crate::units::{Money, SimTime, Tokens};

/// Returns the name of an agent in results: `main`, then `a1`, `a2`, ... in order of launch.
pub fn agent_name(number: u32) -> String {
    match number {
        0 => "main".to_owned(),
        number => format!("a{number}"),
    }
}

/// One request of a run: when, by whom, what it read and wrote, what it cost.
#[derive(Clone, Debug)]
pub struct RequestRecord {
    /// Number of the agent: 0 is `main`, 1 is `a1`.
    pub agent: u32,
    /// On whose behalf it was made.
    pub role: Role,
    /// Number of the model in the run's plan.
    pub model: usize,
    /// Whether it was paid before the run began and only its cache entries count.
    pub is_paid: bool,
    /// When it started.
    pub start: SimTime,
    /// When its response began.
    pub first_token: SimTime,
    /// When its response ended.
    pub end: SimTime,
    /// Its whole prompt.
    pub prompt: PrefixId,
    /// Its breakpoints, in prompt order.
    pub breakpoints: Vec<Breakpoint>,
    /// The parts of its prompt.
    pub split: Split,
    /// Causes of its processed tokens, in prompt order.
    pub segments: Vec<Segment>,
    /// Whether it is a miss in the client's sense (semantics A5).
    pub is_miss: bool,
    /// Whether it is a rebuild that the client brought about (semantics A5).
    pub is_expected_rebuild: bool,
    /// Its output.
    pub output: Tokens,
    /// What it cost.
    pub cost: Money,
}

impl RequestRecord {
    /// Returns its tokens by line item.
    pub fn usage(&self) -> Usage {
        Usage {
            uncached: self.split.uncached,
            cache_write_5m: self.split.write_5m,
            cache_write_1h: self.split.write_1h,
            cache_read: self.split.read,
            output: self.output,
        }
    }

    /// Returns what each of its segments costs at the prices of its model. What is read and output
    /// comes on top.
    pub fn segment_costs(&self, rates: &ModelRates) -> impl Iterator<Item = (&Segment, Money)> {
        let prices = rates.tier(self.usage().prompt());
        self.segments.iter().map(move |segment| (segment, segment_cost(prices, segment)))
    }
}

/// One failed attempt: charged nothing (semantics A3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttemptRecord {
    /// Number of the agent.
    pub agent: u32,
    /// When it started.
    pub start: SimTime,
    /// Number of the attempt among those of its request, from 1.
    pub attempt: u32,
    /// The HTTP status it failed with.
    pub status: u16,
}

/// All that a run sent, in the order of the starts.
#[derive(Clone, Debug, Default)]
pub struct RunLog {
    /// Requests.
    pub requests: Vec<RequestRecord>,
    /// Failed attempts.
    pub attempts: Vec<AttemptRecord>,
}
