//! What one replication came to.

use crate::units::{Money, SimDuration, Tokens};

/// How a run ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outcome {
    /// All that was launched came to its end.
    #[default]
    Completed,
    /// An agent was compacted again and again and stopped (semantics K4).
    Thrashing,
    /// A prompt no longer fitted into the context window (C17).
    PromptTooLong,
    /// An agent gave a request up after too many failed attempts (semantics R1).
    RateLimited,
}

impl Outcome {
    /// All outcomes, in the order of results.
    pub const ALL: [Outcome; 4] =
        [Outcome::Completed, Outcome::Thrashing, Outcome::PromptTooLong, Outcome::RateLimited];

    /// Returns the key used in results.
    pub const fn name(self) -> &'static str {
        match self {
            Outcome::Completed => "completed",
            Outcome::Thrashing => "thrashing",
            Outcome::PromptTooLong => "prompt_too_long",
            Outcome::RateLimited => "rate_limited",
        }
    }
}

/// Launches of children, each in exactly one of the later states.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Launches {
    /// Calls that the parent made.
    pub attempted: u32,
    /// Children that started.
    pub started: u32,
    /// Calls refused because no layer of children is allowed.
    pub refused_depth: u32,
    /// Calls refused because too many children ran.
    pub refused_concurrency: u32,
    /// Calls refused for another reason: a fork's, those above a workflow's total.
    pub refused_other: u32,
    /// Children that came to their report.
    pub completed: u32,
    /// Children that stopped without one.
    pub failed: u32,
    /// Tasks that were called and not done: refused for good, or their child stopped.
    pub dropped: u32,
}

/// What one agent cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AgentBill {
    /// All its requests.
    pub cost: Money,
    /// Their number.
    pub requests: u64,
    /// Size of its last request, output included (semantics A4): not a measure of cost.
    pub last_request: Tokens,
}

/// What one replication came to, besides its bill.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunRecord {
    /// From the first request to the last response.
    pub makespan: SimDuration,
    /// Time that agents spent in queues and back-off, summed.
    pub wait: SimDuration,
    /// Attempts refused above a rate limit (429).
    pub rate_limited: u64,
    /// Attempts that found the provider overloaded (529).
    pub overloaded: u64,
    /// Launches.
    pub launches: Launches,
    /// How it ended.
    pub outcome: Outcome,
}
