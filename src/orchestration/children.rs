//! What children start with (semantics D2, D3).

use crate::cache::BlockKind;
use crate::orchestration::AgentKind;
use crate::orchestration::agent::Base;
use crate::orchestration::system::System;
use crate::orchestration::team::TaskId;

impl System {
    pub(super) fn make_fork(&mut self, slot: usize, number: usize) {
        let fork = &self.plan.fork;
        let (call, placeholder, directive) = (fork.call, fork.placeholder, fork.directive);
        let batch = self.teams[number].batch;
        let shared = batch.fork_shared;
        let mut prompt = shared;
        let mut calls = batch.fork_calls;
        if !self.plan.all_calls() {
            calls = self.append(prompt, call, BlockKind::ToolUse, false);
            prompt = self.append(calls, placeholder, BlockKind::ToolResult, false);
        }
        let inherited = self.cache.tree().tokens(batch.fork_base);
        let agent = &mut self.agents[slot];
        agent.base = batch.base;
        agent.inherited = inherited;
        agent.before_directive = Some(shared);
        agent.last_output = calls;
        let prompt = self.append(prompt, directive, BlockKind::UserText, false);
        self.agents[slot].prompt = prompt;
    }

    pub(super) fn make_fresh(&mut self, slot: usize, task: TaskId) {
        let setup = self.agents[slot].setup;
        let base = self.base_of(setup);
        let tokens = self.plan.work.draw_prompt(&self.draws, task);
        let startup = self.plan.setups.startup(setup);
        let (preamble, listing) = (startup.preamble, startup.listing);
        let prompt = self.append(base.project, preamble + tokens, BlockKind::UserText, false);
        let prompt = self.append(prompt, listing, BlockKind::System, true);
        let model = self.plan.setups.model(setup);
        let agent = &mut self.agents[slot];
        agent.model = model;
        agent.base = base;
        agent.prompt = prompt;
        agent.last_output = prompt;
    }

    /// Gives a child another start-up context under the same messages.
    pub(super) fn set_up_again(&mut self, slot: usize, setup: usize) {
        let agent = &self.agents[slot];
        if self.plan.setups.shared(agent.setup) == self.plan.setups.shared(setup)
            || self.plan.setups.kind(setup) == AgentKind::Fork
        {
            return;
        }
        let (prompt, kept) = (agent.prompt, self.cache.tree().tokens(agent.base.project));
        let base = self.base_of(setup);
        let mut at = base.project;
        let mut last_output = at;
        for (block, tokens, kind) in self.cache.tree().blocks(prompt) {
            if self.cache.tree().tokens(block) > kept {
                let is_startup = self.cache.tree().is_startup(block);
                at = self.append(at, tokens, kind, is_startup);
                if block == self.agents[slot].last_output {
                    last_output = at;
                }
            }
        }
        let agent = &mut self.agents[slot];
        (agent.setup, agent.base) = (setup, base);
        (agent.prompt, agent.last_output) = (at, last_output);
    }

    /// Returns the start-up context of a setup, which all children with equal ones share.
    pub(super) fn base_of(&mut self, setup: usize) -> Base {
        let shared = self.plan.setups.shared(setup);
        if let Some(base) = self.bases[shared] {
            return base;
        }
        let startup = self.plan.setups.startup(shared).clone();
        let base = self.append_base(self.plan.setups.model(shared), &startup);
        self.bases[shared] = Some(base);
        base
    }
}
