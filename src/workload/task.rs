//! The work itself: the `[task]` table of a scenario, the same for every variant.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::{SimDuration, Tokens};
use crate::workload::{Count, Distribution};

/// The work of one task (semantics L1).
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TaskSettings {
    /// Requests of the task, the last (the report) included; rounded, at least 1.
    pub iterations: Distribution<Count>,
    /// Output of each request but the last: its tool calls and text, in tokens.
    pub output: Distribution<Tokens>,
    /// Tool results that enter the context after each request but the last, in tokens.
    pub tool_result: Distribution<Tokens>,
    /// Time from a response to the next request: the tools of the message.
    pub tool_time: Distribution<SimDuration>,
    /// Output of the last request, in tokens.
    pub report: Distribution<Tokens>,
    /// Task prompt of a fresh child, in tokens.
    pub prompt: Distribution<Tokens>,
    /// What a fresh agent must find out again (semantics D4).
    pub rediscovery: Rediscovery,
    /// What changes in the prompt before every request, so that nothing behind it is reused.
    pub prefix_change: PrefixChange,
}

impl Default for TaskSettings {
    fn default() -> TaskSettings {
        TaskSettings {
            iterations: Distribution::constant(1.0),
            output: Distribution::constant(0.0),
            tool_result: Distribution::constant(0.0),
            tool_time: Distribution::constant(0.0),
            report: Distribution::constant(0.0),
            prompt: Distribution::constant(0.0),
            rediscovery: Rediscovery::default(),
            prefix_change: PrefixChange::None,
        }
    }
}

/// What a fresh agent must find out again and a fork already knows (semantics D4).
///
/// It takes extra requests before the task's own, each with an output like the task's and without
/// a tool result besides.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Rediscovery {
    /// Tokens read again, in total.
    pub tokens: Distribution<Tokens>,
    /// Requests over which they are spread; 0: none of it happens.
    pub iterations: Distribution<Count>,
}

impl Default for Rediscovery {
    fn default() -> Rediscovery {
        Rediscovery { tokens: Distribution::constant(0.0), iterations: Distribution::constant(0.0) }
    }
}

/// What changes before every request of a task (validation 2.6: pinned and no reuse).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PrefixChange {
    /// Nothing.
    #[default]
    None,
    /// The first message: the conversation is never reused.
    Messages,
    /// The system prompt: only tool definitions could be reused.
    System,
    /// The tool definitions: nothing is reused.
    Tools,
}
