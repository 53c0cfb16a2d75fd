//! Children: launching, iterating, coming to an end (semantics 5 and 6).

use crate::cache::{BlockKind, PrefixId};
use crate::ledger::Role;
use crate::orchestration::agent::{Activity, Base};
use crate::orchestration::event::{Event, EventClass};
use crate::orchestration::log::Happening;
use crate::orchestration::outcome::Outcome;
use crate::orchestration::request::Outgoing;
use crate::orchestration::system::{MAIN, Purpose, System};
use crate::orchestration::{AgentKind, Launch, Prewarm};
use crate::units::{SimTime, Tokens};
use crate::workload::PrefixChange;

/// The calls of one message of the parent, as far as they have not ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Batch {
    /// When the calls were made.
    pub(super) start: SimTime,
    /// Calls that were accepted.
    pub(super) calls: u32,
    /// Calls that were refused; their tasks come after those of the accepted ones.
    pub(super) refused: u32,
    /// Task of the first call.
    pub(super) first_task: u32,
    /// Children of it that have started.
    pub(super) started: u32,
    /// Children of it that have ended.
    pub(super) ended: u32,
    /// First of its children.
    pub(super) first_agent: usize,
    /// When held children may start, as far as that is known.
    pub(super) release: SimTime,
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
            start: SimTime::ZERO,
            calls: 0,
            refused: 0,
            first_task: 0,
            started: 0,
            ended: 0,
            first_agent: 1,
            release: SimTime::ZERO,
            fork_base: PrefixId::FIRST,
            fork_calls: PrefixId::FIRST,
            fork_shared: PrefixId::FIRST,
        }
    }
}

impl System {
    /// Opens the launches of one message, of whose calls the last `refused` are refused.
    pub(super) fn open_batch(&mut self, now: SimTime, calls: u32, refused: u32) {
        let base = self.agents[MAIN].prompt;
        self.batch = Batch {
            start: now,
            calls: calls - refused,
            refused,
            first_task: self.parent.called - calls,
            started: 0,
            ended: 0,
            first_agent: self.record.launches.started as usize + 1,
            release: now,
            fork_base: base,
            fork_calls: base,
            fork_shared: base,
        };
        if self.plan.kind == AgentKind::Fork && self.plan.all_calls() {
            self.append_all_calls(base, calls);
        }
        let is_first = self.batch.first_agent == 1;
        match self.plan.launch {
            Launch::HoldFirst(longest) => self.batch.release = now + longest,
            Launch::Prewarm(part) if is_first && self.batch.calls > 0 => {
                self.batch.release = self.prewarm(now, part);
            }
            Launch::Together | Launch::Staggered(_) | Launch::Prewarm(_) => {}
        }
        self.launch_ready(now);
    }

    /// All calls of the message, each with the same placeholder (semantics D3).
    fn append_all_calls(&mut self, base: PrefixId, calls: u32) {
        let (call, placeholder) = (self.plan.fork.call, self.plan.fork.placeholder);
        let mut shared = base;
        for _ in 0..calls {
            shared = self.append(shared, call, BlockKind::ToolUse, false);
        }
        self.batch.fork_calls = shared;
        for _ in 0..calls {
            shared = self.append(shared, placeholder, BlockKind::ToolResult, false);
        }
        self.batch.fork_shared = shared;
    }

    /// Makes a prefix of the children readable and returns when it is (semantics L5).
    fn prewarm(&mut self, now: SimTime, part: Prewarm) -> SimTime {
        let is_fork = self.plan.kind == AgentKind::Fork;
        let base = if is_fork { self.agents[MAIN].base } else { self.child_base() };
        let prompt = match part {
            Prewarm::System => base.system,
            Prewarm::Shared if is_fork => self.batch.fork_shared,
            Prewarm::Project | Prewarm::Shared => base.project,
        };
        if prompt == base.root {
            return now;
        }
        let own = self.outgoing(MAIN, Role::Prewarm, Tokens::ZERO);
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
        let model = self.child_model();
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

    /// Starts children while there are free slots and they may start.
    pub(super) fn launch_ready(&mut self, now: SimTime) {
        while self.batch.started < self.batch.calls && self.parent.running < self.plan.slots {
            let earliest = self.earliest_start();
            if earliest > now {
                let class = self.launch_class();
                self.events.schedule(self.launcher(), earliest, class as u8);
                return;
            }
            self.start_child(now, earliest);
        }
    }

    pub(super) fn on_launch(&mut self, now: SimTime) {
        self.launch_ready(now);
    }

    /// When the next child may start, slots apart.
    fn earliest_start(&self) -> SimTime {
        let batch = &self.batch;
        match self.plan.launch {
            Launch::Together => batch.start,
            Launch::Staggered(interval) => {
                let micros = interval.as_micros().saturating_mul(i64::from(batch.started));
                batch.start + crate::units::SimDuration::from_micros(micros)
            }
            Launch::HoldFirst(_) if batch.started == 0 => batch.start,
            Launch::HoldFirst(_) | Launch::Prewarm(_) => batch.release,
        }
    }

    fn launch_class(&self) -> EventClass {
        match self.plan.launch {
            Launch::Together | Launch::Staggered(_) => EventClass::Start,
            Launch::HoldFirst(_) if self.batch.started == 0 => EventClass::Start,
            Launch::HoldFirst(_) | Launch::Prewarm(_) => EventClass::HeldStart,
        }
    }

    fn start_child(&mut self, now: SimTime, earliest: SimTime) {
        let class = self.launch_class();
        self.record.launches.started += 1;
        self.record.wait += now.since(earliest);
        self.batch.started += 1;
        self.parent.running += 1;
        let slot = self.record.launches.started as usize;
        let task = self.batch.first_task + self.batch.started - 1;
        let (kind, called) = (self.plan.kind, self.batch.start);
        self.note(slot, now, Happening::LaunchStarted { task, kind, called, earliest });
        self.begin_task(slot, task);
        if self.plan.kind == AgentKind::Fork {
            self.make_fork(slot);
        } else {
            self.make_fresh(slot, task);
        }
        self.schedule(slot, now, Event::RequestStart, class);
    }

    /// Draws how long a task is and makes the agent ready for its first iteration.
    pub(super) fn begin_task(&mut self, slot: usize, task: u32) {
        let counter = u64::from(task);
        let per_task = |purpose| (self.stream(0, purpose), counter);
        let (stream, at) = per_task(Purpose::Iterations);
        let iterations = self.plan.work.iterations.sample_count_at_least_one(stream, at);
        let (stream, at) = per_task(Purpose::Report);
        let report = self.plan.work.report.sample_tokens(stream, at);
        let mut rediscovery = (0, 0);
        if matches!(self.plan.kind, AgentKind::Fresh | AgentKind::Explore | AgentKind::Plan) {
            let (stream, at) = per_task(Purpose::RediscoveryIterations);
            let extra = self.plan.work.rediscovery_iterations.sample(stream, at);
            let (stream, at) = per_task(Purpose::RediscoveryTokens);
            let tokens = self.plan.work.rediscovery_tokens.sample_tokens(stream, at);
            rediscovery = ((extra + 0.5) as u32, tokens.get());
        }
        let streams = self.streams(1 + u64::from(task));
        let agent = &mut self.agents[slot];
        agent.activity = Activity::Iterate;
        agent.task = task;
        agent.streams = streams;
        agent.iteration = 0;
        agent.report = report;
        (agent.rediscovery, agent.rediscovery_tokens) = rediscovery;
        agent.iterations = iterations + agent.rediscovery;
    }

    fn make_fork(&mut self, slot: usize) {
        let fork = &self.plan.fork;
        let (call, placeholder, directive) = (fork.call, fork.placeholder, fork.directive);
        let shared = self.batch.fork_shared;
        let mut prompt = shared;
        let mut calls = self.batch.fork_calls;
        if !self.plan.all_calls() {
            calls = self.append(prompt, call, BlockKind::ToolUse, false);
            prompt = self.append(calls, placeholder, BlockKind::ToolResult, false);
        }
        let inherited = self.cache.tree().tokens(self.batch.fork_base);
        let base = self.agents[MAIN].base;
        let agent = &mut self.agents[slot];
        agent.base = base;
        agent.inherited = inherited;
        agent.before_directive = Some(shared);
        agent.last_output = calls;
        agent.prompt = self.batch.fork_base;
        let prompt = self.append(prompt, directive, BlockKind::UserText, false);
        self.agents[slot].prompt = prompt;
    }

    fn make_fresh(&mut self, slot: usize, task: u32) {
        let base = self.child_base();
        let stream = self.stream(0, Purpose::Prompt);
        let tokens = self.plan.work.prompt.sample_tokens(stream, u64::from(task));
        let listing = self.plan.child.listing;
        let prompt = self.append(base.project, tokens, BlockKind::UserText, false);
        let prompt = self.append(prompt, listing, BlockKind::System, true);
        let model = self.child_model();
        let agent = &mut self.agents[slot];
        agent.model = model;
        agent.base = base;
        agent.prompt = prompt;
        agent.last_output = prompt;
    }

    fn child_base(&mut self) -> Base {
        if let Some(base) = self.child_base {
            return base;
        }
        let startup = self.plan.child.clone();
        let model = self.child_model();
        let base = self.append_base(model, &startup);
        self.child_base = Some(base);
        base
    }

    /// A fork runs on the parent's model (semantics D3).
    fn child_model(&self) -> usize {
        match self.plan.kind {
            AgentKind::Fork | AgentKind::Inline => 0,
            AgentKind::Fresh | AgentKind::Explore | AgentKind::Plan => 1,
        }
    }

    pub(super) fn send_iteration(&mut self, slot: usize, now: SimTime) {
        self.flush(slot);
        self.change_prefix(slot);
        let agent = &self.agents[slot];
        let entity = 1 + u64::from(agent.task);
        let (own, again) = (agent.iteration, agent.iteration < agent.rediscovery);
        let counter = u64::from(if again { own } else { own - agent.rediscovery });
        let (output, first_token) = if again {
            (Purpose::RediscoveryOutput, Purpose::RediscoveryFirstToken)
        } else {
            (Purpose::Output, Purpose::FirstToken)
        };
        let output = if own + 1 == agent.iterations {
            agent.report
        } else {
            self.plan.work.output.sample_tokens(agent.streams.purpose(output as u64), counter)
        };
        let role = if slot == MAIN { Role::Main } else { Role::Subagent };
        let mut out = self.outgoing(slot, role, output);
        out.draw = (entity, first_token, counter);
        self.send_and_wait(slot, now, &out);
    }

    /// The first response has begun: those held for it start now (semantics E7).
    pub(super) fn release_held(&mut self, begun: SimTime) {
        if matches!(self.plan.launch, Launch::HoldFirst(_)) && begun < self.batch.release {
            self.batch.release = begun;
            if self.events.is_pending(self.launcher()) {
                let class = EventClass::HeldStart;
                self.events.schedule(self.launcher(), begun, class as u8);
            }
        }
    }

    pub(super) fn end_iteration(&mut self, slot: usize, now: SimTime) {
        let agent = &self.agents[slot];
        let own = agent.iteration;
        if own + 1 == agent.iterations {
            self.end_task(slot, now);
            return;
        }
        let streams = agent.streams;
        let again = own < agent.rediscovery;
        let counter = u64::from(if again { own } else { own - agent.rediscovery });
        let (result, time) = if again {
            (share(agent.rediscovery_tokens, agent.rediscovery, own), Purpose::RediscoveryToolTime)
        } else {
            let stream = streams.purpose(Purpose::ToolResult as u64);
            (self.plan.work.tool_result.sample_tokens(stream, counter), Purpose::ToolTime)
        };
        let stream = streams.purpose(time as u64);
        let time = self.plan.work.tool_time.sample_duration(stream, counter);
        let agent = &mut self.agents[slot];
        agent.iteration += 1;
        let output = agent.output;
        agent.add(output, BlockKind::ToolUse);
        agent.add(result, BlockKind::ToolResult);
        self.add_note(slot);
        self.start_tools(slot, now, time);
    }

    fn end_task(&mut self, slot: usize, now: SimTime) {
        if slot == MAIN {
            self.end_inline_task(now);
            return;
        }
        self.agents[slot].activity = Activity::Idle;
        self.record.launches.completed += 1;
        self.note(slot, now, Happening::AgentEnded { outcome: Outcome::Completed });
        self.child_ended(slot, now);
    }

    /// Makes the prompt anew from the level that changes before every request.
    fn change_prefix(&mut self, slot: usize) {
        let old = self.agents[slot].base;
        let from = match self.plan.work.prefix_change {
            PrefixChange::None => return,
            PrefixChange::Messages => old.system,
            PrefixChange::System => old.tools,
            PrefixChange::Tools => old.root,
        };
        let mut agent = self.agents[slot].clone();
        let mut at = from;
        let kept = self.cache.tree().tokens(from);
        for (block, tokens, kind) in self.cache.tree().blocks(self.agents[slot].prompt) {
            if self.cache.tree().tokens(block) <= kept {
                continue;
            }
            let startup = self.cache.tree().is_startup(block);
            at = self.append(at, tokens, kind, startup);
            let places = [
                &mut agent.base.tools,
                &mut agent.base.identity,
                &mut agent.base.system,
                &mut agent.base.project,
                &mut agent.last_output,
            ];
            for place in places.into_iter().chain(agent.before_directive.as_mut()) {
                if *place == block {
                    *place = at;
                }
            }
        }
        agent.prompt = at;
        self.agents[slot] = agent;
    }
}

/// Part `index` of `total` spread over `parts`, the remainder over the first ones.
fn share(total: u64, parts: u32, index: u32) -> Tokens {
    let parts = u64::from(parts);
    Tokens::new(total / parts + u64::from(u64::from(index) < total % parts))
}
