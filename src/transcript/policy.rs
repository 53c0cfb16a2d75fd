//! Under which policy sessions are replayed.

use crate::cache::{CachePolicy, RoleTtl, Ttl};
use crate::ledger::Role;
use crate::units::SimDuration;
use crate::workload::Compaction;

/// What is changed in a replay; the default changes nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReplayPolicy {
    /// Rules of the cache, whether anything is cached, keep-alive. Lifetimes stand beside it.
    pub cache: CachePolicy,
    /// Lifetimes of main sessions instead of the recorded ones.
    pub main_ttl: Option<RoleTtl>,
    /// Lifetimes of all other agents instead of the recorded ones.
    pub subagent_ttl: Option<RoleTtl>,
    /// Model of main sessions instead of the recorded ones.
    pub main_model: Option<String>,
    /// Model of all other agents instead of the recorded ones.
    pub subagent_model: Option<String>,
    /// Compaction besides the recorded ones; none without a window or trigger.
    pub compaction: Compaction,
    /// When siblings that were launched together start.
    pub launch: ReplayLaunch,
}

/// When siblings that were launched together start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReplayLaunch {
    /// When they did.
    #[default]
    AsRecorded,
    /// One after another, at this interval at least.
    Staggered(SimDuration),
    /// The first alone; the others when its response begins, or after this time at most.
    HoldFirst(SimDuration),
}

impl ReplayPolicy {
    /// Returns a policy with one lifetime for each role; `None` is as recorded.
    pub fn with_ttl(cache: &CachePolicy, main: Option<Ttl>, subagent: Option<Ttl>) -> ReplayPolicy {
        let role = |ttl: Ttl| RoleTtl { head: ttl, tail: ttl };
        ReplayPolicy {
            cache: cache.clone(),
            main_ttl: main.map(role),
            subagent_ttl: subagent.map(role),
            ..ReplayPolicy::default()
        }
    }

    /// Returns the lifetimes of a role, where they are not as recorded.
    pub(super) fn ttl(&self, role: Role) -> Option<RoleTtl> {
        if role == Role::Main { self.main_ttl } else { self.subagent_ttl }
    }

    /// Returns the model of a role, where it is not as recorded.
    pub(super) fn model(&self, role: Role) -> Option<&str> {
        if role == Role::Main { self.main_model.as_deref() } else { self.subagent_model.as_deref() }
    }
}
