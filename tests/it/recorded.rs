//! Recorded runs of a real client against `scenarios/recorded`: every request of every agent.
//!
//! The recordings are in `tests/fixtures/client-traces`. Each scenario states the sizes and
//! settings of its run, and all else is the profile's. Predicted are the requests of each agent,
//! the split of each request, every part within 1 % of its prompt, and the client's own total
//! within 1 %. What is known to the token is compared to the token.

use std::collections::BTreeMap;
use std::path::PathBuf;

use forkcast::orchestration::System;
use forkcast::trace::{Trace, read_trace, simulated_trace};

use crate::support::program::{read, root};
use crate::support::scenario;

const VERSIONS: [&str; 2] = ["2.1.260", "2.1.332"];

/// Runs that are predicted to within a few tokens, and why not to the token.
const NEARLY: [(&str, &str, &str); 6] = [
    (
        "2.1.260",
        "concurrency-limit",
        "tasks from the tenth on have names that are one token longer",
    ),
    ("2.1.260", "nested", "one of the reports was a character shorter"),
    ("2.1.260", "resume", "the notice of the resumed child was one token shorter"),
    ("2.1.332", "resume", "the notice of the resumed child was one token shorter"),
    ("2.1.332", "concurrency-limit", "as in 2.1.260; a notice has 317 or 318 tokens"),
    ("2.1.332", "fork", "a notice has 317 or 318 tokens"),
];

/// Uncached, written for 5 minutes and for an hour, read, output of each request, by agent.
type Requests = BTreeMap<String, Vec<[u64; 5]>>;

fn requests(trace: &Trace) -> Requests {
    let mut lines: Vec<_> = trace.requests.iter().map(|(_, line)| line).collect();
    lines.sort_by_key(|line| line.start);
    let mut requests = Requests::new();
    for line in lines {
        let usage = line.usage.expect("usage is recorded");
        let parts = [
            usage.uncached,
            usage.cache_write_5m,
            usage.cache_write_1h,
            usage.cache_read,
            usage.output,
        ];
        let parts = parts.map(forkcast::units::Tokens::get);
        requests.entry(line.agent.clone()).or_default().push(parts);
    }
    requests
}

fn fixture(version: &str, kind: &str, ending: &str) -> PathBuf {
    root().join(format!("tests/fixtures/client-traces/{version}/{kind}.{ending}"))
}

fn recorded(version: &str, kind: &str) -> Requests {
    requests(&read_trace(&read(fixture(version, kind, "jsonl")), false).expect("a readable trace"))
}

/// What the client itself said that the run cost, in dollars.
fn recorded_cost(version: &str, kind: &str) -> f64 {
    let text = read(fixture(version, kind, "client.json"));
    let client: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    client["total_cost_usd"].as_f64().expect("a number")
}

/// Runs a scenario and returns its requests and what they cost in dollars.
fn predicted(version: &str, kind: &str, sets: &[(&str, &str)]) -> (Requests, f64) {
    let text = read(root().join(format!("scenarios/recorded/{version}/{kind}.toml")));
    let plan = scenario(&text, sets).base.plan;
    assert!(!plan.is_random(), "{version}, {kind}: a prediction without randomness");
    let names = plan.models().each_ref().map(|model| model.name.clone());
    let mut system = System::new(plan, 1);
    let log = system.run_logged(1);
    let names = names.each_ref().map(String::as_str);
    let trace = simulated_trace(&log, system.cache().tree(), &names);
    (requests(&trace), system.bill().total.as_usd())
}

/// The kinds of runs that are recorded of a version.
fn kinds(version: &str) -> Vec<String> {
    let folder = fixture(version, "x", "x").parent().expect("a folder").to_owned();
    let names = std::fs::read_dir(folder).expect("the fixtures");
    let names = names.map(|entry| entry.expect("an entry").file_name().into_string());
    let mut kinds: Vec<String> = names
        .filter_map(|name| Some(name.expect("UTF-8").strip_suffix(".jsonl")?.to_owned()))
        .collect();
    kinds.sort();
    assert!(kinds.len() >= 13, "{version}: recordings are missing");
    kinds
}

#[test]
fn every_recorded_run_is_predicted_within_one_percent() {
    for version in VERSIONS {
        for kind in kinds(version) {
            let name = format!("{version}, {kind}");
            let (requests, cost) = predicted(version, &kind, &[]);
            let recorded = recorded(version, &kind);
            assert!(requests.keys().eq(recorded.keys()), "{name}: agents");
            for (agent, expected) in &recorded {
                let got = &requests[agent];
                assert_eq!(got.len(), expected.len(), "{name}, {agent}: requests");
                for (one, other) in got.iter().zip(expected) {
                    let prompt = other[..4].iter().sum::<u64>();
                    for (part, expected) in one.iter().zip(other) {
                        let apart = part.abs_diff(*expected);
                        assert!(apart * 100 <= prompt, "{name}, {agent}: {one:?}, {other:?}");
                    }
                }
            }
            let share = cost / recorded_cost(version, &kind) - 1.0;
            assert!(share.abs() <= 0.01, "{name}: the bill is off by {share}");
        }
    }
}

#[test]
fn most_recorded_runs_are_predicted_token_for_token() {
    for version in VERSIONS {
        for kind in kinds(version) {
            if NEARLY.iter().any(|(v, k, _)| (*v, *k) == (version, &kind)) {
                continue;
            }
            let (requests, cost) = predicted(version, &kind, &[]);
            assert_eq!(requests, recorded(version, &kind), "{version}, {kind}");
            let apart = (cost - recorded_cost(version, &kind)).abs();
            assert!(apart < 1e-9, "{version}, {kind}: the bill is off by ${apart}");
        }
    }
}
