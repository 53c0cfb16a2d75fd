//! Delegation, whoever delegates: calls, refusals, and what comes back (semantics D1, D5, D8).

use crate::cache::BlockKind;
use crate::orchestration::agent::{Activity, Turn};
use crate::orchestration::event::{Event, EventClass};
use crate::orchestration::log::{Delivery, Happening, WaitReason};
use crate::orchestration::system::{MAIN, System};
use crate::orchestration::team::{Report, TaskId, Team};
use crate::orchestration::{AgentKind, Notices, RefusalReason, Wrapper};
use crate::units::SimTime;

impl System {
    /// Returns the number of an agent's team; it gets one when it first delegates.
    pub(super) fn team_of(&mut self, slot: usize) -> usize {
        if let Some(team) = self.agents[slot].team {
            return team;
        }
        let team = self.teams_used;
        self.teams_used += 1;
        if team == self.teams.len() {
            self.teams.push(Team::default());
        }
        let family = if slot == MAIN { 0 } else { self.agents[slot].task.children() };
        self.teams[team].reset(slot, family);
        self.agents[slot].team = Some(team);
        team
    }

    /// Returns what wraps the calls of an agent.
    pub(super) fn wrapper(&self, slot: usize) -> &Wrapper {
        if slot == MAIN { &self.plan.wrapper } else { &self.plan.nested.wrapper }
    }

    /// Returns whether what an agent delegates is a workflow.
    fn is_workflow(&self, slot: usize) -> bool {
        slot == MAIN && self.plan.kind == AgentKind::Workflow
    }

    /// Makes calls: they enter the agent's prompt, children start, receipts come back.
    pub(super) fn delegate(&mut self, slot: usize, now: SimTime, calls: u32) {
        let team = self.team_of(slot);
        self.record.launches.attempted += calls;
        self.call_tasks(team, calls);
        for index in 0..calls as usize {
            let task = self.teams[team].message[index];
            self.note(slot, now, Happening::LaunchAttempted { task });
        }
        let refused = self.refuse(slot, now, calls);
        self.keep_refused(team, refused);
        let wrapper = self.wrapper(slot).clone();
        // A workflow is one call, whatever it launches.
        let is_workflow = self.is_workflow(slot);
        let (calls_made, accepted) = if is_workflow { (1, 1) } else { (calls, calls - refused) };
        for _ in 0..calls_made {
            self.agents[slot].add(wrapper.call, BlockKind::ToolUse);
        }
        self.agents[slot].activity = Activity::Idle;
        self.open_batch(team, now, (calls, refused));
        let background =
            if slot == MAIN { self.plan.background } else { self.plan.nested.background };
        if background || accepted == 0 {
            for _ in 0..accepted {
                self.agents[slot].add(wrapper.receipt, BlockKind::ToolResult);
            }
            self.add_refusals_and_note(slot);
            self.go_on_after(slot, Turn::Receipts, now);
        } else {
            self.wait_for_children(slot, now);
        }
    }

    /// Puts the tasks of a message together: first those that are launched again, then new ones.
    fn call_tasks(&mut self, number: usize, calls: u32) {
        let again = if self.teams[number].owner == MAIN { self.relaunches_possible() } else { 0 };
        let team = &mut self.teams[number];
        team.message.clear();
        let again = again.min(calls);
        team.credits -= again;
        team.message.extend(team.refused.drain(..again as usize));
        let new = calls - again;
        team.message.extend(team.called..team.called + new);
        team.called += new;
    }

    /// Lets an agent wait for its children, however long they take.
    pub(super) fn wait_for_children(&mut self, slot: usize, now: SimTime) {
        self.note(slot, now, Happening::WaitStarted { reason: WaitReason::Children });
        self.wait_until(slot, now, SimTime::NEVER);
    }

    /// Refuses calls above the product's limits, the last ones of the message; nothing queues for
    /// it (semantics D5).
    fn refuse(&mut self, slot: usize, now: SimTime, calls: u32) -> u32 {
        let agent = &self.agents[slot];
        if self.plan.depth.is_some_and(|depth| agent.depth >= depth) {
            self.record.launches.refused_depth += calls;
            self.note_refusals(slot, now, (calls, RefusalReason::Depth));
            return calls;
        }
        if slot != MAIN && self.plan.kind == AgentKind::Fork {
            self.record.launches.refused_other += calls;
            self.note_refusals(slot, now, (calls, RefusalReason::Fork));
            return calls;
        }
        if self.is_workflow(slot) {
            let refused = calls.saturating_sub(self.plan.workflow.total);
            self.record.launches.refused_other += refused;
            self.note_refusals(slot, now, (refused, RefusalReason::Workflow));
            return refused;
        }
        let team = &self.teams[agent.team.expect("who calls has a team")];
        let others = self.running - team.running;
        let slots = if slot == MAIN { self.plan.slots } else { self.plan.nested.slots.min(calls) };
        if others.saturating_add(slots) <= self.plan.concurrency {
            return 0;
        }
        let free = self.plan.concurrency.saturating_sub(self.running);
        let refused = calls.saturating_sub(free);
        self.record.launches.refused_concurrency += refused;
        self.note_refusals(slot, now, (refused, RefusalReason::Concurrency));
        refused
    }

    /// Notes that the last calls made were refused.
    fn note_refusals(&mut self, slot: usize, now: SimTime, of: (u32, RefusalReason)) {
        let (count, reason) = of;
        let team = self.team_of(slot);
        let calls = self.teams[team].message.len();
        for index in calls - count as usize..calls {
            let task = self.teams[team].message[index];
            self.note(slot, now, Happening::LaunchRefused { task, reason });
        }
    }

    /// The error texts of refused calls, after what the other calls of the message brought.
    fn add_refusals_and_note(&mut self, slot: usize) {
        let team = self.team_of(slot);
        let refusal = self.wrapper(slot).refusal;
        let refused = if self.is_workflow(slot) { 0 } else { self.teams[team].batch.refused };
        for _ in 0..refused {
            self.agents[slot].add(refusal, BlockKind::ToolResult);
        }
        self.add_note(slot);
    }

    /// Lets an agent go on with what its calls brought: main with a turn, a child with the next
    /// iteration of its task.
    fn go_on_after(&mut self, slot: usize, turn: Turn, now: SimTime) {
        if slot == MAIN {
            if !self.begins_refused_task(now) {
                self.start_turn(turn, now);
            }
        } else {
            let agent = &mut self.agents[slot];
            agent.iteration += 1;
            agent.activity = Activity::Iterate;
            self.schedule(slot, now, Event::RequestStart, EventClass::Start);
        }
    }

    /// Returns whether pending completion notices enter with the agent's next request. In a batch
    /// they enter a child's task wherever it stands; one by one each makes a request of its own.
    pub(super) fn takes_notices(&self, slot: usize) -> bool {
        let agent = &self.agents[slot];
        agent.team.is_some_and(|team| self.teams[team].pending() > 0)
            && match agent.activity {
                Activity::Turn(turn) => turn == Turn::Notices,
                Activity::Iterate => {
                    slot != MAIN && (agent.is_awaiting || self.plan.notices == Notices::Batched)
                }
                Activity::Idle | Activity::Compact(_) | Activity::CompactIteration => false,
            }
    }

    /// Lets pending completion notices enter the prompt (semantics D8).
    pub(super) fn gather_notices(&mut self, slot: usize, now: SimTime) {
        let team = self.team_of(slot);
        let pending = self.teams[team].pending();
        let count = match self.plan.notices {
            Notices::OneByOne => pending.min(1),
            Notices::Batched => pending,
        };
        let (lead, notice) = (self.wrapper(slot).notices_lead, self.wrapper(slot).notice);
        let first = self.teams[team].taken;
        let taken = &self.teams[team].reports[first..first + count];
        if !taken.iter().all(|report| report.is_resumed) {
            self.agents[slot].add(lead, BlockKind::UserText);
        }
        for index in first..first + count {
            let Report { child, tokens, .. } = self.teams[team].reports[index];
            self.agents[slot].add(notice + tokens, BlockKind::UserText);
            if self.is_workflow(slot) {
                self.deliver_all(team, (Delivery::Notice, now));
            } else {
                self.deliver(slot, child as usize, (Delivery::Notice, now));
            }
        }
        self.teams[team].taken += count;
    }

    /// The report of a child has entered the prompt of its parent.
    fn deliver(&mut self, owner: usize, child: usize, (delivery, now): (Delivery, SimTime)) {
        let happening = Happening::ReportDelivered { child: child as u32, delivery };
        self.note(owner, now, happening);
        let team = self.team_of(owner);
        self.credit_completion(team);
        self.told_of(owner, child);
    }

    /// The reports of all children of a message have entered the prompt of their parent.
    fn deliver_all(&mut self, number: usize, delivery: (Delivery, SimTime)) {
        let owner = self.teams[number].owner;
        for index in 0..self.teams[number].members.len() {
            self.deliver(owner, self.teams[number].members[index], delivery);
        }
    }

    /// A child has ended: its slot is free and its report comes back.
    pub(super) fn child_ended(&mut self, slot: usize, now: SimTime) {
        let child = &self.agents[slot];
        let owner = child.parent;
        let is_resumed = child.messages > 0;
        let is_workflow = self.is_workflow(owner);
        let mut report = Report { child: slot as u32, tokens: child.report, is_resumed };
        let (batch, in_background) = (child.batch, child.in_background);
        let number = self.team_of(owner);
        self.running -= 1;
        let team = &mut self.teams[number];
        team.running -= 1;
        team.batch.ended += u32::from(batch == team.batch.number);
        self.launch_ready(number, now);
        let team = &mut self.teams[number];
        let has_all = team.batch.ended == team.batch.calls;
        if is_workflow {
            if has_all {
                let agents = &self.agents;
                report.tokens = team.members.iter().map(|slot| agents[*slot].report).sum();
                team.reports.push(report);
                self.wake(owner, now);
            }
        } else if in_background {
            team.reports.push(report);
            self.wake(owner, now);
        } else if has_all {
            self.take_results(number, now);
        }
    }

    /// Lets an agent that waits for its children take up a notice.
    fn wake(&mut self, slot: usize, now: SimTime) {
        let agent = &mut self.agents[slot];
        if agent.activity != Activity::Idle || agent.is_over {
            return;
        }
        if slot == MAIN {
            self.start_turn(Turn::Notices, now);
        } else {
            agent.activity = Activity::Iterate;
            self.schedule(slot, now, Event::RequestStart, EventClass::Start);
        }
    }

    /// The results of a message's foreground children enter together (semantics D1).
    fn take_results(&mut self, number: usize, now: SimTime) {
        let owner = self.teams[number].owner;
        let (result, after_tools) =
            (self.wrapper(owner).result, self.wrapper(owner).result_after_tools);
        for index in 0..self.teams[number].members.len() {
            let slot = self.teams[number].members[index];
            let child = &self.agents[slot];
            let mut result = result + child.report;
            if child.iterations > 1 {
                result += after_tools;
            }
            self.agents[owner].add(result, BlockKind::ToolResult);
            self.deliver(owner, slot, (Delivery::Result, now));
        }
        self.add_refusals_and_note(owner);
        if !self.agents[owner].is_over {
            self.go_on_after(owner, Turn::Results, now);
        }
    }

    /// A child that has done its task while children of its own run or have reports to give: what
    /// it says now is not yet its report.
    pub(super) fn await_children(&mut self, slot: usize, now: SimTime) {
        let agent = &mut self.agents[slot];
        let said = agent.output;
        agent.add(said, BlockKind::AssistantText);
        agent.notes.spoke();
        agent.iteration += 1;
        agent.iterations += 1;
        agent.is_awaiting = true;
        if agent.team.is_some_and(|team| self.teams[team].pending() > 0) {
            self.schedule(slot, now, Event::RequestStart, EventClass::Start);
        } else {
            agent.activity = Activity::Idle;
            self.wait_for_children(slot, now);
        }
    }

    /// Returns whether an agent's children run, or have reports that it has not taken up.
    pub(super) fn has_children_out(&self, slot: usize) -> bool {
        let team = self.agents[slot].team.map(|team| &self.teams[team]);
        team.is_some_and(|team| team.is_busy() || team.pending() > 0)
    }

    /// Returns the task of the next child of a team to start.
    pub(super) fn next_task(&self, number: usize) -> TaskId {
        let team = &self.teams[number];
        TaskId { family: team.family, index: team.message[team.batch.started as usize] }
    }
}
