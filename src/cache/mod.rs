//! The prompt cache of a provider: a pure state machine from (entries, request, now) to an
//! accounting and new entries.
//!
//! Simulation and replay of recorded traces share it. Time is an argument; there are no events, no
//! random numbers and no prices here. Semantics sections 2 to 4 are implemented rule by rule, and
//! each rule is cited where it acts.
//!
//! Reading order: [`PromptTree`] (prompts as chains of blocks, which forks share), [`CachePolicy`]
//! (the settings), [`PromptCache`] (lookup and commit), [`Cause`] (why a token was processed).

mod breakpoint;
mod cause;
mod policy;
mod prefix;
mod recorded;
mod store;

pub use breakpoint::{BREAKPOINTS_MAX, Breakpoint, BreakpointError, Ttl, check_breakpoints};
pub use cause::{Category, Cause, Segment};
pub use policy::{
    BreakpointName, CachePolicy, ColdWrites, KeepAlive, RefreshShorter, RoleTtl, TtlClock,
    TtlPolicy,
};
pub use prefix::{BlockKind, CacheKey, Level, PrefixId, PromptTree};
pub use store::{Accounting, CacheRequest, Expected, LastPrompt, PromptCache, Split};
