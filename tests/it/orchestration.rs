//! Random small orchestrations: every run keeps the laws, and its trace is priced the same again.
//!
//! Method: settings are drawn from short lists that contain the edges; `System::run` itself asserts
//! that items, roles and causes sum to the bill and that every launch ends in one outcome. The trace
//! is accounted by code that knows nothing of agents. `FORKCAST_LONG=N` draws 50 N times as many.

use std::fmt::Write;

use forkcast::cache::RoleTtl;
use forkcast::ledger::Role;
use forkcast::orchestration::System;
use forkcast::trace::{AccountOptions, account, simulated_trace};

use crate::support::random::SplitMix;
use crate::support::{run, scenario};

const KINDS: [&str; 5] = ["fresh", "fork", "explore", "plan", "inline"];
const FATES: [&str; 3] = ["dropped", "inline", "relaunch"];
const LAUNCHES: [&str; 6] = [
    "\"together\"",
    "{ staggered = \"30s\" }",
    "{ hold_first = \"5s\" }",
    "{ hold_first = \"500ms\" }",
    "{ prewarm = \"system\" }",
    "{ prewarm = \"shared\" }",
];
const TTLS: [&str; 4] =
    ["\"5m\"", "\"1h\"", "{ main = \"1h\" }", "{ subagent = { head = \"1h\", tail = \"5m\" } }"];
const CONTEXTS: [&str; 4] = [
    "",
    "context = \"40k\"",
    "context = \"40k\"\nage = \"290s\"",
    "context = \"40k\"\nwarm = false",
];
const CACHES: [&str; 6] = [
    "",
    "keep_alive = \"4m\"",
    "breakpoints = [\"system\", \"before_directive\", \"end\"]",
    "concurrent_cold_writes = \"first\"",
    "ttl_clock = \"response_end\"",
    "refresh_shorter = \"all\"\nlookback = 3\nminimum = 2000",
];
const TIMES: [&str; 3] =
    ["0", "{ sequence = [1, 400, 2] }", "{ exponential = { mean = \"90s\" } }"];

fn draw<'a>(random: &mut SplitMix, list: &[&'a str]) -> &'a str {
    list[random.below(list.len() as u64) as usize]
}

/// Draws the text of a small scenario.
pub(crate) fn world(random: &mut SplitMix) -> String {
    let mut text = String::new();
    let profile = draw(random, &["plain", "claude-code@2.1.260", "claude-code@2.1.332"]);
    let _ = writeln!(text, "profile = \"{profile}\"\n[session]\n{}", draw(random, &CONTEXTS));
    let _ = writeln!(text, "[fanout]\ntasks = {}", 1 + random.below(7));
    let mut messages = 0;
    if random.below(6) == 0 {
        text.push_str("agent = \"workflow\"\n");
    } else {
        let kind = draw(random, &KINDS);
        let queue = draw(random, &["harness", "parent"]);
        let fate = draw(random, &FATES);
        let _ = writeln!(text, "agent = \"{kind}\"\nqueue = \"{queue}\"\nrefused = \"{fate}\"");
        let _ = writeln!(text, "background = {}", random.below(2) == 0);
        let _ = writeln!(text, "launch = {}", draw(random, &LAUNCHES));
        let resumes = ["fresh", "fork"].contains(&kind) && queue == "harness" && fate != "relaunch";
        messages = if resumes { random.below(3) } else { 0 };
    }
    let _ = writeln!(text, "notices = \"{}\"", draw(random, &["one_by_one", "batched"]));
    if random.below(2) == 0 {
        let _ = writeln!(text, "max_parallel = {}", 1 + random.below(4));
    }
    let _ = writeln!(text, "[resume]\nmessages = {messages}\niterations = 2\nmessage = 50");
    let _ = writeln!(text, "tools = \"{}\"", draw(random, &["kept", "background"]));
    let _ = writeln!(text, "[limits]\nconcurrency = {}", 1 + random.below(8));
    let _ = writeln!(text, "depth = {}\ntools = {}", random.below(4), 1 + random.below(3));
    if random.below(2) == 0 {
        let _ = writeln!(text, "[nested]\ncount = {{ sequence = [{}, 1] }}", random.below(4));
        let _ = writeln!(text, "probability = {}", draw(random, &["0.5", "1"]));
        let _ = writeln!(text, "background = {}", random.below(2) == 0);
        let _ = writeln!(text, "agent = \"{}\"", draw(random, &["fresh", "fresh", "explore"]));
        let _ = writeln!(text, "after = {}", random.below(3));
    }
    let _ = writeln!(text, "[task]\niterations = {{ uniform = {{ low = 1, high = 6 }} }}");
    let _ = writeln!(text, "output = {}\nreport = 300", draw(random, &["0", "400", "20000"]));
    let _ = writeln!(text, "tool_result = {}\nprompt = 200", draw(random, &["0", "1500"]));
    let _ = writeln!(text, "tool_time = {}", draw(random, &TIMES));
    let change = draw(random, &["none", "none", "messages", "system", "tools"]);
    let _ = writeln!(text, "prefix_change = \"{change}\"");
    let again = draw(random, &["0", "2"]);
    let _ = writeln!(text, "rediscovery = {{ tokens = 5000, iterations = {again} }}");
    let _ = writeln!(text, "[cache]\nttl = {}\n{}", draw(random, &TTLS), draw(random, &CACHES));
    if random.below(3) == 0 {
        let _ = writeln!(text, "[compaction]\nwindow = \"100k\"\ntrigger = \"45k\"");
    }
    if random.below(3) == 0 {
        let _ = writeln!(text, "[provider]\ninput_tokens_per_minute = \"60k\"");
        let _ = writeln!(text, "requests_per_minute = {}", 3 + random.below(60));
        let _ = writeln!(text, "overload_probability = {}", draw(random, &["0", "0.3"]));
        let _ = writeln!(text, "tries = {}", draw(random, &["3", "40"]));
    }
    if random.below(3) == 0 {
        let contention = draw(random, &["sharing", "queue"]);
        let _ = writeln!(text, "[machine]\ncores = 2\ncontention = \"{contention}\"");
    }
    let _ = writeln!(text, "[fork]\ntail = \"{}\"", draw(random, &["own_call", "all_calls"]));
    text
}

/// Accounts a run from its trace alone and compares bill, tokens and money of every request.
fn assert_trace_agrees(text: &str) {
    let variant = scenario(text, &[]).base;
    let mut system = System::new(variant.plan.clone(), 7);
    let log = system.run_logged(1);
    let models: Vec<&str> = variant.plan.models().iter().map(|model| model.name.as_str()).collect();
    let trace = simulated_trace(&log, system.cache().tree(), &models);
    let book = crate::support::default_book();
    let none: Option<RoleTtl> = None;
    let options =
        AccountOptions { main_ttl: none, subagent_ttl: none, ..AccountOptions::default() };
    if log.requests.iter().all(|record| record.is_paid) {
        return;
    }
    let found = account(&trace, &book, &variant.scenario.cache, &options)
        .unwrap_or_else(|problems| panic!("{problems}\n{text}"));
    assert_eq!(found.agrees, Some(true), "{text}");
    assert_eq!(found.bill.total, system.bill().total, "{text}");
    assert_eq!(found.bill.no_cache, system.bill().no_cache, "{text}");
    assert_eq!(found.bill.perfect_cache, system.bill().perfect_cache, "{text}");
}

#[expect(clippy::disallowed_methods, reason = "the length of a test run is set from outside")]
fn worlds() -> u64 {
    let long = std::env::var("FORKCAST_LONG").ok().and_then(|text| text.parse::<u64>().ok());
    1_500 * long.map_or(1, |factor| 50 * factor)
}

#[test]
fn random_orchestrations_keep_the_laws_and_agree_with_their_traces() {
    let mut random = SplitMix(11);
    for _ in 0..worlds() {
        assert_trace_agrees(&world(&mut random));
    }
}

const SMALL: &str = "profile = \"claude-code@2.1.260\"\n[session]\ncontext = \"40k\"\n[task]\n\
                     iterations = 2\noutput = 100\nreport = 900\ntool_time = \"10s\"\n";

#[test]
fn calls_above_the_concurrency_limit_are_refused_and_cost_their_text() {
    for background in ["true", "false"] {
        let sets = [
            ("fanout.tasks", "5"),
            ("limits.concurrency", "2"),
            ("fanout.background", background),
            ("fanout.agent", "fresh"),
        ];
        let system = run(SMALL, &sets);
        let launches = system.record().launches;
        assert_eq!((launches.attempted, launches.started), (5, 2), "background {background}");
        assert_eq!((launches.refused_concurrency, launches.completed), (3, 2));
        // 40,000 + 5 calls of 53 + 2 receipts of 291, or results of 78 + 900, + 3 texts of 71 and
        // a note of 19; in the background then 9 + 306 + 900 twice.
        let context = if background == "true" {
            40_000 + 265 + 582 + 213 + 19 + 2 * (9 + 1_206)
        } else {
            40_000 + 265 + 1_956 + 213 + 19
        };
        let last = system.agent_bills().next().expect("main").last_request.get();
        assert_eq!(last, context + 9, "background {background}");
    }
}

#[test]
fn without_a_layer_of_children_every_call_is_refused() {
    for background in ["true", "false"] {
        let sets =
            [("fanout.tasks", "3"), ("limits.depth", "0"), ("fanout.background", background)];
        let system = run(SMALL, &sets);
        let launches = system.record().launches;
        assert_eq!((launches.attempted, launches.refused_depth, launches.started), (3, 3, 0));
        // 40,000 + 3 calls of 53 + 3 texts of 71 + a note of 19.
        let last = system.agent_bills().next().expect("main").last_request.get();
        assert_eq!(last, 40_000 + 159 + 213 + 19 + 9);
    }
}

#[test]
fn a_parent_that_queues_makes_every_call_in_the_end() {
    for launch in ["\"together\"", "{ staggered = \"30s\" }", "{ hold_first = \"60s\" }"] {
        for background in ["true", "false"] {
            let sets = [
                ("fanout.tasks", "7"),
                ("fanout.max_parallel", "2"),
                ("fanout.queue", "parent"),
                ("fanout.launch", launch),
                ("fanout.background", background),
            ];
            let launches = run(SMALL, &sets).record().launches;
            assert_eq!((launches.attempted, launches.completed), (7, 7), "{launch}");
        }
    }
}

#[test]
fn a_child_that_fails_brings_no_report() {
    let sets = [
        ("compaction.enabled", "false"),
        ("compaction.window", "41k"),
        ("task.output", "2k"),
        ("fanout.agent", "fork"),
    ];
    let system = run(SMALL, &sets);
    assert_eq!(system.record().launches.failed, 1);
    // 40,000 + call 50 + receipt 291 + note 19, then answer 9 and a notice of 306 without report.
    let last = system.agent_bills().next().expect("main").last_request.get();
    assert_eq!(last, 40_000 + 50 + 291 + 19 + 9 + 306 + 9);
}

#[test]
fn a_prewarm_is_paid_once_and_by_main() {
    let text = "[startup.fresh]\nsystem = \"20k\"\n[session]\ncontext = 1000\n[fanout]\ntasks = 4\n\
                max_parallel = 1\nqueue = \"parent\"\nlaunch = { prewarm = \"system\" }\n";
    let system = run(text, &[]);
    let prewarm = system.bill().roles[Role::Prewarm as usize];
    assert!((prewarm.as_usd() - 0.125).abs() < 1e-12, "{prewarm}");
}
