//! What happens in a replication, for whoever tells or draws it.
//!
//! The engine notes what it does while a log is kept. What follows from that (ends of responses
//! and waits, lives of cache entries) is added when the replication is over.

use std::collections::BTreeMap;

use crate::cache::{PrefixId, Ttl};
use crate::ledger::RunLog;
use crate::orchestration::{AgentKind, Outcome, RefusalReason};
use crate::units::{SimDuration, SimTime, Tokens};

/// Everything that happened in one replication, in the order of time.
#[derive(Clone, Debug, Default)]
pub struct EventLog {
    /// Its requests, by which happenings number them, and its failed attempts.
    pub run: RunLog,
    /// What happened. At one instant entries expire first (semantics E7).
    pub happenings: Vec<LogEntry>,
    /// End of the last response.
    pub end: SimTime,
}

/// One line of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// When it happened.
    pub at: SimTime,
    /// To which agent: 0 is `main`, 1 is `a1`.
    pub agent: u32,
    /// What happened.
    pub happening: Happening,
}

/// What can happen. Closed: whoever shows a log matches on all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happening {
    /// A request starts; `request` is its place in [`RunLog::requests`].
    RequestStarted {
        /// Which one.
        request: usize,
        /// What it is for.
        purpose: RequestPurpose,
    },
    /// Its response begins: what it wrote can be read from now on.
    ResponseBegun {
        /// Which one.
        request: usize,
    },
    /// Its response ends.
    RequestEnded {
        /// Which one.
        request: usize,
    },
    /// The provider refuses an attempt (semantics R1).
    AttemptFailed {
        /// The HTTP status: 429 above a rate limit, 529 when overloaded.
        status: u16,
        /// Number of the attempt among those of its request, from 1.
        attempt: u32,
        /// When the client tries again; `None` where it gives up.
        retry_at: Option<SimTime>,
    },
    /// A request writes a cache entry.
    EntryWritten {
        /// The prefix.
        entry: PrefixId,
        /// Its length.
        tokens: Tokens,
        /// Its lifetime.
        ttl: Ttl,
        /// When it ends, as far as that is known now.
        expires: SimTime,
    },
    /// A request moves the end of an entry that lives.
    EntryRefreshed {
        /// The prefix.
        entry: PrefixId,
        /// Its length.
        tokens: Tokens,
        /// When it ends now.
        expires: SimTime,
    },
    /// An entry ends; the agent is the last that wrote or refreshed it.
    EntryExpired {
        /// The prefix.
        entry: PrefixId,
        /// Its length.
        tokens: Tokens,
    },
    /// The tools that a response calls begin.
    ToolsStarted {
        /// How long they take alone on the machine.
        work: SimDuration,
    },
    /// They have ended.
    ToolsEnded {
        /// How much later than alone on the machine.
        late: SimDuration,
    },
    /// A call that asks for a child is made.
    LaunchAttempted {
        /// The task, from 0.
        task: u32,
    },
    /// It is refused.
    LaunchRefused {
        /// The task, from 0.
        task: u32,
        /// Why; the plan has the words.
        reason: RefusalReason,
    },
    /// A child, the agent of this line, starts.
    LaunchStarted {
        /// The task, from 0 for each agent that delegates.
        task: u32,
        /// Who launched it.
        parent: u32,
        /// What it is.
        kind: AgentKind,
        /// When the call was made.
        called: SimTime,
        /// When it might have started but for children that ran.
        earliest: SimTime,
    },
    /// A child that had ended goes on: its parent has sent it a message.
    Resumed,
    /// A child's report enters the parent's prompt.
    ReportDelivered {
        /// Number of the child.
        child: u32,
        /// How.
        delivery: Delivery,
    },
    /// An agent comes to its end.
    AgentEnded {
        /// How.
        outcome: Outcome,
    },
    /// A conversation has grown too long and is about to be summarized (semantics K1).
    CompactionStarted {
        /// The prompt that would have been sent.
        tokens: Tokens,
    },
    /// The summary has taken its place.
    Compacted {
        /// The prompt that is sent instead.
        tokens: Tokens,
    },
    /// An agent begins to wait.
    WaitStarted {
        /// For what.
        reason: WaitReason,
    },
    /// It goes on.
    WaitEnded {
        /// What it waited for.
        reason: WaitReason,
    },
}

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestPurpose {
    /// The last request of a session that was already there; paid before the run.
    Earlier,
    /// The first prompt of a session.
    Prompt,
    /// The parent's turn after receipts of background launches, or refusals.
    Receipts,
    /// Its turn after completion notices.
    Notices,
    /// Its turn after the results of foreground children.
    Results,
    /// An iteration of a task.
    Iteration {
        /// Its number, from 1.
        number: u32,
        /// How many the task has.
        of: u32,
    },
    /// A leading iteration that finds out again what the parent knew.
    Rediscovery {
        /// Its number, from 1.
        number: u32,
        /// How many there are.
        of: u32,
    },
    /// A summary that will take the place of a conversation.
    Compaction,
    /// A minimal request that keeps entries alive.
    KeepAlive,
    /// A minimal request that makes a prefix readable before a fan-out.
    Prewarm,
}

impl RequestPurpose {
    /// Returns the name used in event logs.
    pub const fn name(self) -> &'static str {
        match self {
            RequestPurpose::Earlier => "earlier",
            RequestPurpose::Prompt => "prompt",
            RequestPurpose::Receipts => "receipts",
            RequestPurpose::Notices => "notices",
            RequestPurpose::Results => "results",
            RequestPurpose::Iteration { .. } => "iteration",
            RequestPurpose::Rediscovery { .. } => "rediscovery",
            RequestPurpose::Compaction => "compaction",
            RequestPurpose::KeepAlive => "keep_alive",
            RequestPurpose::Prewarm => "prewarm",
        }
    }

    /// Returns whether an agent sends it beside its own work, so that it ends no wait.
    pub const fn is_minimal(self) -> bool {
        matches!(self, RequestPurpose::KeepAlive | RequestPurpose::Prewarm)
    }
}

/// How a child's report comes back (semantics D1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// As the result of the call.
    Result,
    /// As a completion notice.
    Notice,
}

impl Delivery {
    /// Returns the name used in event logs.
    pub const fn name(self) -> &'static str {
        match self {
            Delivery::Result => "result",
            Delivery::Notice => "notice",
        }
    }
}

/// What an agent waits for, its own tools apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WaitReason {
    /// A called child: for its turn to be launched (staggered, held for the first, pre-warmed).
    Launch,
    /// A called child: for another one to end.
    Slot,
    /// To try a refused request again.
    Retry,
    /// The parent: for its children.
    Children,
}

impl WaitReason {
    /// Returns the name used in event logs.
    pub const fn name(self) -> &'static str {
        match self {
            WaitReason::Launch => "launch",
            WaitReason::Slot => "slot",
            WaitReason::Retry => "retry",
            WaitReason::Children => "children",
        }
    }
}

/// A stretch of an agent's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Whose: 0 is `main`, 1 is `a1`.
    pub agent: u32,
    /// Its beginning.
    pub start: SimTime,
    /// Its end, not before its beginning.
    pub end: SimTime,
    /// What it is filled with.
    pub activity: SpanActivity,
}

/// What an agent's time is filled with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SpanActivity {
    /// A request, from its start to the end of its response; a place in [`RunLog::requests`].
    Request(usize),
    /// Its tools.
    Tools,
    /// Waiting.
    Wait(WaitReason),
}

impl EventLog {
    /// Returns how agents spend their time, in the order in which spans begin.
    ///
    /// Spans of one agent follow each other; only minimal requests stand beside others.
    pub fn spans(&self) -> Vec<Span> {
        let mut spans = Vec::new();
        let mut open = BTreeMap::new();
        for entry in &self.happenings {
            let Some((activity, begins)) = entry.happening.bound() else {
                continue;
            };
            if begins {
                open.insert((entry.agent, activity), spans.len());
                let (agent, start) = (entry.agent, entry.at);
                spans.push(Span { agent, start, end: start, activity });
            } else if let Some(index) = open.remove(&(entry.agent, activity)) {
                let span: &mut Span = &mut spans[index];
                span.end = entry.at;
            }
        }
        spans
    }

    /// Adds what follows from what the engine noted, and puts all in the order of time.
    pub(super) fn complete(&mut self) {
        let mut all = Vec::with_capacity(self.happenings.len() * 2);
        for entry in &self.happenings {
            all.push(*entry);
            self.add_consequences(entry, &mut all);
        }
        all.extend(expiries(&all, self.end));
        if !all.iter().any(|entry| entry.agent == 0 && entry.happening.is_end()) {
            let happening = Happening::AgentEnded { outcome: Outcome::Completed };
            all.push(LogEntry { at: self.end, agent: 0, happening });
        }
        let is_late = |entry: &LogEntry| !matches!(entry.happening, Happening::EntryExpired { .. });
        all.sort_by_key(|entry| (entry.at, is_late(entry)));
        self.happenings = end_waits(all);
    }

    fn add_consequences(&self, entry: &LogEntry, all: &mut Vec<LogEntry>) {
        let mut push = |at, happening| all.push(LogEntry { at, agent: entry.agent, happening });
        let mut wait = |reason, from, to| {
            if from < to {
                push(from, Happening::WaitStarted { reason });
                push(to, Happening::WaitEnded { reason });
            }
        };
        if let Happening::AttemptFailed { retry_at: Some(retry_at), .. } = entry.happening {
            wait(WaitReason::Retry, entry.at, retry_at);
        }
        if let Happening::LaunchStarted { called, earliest, .. } = entry.happening {
            wait(WaitReason::Launch, called, earliest);
            wait(WaitReason::Slot, earliest, entry.at);
        }
        if let Happening::RequestStarted { request, .. } = entry.happening {
            let record = &self.run.requests[request];
            push(record.first_token, Happening::ResponseBegun { request });
            push(record.end, Happening::RequestEnded { request });
        }
    }
}

impl Happening {
    /// Returns the span that this is an end of, and whether it is the beginning.
    fn bound(self) -> Option<(SpanActivity, bool)> {
        match self {
            Happening::RequestStarted { request, .. } => {
                Some((SpanActivity::Request(request), true))
            }
            Happening::RequestEnded { request } => Some((SpanActivity::Request(request), false)),
            Happening::ToolsStarted { .. } => Some((SpanActivity::Tools, true)),
            Happening::ToolsEnded { .. } => Some((SpanActivity::Tools, false)),
            Happening::WaitStarted { reason } => Some((SpanActivity::Wait(reason), true)),
            Happening::WaitEnded { reason } => Some((SpanActivity::Wait(reason), false)),
            Happening::ResponseBegun { .. }
            | Happening::AttemptFailed { .. }
            | Happening::EntryWritten { .. }
            | Happening::EntryRefreshed { .. }
            | Happening::EntryExpired { .. }
            | Happening::LaunchAttempted { .. }
            | Happening::LaunchRefused { .. }
            | Happening::LaunchStarted { .. }
            | Happening::Resumed
            | Happening::ReportDelivered { .. }
            | Happening::AgentEnded { .. }
            | Happening::CompactionStarted { .. }
            | Happening::Compacted { .. } => None,
        }
    }

    fn is_end(self) -> bool {
        matches!(self, Happening::AgentEnded { .. })
    }

    /// Returns whether an agent that does this no longer waits for children.
    fn goes_on(self) -> bool {
        if let Happening::RequestStarted { purpose, .. } = self {
            return !purpose.is_minimal();
        }
        matches!(
            self,
            Happening::ReportDelivered { .. }
                | Happening::CompactionStarted { .. }
                | Happening::AttemptFailed { .. }
                | Happening::AgentEnded { .. }
        )
    }
}

/// Returns where entries have expired until `end`: an entry is gone at the instant at which its
/// lifetime ends (semantics E5).
fn expiries(all: &[LogEntry], end: SimTime) -> Vec<LogEntry> {
    let mut found = Vec::new();
    let mut live: BTreeMap<PrefixId, (SimTime, LogEntry)> = BTreeMap::new();
    for entry in all {
        let (Happening::EntryWritten { entry: prefix, tokens, expires, .. }
        | Happening::EntryRefreshed { entry: prefix, tokens, expires }) = entry.happening
        else {
            continue;
        };
        let happening = Happening::EntryExpired { entry: prefix, tokens };
        let next = LogEntry { at: expires, agent: entry.agent, happening };
        if let Some((expired, ending)) = live.insert(prefix, (expires, next))
            && expired <= entry.at
        {
            found.push(ending);
        }
    }
    found.extend(live.into_values().filter(|(expires, _)| *expires <= end).map(|(_, entry)| entry));
    found
}

/// Ends each wait for children where the parent goes on.
fn end_waits(all: Vec<LogEntry>) -> Vec<LogEntry> {
    let reason = WaitReason::Children;
    let mut waiting: Vec<u32> = Vec::new();
    let mut ended = Vec::with_capacity(all.len());
    for entry in all {
        if entry.happening.goes_on()
            && let Some(place) = waiting.iter().position(|agent| *agent == entry.agent)
        {
            waiting.swap_remove(place);
            ended.push(LogEntry { happening: Happening::WaitEnded { reason }, ..entry });
        }
        if entry.happening == (Happening::WaitStarted { reason }) {
            waiting.push(entry.agent);
        }
        ended.push(entry);
    }
    ended
}
