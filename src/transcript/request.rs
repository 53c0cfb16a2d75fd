//! What is known of one request of a session.

use std::sync::Arc;

use crate::cache::Expected;
use crate::pricing::{RateOptions, Usage};
use crate::units::{SimDuration, SimTime};
use crate::workload::Regression;

/// What made an agent send a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trigger {
    /// A prompt, or a notice that works like one.
    #[default]
    Prompt,
    /// Results of tools.
    Tool,
}

/// One request: all records of one message put together.
#[derive(Clone, Debug)]
pub struct Request {
    /// Identity of its message; of the request or the record where there is none.
    pub id: String,
    /// Model as recorded.
    pub model: Arc<str>,
    /// Effort setting, where it is recorded (client 2.1.216 and later).
    pub effort: Option<Arc<str>>,
    /// When it could have been sent, had no attempt failed.
    pub ready: SimTime,
    /// When it was sent: as recorded (client 2.1.332), else when its last input was there.
    pub start: SimTime,
    /// When the first block of its response was complete.
    pub first_block: SimTime,
    /// When its response ended.
    pub end: SimTime,
    /// What the provider reported; writes without a lifetime (before client 1.0.98) are of five
    /// minutes.
    pub usage: Usage,
    /// Modifiers of its price.
    pub options: RateOptions,
    /// Number of web searches, each with a fee.
    pub web_searches: u64,
    /// Whether the output is known to be final; otherwise it is what was known when the response
    /// began.
    pub is_output_final: bool,
    /// Bytes of the texts, thinking and tool inputs of its response.
    pub output_bytes: u64,
    /// What made the agent send it.
    pub trigger: Trigger,
    /// Whether the client rebuilt the prompt before it.
    pub expected: Expected,
    /// Blocks appended to the conversation since the agent's request before, where a run of tool
    /// calls or of tool results counts once.
    pub appended_blocks: u32,
    /// Bytes of the prompts among what was appended.
    pub prompt_bytes: u64,
}

/// Returns how long the first token of such a request usually takes (semantics L3).
pub(super) fn usual_first_token(usage: &Usage) -> SimDuration {
    let prompt = usage.prompt();
    Regression::default().time(prompt - usage.cache_read, prompt)
}

/// A compaction that a transcript tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompactionMark {
    /// When it was over.
    pub at: SimTime,
    /// Number of the agent's requests before it.
    pub requests_before: usize,
    /// Bytes of the summary, as the transcript keeps it.
    pub summary_bytes: u64,
}

/// A child that a record of an agent names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChildLink {
    /// Id of the child.
    pub agent: String,
    /// Its kind, where it is told.
    pub kind: Option<String>,
}
