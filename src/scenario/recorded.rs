//! Settings for what was recorded: traces and sessions have no scenario, only options change them.

use crate::cache::{CachePolicy, RoleTtl};
use crate::orchestration::Launch;
use crate::scenario::load::is_below;
use crate::scenario::validate::{check_cache_policy, check_compaction_settings};
use crate::scenario::{Layers, Origin, Problem, Problems, Scenario, Sources, decode, is_settings};
use crate::workload::Compaction;

/// A cache policy given by options alone, for accounting a trace.
#[derive(Clone, Debug)]
pub struct TracePolicy {
    /// The policy.
    pub cache: CachePolicy,
    /// Lifetimes for `main`, where an option gives them.
    pub main_ttl: Option<RoleTtl>,
    /// Lifetimes for all other agents, where an option gives them.
    pub subagent_ttl: Option<RoleTtl>,
}

/// What options change in a replay of sessions.
#[derive(Clone, Debug)]
pub struct ReplaySettings {
    /// The cache policy.
    pub policy: TracePolicy,
    /// Model of main sessions, where an option gives one.
    pub main_model: Option<String>,
    /// Model of all other agents, where an option gives one.
    pub subagent_model: Option<String>,
    /// Compaction besides the recorded ones.
    pub compaction: Compaction,
    /// When siblings start, where an option says it.
    pub launch: Option<Launch>,
}

/// Makes a cache policy of `--set cache.KEY=VALUE` options.
///
/// # Errors
/// All problems at once; keys outside `cache` have no effect on a trace and are refused.
pub fn trace_policy(sets: &[(String, String)]) -> Result<TracePolicy, Problems> {
    let acts = |key: &str| {
        is_below("cache", key) && !["breakpoints", "keep_alive"].iter().any(|one| key.contains(one))
    };
    let refusal = Refusal {
        message: "this key does not act on a trace, whose requests have their times and \
                  breakpoints; the other keys of `cache` do",
        help: "write for instance cache.ttl=1h",
    };
    Ok(settings(sets, acts, &refusal)?.policy)
}

/// Makes the settings of a replay of `--set KEY=VALUE` options.
///
/// # Errors
/// All problems at once; keys that have no effect on a replay are refused.
pub fn replay_settings(sets: &[(String, String)]) -> Result<ReplaySettings, Problems> {
    let acts = |key: &str| {
        let is_cache = is_below("cache", key) && !key.contains("breakpoints");
        let models = ["session.model", "fanout.model"].contains(&key);
        is_cache || is_below("compaction", key) || models || key.starts_with("fanout.launch")
    };
    let refusal = Refusal {
        message: "this key does not act on a replay, whose requests have their sizes and times; \
                  those of `cache` (but for breakpoints) and `compaction` do, and session.model, \
                  fanout.model and fanout.launch",
        help: "write for instance cache.ttl.subagent=1h",
    };
    settings(sets, acts, &refusal)
}

/// Why a key is refused.
struct Refusal {
    message: &'static str,
    help: &'static str,
}

fn settings(
    sets: &[(String, String)],
    acts: impl Fn(&str) -> bool,
    refusal: &Refusal,
) -> Result<ReplaySettings, Problems> {
    let mut layers = Layers::new(is_settings);
    let mut problems = Vec::new();
    for (key, value) in sets {
        let outcome = if acts(key) {
            layers.set(key, value)
        } else {
            Err(Problem {
                path: key.clone(),
                message: refusal.message.to_owned(),
                help: Some(refusal.help.to_owned()),
                origin: Origin::Override { text: format!("{key}={value}") },
            })
        };
        problems.extend(outcome.err());
    }
    let (scenario, found) = decode::<Scenario>(layers.tree());
    problems.extend(found);
    let scenario = scenario.unwrap_or_default();
    problems.extend(check_cache_policy(&scenario.cache, layers.tree()));
    problems.extend(check_compaction_settings(&scenario, layers.tree()));
    let launch = layers.get("fanout.launch").map(|_| scenario.fanout.launch);
    if let Some(Launch::Prewarm(_)) = launch {
        let message = "a replay adds no requests before a launch; expected \"together\", \
                       { staggered = \"4s\" } or { hold_first = \"8s\" }";
        problems.push(layers.tree().problem("fanout.launch", message.to_owned()));
    }
    if !problems.is_empty() {
        return Err(Problems::new(problems, &Sources::new()));
    }
    let cache = scenario.cache;
    let given = |role: &str| {
        let ttl = cache.ttl?;
        let node = layers.get("cache.ttl")?;
        let is_given = node.as_str().is_some() || node.entries().any(|(key, _)| key == role);
        is_given.then_some(if role == "main" { ttl.main } else { ttl.subagent })
    };
    let (main_ttl, subagent_ttl) = (given("main"), given("subagent"));
    let model = |key: &str| {
        let name = layers.get(key)?.as_str()?;
        (name != "inherit").then(|| name.to_owned())
    };
    Ok(ReplaySettings {
        main_model: model("session.model"),
        subagent_model: model("fanout.model"),
        compaction: scenario.compaction,
        launch,
        policy: TracePolicy { cache, main_ttl, subagent_ttl },
    })
}
