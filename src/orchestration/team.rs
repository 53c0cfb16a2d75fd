//! What a delegating agent keeps track of: its calls, its children, what they bring back.

use std::collections::VecDeque;

use crate::cache::PrefixId;
use crate::des::EntityStreams;
use crate::orchestration::agent::Base;
use crate::units::{SimTime, Tokens};

/// Marks numbers that are hashes, apart from those that are counted.
const HASHED: u64 = 1 << 63;

/// Which task: those of the fan-out are of family 0, those that a child delegates itself are of a
/// family of their own, so that they draw the same work whatever else happens (semantics X2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TaskId {
    pub(super) family: u64,
    pub(super) index: u32,
}

impl TaskId {
    /// Returns the entity from whose streams its iterations draw.
    pub(super) fn entity(self) -> u64 {
        let index = u64::from(self.index);
        if self.family == 0 { 1 + index } else { hash(self.family, index) }
    }

    /// Returns the family of the tasks that whoever does this one delegates.
    pub(super) fn children(self) -> u64 {
        hash(self.entity(), 0)
    }
}

fn hash(family: u64, index: u64) -> u64 {
    EntityStreams::new(family, 0, index).purpose(0).at(0) | HASHED
}

/// The calls of one message, as far as they have not ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Batch {
    /// Which message of the agent.
    pub(super) number: u32,
    /// When the calls were made.
    pub(super) start: SimTime,
    /// Calls that were accepted.
    pub(super) calls: u32,
    /// Calls that were refused; their tasks come after those of the accepted ones.
    pub(super) refused: u32,
    /// Children of it that have started.
    pub(super) started: u32,
    /// Children of it that have ended.
    pub(super) ended: u32,
    /// When held children may start, as far as that is known.
    pub(super) release: SimTime,
    /// The start-up context of the parent when the calls were made: forks keep that.
    pub(super) base: Base,
    /// The parent's prompt that forks of this message keep.
    pub(super) fork_base: PrefixId,
    /// The same with all calls, where forks carry them.
    pub(super) fork_calls: PrefixId,
    /// The same with all calls and placeholders.
    pub(super) fork_shared: PrefixId,
}

impl Default for Batch {
    fn default() -> Batch {
        Batch {
            number: 0,
            start: SimTime::ZERO,
            calls: 0,
            refused: 0,
            started: 0,
            ended: 0,
            release: SimTime::ZERO,
            base: Base::EMPTY,
            fork_base: PrefixId::FIRST,
            fork_calls: PrefixId::FIRST,
            fork_shared: PrefixId::FIRST,
        }
    }
}

/// The report of a child that has ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Report {
    pub(super) child: u32,
    pub(super) tokens: Tokens,
    /// Whether the child had been resumed.
    pub(super) is_resumed: bool,
}

/// The delegation of one agent.
#[derive(Clone, Debug, Default)]
pub(super) struct Team {
    /// The agent that delegates.
    pub(super) owner: usize,
    /// Family of its tasks.
    pub(super) family: u64,
    /// Tasks that have been called.
    pub(super) called: u32,
    /// Children running.
    pub(super) running: u32,
    /// Reports that have come; the first `taken` are in the prompt.
    pub(super) reports: Vec<Report>,
    pub(super) taken: usize,
    /// Calls that the response in flight makes.
    pub(super) calls: u32,
    /// The newest message with calls.
    pub(super) batch: Batch,
    /// Its tasks, in order of the calls.
    pub(super) message: Vec<u32>,
    /// Its children, in order of launch.
    pub(super) members: Vec<usize>,
    /// Tasks that were refused and wait for what becomes of them.
    pub(super) refused: VecDeque<u32>,
    /// Completions told, less those for which a refused task was launched again.
    pub(super) credits: u32,
}

impl Team {
    /// Makes it new again for an agent and keeps its memory.
    pub(super) fn reset(&mut self, owner: usize, family: u64) {
        let mut reports = std::mem::take(&mut self.reports);
        let mut members = std::mem::take(&mut self.members);
        let mut message = std::mem::take(&mut self.message);
        let mut refused = std::mem::take(&mut self.refused);
        reports.clear();
        members.clear();
        message.clear();
        refused.clear();
        *self = Team { owner, family, reports, message, members, refused, ..Team::default() };
    }

    /// Returns the number of reports that are not yet in the prompt.
    pub(super) fn pending(&self) -> usize {
        self.reports.len() - self.taken
    }

    /// Returns whether children run or are still to start.
    pub(super) fn is_busy(&self) -> bool {
        self.running > 0 || self.batch.started < self.batch.calls
    }
}
