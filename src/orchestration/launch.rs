//! When the children of a message start: together, staggered, held, after a pre-warm (semantics
//! D6, D9, L5).

use crate::cache::{BlockKind, PrefixId};
use crate::ledger::Role;
use crate::orchestration::agent::Base;
use crate::orchestration::event::{Event, EventClass};
use crate::orchestration::log::Happening;
use crate::orchestration::plan::Setups;
use crate::orchestration::request::Outgoing;
use crate::orchestration::system::{LAUNCHER, MAIN, System};
use crate::orchestration::team::Batch;
use crate::orchestration::{AgentKind, Launch, Prewarm};
use crate::units::{SimDuration, SimTime};

impl System {
    /// Opens the launches of one message of a team, of whose calls the last are refused.
    pub(super) fn open_batch(&mut self, number: usize, now: SimTime, (calls, refused): (u32, u32)) {
        let owner = self.teams[number].owner;
        let (base, prompt) = (self.agents[owner].base, self.agents[owner].prompt);
        let team = &mut self.teams[number];
        team.members.clear();
        team.batch = Batch {
            number: team.batch.number + 1,
            start: now,
            calls: calls - refused,
            refused,
            release: now,
            base,
            fork_base: prompt,
            fork_calls: prompt,
            fork_shared: prompt,
            ..Batch::default()
        };
        if owner == MAIN {
            self.hold_or_prewarm(number, now, calls);
        }
        self.launch_ready(number, now);
    }

    /// What the launch of the main session's children begins with.
    fn hold_or_prewarm(&mut self, number: usize, now: SimTime, calls: u32) {
        let batch = self.teams[number].batch;
        if self.plan.kind == AgentKind::Fork && self.plan.all_calls() {
            self.append_all_calls(number, calls);
        }
        let release = match self.plan.launch {
            Launch::HoldFirst(longest) => now + longest,
            Launch::Prewarm(part) if batch.number == 1 && batch.calls > 0 => {
                self.prewarm(number, now, part)
            }
            Launch::Together | Launch::Staggered(_) | Launch::Prewarm(_) => now,
        };
        self.teams[number].batch.release = release;
    }

    /// All calls of the message, each with the same placeholder (semantics D3).
    fn append_all_calls(&mut self, number: usize, calls: u32) {
        let (call, placeholder) = (self.plan.fork.call, self.plan.fork.placeholder);
        let mut shared = self.teams[number].batch.fork_base;
        for _ in 0..calls {
            shared = self.append(shared, call, BlockKind::ToolUse, false);
        }
        self.teams[number].batch.fork_calls = shared;
        for _ in 0..calls {
            shared = self.append(shared, placeholder, BlockKind::ToolResult, false);
        }
        self.teams[number].batch.fork_shared = shared;
    }

    /// Makes a prefix of the children readable and returns when it is (semantics L5).
    fn prewarm(&mut self, number: usize, now: SimTime, part: Prewarm) -> SimTime {
        let is_fork = self.plan.kind == AgentKind::Fork;
        let base = if is_fork { self.agents[MAIN].base } else { self.base_of(Setups::FIRST) };
        let prompt = match part {
            Prewarm::System => base.system,
            Prewarm::Shared if is_fork => self.teams[number].batch.fork_shared,
            Prewarm::Project | Prewarm::Shared => base.project,
        };
        if prompt == base.root {
            return now;
        }
        let own = self.outgoing(MAIN, Role::Prewarm, crate::units::Tokens::ZERO);
        let until = |at: PrefixId| if self.is_within(at, prompt) { at } else { prompt };
        let base = Base {
            identity: until(base.identity),
            system: until(base.system),
            project: until(base.project),
            ..base
        };
        let ttl = self.plan.role_ttl(false);
        let (last, bill) = (self.agents[MAIN].last, self.agents[MAIN].bill.last_request);
        let (last_start, expected) = (self.agents[MAIN].last_start, self.agents[MAIN].expected);
        self.agents[MAIN].last = if is_fork { last } else { None };
        let model = self.plan.setups.model(Setups::FIRST);
        let marks_end = true;
        let out = Outgoing { prompt, end: prompt, marks_end, base, model, ttl, ..own };
        let (first_token, _) = self.send(MAIN, now, &out);
        let main = &mut self.agents[MAIN];
        (main.last, main.last_start, main.expected) = (last, last_start, expected);
        main.bill.last_request = bill;
        first_token
    }

    fn is_within(&self, at: PrefixId, prompt: PrefixId) -> bool {
        self.cache.tree().starts_with(prompt, at)
    }

    /// Starts children of a team while there are free slots and they may start.
    pub(super) fn launch_ready(&mut self, number: usize, now: SimTime) {
        let is_main = self.teams[number].owner == MAIN;
        let slots = if is_main { self.plan.slots } else { self.plan.nested.slots };
        loop {
            let team = &self.teams[number];
            if team.batch.started == team.batch.calls || team.running >= slots {
                return;
            }
            let earliest =
                if is_main { self.earliest_start(&team.batch) } else { team.batch.start };
            if earliest > now {
                let class = self.launch_class(&team.batch);
                self.events.schedule(LAUNCHER, earliest, class as u8);
                return;
            }
            self.start_child(number, now, earliest);
        }
    }

    /// The next child of the main session may start: only its launches wait for a time.
    pub(super) fn on_launch(&mut self, now: SimTime) {
        let team = self.team_of(MAIN);
        self.launch_ready(team, now);
    }

    /// When the next child may start, slots apart.
    fn earliest_start(&self, batch: &Batch) -> SimTime {
        match self.plan.launch {
            Launch::Together => batch.start,
            Launch::Staggered(interval) => {
                let micros = interval.as_micros().saturating_mul(i64::from(batch.started));
                batch.start + SimDuration::from_micros(micros)
            }
            Launch::HoldFirst(_) if batch.started == 0 => batch.start,
            Launch::HoldFirst(_) | Launch::Prewarm(_) => batch.release,
        }
    }

    fn launch_class(&self, batch: &Batch) -> EventClass {
        match self.plan.launch {
            Launch::Together | Launch::Staggered(_) => EventClass::Start,
            Launch::HoldFirst(_) if batch.started == 0 => EventClass::Start,
            Launch::HoldFirst(_) | Launch::Prewarm(_) => EventClass::HeldStart,
        }
    }

    fn start_child(&mut self, number: usize, now: SimTime, earliest: SimTime) {
        let task = self.next_task(number);
        let owner = self.teams[number].owner;
        let class = if owner == MAIN {
            self.launch_class(&self.teams[number].batch)
        } else {
            EventClass::Start
        };
        self.record.launches.started += 1;
        self.record.wait += now.since(earliest);
        self.running += 1;
        let slot = self.record.launches.started as usize;
        self.make_room(slot);
        let team = &mut self.teams[number];
        team.batch.started += 1;
        team.running += 1;
        team.members.push(slot);
        let (batch, depth) = (team.batch.number, self.agents[owner].depth + 1);
        let child = &mut self.agents[slot];
        (child.parent, child.batch, child.depth) = (owner, batch, depth);
        if owner == MAIN {
            child.setup = Setups::FIRST;
            child.in_background = self.plan.background;
        } else {
            child.setup = self.plan.nested_setup(depth);
            child.in_background = self.plan.nested.background;
        }
        let kind = self.plan.setups.kind(self.agents[slot].setup);
        let (called, parent) = (self.teams[number].batch.start, owner as u32);
        let index = task.index;
        let launch = Happening::LaunchStarted { task: index, parent, kind, called, earliest };
        self.note(slot, now, launch);
        self.begin_task(slot, task);
        if owner == MAIN && self.plan.kind == AgentKind::Fork {
            self.make_fork(slot, number);
        } else {
            self.make_fresh(slot, task);
        }
        self.schedule(slot, now, Event::RequestStart, class);
    }

    /// The response of a first child has begun: those held for it start now (semantics E7).
    pub(super) fn release_held(&mut self, slot: usize, begun: SimTime) {
        if !matches!(self.plan.launch, Launch::HoldFirst(_)) || self.agents[slot].parent != MAIN {
            return;
        }
        let number = self.team_of(MAIN);
        let team = &mut self.teams[number];
        if team.members.first() == Some(&slot) && begun < team.batch.release {
            team.batch.release = begun;
            if self.events.is_pending(LAUNCHER) {
                self.events.schedule(LAUNCHER, begun, EventClass::HeldStart as u8);
            }
        }
    }
}
