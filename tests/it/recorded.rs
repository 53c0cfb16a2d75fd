//! Recorded runs of a real client against the profiles: every request of every agent.
//!
//! The recordings are in `tests/fixtures/client-traces`; sizes and settings alone predict them.
//! 2.1.260 is predicted token for token. 2.1.332 adds small notes at times of its own, so there
//! each part may differ by 1 % of the request's prompt, and the bill by 1 %.

use std::collections::BTreeMap;

use forkcast::orchestration::System;
use forkcast::trace::read_trace;

use crate::support::program::{read, root};
use crate::support::scenario;

/// Uncached, 5m write, read and output of each request, by agent.
type Requests = BTreeMap<String, Vec<[u64; 4]>>;

fn recorded(version: &str, kind: &str) -> Requests {
    let path = root().join(format!("tests/fixtures/client-traces/{version}/{kind}.jsonl"));
    let text = read(path);
    let trace = read_trace(&text, false).expect("a readable trace");
    let mut requests = Requests::new();
    for (_, line) in &trace.requests {
        let usage = line.usage.expect("usage is recorded");
        let parts = [usage.uncached, usage.cache_write_5m, usage.cache_read, usage.output];
        let parts = parts.map(forkcast::units::Tokens::get);
        requests.entry(line.agent.clone()).or_default().push(parts);
    }
    requests
}

fn predicted(version: &str, settings: &str) -> Requests {
    let text = format!("profile = \"claude-code@{version}\"\n{settings}");
    let loaded = scenario(&text, &[]);
    let records = System::new(loaded.base.plan, 1).run_logged(1);
    let mut requests = Requests::new();
    for record in records.requests {
        let agent = match record.agent {
            0 => "main".to_owned(),
            number => format!("a{number}"),
        };
        let split = record.split;
        let parts = [split.uncached, split.write_5m, split.read, record.output];
        let parts = parts.map(forkcast::units::Tokens::get);
        requests.entry(agent).or_default().push(parts);
    }
    requests
}

fn settings(prompt: u32, fanout: &str, iterations: u32) -> String {
    format!(
        "[session]\nprompt = {prompt}\n[fanout]\n{fanout}\n[task]\niterations = {iterations}\n\
         output = 34\ntool_result = 28\ntool_time = \"0.3s\"\nreport = 11\nprompt = 13\n\
         [latency]\nfirst_token = \"0.2s\"\n"
    )
}

fn kinds() -> [(&'static str, String); 5] {
    [
        ("loop", settings(10, "agent = \"inline\"", 6)),
        ("fork", settings(14, "agent = \"fork\"\ntasks = 3", 3)),
        ("fresh-background", settings(17, "tasks = 3", 3)),
        ("fresh-foreground", settings(17, "tasks = 3\nbackground = false", 3)),
        ("explore", settings(15, "agent = \"explore\"\ntasks = 2\nbackground = false", 3)),
    ]
}

#[test]
fn client_2_1_260_is_predicted_token_for_token() {
    for (kind, settings) in kinds() {
        assert_eq!(predicted("2.1.260", &settings), recorded("2.1.260", kind), "{kind}");
    }
}

#[test]
fn client_2_1_332_is_predicted_within_one_percent() {
    for (kind, settings) in kinds() {
        let (predicted, recorded) = (predicted("2.1.332", &settings), recorded("2.1.332", kind));
        assert!(predicted.keys().eq(recorded.keys()), "{kind}: agents");
        for (agent, requests) in &recorded {
            let simulated = &predicted[agent];
            assert_eq!(simulated.len(), requests.len(), "{kind}, {agent}: requests");
            for (one, other) in simulated.iter().zip(requests) {
                let prompt = other[..3].iter().sum::<u64>();
                for (part, expected) in one.iter().zip(other) {
                    assert!(part.abs_diff(*expected) * 100 <= prompt, "{kind}, {agent}: {one:?}");
                }
            }
        }
    }
}
