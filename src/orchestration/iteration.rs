//! The loop of an agent that does a task: iterations, tool work, the end (semantics 5).

use crate::cache::BlockKind;
use crate::ledger::Role;
use crate::orchestration::AgentKind;
use crate::orchestration::agent::{Activity, Agent};
use crate::orchestration::draws::Purpose;
use crate::orchestration::log::Happening;
use crate::orchestration::outcome::Outcome;
use crate::orchestration::system::{MAIN, System};
use crate::orchestration::team::TaskId;
use crate::units::{SimTime, Tokens};
use crate::workload::PrefixChange;

impl System {
    /// Draws how long a task is and makes the agent ready for its first iteration.
    pub(super) fn begin_task(&mut self, slot: usize, task: TaskId) {
        let (work, draws) = (&self.plan.work, &self.draws);
        let iterations = work.draw_iterations(draws, task);
        let report = work.draw_report(draws, task);
        let mut rediscovery = (0, Tokens::ZERO);
        if slot != MAIN && self.plan.setups.kind(self.agents[slot].setup) != AgentKind::Fork {
            rediscovery = work.draw_rediscovery(draws, task);
        }
        let may_nest = self.may_nest(slot);
        let children = if may_nest { self.plan.nested.draw_children(draws, task) } else { 0 };
        let streams = draws.task(task);
        let after = self.plan.nested.after.min(iterations - 1);
        let agent = &mut self.agents[slot];
        agent.activity = Activity::Iterate;
        agent.task = task;
        agent.streams = streams;
        agent.iteration = 0;
        agent.report = report;
        (agent.rediscovery, agent.rediscovery_tokens) = (rediscovery.0, rediscovery.1.get());
        agent.iterations = iterations + agent.rediscovery;
        if children > 0 {
            agent.children = children;
            agent.delegates_at = Some(agent.rediscovery + after);
            agent.iterations += 1;
        }
    }

    /// Returns whether a child asks for children of its own: a fork does in vain, since the tool
    /// stays listed; whoever lacks the tool does not.
    fn may_nest(&self, slot: usize) -> bool {
        let agent = &self.agents[slot];
        slot != MAIN
            && match self.plan.setups.kind(agent.setup) {
                AgentKind::Fork => true,
                AgentKind::Fresh => self.plan.depth.is_none_or(|depth| agent.depth < depth),
                AgentKind::Explore | AgentKind::Plan | AgentKind::Workflow | AgentKind::Inline => {
                    false
                }
            }
    }

    pub(super) fn send_iteration(&mut self, slot: usize, now: SimTime) {
        self.flush(slot);
        self.change_prefix(slot);
        let agent = &self.agents[slot];
        let role = if slot == MAIN { Role::Main } else { Role::Subagent };
        if agent.delegates_at == Some(agent.iteration) {
            let call = self.plan.nested.wrapper.call.get();
            let output = Tokens::new(call * u64::from(agent.children));
            let out = self.outgoing(slot, role, output);
            self.send_and_wait(slot, now, &out);
            return;
        }
        let place = Place::of(agent);
        let first_token =
            if place.again { Purpose::RediscoveryFirstToken } else { Purpose::FirstToken };
        let output = if place.is_last {
            agent.report
        } else {
            self.plan.work.draw_output(agent.streams, place.again, place.counter)
        };
        let entity = agent.task.entity();
        let mut out = self.outgoing(slot, role, output);
        out.draw = (entity, first_token, place.counter);
        self.send_and_wait(slot, now, &out);
    }

    pub(super) fn end_iteration(&mut self, slot: usize, now: SimTime) {
        let agent = &self.agents[slot];
        let place = Place::of(agent);
        if place.is_last {
            self.end_task(slot, now);
            return;
        }
        if agent.delegates_at == Some(agent.iteration) {
            self.delegate(slot, now, agent.children);
            return;
        }
        let streams = agent.streams;
        let (result, time) = if place.again {
            let share = share(agent.rediscovery_tokens, agent.rediscovery, agent.iteration);
            (share, Purpose::RediscoveryToolTime)
        } else {
            (self.plan.work.draw_tool_result(streams, place.counter), Purpose::ToolTime)
        };
        let stream = streams.purpose(time as u64);
        let time = self.plan.work.tool_time.sample_duration(stream, place.counter);
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
        if self.has_children_out(slot) {
            self.await_children(slot, now);
            return;
        }
        self.agents[slot].activity = Activity::Idle;
        self.agents[slot].is_over = true;
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

/// Where in its task an agent is.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// Whether it finds out again what the parent knew.
    again: bool,
    /// Number of the iteration among those of its sort, from which it draws.
    counter: u64,
    is_last: bool,
}

impl Place {
    /// A message with calls is none of the task's own iterations: it shifts no draw.
    fn of(agent: &Agent) -> Place {
        let own = agent.iteration;
        let again = own < agent.rediscovery;
        let calls = u32::from(agent.delegates_at.is_some_and(|at| at < own));
        let counter = if again { own } else { own - agent.rediscovery - calls };
        Place { again, counter: u64::from(counter), is_last: own + 1 == agent.iterations }
    }
}

/// Part `index` of `total` spread over `parts`, the remainder over the first ones.
fn share(total: u64, parts: u32, index: u32) -> Tokens {
    let parts = u64::from(parts);
    Tokens::new(total / parts + u64::from(u64::from(index) < total % parts))
}
