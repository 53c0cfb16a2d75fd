//! The client's own words: the `[texts]` table.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::orchestration::Outcome;

/// Why a call that asks for a child is refused (semantics D5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalReason {
    /// No layer of children is allowed.
    Depth,
    /// Too many children run.
    Concurrency,
    /// A fork cannot have children.
    Fork,
    /// A workflow has had as many agents as it may.
    Workflow,
}

impl RefusalReason {
    /// Returns the name used in event logs.
    pub const fn name(self) -> &'static str {
        match self {
            RefusalReason::Depth => "depth",
            RefusalReason::Concurrency => "concurrency",
            RefusalReason::Fork => "fork",
            RefusalReason::Workflow => "workflow",
        }
    }
}

/// What the client says, word for word, where that is known; for event logs. What a text costs in
/// the parent's prompt is a size in `wrappers`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Texts {
    /// Of a call refused because no layer of children is allowed.
    pub refused_depth: Option<String>,
    /// Of a call refused because too many children run.
    pub refused_concurrency: Option<String>,
    /// Of an agent that a workflow may no longer have.
    pub refused_workflow: Option<String>,
    /// Of a fork's call.
    pub refused_fork: Option<String>,
    /// Of an agent that was compacted again and again and stopped.
    pub thrashing: Option<String>,
    /// Of an agent whose prompt no longer fits into the window.
    pub prompt_too_long: Option<String>,
    /// Of an agent that gave a request up after too many failed attempts.
    pub rate_limited: Option<String>,
}

impl Texts {
    /// Returns the words with which a call is refused.
    pub fn refusal(&self, reason: RefusalReason) -> Option<&str> {
        match reason {
            RefusalReason::Depth => self.refused_depth.as_deref(),
            RefusalReason::Concurrency => self.refused_concurrency.as_deref(),
            RefusalReason::Fork => self.refused_fork.as_deref(),
            RefusalReason::Workflow => self.refused_workflow.as_deref(),
        }
    }

    /// Returns the words with which an agent ends.
    pub fn outcome(&self, outcome: Outcome) -> Option<&str> {
        match outcome {
            Outcome::Completed => None,
            Outcome::Thrashing => self.thrashing.as_deref(),
            Outcome::PromptTooLong => self.prompt_too_long.as_deref(),
            Outcome::RateLimited => self.rate_limited.as_deref(),
        }
    }
}
