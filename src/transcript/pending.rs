//! What has happened to an agent since its last request: why and when the next one is sent.

use crate::cache::Expected;
use crate::transcript::Trigger;
use crate::transcript::record::Content;
use crate::units::{SimDuration, SimTime};

/// What has happened to an agent since its last request.
#[derive(Clone, Debug, Default)]
pub(super) struct Pending {
    /// The last input: prompt or tool result.
    pub(super) input: Option<SimTime>,
    /// When the request was sent, where that is recorded.
    pub(super) sent: Option<SimTime>,
    /// When the attempt after a failed one is made.
    pub(super) retry: Option<SimTime>,
    pub(super) trigger: Option<Trigger>,
    pub(super) expected: Expected,
    pub(super) blocks: u32,
    has_calls: bool,
    has_results: bool,
    pub(super) prompt_bytes: u64,
}

impl Pending {
    /// Counts the blocks of a message. Calls and results of one response stand in turns in a
    /// transcript and in two runs in the prompt, each of which counts once.
    pub(super) fn append(&mut self, content: &Content<'_>) {
        if content.blocks.is_empty() && content.bytes > 0 {
            self.blocks += 1;
        }
        for block in &content.blocks {
            let run = match block.kind.as_str() {
                Some("tool_use") => Some(&mut self.has_calls),
                Some("tool_result") => Some(&mut self.has_results),
                _ => None,
            };
            let is_counted = run.is_some_and(|run| std::mem::replace(run, true));
            self.blocks += u32::from(!is_counted);
        }
    }

    /// Returns when the next request was ready and when it was sent.
    ///
    /// Its first block was complete at `first_block`, the response before it ended at `before`.
    /// Where no input is recorded, it was sent as long before its first block as `usual`.
    pub(super) fn times(
        &self,
        before: Option<SimTime>,
        first_block: SimTime,
        usual: SimDuration,
    ) -> (SimTime, SimTime) {
        let begin = before.unwrap_or(SimTime::BEGINNING);
        let guessed = SimTime::from_micros(first_block.as_micros() - usual.as_micros());
        let ready = self.input.unwrap_or(guessed).max(begin).min(first_block);
        let sent = self.sent.filter(|sent| *sent >= begin && *sent <= first_block);
        let retry = self.retry.filter(|retry| *retry >= ready && *retry <= first_block);
        let start = sent.or(retry).unwrap_or(ready);
        (if self.retry.is_some() { ready.min(start) } else { start }, start)
    }
}
