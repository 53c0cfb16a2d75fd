//! Breakpoints: the ends of prefixes that a request marks for caching, each with a lifetime.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::cache::PrefixId;
use crate::units::SimDuration;

/// Lifetime of a cache entry (semantics E6).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum Ttl {
    /// Five minutes.
    #[default]
    #[serde(rename = "5m")]
    FiveMinutes,
    /// One hour, at a higher write price.
    #[serde(rename = "1h")]
    OneHour,
}

impl Ttl {
    /// Returns the lifetime as a duration.
    pub const fn duration(self) -> SimDuration {
        match self {
            Ttl::FiveMinutes => SimDuration::from_seconds(300),
            Ttl::OneHour => SimDuration::from_seconds(3_600),
        }
    }

    /// Returns the name used in files: `5m` or `1h`.
    pub const fn name(self) -> &'static str {
        match self {
            Ttl::FiveMinutes => "5m",
            Ttl::OneHour => "1h",
        }
    }
}

/// A prefix that a request marks for caching.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Breakpoint {
    /// The prefix, ending with the marked block.
    pub at: PrefixId,
    /// How long its entry lives.
    pub ttl: Ttl,
}

/// Why a list of breakpoints is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum BreakpointError {
    /// More than four (semantics E1).
    #[error("{0} breakpoints; a request has at most 4")]
    TooMany(usize),
    /// A one-hour breakpoint stands after a five-minute one (semantics E6).
    #[error("a 1h breakpoint stands after a 5m one; all 1h breakpoints come first")]
    OneHourAfterFiveMinutes,
}

/// The most breakpoints a request may have (semantics E1).
pub const BREAKPOINTS_MAX: usize = 4;

/// Checks the lifetimes of a request's breakpoints, in prompt order (semantics E1, E6).
///
/// # Errors
/// When there are more than four, or a one-hour one follows a five-minute one.
pub fn check_breakpoints(ttls: &[Ttl]) -> Result<(), BreakpointError> {
    if ttls.len() > BREAKPOINTS_MAX {
        return Err(BreakpointError::TooMany(ttls.len()));
    }
    if ttls.windows(2).any(|pair| pair[0] < pair[1]) {
        return Err(BreakpointError::OneHourAfterFiveMinutes);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_hour_comes_before_five_minutes() {
        let (short, long) = (Ttl::FiveMinutes, Ttl::OneHour);
        assert_eq!(check_breakpoints(&[long, long, short]), Ok(()));
        assert_eq!(
            check_breakpoints(&[short, long]),
            Err(BreakpointError::OneHourAfterFiveMinutes)
        );
        assert_eq!(check_breakpoints(&[short; 5]), Err(BreakpointError::TooMany(5)));
    }
}
