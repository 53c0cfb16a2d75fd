//! Checks that look at more than one key, after decoding.

use crate::cache::{CachePolicy, KeepAlive};
use crate::experiment::Warning;
use crate::orchestration::{AgentKind, Fanout, Launch, Limits, Queue, Refused, ScriptedFailure};
use crate::scenario::{Problem, Scenario, Tree};
use crate::units::{SimDuration, Tokens};
use crate::workload::{Distribution, FirstToken, Quantity, Startup, Trigger};

/// Most tasks of a fan-out.
const TASKS_MAX: u32 = 100_000;
/// Most children of a run, those of children included.
const CHILDREN_MAX: u64 = 1_000_000;
/// Most messages to a child.
const MESSAGES_MAX: u32 = 1_000;
/// Most iterations of a task.
const ITERATIONS_MAX: f64 = 100_000.0;
/// Most requests of one run, on average: some seconds of work.
const REQUESTS_MAX: f64 = 10_000_000.0;
/// Shortest keep-alive interval: shorter ones would only flood the run with requests.
const KEEP_ALIVE_MIN: SimDuration = SimDuration::from_seconds(1);

/// Returns all problems of settings that are well-formed one by one.
pub(super) fn check(scenario: &Scenario, tree: &Tree) -> Vec<Problem> {
    let mut found: Vec<(&str, String)> = Vec::new();
    if scenario.format_version != 1 {
        let version = scenario.format_version;
        found.push(("format_version", format!("{version} is not a known version; write 1")));
    }
    check_fanout(&scenario.fanout, &mut found);
    check_limits(&scenario.limits, &mut found);
    check_nested(scenario, &mut found);
    check_workflow(scenario, &mut found);
    check_resume(scenario, &mut found);
    check_provider(scenario, &mut found);
    check_task(scenario, &mut found);
    check_cache(&scenario.cache, &mut found);
    check_session(scenario, &mut found);
    check_compaction(scenario, &mut found);
    found.into_iter().map(|(key, message)| tree.problem(key, message)).collect()
}

fn check_fanout(fanout: &Fanout, found: &mut Vec<(&str, String)>) {
    if !(1..=TASKS_MAX).contains(&fanout.tasks) {
        let message = format!("{} tasks; expected 1 to {TASKS_MAX}", fanout.tasks);
        found.push(("fanout.tasks", message));
    }
    if fanout.max_parallel == Some(0) {
        found.push(("fanout.max_parallel", "0 would start nothing; expected at least 1".into()));
    }
}

fn check_provider(scenario: &Scenario, found: &mut Vec<(&str, String)>) {
    let provider = &scenario.provider;
    let tokens = |tokens: Option<Tokens>| tokens.map(Tokens::get);
    let rates = [
        ("provider.requests_per_minute", provider.requests_per_minute),
        ("provider.requests_burst", provider.requests_burst),
        ("provider.input_tokens_per_minute", tokens(provider.input_tokens_per_minute)),
        ("provider.input_tokens_burst", tokens(provider.input_tokens_burst)),
        ("provider.output_tokens_per_minute", tokens(provider.output_tokens_per_minute)),
        ("provider.output_tokens_burst", tokens(provider.output_tokens_burst)),
        ("provider.tries", provider.tries.map(u64::from)),
        ("machine.cores", scenario.machine.cores.map(u64::from)),
    ];
    for (key, rate) in rates {
        if rate.is_some_and(|rate| !(1..=Tokens::MAX.get()).contains(&rate)) {
            found.push((key, "out of range; expected 1 to 1e12, or nothing for no limit".into()));
        }
    }
    check_failures(&provider.failures, found);
    let shares = [
        ("provider.overload_probability", provider.overload_probability),
        ("provider.backoff_jitter", provider.backoff_jitter),
    ];
    for (key, share) in shares {
        if !(0.0..=1.0).contains(&share) {
            found.push((key, format!("{share} is not from 0 to 1")));
        }
    }
    if provider.overload_probability >= 1.0 && provider.tries.is_none() {
        let message = "no attempt would ever succeed; lower it or set provider.tries";
        found.push(("provider.overload_probability", message.into()));
    }
}

fn check_nested(scenario: &Scenario, found: &mut Vec<(&str, String)>) {
    let (nested, fanout) = (&scenario.nested, &scenario.fanout);
    if !(0.0..=1.0).contains(&nested.probability) {
        let message = format!("{} is not a probability from 0 to 1", nested.probability);
        found.push(("nested.probability", message));
    }
    if !matches!(nested.agent, AgentKind::Fresh | AgentKind::Explore | AgentKind::Plan) {
        let agent = nested.agent.name();
        found.push(("nested.agent", format!("`{agent}`; expected fresh, explore or plan")));
    }
    match nested.most(fanout.tasks, fanout.agent, scenario.limits.depth) {
        None if nested.count.greatest().is_infinite() => {
            let message = "has no greatest value, so the tree of children has none; give it `max`";
            found.push(("nested.count", message.into()));
        }
        None => {
            let message = "children would launch children without end; set limits.depth";
            found.push(("nested.count", message.into()));
        }
        Some((most, layers)) if most > CHILDREN_MAX => {
            let message = format!(
                "up to {most} children in {layers} layers; at most {CHILDREN_MAX}: lower it, \
                 limits.depth or fanout.tasks"
            );
            found.push(("nested.count", message));
        }
        Some(_) => {}
    }
}

fn check_workflow(scenario: &Scenario, found: &mut Vec<(&str, String)>) {
    let (workflow, fanout) = (&scenario.workflow, &scenario.fanout);
    let least_one =
        [("workflow.concurrency", workflow.concurrency), ("workflow.total", workflow.total)];
    for (key, count) in least_one {
        if count == 0 {
            found.push((key, "0 would let nothing run; expected at least 1".into()));
        }
    }
    if fanout.agent != AgentKind::Workflow {
        return;
    }
    if !fanout.background {
        found.push(("fanout.background", "a workflow always runs in the background".into()));
    }
    if fanout.queue == Queue::Parent {
        let message = "a workflow queues its agents itself; leave it out, or write harness";
        found.push(("fanout.queue", message.into()));
    }
    if fanout.launch != Launch::Together {
        let message = "a workflow holds its agents for the first; set workflow.hold instead";
        found.push(("fanout.launch", message.into()));
    }
}

fn check_resume(scenario: &Scenario, found: &mut Vec<(&str, String)>) {
    let (messages, fanout) = (scenario.resume.messages, &scenario.fanout);
    let key = "resume.messages";
    if messages > MESSAGES_MAX {
        found.push((key, format!("{messages}; at most {MESSAGES_MAX}")));
    }
    if messages == 0 {
        return;
    }
    if !matches!(fanout.agent, AgentKind::Fresh | AgentKind::Fork) {
        let agent = fanout.agent.name();
        found
            .push((key, format!("`{agent}` cannot be resumed; only fresh children and forks can")));
    }
    if fanout.queue == Queue::Parent || fanout.refused == Refused::Relaunch {
        let message = "messages and further launches do not mix; leave fanout.queue and \
                       fanout.refused out, or write 0 here";
        found.push((key, message.into()));
    }
}

fn check_failures(failures: &[ScriptedFailure], found: &mut Vec<(&str, String)>) {
    for failure in failures {
        let key = "provider.failures";
        if failure.agent_number().is_none() {
            let agent = &failure.agent;
            found.push((key, format!("`{agent}` is no agent; expected main, a1, a2, ...")));
        }
        if failure.request == 0 {
            found.push((key, "requests are counted from 1, not from 0".into()));
        }
        if ![429, 529].contains(&failure.status) {
            let status = failure.status;
            found.push((key, format!("status {status}; expected 429 or 529")));
        }
    }
}

fn check_limits(limits: &Limits, found: &mut Vec<(&str, String)>) {
    let least_one = [("limits.concurrency", limits.concurrency), ("limits.tools", limits.tools)];
    for (key, limit) in least_one {
        if limit == Some(0) {
            found.push((key, "0 would let nothing run; expected at least 1".into()));
        }
    }
}

fn check_task(scenario: &Scenario, found: &mut Vec<(&str, String)>) {
    let counts = [
        ("task.iterations", scenario.task.iterations.mean()),
        ("task.rediscovery.iterations", scenario.task.rediscovery.iterations.mean()),
    ];
    let fanout = &scenario.fanout;
    let most = scenario.nested.most(fanout.tasks, fanout.agent, scenario.limits.depth);
    let agents = most.map_or(0, |(most, _)| most).max(u64::from(fanout.tasks));
    let resumed = f64::from(scenario.resume.messages) * scenario.resume.iterations.mean().max(1.0);
    let requests = agents as f64 * (counts[0].1 + counts[1].1 + resumed);
    if requests > REQUESTS_MAX {
        let message = format!(
            "{requests:.0} requests in one run on average; at most {REQUESTS_MAX}: lower it, \
             fanout.tasks or nested.count"
        );
        found.push(("task.iterations", message));
    }
    for (key, mean) in counts {
        if mean > ITERATIONS_MAX * (1.0 + 1e-9) {
            found.push((key, format!("{mean} iterations on average; at most {ITERATIONS_MAX}")));
        }
    }
}

/// Returns the problems of a cache policy alone.
pub(super) fn check_cache_policy(cache: &CachePolicy, tree: &Tree) -> Vec<Problem> {
    let mut found: Vec<(&str, String)> = Vec::new();
    check_cache(cache, &mut found);
    found.into_iter().map(|(key, message)| tree.problem(key, message)).collect()
}

/// Checks a compaction that stands alone, as in a replay of sessions.
pub(super) fn check_compaction_settings(scenario: &Scenario, tree: &Tree) -> Vec<Problem> {
    let mut found: Vec<(&str, String)> = Vec::new();
    check_compaction(scenario, &mut found);
    found.into_iter().map(|(key, message)| tree.problem(key, message)).collect()
}

/// Fewest tokens of a trigger: no start-up context is smaller, and 80 means 80 tokens, not 80 %.
const TRIGGER_MIN: Tokens = Tokens::new(1_000);

fn check_compaction(scenario: &Scenario, found: &mut Vec<(&str, String)>) {
    let compaction = &scenario.compaction;
    if let Some(Trigger::Tokens(trigger)) = compaction.trigger
        && trigger < TRIGGER_MIN
    {
        let message = format!(
            "{trigger} tokens would be reached at once; expected at least {TRIGGER_MIN} tokens, or \
             a percentage such as \"80%\""
        );
        found.push(("compaction.trigger", message));
    }
    if compaction.window.is_some_and(|window| window < TRIGGER_MIN) {
        let message = format!("no window is that small; expected at least {TRIGGER_MIN} tokens");
        found.push(("compaction.window", message));
    }
}

fn check_cache(cache: &CachePolicy, found: &mut Vec<(&str, String)>) {
    let mut breakpoints = cache.breakpoints.clone();
    breakpoints.sort_unstable();
    breakpoints.dedup();
    if breakpoints.len() < cache.breakpoints.len() {
        found.push(("cache.breakpoints", "a breakpoint is named twice".into()));
    }
    let in_order = cache.breakpoints.windows(2).all(|pair| pair[0] < pair[1]);
    if !in_order && breakpoints.len() == cache.breakpoints.len() {
        let message = "breakpoints are listed in prompt order: identity, system, project, \
                       before_directive, end";
        found.push(("cache.breakpoints", message.into()));
    }
    if breakpoints.len() > 4 {
        let message = format!("{} breakpoints; a request has at most 4", breakpoints.len());
        found.push(("cache.breakpoints", message));
    }
    if !(1..=1_000).contains(&cache.lookback) {
        found.push(("cache.lookback", format!("{}; expected 1 to 1,000", cache.lookback)));
    }
    if !(0.0..=1.0).contains(&cache.early_miss_probability) {
        let message = format!("{} is not a probability from 0 to 1", cache.early_miss_probability);
        found.push(("cache.early_miss_probability", message));
    }
    if let KeepAlive::Every(interval) = cache.keep_alive
        && interval < KEEP_ALIVE_MIN
    {
        let message = format!("{interval} is too short; expected at least {KEEP_ALIVE_MIN}");
        found.push(("cache.keep_alive", message));
    }
}

fn check_session(scenario: &Scenario, found: &mut Vec<(&str, String)>) {
    let main = &scenario.startup.main;
    let startup = main.tools + main.identity + main.system + main.project;
    if let Some(context) = scenario.session.context
        && context < startup
    {
        let message = format!("{context} tokens; the start-up context alone has {startup} tokens");
        found.push(("session.context", message));
    }
}

/// Returns whether children run on the parent's model.
pub(super) fn inherits_model(fanout: &Fanout) -> bool {
    fanout.model == "inherit" || matches!(fanout.agent, AgentKind::Fork | AgentKind::Inline)
}

/// Returns what a user should know before trusting the numbers.
pub(super) fn warnings(variant: &str, scenario: &Scenario) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let fanout = &scenario.fanout;
    let variant = variant.to_owned();
    if fanout.model != "inherit" && fanout.agent == AgentKind::Fork {
        let model = fanout.model.clone();
        warnings.push(Warning::ForkIgnoresModel { variant: variant.clone(), model });
    }
    let startup = match fanout.agent {
        AgentKind::Fresh => Some(&scenario.startup.fresh),
        AgentKind::Explore => Some(&scenario.startup.explore),
        AgentKind::Plan => Some(&scenario.startup.plan),
        AgentKind::Workflow => Some(&scenario.startup.workflow),
        AgentKind::Fork | AgentKind::Inline => None,
    };
    if startup.is_some_and(|kind| *kind == Startup::default()) {
        warnings.push(Warning::EmptyStartup { variant: variant.clone() });
    }
    let again = &scenario.task.rediscovery;
    if again.tokens.mean() > 0.0 && again.iterations.mean() <= 0.0 {
        warnings.push(Warning::RediscoveryIgnored { variant: variant.clone() });
    }
    if fanout.queue == Queue::Parent && fanout.max_parallel.is_none() {
        warnings.push(Warning::QueueIgnored { variant });
    }
    warnings
}

/// Reads the files that distributions name.
pub(super) fn resolve_files(
    scenario: &mut Scenario,
    tree: &Tree,
    read: &mut dyn FnMut(&str) -> Result<String, String>,
) -> Vec<Problem> {
    let mut problems = Vec::new();
    let task = &mut scenario.task;
    resolve("task.iterations", &mut task.iterations, (tree, &mut problems), read);
    resolve("task.output", &mut task.output, (tree, &mut problems), read);
    resolve("task.tool_result", &mut task.tool_result, (tree, &mut problems), read);
    resolve("task.tool_time", &mut task.tool_time, (tree, &mut problems), read);
    resolve("task.report", &mut task.report, (tree, &mut problems), read);
    resolve("task.prompt", &mut task.prompt, (tree, &mut problems), read);
    resolve("nested.count", &mut scenario.nested.count, (tree, &mut problems), read);
    let resumed = &mut scenario.resume.iterations;
    resolve("resume.iterations", resumed, (tree, &mut problems), read);
    let again = &mut task.rediscovery;
    resolve("task.rediscovery.tokens", &mut again.tokens, (tree, &mut problems), read);
    resolve("task.rediscovery.iterations", &mut again.iterations, (tree, &mut problems), read);
    resolve("session.answer", &mut scenario.session.answer, (tree, &mut problems), read);
    if let FirstToken::Drawn(distribution) = &mut scenario.latency.first_token {
        resolve("latency.first_token", distribution, (tree, &mut problems), read);
    }
    problems
}

fn resolve<Q: Quantity>(
    key: &str,
    distribution: &mut Distribution<Q>,
    (tree, problems): (&Tree, &mut Vec<Problem>),
    read: &mut dyn FnMut(&str) -> Result<String, String>,
) {
    if let Err(message) = distribution.resolve_files(read) {
        problems.push(tree.problem(key, message));
    }
}
