//! Compaction in its plain form (semantics K1 to K4).

use crate::cache::{BlockKind, Expected};
use crate::ledger::Role;
use crate::orchestration::agent::Activity;
use crate::orchestration::log::Happening;
use crate::orchestration::outcome::Outcome;
use crate::orchestration::system::{MAIN, System};
use crate::units::{SimTime, Tokens};

/// Compactions that may follow each other at once before an agent stops (semantics K4).
const IN_ROW_MAX: u32 = 3;

impl System {
    /// Returns whether the agent's next prompt reaches the trigger and there is a history to
    /// summarize.
    pub(super) fn needs_compaction(&self, slot: usize) -> bool {
        let agent = &self.agents[slot];
        let has_history = agent.last.is_some() || !agent.inherited.is_zero();
        let trigger = self.plan.models[agent.model].trigger;
        has_history && trigger.is_some_and(|trigger| self.next_prompt(slot) >= trigger)
    }

    /// Returns whether the next prompt fits into the window.
    pub(super) fn fits(&self, slot: usize) -> bool {
        let window = self.plan.models[self.agents[slot].model].window;
        window.is_none_or(|window| self.next_prompt(slot) <= window)
    }

    fn next_prompt(&self, slot: usize) -> Tokens {
        let agent = &self.agents[slot];
        self.cache.tree().tokens(agent.prompt) + agent.added_tokens()
    }

    /// Sends the summary request, or stops an agent that refills at once (semantics K2, K4).
    ///
    /// The history is what the last request held; the newest exchange is kept for afterwards.
    pub(super) fn compact(&mut self, slot: usize, now: SimTime) {
        let agent = &mut self.agents[slot];
        let at_once = agent.since_compaction == 1 && agent.compactions_in_row > 0;
        agent.compactions_in_row = if at_once { agent.compactions_in_row + 1 } else { 1 };
        if agent.compactions_in_row > IN_ROW_MAX {
            self.stop(slot, now, Outcome::Thrashing);
            return;
        }
        self.note(slot, now, Happening::CompactionStarted { tokens: self.next_prompt(slot) });
        let agent = &mut self.agents[slot];
        agent.activity = match agent.activity {
            Activity::Turn(turn) => Activity::Compact(turn),
            Activity::Iterate => Activity::CompactIteration,
            other => other,
        };
        self.split_new_tail(slot);
        let history = self.agents[slot].prompt;
        let instruction = self.plan.compaction.instruction;
        let prompt = self.append(history, instruction, BlockKind::UserText, false);
        let summary = self.plan.compaction.summary;
        let mut out = self.outgoing(slot, Role::Compaction, summary);
        out.prompt = prompt;
        out.end = self.agents[slot].last_output;
        out.ttl = self.plan.role_ttl(false);
        self.send_and_wait(slot, now, &out);
    }

    /// Moves the tail of a fork that has not sent anything yet from its prompt to what is added:
    /// the history to summarize is the parent's.
    fn split_new_tail(&mut self, slot: usize) {
        if self.agents[slot].last.is_some() {
            return;
        }
        let inherited = self.agents[slot].inherited;
        let mut tail = Vec::new();
        let mut at = self.agents[slot].prompt;
        while self.cache.tree().tokens(at) > inherited {
            let Some(parent) = self.cache.tree().parent(at) else {
                break;
            };
            let tokens = self.cache.tree().tokens(at) - self.cache.tree().tokens(parent);
            tail.push((tokens, self.cache.tree().kind(at)));
            at = parent;
        }
        let agent = &mut self.agents[slot];
        agent.prompt = at;
        agent.last_output = at;
        agent.before_directive = None;
        for (tokens, kind) in tail.into_iter().rev() {
            agent.add(tokens, kind);
        }
    }

    /// Builds the prompt anew: system and project context, the summary, then what is added: the
    /// newest exchange and what is read again (semantics K3).
    pub(super) fn rebuild_after_compaction(&mut self, slot: usize, now: SimTime) {
        let project = self.agents[slot].base.project;
        let summary = self.plan.compaction.summary;
        let prompt = self.append(project, summary, BlockKind::UserText, false);
        let reread = self.plan.compaction.reread;
        let setup = self.plan.setups.startup(self.agents[slot].setup);
        let startup = if slot == MAIN { &self.plan.main } else { setup };
        let relisting = startup.relisting;
        let agent = &mut self.agents[slot];
        agent.prompt = prompt;
        agent.last_output = prompt;
        agent.before_directive = None;
        agent.expected = Expected::Compaction;
        agent.since_compaction = 0;
        agent.notes.compacted();
        agent.add(reread, BlockKind::UserText);
        agent.add(relisting, BlockKind::System);
        self.note(slot, now, Happening::Compacted { tokens: self.next_prompt(slot) });
    }

    /// Counts the agent's own requests after its last compaction.
    pub(super) fn count_since_compaction(&mut self, slot: usize) {
        self.agents[slot].since_compaction += 1;
    }
}
