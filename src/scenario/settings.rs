//! The scenario file: it only composes settings that are declared beside the code they drive.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::cache::CachePolicy;
use crate::orchestration::{
    Fanout, Fork, Limits, Machine, Nested, Provider, Resume, Session, Texts, Workflow, Wrappers,
};
use crate::workload::{Compaction, Latency, Startups, TaskSettings};

/// A scenario: what is known of a session, its work, its client and its provider.
///
/// What a file leaves out comes from its profile, and what that leaves out from the defaults here,
/// which are those of the profile `plain`: every size 0, no notes, wrappers or limits.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Scenario {
    /// Version of the file format; the only one is 1.
    pub format_version: u32,
    /// The question the scenario answers.
    pub title: String,
    /// A shipped profile, such as `claude-code@2.1.260`, or the path of a profile file.
    pub profile: String,
    /// Prices: a shipped book, the path of one, or an inline table of models.
    #[schemars(with = "PricesSchema")]
    #[serde(deserialize_with = "ignore")]
    pub prices: (),
    /// The parent, as it stands when it delegates.
    pub session: Session,
    /// How the parent spreads its tasks.
    pub fanout: Fanout,
    /// What children delegate themselves.
    pub nested: Nested,
    /// Workflow fan-outs.
    pub workflow: Workflow,
    /// Messages to children that have reported.
    pub resume: Resume,
    /// The work itself.
    pub task: TaskSettings,
    /// Start-up contexts by kind of agent.
    pub startup: Startups,
    /// What wraps calls and reports in the parent, by kind of child.
    pub wrappers: Wrappers,
    /// What a fork appends to the parent's prompt.
    pub fork: Fork,
    /// The prompt cache.
    pub cache: CachePolicy,
    /// When a conversation is replaced by a summary.
    pub compaction: Compaction,
    /// Limits of the product.
    pub limits: Limits,
    /// The client's own words, for event logs.
    pub texts: Texts,
    /// How long responses take.
    pub latency: Latency,
    /// What the provider allows a minute.
    pub provider: Provider,
    /// The machine on which tools run.
    pub machine: Machine,
    /// Variants to be compared, each a change to the scenario.
    pub variant: Vec<Variant>,
}

impl Default for Scenario {
    fn default() -> Scenario {
        Scenario {
            format_version: 1,
            title: String::new(),
            profile: "plain".to_owned(),
            prices: (),
            session: Session::default(),
            fanout: Fanout::default(),
            nested: Nested::default(),
            workflow: Workflow::default(),
            resume: Resume::default(),
            task: TaskSettings::default(),
            startup: Startups::default(),
            wrappers: Wrappers::default(),
            fork: Fork::default(),
            cache: CachePolicy::default(),
            compaction: Compaction::default(),
            limits: Limits::default(),
            texts: Texts::default(),
            latency: Latency::default(),
            provider: Provider::default(),
            machine: Machine::default(),
            variant: Vec::new(),
        }
    }
}

impl Scenario {
    /// Takes over what another scenario says of a top-level key.
    ///
    /// Returns `false` of a key that stands for more than its own settings: a profile, prices,
    /// variants; and of one that there is not.
    pub(super) fn take(&mut self, key: &str, other: &Scenario) -> bool {
        match key {
            "format_version" => self.format_version = other.format_version,
            "title" => self.title.clone_from(&other.title),
            "session" => self.session.clone_from(&other.session),
            "fanout" => self.fanout.clone_from(&other.fanout),
            "nested" => self.nested.clone_from(&other.nested),
            "workflow" => self.workflow.clone_from(&other.workflow),
            "resume" => self.resume.clone_from(&other.resume),
            "task" => self.task.clone_from(&other.task),
            "startup" => self.startup.clone_from(&other.startup),
            "wrappers" => self.wrappers.clone_from(&other.wrappers),
            "fork" => self.fork.clone_from(&other.fork),
            "cache" => self.cache.clone_from(&other.cache),
            "compaction" => self.compaction.clone_from(&other.compaction),
            "limits" => self.limits.clone_from(&other.limits),
            "texts" => self.texts.clone_from(&other.texts),
            "latency" => self.latency.clone_from(&other.latency),
            "provider" => self.provider.clone_from(&other.provider),
            "machine" => self.machine.clone_from(&other.machine),
            _ => return false,
        }
        true
    }
}

/// One variant of a scenario.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Variant {
    /// Its name in results.
    pub name: String,
    /// What it changes: dotted keys and their values, such as `"fanout.agent" = "fork"`.
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub set: BTreeMap<String, toml::Value>,
}

/// Prices in a schema: a name, a path or a table of models.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "describes prices in the schema; they are read on their own")]
enum PricesSchema {
    /// A shipped book or the path of one.
    Book(String),
    /// Models with their prices, by id.
    Models(BTreeMap<String, crate::pricing::Model>),
}

/// Prices have been taken out and read on their own before a scenario is decoded.
fn ignore<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<(), D::Error> {
    serde::de::IgnoredAny::deserialize(deserializer).map(|_| ())
}

/// Tells which dotted paths are tables of settings, merged key by key; all other tables are one
/// value.
pub fn is_settings(path: &str) -> bool {
    let parts: Vec<&str> = path.split('.').collect();
    matches!(
        parts.as_slice(),
        ["" | "session"
            | "fanout"
            | "nested"
            | "workflow"
            | "resume"
            | "task"
            | "startup"
            | "wrappers"
            | "fork"
            | "cache"
            | "compaction"
            | "limits"
            | "texts"
            | "latency"
            | "provider"
            | "machine"
            | "prices"]
            | ["task", "rediscovery"]
            | ["startup" | "wrappers" | "prices", _]
            | ["startup", _, "notes"]
            | ["cache", "ttl"]
            | ["cache", "ttl", _]
            | ["latency", "first_token"]
    )
}
