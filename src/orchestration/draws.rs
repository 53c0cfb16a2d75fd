//! What is drawn, and from which random stream.
//!
//! A [`Draws`] names the random numbers of one replication. Whoever draws says for whom, what, and
//! which number of it, so the work of a replication can be drawn again outside of its run.

use crate::des::{EntityStreams, RandomStream};
use crate::orchestration::plan::{NestedPlan, Work};
use crate::orchestration::team::TaskId;
use crate::units::Tokens;

/// What is drawn: one random stream each (semantics X2). The numbers are part of what a seed
/// means, so new ones go to the end.
#[derive(Clone, Copy, Debug)]
#[repr(u64)]
pub(super) enum Purpose {
    Iterations,
    Output,
    ToolResult,
    ToolTime,
    Report,
    Prompt,
    FirstToken,
    RediscoveryTokens,
    RediscoveryIterations,
    RediscoveryOutput,
    RediscoveryToolTime,
    RediscoveryFirstToken,
    Answer,
    TurnFirstToken,
    ExtraFirstToken,
    EarlyMiss,
    Overload,
    Backoff,
    Nests,
    Children,
    ResumedIterations,
    ResumedReport,
}

/// The random numbers of one replication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Draws {
    seed: u64,
    replication: u64,
    is_mirrored: bool,
}

impl Draws {
    /// Returns the draws of a replication.
    pub const fn new(seed: u64, replication: u64) -> Draws {
        Draws { seed, replication, is_mirrored: false }
    }

    /// Returns the antithetic draws: each number is one minus that of these draws.
    #[must_use]
    pub const fn mirrored(self) -> Draws {
        Draws { is_mirrored: !self.is_mirrored, ..self }
    }

    /// All random streams of an entity: 0 for the fan-out's tasks and the parent, 1 + n for task n,
    /// hashes for what children delegate.
    #[inline]
    pub(super) fn streams(&self, entity: u64) -> EntityStreams {
        let streams = EntityStreams::new(self.seed, self.replication, entity);
        if self.is_mirrored { streams.mirrored() } else { streams }
    }

    /// The random stream of an entity for one purpose.
    #[inline]
    pub(super) fn stream(&self, entity: u64, purpose: Purpose) -> RandomStream {
        self.streams(entity).purpose(purpose as u64)
    }

    /// All random streams of a task's iterations.
    pub(super) fn task(&self, task: TaskId) -> EntityStreams {
        self.streams(task.entity())
    }
}

impl Work {
    /// Draws how many requests a task takes.
    pub(super) fn draw_iterations(&self, draws: &Draws, task: TaskId) -> u32 {
        let stream = draws.stream(task.family, Purpose::Iterations);
        self.iterations.sample_count_at_least_one(stream, task.index.into())
    }

    /// Draws the output of a task's last request.
    pub(super) fn draw_report(&self, draws: &Draws, task: TaskId) -> Tokens {
        let stream = draws.stream(task.family, Purpose::Report);
        self.report.sample_tokens(stream, task.index.into())
    }

    /// Draws the task prompt of a fresh child.
    pub(super) fn draw_prompt(&self, draws: &Draws, task: TaskId) -> Tokens {
        let stream = draws.stream(task.family, Purpose::Prompt);
        self.prompt.sample_tokens(stream, task.index.into())
    }

    /// Draws what a fresh child finds out again: in how many requests, and how much.
    pub(super) fn draw_rediscovery(&self, draws: &Draws, task: TaskId) -> (u32, Tokens) {
        let at = u64::from(task.index);
        let iterations = draws.stream(task.family, Purpose::RediscoveryIterations);
        let tokens = draws.stream(task.family, Purpose::RediscoveryTokens);
        let iterations = self.rediscovery_iterations.sample_count(iterations, at);
        (iterations, self.rediscovery_tokens.sample_tokens(tokens, at))
    }

    /// Draws the output of request `counter` of a task, or of its rediscovery.
    pub(super) fn draw_output(&self, task: EntityStreams, again: bool, counter: u64) -> Tokens {
        let purpose = if again { Purpose::RediscoveryOutput } else { Purpose::Output };
        self.output.sample_tokens(task.purpose(purpose as u64), counter)
    }

    /// Draws the tool results after request `counter` of a task.
    pub(super) fn draw_tool_result(&self, task: EntityStreams, counter: u64) -> Tokens {
        self.tool_result.sample_tokens(task.purpose(Purpose::ToolResult as u64), counter)
    }
}

impl NestedPlan {
    /// Draws how many children the agent that does a task launches.
    pub(super) fn draw_children(&self, draws: &Draws, task: TaskId) -> u32 {
        let at = u64::from(task.index);
        let uniform = draws.stream(task.family, Purpose::Nests).at(at) >> 11;
        if uniform as f64 / (1u64 << 53) as f64 >= self.probability {
            return 0;
        }
        self.count.sample_count(draws.stream(task.family, Purpose::Children), at)
    }
}
