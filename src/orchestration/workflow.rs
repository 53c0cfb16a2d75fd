//! Workflow fan-outs: the `[workflow]` table of a scenario (S6).

use schemars::JsonSchema;
use serde::Deserialize;

use crate::units::SimDuration;

/// A workflow: one call of the main session starts a script that launches agents (S6).
///
/// The first agent starts alone; the next are held until its response begins, so that they read
/// its tools and system prompt. Only the result of the script enters the main session, in one
/// notice with the reports of all agents.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Workflow {
    /// Agents that run at once, at least 1; the rest queue. The client allows fewer where there are
    /// few cores: 2 were recorded on a machine of two.
    pub concurrency: u32,
    /// Agents that a run may have, at least 1; those above are refused.
    pub total: u32,
    /// Longest time for which agents are held for the first; 0: they are not, nor without caching.
    pub hold: SimDuration,
}

impl Default for Workflow {
    fn default() -> Workflow {
        Workflow { concurrency: 16, total: 1_000, hold: SimDuration::from_seconds(5) }
    }
}
