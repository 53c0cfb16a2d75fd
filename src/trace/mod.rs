//! Request traces: what was really sent, priced again under a cache policy.
//!
//! A trace names every block of every prompt by an identity, so that the same cache and price rules
//! that a simulation uses can say what each request reads, writes and costs, and why. Where a trace
//! also holds the usage that a provider reported, the two are compared token for token.
//!
//! Texts come in, values go out: files and the terminal belong to the command line. Reading finds
//! all problems of a trace, not the first.
//!
//! Reading order: [`RequestLine`] (what a line states), [`TraceReader`] (all lines, all problems),
//! [`account()`] (the bill), [`to_json`] (the result), [`MooncakeReader`] (another trace format).

mod account;
mod format;
mod json;
mod mooncake;
mod object;
mod problem;
mod prompts;
mod read;
mod simulated;
mod text;

pub use account::{AccountOptions, TraceBill, TraceRequest, account};
pub use format::{FailedAttempt, RequestLine, TraceBlock, kind_name, write_attempt, write_line};
pub use json::{mooncake_to_json, to_json};
pub use mooncake::{
    BLOCK_TOKENS, MooncakeOptions, MooncakeReader, MooncakeReplay, MooncakeRequest, TtlBound,
    price_mooncake, replay_mooncake,
};
pub use problem::{TraceProblem, TraceProblems};
pub use read::{Trace, TraceReader, read_trace};
pub use simulated::{simulated_attempt, simulated_line, simulated_trace};
pub use text::{to_markdown, to_text};
