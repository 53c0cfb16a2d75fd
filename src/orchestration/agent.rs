//! The state of one agent.

use crate::cache::{BlockKind, Expected, LastPrompt, PrefixId};
use crate::des::EntityStreams;
use crate::orchestration::event::Event;
use crate::orchestration::notes::NoteState;
use crate::orchestration::outcome::AgentBill;
use crate::orchestration::request::Outgoing;
use crate::orchestration::team::TaskId;
use crate::units::{SimTime, Tokens};

/// What an agent is about to send, or is waiting for the response of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Activity {
    /// Nothing.
    Idle,
    /// An iteration of a task.
    Iterate,
    /// A turn of the parent: its first prompt, receipts, notices or results.
    Turn(Turn),
    /// The summary request before what it had been about to send.
    Compact(Turn),
    /// The summary request before an iteration.
    CompactIteration,
}

/// Why the parent sends a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// The prompt of a cold session.
    Prompt,
    /// The receipts of background launches, or refusals.
    Receipts,
    /// Completion notices.
    Notices,
    /// The results of foreground children.
    Results,
}

/// A block that enters the prompt with the next request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Added {
    pub(super) tokens: Tokens,
    pub(super) kind: BlockKind,
}

/// Prefixes of an agent's start-up context, where breakpoints stand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Base {
    pub(super) root: PrefixId,
    pub(super) tools: PrefixId,
    pub(super) identity: PrefixId,
    pub(super) system: PrefixId,
    pub(super) project: PrefixId,
}

impl Base {
    pub(super) const EMPTY: Base = {
        let none = PrefixId::FIRST;
        Base { root: none, tools: none, identity: none, system: none, project: none }
    };
}

/// One agent: `main` or a child.
#[derive(Clone, Debug)]
pub(super) struct Agent {
    pub(super) event: Event,
    pub(super) activity: Activity,
    /// Whether it has come to its end, one way or another.
    pub(super) is_over: bool,
    /// Whether that was without a report.
    pub(super) has_failed: bool,
    /// Who launched it, and with which of its messages.
    pub(super) parent: usize,
    pub(super) batch: u32,
    /// Layers above it; main has none.
    pub(super) depth: u32,
    /// How the plan sets it up.
    pub(super) setup: usize,
    /// Whether its report comes as a notice.
    pub(super) in_background: bool,
    /// Its own team, once it delegates.
    pub(super) team: Option<usize>,
    /// Children that it launches, after which of its iterations, and whether its own iterations
    /// are over and it waits for them.
    pub(super) children: u32,
    pub(super) delegates_at: Option<u32>,
    pub(super) is_awaiting: bool,
    /// Messages that it has been sent.
    pub(super) messages: u32,
    /// Number of its model in the plan.
    pub(super) model: usize,
    pub(super) base: Base,
    /// After the last block that all forks of the message share.
    pub(super) before_directive: Option<PrefixId>,
    /// The prompt of its last request, to which `added` comes.
    pub(super) prompt: PrefixId,
    pub(super) added: Vec<Added>,
    pub(super) last: Option<LastPrompt>,
    pub(super) last_start: SimTime,
    /// The newest output of its own in `prompt`, before which a compaction marks its last
    /// breakpoint (semantics K2).
    pub(super) last_output: PrefixId,
    pub(super) inherited: Tokens,
    pub(super) expected: Expected,
    pub(super) task: TaskId,
    /// Random streams of the task.
    pub(super) streams: EntityStreams,
    pub(super) iteration: u32,
    pub(super) iterations: u32,
    /// Leading iterations in which a fresh agent finds out again what the parent knew.
    pub(super) rediscovery: u32,
    pub(super) rediscovery_tokens: u64,
    pub(super) notes: NoteState,
    /// Requests besides turns and iterations, each with its own draws.
    pub(super) extras: u64,
    /// Requests since the last compaction, and compactions that followed each other at once.
    pub(super) since_compaction: u32,
    pub(super) compactions_in_row: u32,
    /// The request that is being tried.
    pub(super) outgoing: Outgoing,
    /// Failed attempts at it, and when the first was made.
    pub(super) failures: u32,
    pub(super) ready: SimTime,
    /// When its tool work would have ended alone on the machine.
    pub(super) tools_due: SimTime,
    /// Keep-alives sent in the present wait.
    pub(super) pings: u32,
    /// When a waiting agent goes on; `NEVER` if it is woken.
    pub(super) resume_at: SimTime,
    /// Output of the request in flight.
    pub(super) output: Tokens,
    pub(super) report: Tokens,
    pub(super) bill: AgentBill,
}

impl Agent {
    pub(super) fn new() -> Agent {
        Agent {
            event: Event::RequestStart,
            activity: Activity::Idle,
            is_over: false,
            has_failed: false,
            parent: 0,
            batch: 0,
            depth: 0,
            setup: 0,
            in_background: false,
            team: None,
            children: 0,
            delegates_at: None,
            is_awaiting: false,
            messages: 0,
            model: 0,
            base: Base::EMPTY,
            before_directive: None,
            prompt: PrefixId::FIRST,
            added: Vec::new(),
            last: None,
            last_start: SimTime::ZERO,
            last_output: PrefixId::FIRST,
            inherited: Tokens::ZERO,
            expected: Expected::Nothing,
            task: TaskId::default(),
            streams: EntityStreams::new(0, 0, 0),
            iteration: 0,
            iterations: 0,
            rediscovery: 0,
            rediscovery_tokens: 0,
            notes: NoteState::default(),
            extras: 0,
            since_compaction: 0,
            compactions_in_row: 0,
            outgoing: Outgoing::NONE,
            failures: 0,
            ready: SimTime::ZERO,
            tools_due: SimTime::ZERO,
            pings: 0,
            resume_at: SimTime::NEVER,
            output: Tokens::ZERO,
            report: Tokens::ZERO,
            bill: AgentBill::default(),
        }
    }

    /// Makes the agent new again and keeps its memory.
    pub(super) fn reset(&mut self) {
        let mut added = std::mem::take(&mut self.added);
        added.clear();
        *self = Agent { added, ..Agent::new() };
    }

    /// Lets a block enter the prompt with the next request; empty blocks do not exist.
    pub(super) fn add(&mut self, tokens: Tokens, kind: BlockKind) {
        if !tokens.is_zero() {
            self.added.push(Added { tokens, kind });
        }
    }

    /// Returns the tokens that enter with the next request.
    pub(super) fn added_tokens(&self) -> Tokens {
        self.added.iter().map(|added| added.tokens).sum()
    }
}
