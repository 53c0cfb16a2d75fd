//! The parent: its turns, its calls, and what comes back (semantics D1, D5 to D9).

use crate::cache::BlockKind;
use crate::ledger::Role;
use crate::orchestration::agent::{Activity, Turn};
use crate::orchestration::event::{Event, EventClass};
use crate::orchestration::log::{Delivery, Happening, WaitReason};
use crate::orchestration::outcome::Outcome;
use crate::orchestration::system::{MAIN, Purpose, System};
use crate::orchestration::{AgentKind, Notices, Queue, RefusalReason};
use crate::units::{SimTime, Tokens};

/// What the parent keeps track of.
#[derive(Clone, Debug, Default)]
pub(super) struct Parent {
    /// Tasks that have been called.
    pub(super) called: u32,
    /// Children running.
    pub(super) running: u32,
    /// Reports that have come and are not yet in the prompt; the first `taken` are.
    reports: Vec<Report>,
    taken: usize,
    /// Calls that the response in flight makes.
    calls: u32,
    /// Turns made, each with its own draws.
    turns: u64,
    /// Whether the parent cannot go on.
    pub(super) is_stopped: bool,
}

/// The report of a child that has ended.
#[derive(Clone, Copy, Debug)]
struct Report {
    child: u32,
    tokens: Tokens,
}

impl Parent {
    /// Makes it new again and keeps its memory.
    pub(super) fn reset(&mut self) {
        let mut reports = std::mem::take(&mut self.reports);
        reports.clear();
        *self = Parent { reports, ..Parent::default() };
    }
}

impl System {
    /// Sets up the session as it stands and lets it begin (semantics D7).
    pub(super) fn begin(&mut self) {
        let startup = self.plan.main.clone();
        let base = self.append_base(0, &startup);
        let is_inline = self.plan.kind == AgentKind::Inline;
        self.agents[MAIN].base = base;
        let Some(context) = self.plan.session.context else {
            let prompt =
                self.append(base.project, self.plan.session.prompt, BlockKind::UserText, false);
            let prompt = self.append(prompt, startup.listing, BlockKind::System, true);
            self.agents[MAIN].prompt = prompt;
            self.agents[MAIN].last_output = prompt;
            self.agents[MAIN].activity = Activity::Turn(Turn::Prompt);
            if is_inline {
                self.begin_task(MAIN, 0);
            }
            self.schedule(MAIN, SimTime::ZERO, Event::RequestStart, EventClass::Start);
            return;
        };
        let history = context.saturating_sub(self.cache.tree().tokens(base.project));
        let prompt = self.append(base.project, history, BlockKind::UserText, true);
        self.agents[MAIN].prompt = prompt;
        self.agents[MAIN].last_output = prompt;
        if self.plan.session.warm {
            self.enter_paid_request(SimTime::from_micros(-self.plan.session.age.as_micros()));
        } else {
            self.agents[MAIN].inherited = context;
        }
        if is_inline {
            self.begin_task(MAIN, 0);
            self.schedule(MAIN, SimTime::ZERO, Event::RequestStart, EventClass::Start);
        } else {
            self.delegate(SimTime::ZERO, self.calls_possible());
        }
    }

    /// Calls that the parent would make now: all, or as many as there are free slots.
    fn calls_possible(&self) -> u32 {
        let left = self.plan.tasks - self.parent.called;
        match self.plan.queue {
            Queue::Harness => left,
            Queue::Parent if self.batch.started < self.batch.calls => 0,
            Queue::Parent => left.min(self.plan.parallel.saturating_sub(self.parent.running)),
        }
    }

    /// Makes calls: they enter the parent, children start, receipts come back.
    fn delegate(&mut self, now: SimTime, calls: u32) {
        self.record.launches.attempted += calls;
        let first = self.parent.called;
        self.parent.called += calls;
        for task in first..first + calls {
            self.note(MAIN, now, Happening::LaunchAttempted { task });
        }
        let refused = self.refuse(now, calls);
        let wrapper = self.plan.wrapper.clone();
        for _ in 0..calls {
            self.agents[MAIN].add(wrapper.call, BlockKind::ToolUse);
        }
        let accepted = calls - refused;
        self.agents[MAIN].activity = Activity::Idle;
        self.open_batch(now, calls, refused);
        if self.plan.background || accepted == 0 {
            for _ in 0..accepted {
                self.agents[MAIN].add(wrapper.receipt, BlockKind::ToolResult);
            }
            self.add_refusals_and_note();
            self.start_turn(Turn::Receipts, now);
        } else {
            self.wait_for_children(now);
        }
    }

    fn wait_for_children(&mut self, now: SimTime) {
        self.note(MAIN, now, Happening::WaitStarted { reason: WaitReason::Children });
        self.wait_until(MAIN, now, SimTime::NEVER);
    }

    /// Refuses calls above the product's limits, the last ones of the message; nothing queues for
    /// it (semantics D5).
    fn refuse(&mut self, now: SimTime, calls: u32) -> u32 {
        if !self.plan.may_delegate {
            self.record.launches.refused_depth += calls;
            self.note_refusals(now, calls, RefusalReason::Depth);
            return calls;
        }
        if self.plan.concurrency >= self.plan.slots {
            return 0;
        }
        let free = self.plan.concurrency.saturating_sub(self.parent.running);
        let refused = calls.saturating_sub(free);
        self.record.launches.refused_concurrency += refused;
        self.note_refusals(now, refused, RefusalReason::Concurrency);
        refused
    }

    /// Notes that the last calls made were refused.
    fn note_refusals(&mut self, now: SimTime, count: u32, reason: RefusalReason) {
        for task in self.parent.called - count..self.parent.called {
            self.note(MAIN, now, Happening::LaunchRefused { task, reason });
        }
    }

    /// The error texts of refused calls, after what the other calls of the message brought.
    fn add_refusals_and_note(&mut self) {
        for _ in 0..self.batch.refused {
            self.agents[MAIN].add(self.plan.wrapper.refusal, BlockKind::ToolResult);
        }
        self.add_note(MAIN);
    }

    fn start_turn(&mut self, turn: Turn, now: SimTime) {
        self.agents[MAIN].activity = Activity::Turn(turn);
        self.schedule(MAIN, now, Event::RequestStart, EventClass::Start);
    }

    /// Lets pending completion notices enter the prompt (semantics D8).
    pub(super) fn gather_notices(&mut self, now: SimTime) {
        let pending = self.parent.reports.len() - self.parent.taken;
        let count = match self.plan.notices {
            Notices::OneByOne => pending.min(1),
            Notices::Batched => pending,
        };
        self.agents[MAIN].add(self.plan.wrapper.notices_lead, BlockKind::UserText);
        for index in self.parent.taken..self.parent.taken + count {
            let Report { child, tokens } = self.parent.reports[index];
            let delivery = Delivery::Notice;
            self.note(MAIN, now, Happening::ReportDelivered { child, delivery });
            self.agents[MAIN].add(self.plan.wrapper.notice + tokens, BlockKind::UserText);
        }
        self.parent.taken += count;
    }

    pub(super) fn send_turn(&mut self, turn: Turn, now: SimTime) {
        self.flush(MAIN);
        let calls = match turn {
            Turn::Prompt | Turn::Notices | Turn::Results => self.calls_possible(),
            Turn::Receipts => 0,
        };
        self.parent.calls = calls;
        let output = if calls > 0 {
            Tokens::new(self.plan.wrapper.call.get() * u64::from(calls))
        } else {
            let stream = self.stream(0, Purpose::Answer);
            self.plan.work.answer.sample_tokens(stream, self.parent.turns)
        };
        let mut out = self.outgoing(MAIN, Role::Main, output);
        out.draw = (0, Purpose::TurnFirstToken, self.parent.turns);
        self.parent.turns += 1;
        self.send_and_wait(MAIN, now, &out);
    }

    pub(super) fn end_turn(&mut self, turn: Turn, now: SimTime) {
        if self.parent.calls > 0 {
            self.delegate(now, self.parent.calls);
            return;
        }
        debug_assert!(turn != Turn::Prompt, "the first prompt makes calls");
        let answer = self.agents[MAIN].output;
        self.agents[MAIN].add(answer, BlockKind::AssistantText);
        self.agents[MAIN].notes.spoke();
        self.agents[MAIN].activity = Activity::Idle;
        self.go_on(now);
    }

    /// The parent is free: it takes up pending notices or waits for children.
    fn go_on(&mut self, now: SimTime) {
        if self.parent.reports.len() > self.parent.taken {
            self.start_turn(Turn::Notices, now);
        } else if self.parent.running > 0 || self.batch.started < self.batch.calls {
            self.wait_for_children(now);
        }
    }

    /// A child has ended: its slot is free and its report comes back.
    pub(super) fn child_ended(&mut self, slot: usize, now: SimTime) {
        self.parent.running -= 1;
        self.batch.ended += u32::from(slot >= self.batch.first_agent);
        self.launch_ready(now);
        if self.plan.background {
            let tokens = self.agents[slot].report;
            self.parent.reports.push(Report { child: slot as u32, tokens });
            self.wake(now);
        } else if self.batch.ended == self.batch.calls {
            self.take_results(now);
        }
    }

    fn wake(&mut self, now: SimTime) {
        if self.agents[MAIN].activity == Activity::Idle && !self.parent.is_stopped {
            self.start_turn(Turn::Notices, now);
        }
    }

    /// The results of a message's foreground children enter together (semantics D1).
    fn take_results(&mut self, now: SimTime) {
        let first = self.batch.first_agent;
        for slot in first..first + self.batch.calls as usize {
            let result = self.plan.wrapper.result + self.agents[slot].report;
            self.agents[MAIN].add(result, BlockKind::ToolResult);
            let (child, delivery) = (slot as u32, Delivery::Result);
            self.note(MAIN, now, Happening::ReportDelivered { child, delivery });
        }
        self.add_refusals_and_note();
        if !self.parent.is_stopped {
            self.start_turn(Turn::Results, now);
        }
    }

    /// The parent has done a task itself: the report stays in its context.
    pub(super) fn end_inline_task(&mut self, now: SimTime) {
        let next = self.agents[MAIN].task + 1;
        if next == self.plan.tasks {
            self.agents[MAIN].activity = Activity::Idle;
            self.note(MAIN, now, Happening::AgentEnded { outcome: Outcome::Completed });
            return;
        }
        let report = self.agents[MAIN].output;
        self.agents[MAIN].add(report, BlockKind::AssistantText);
        self.agents[MAIN].notes.spoke();
        self.begin_task(MAIN, next);
        self.schedule(MAIN, now, Event::RequestStart, EventClass::Start);
    }
}
