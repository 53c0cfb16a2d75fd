//! Why tokens were processed: every token of a request gets exactly one cause (semantics A5).

use serde::Serialize;

/// Why a dollar was spent, in the order in which causes are tested (semantics A5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Cause {
    /// Output tokens.
    Output,
    /// Tokens read from the cache.
    Read,
    /// Fees outside tokens.
    Fees,
    /// The request marked nothing for caching.
    CachingDisabled,
    /// The marked prefix is shorter than the model's minimum.
    BelowMinimum,
    /// The prefix had been readable and its lifetime has run out.
    Expired,
    /// As `expired`, while the request waited for a rate limit.
    ExpiredWhileLimited,
    /// The entry lived, and the provider missed it all the same.
    EarlyMiss,
    /// An equal prefix is being written by a request whose response has not begun.
    SiblingNotReady,
    /// A live entry stands on the chain outside the lookback windows.
    LookbackExceeded,
    /// The first request after a compaction.
    Compaction,
    /// The first request after old tool results were cleared.
    ClearedToolResults,
    /// The tool definitions changed under what this agent had cached.
    PrefixChangedTools,
    /// The system prompt changed.
    PrefixChangedSystem,
    /// The model changed.
    PrefixChangedModel,
    /// The effort or speed changed.
    PrefixChangedEffort,
    /// An earlier message changed.
    PrefixChangedMessages,
    /// The start-up context of an agent's first request.
    ColdStart,
    /// Appended since the last request, or after the last breakpoint.
    NewContent,
}

impl Cause {
    /// Number of causes.
    pub const COUNT: usize = Cause::ALL.len();

    /// All causes, in the order in which they are tested.
    pub const ALL: [Cause; 19] = [
        Cause::Output,
        Cause::Read,
        Cause::Fees,
        Cause::CachingDisabled,
        Cause::BelowMinimum,
        Cause::Expired,
        Cause::ExpiredWhileLimited,
        Cause::EarlyMiss,
        Cause::SiblingNotReady,
        Cause::LookbackExceeded,
        Cause::Compaction,
        Cause::ClearedToolResults,
        Cause::PrefixChangedTools,
        Cause::PrefixChangedSystem,
        Cause::PrefixChangedModel,
        Cause::PrefixChangedEffort,
        Cause::PrefixChangedMessages,
        Cause::ColdStart,
        Cause::NewContent,
    ];

    /// Returns the key used in results.
    pub const fn name(self) -> &'static str {
        match self {
            Cause::Output => "output",
            Cause::Read => "read",
            Cause::Fees => "fees",
            Cause::CachingDisabled => "caching_disabled",
            Cause::BelowMinimum => "below_minimum",
            Cause::Expired => "expired",
            Cause::ExpiredWhileLimited => "expired_while_limited",
            Cause::EarlyMiss => "early_miss",
            Cause::SiblingNotReady => "sibling_not_ready",
            Cause::LookbackExceeded => "lookback_exceeded",
            Cause::Compaction => "compaction",
            Cause::ClearedToolResults => "cleared_tool_results",
            Cause::PrefixChangedTools => "prefix_changed_tools",
            Cause::PrefixChangedSystem => "prefix_changed_system",
            Cause::PrefixChangedModel => "prefix_changed_model",
            Cause::PrefixChangedEffort => "prefix_changed_effort",
            Cause::PrefixChangedMessages => "prefix_changed_messages",
            Cause::ColdStart => "cold_start",
            Cause::NewContent => "new_content",
        }
    }

    /// Returns whether tokens under this cause could have been read, had nothing gone wrong: they
    /// make a request a *miss* in the client's sense (semantics A5).
    pub const fn is_miss(self) -> bool {
        matches!(
            self,
            Cause::Expired
                | Cause::ExpiredWhileLimited
                | Cause::EarlyMiss
                | Cause::LookbackExceeded
                | Cause::PrefixChangedTools
                | Cause::PrefixChangedSystem
                | Cause::PrefixChangedModel
                | Cause::PrefixChangedEffort
                | Cause::PrefixChangedMessages
        )
    }
}

/// What a processed token is charged as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Category {
    /// Plain input.
    Uncached,
    /// A write that lives five minutes.
    Write5m,
    /// A write that lives one hour.
    Write1h,
}

/// A run of processed tokens with one cause and one price category.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Why they were processed.
    pub cause: Cause,
    /// What they are charged as.
    pub category: Category,
    /// How many.
    pub tokens: u64,
}
