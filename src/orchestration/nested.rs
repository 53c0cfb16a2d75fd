//! Delegation by children: the `[nested]` table of a scenario.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::orchestration::AgentKind;
use crate::workload::{Count, Distribution};

/// What children delegate themselves: the fan-out becomes a tree (semantics 6; S2, S7).
///
/// A child makes one request more for it: the message with its calls. A child at the depth limit
/// lacks the tool and does not delegate; a fork that tries is refused (C8).
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Nested {
    /// Children that each child launches in one message, if it may; rounded. Each does a task like
    /// its own.
    pub count: Distribution<Count>,
    /// Probability from 0 to 1 that a child launches them.
    pub probability: f64,
    /// Requests of its own task that a child makes before.
    pub after: u32,
    /// Who does these tasks: `fresh`, `explore` or `plan`, of which only `fresh` delegates again.
    pub agent: AgentKind,
    /// Whether a child goes on while its children run; left out: as in the fan-out.
    pub background: Option<bool>,
}

impl Default for Nested {
    fn default() -> Nested {
        Nested {
            count: Distribution::constant(0.0),
            probability: 1.0,
            after: 0,
            agent: AgentKind::Fresh,
            background: None,
        }
    }
}

impl Nested {
    /// Returns the most children that a run can have and the layers they stand in, when `tasks` are
    /// delegated to `agent` and `depth` layers are allowed; `None` where there is no most.
    ///
    /// A child of `fresh` can have as many children as `count` can draw; all others have none.
    pub fn most(&self, tasks: u32, agent: AgentKind, depth: Option<u32>) -> Option<(u64, u32)> {
        if agent == AgentKind::Inline || depth == Some(0) {
            return Some((0, 0));
        }
        let count =
            if self.probability > 0.0 { (self.count.greatest() + 0.5).floor() } else { 0.0 };
        let (mut layer, mut all, mut layers, mut kind) = (u64::from(tasks), 0u64, 0, agent);
        loop {
            all = all.saturating_add(layer);
            layers += 1;
            if kind != AgentKind::Fresh || count < 1.0 || depth == Some(layers) {
                return Some((all, layers));
            }
            if depth.is_none() && self.agent == AgentKind::Fresh || count.is_infinite() {
                return None;
            }
            layer = layer.saturating_mul(count as u64);
            kind = self.agent;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_tree_follows_from_branching_and_depth() {
        let nested = |text: &str| -> Nested { toml::from_str(text).unwrap() };
        let most = |text: &str, depth| nested(text).most(2, AgentKind::Fresh, depth);
        assert_eq!(most("", Some(3)), Some((2, 1)));
        assert_eq!(most("count = 3", Some(3)), Some((2 + 6 + 18, 3)));
        assert_eq!(most("count = 3", Some(1)), Some((2, 1)));
        assert_eq!(most("count = 3", Some(0)), Some((0, 0)));
        assert_eq!(most("count = 3", None), None);
        assert_eq!(most("count = 3\nagent = \"explore\"", None), Some((8, 2)));
        assert_eq!(most("count = 3\nprobability = 0.0", None), Some((2, 1)));
        assert_eq!(most("count = { uniform = { low = 0, high = 2 } }", Some(2)), Some((6, 2)));
        assert_eq!(most("count = { exponential = { mean = 1 } }", Some(2)), None);
        assert_eq!(most("count = { exponential = { mean = 1 }, max = 4 }", Some(2)), Some((10, 2)));
        assert_eq!(nested("count = 3").most(2, AgentKind::Fork, Some(3)), Some((2, 1)));
        assert_eq!(nested("count = 3").most(2, AgentKind::Inline, Some(3)), Some((0, 0)));
    }
}
