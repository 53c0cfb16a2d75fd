//! The main session: its beginning and its turns (semantics D6, D7).

use crate::cache::BlockKind;
use crate::ledger::Role;
use crate::orchestration::agent::{Activity, Turn};
use crate::orchestration::draws::Purpose;
use crate::orchestration::event::{Event, EventClass};
use crate::orchestration::log::Happening;
use crate::orchestration::outcome::Outcome;
use crate::orchestration::system::{MAIN, System};
use crate::orchestration::team::TaskId;
use crate::orchestration::{AgentKind, Queue};
use crate::units::{SimTime, Tokens};

impl System {
    /// Sets up the session as it stands and lets it begin (semantics D7).
    pub(super) fn begin(&mut self) {
        let startup = self.plan.main.clone();
        let base = self.append_base(0, &startup);
        let is_inline = self.plan.kind == AgentKind::Inline;
        self.agents[MAIN].base = base;
        self.team_of(MAIN);
        let Some(context) = self.plan.session.context else {
            let prompt =
                self.append(base.project, self.plan.session.prompt, BlockKind::UserText, false);
            let prompt = self.append(prompt, startup.listing, BlockKind::System, true);
            self.agents[MAIN].prompt = prompt;
            self.agents[MAIN].last_output = prompt;
            self.agents[MAIN].activity = Activity::Turn(Turn::Prompt);
            if is_inline {
                self.begin_task(MAIN, TaskId::default());
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
            self.begin_task(MAIN, TaskId::default());
            self.schedule(MAIN, SimTime::ZERO, Event::RequestStart, EventClass::Start);
        } else {
            self.delegate(MAIN, SimTime::ZERO, self.calls_possible());
        }
    }

    /// Calls that the main session would make now: all, or as many as there are free slots.
    fn calls_possible(&self) -> u32 {
        let team = &self.teams[MAIN_TEAM];
        let left = self.plan.tasks - team.called;
        match self.plan.queue {
            Queue::Harness => left,
            Queue::Parent if team.batch.started < team.batch.calls => 0,
            Queue::Parent => left.min(self.plan.parallel.saturating_sub(team.running)),
        }
    }

    pub(super) fn start_turn(&mut self, turn: Turn, now: SimTime) {
        self.agents[MAIN].activity = Activity::Turn(turn);
        self.schedule(MAIN, now, Event::RequestStart, EventClass::Start);
    }

    pub(super) fn send_turn(&mut self, turn: Turn, now: SimTime) {
        self.flush(MAIN);
        let calls = match turn {
            Turn::Prompt | Turn::Notices | Turn::Results => {
                self.calls_possible() + self.relaunches_possible()
            }
            Turn::Receipts => 0,
        };
        self.teams[MAIN_TEAM].calls = calls;
        let output = if let Some(messages) = self.message_calls() {
            messages
        } else if calls > 0 {
            let is_workflow = self.plan.kind == AgentKind::Workflow;
            let calls = if is_workflow { 1 } else { u64::from(calls) };
            Tokens::new(self.plan.wrapper.call.get() * calls)
        } else {
            self.plan.work.answer.sample_tokens(self.stream(0, Purpose::Answer), self.turns)
        };
        let mut out = self.outgoing(MAIN, Role::Main, output);
        out.draw = (0, Purpose::TurnFirstToken, self.turns);
        self.turns += 1;
        self.send_and_wait(MAIN, now, &out);
    }

    pub(super) fn end_turn(&mut self, turn: Turn, now: SimTime) {
        if self.message_calls().is_some() {
            self.send_messages(now);
            return;
        }
        let calls = self.teams[MAIN_TEAM].calls;
        if calls > 0 {
            self.delegate(MAIN, now, calls);
            return;
        }
        debug_assert!(turn != Turn::Prompt, "the first prompt makes calls");
        let answer = self.agents[MAIN].output;
        self.agents[MAIN].add(answer, BlockKind::AssistantText);
        self.agents[MAIN].notes.spoke();
        self.agents[MAIN].activity = Activity::Idle;
        self.go_on(now);
    }

    /// The main session is free: it takes up pending notices or waits for children.
    fn go_on(&mut self, now: SimTime) {
        let team = &self.teams[MAIN_TEAM];
        if team.pending() > 0 {
            self.start_turn(Turn::Notices, now);
        } else if team.is_busy() {
            self.wait_for_children(MAIN, now);
        }
    }

    /// The main session has done a task itself: the report stays in its context.
    pub(super) fn end_inline_task(&mut self, now: SimTime) {
        if self.plan.kind != AgentKind::Inline {
            self.end_refused_task(now);
            return;
        }
        let next = self.agents[MAIN].task.index + 1;
        if next == self.plan.tasks {
            self.agents[MAIN].activity = Activity::Idle;
            self.note(MAIN, now, Happening::AgentEnded { outcome: Outcome::Completed });
            return;
        }
        let report = self.agents[MAIN].output;
        self.agents[MAIN].add(report, BlockKind::AssistantText);
        self.agents[MAIN].notes.spoke();
        self.begin_task(MAIN, TaskId { index: next, ..TaskId::default() });
        self.schedule(MAIN, now, Event::RequestStart, EventClass::Start);
    }
}

impl System {
    /// The main session has done a refused task itself.
    fn end_refused_task(&mut self, now: SimTime) {
        let report = self.agents[MAIN].output;
        self.agents[MAIN].add(report, BlockKind::AssistantText);
        self.agents[MAIN].notes.spoke();
        if !self.begins_refused_task(now) {
            self.agents[MAIN].activity = Activity::Idle;
            self.go_on(now);
        }
    }
}

/// The main session's team: it delegates first.
const MAIN_TEAM: usize = 0;
