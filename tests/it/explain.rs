//! `explain`: its sums are those of `run`, its remedies are simulations, its files can be read.
//!
//! Method: what it says is compared with what other commands say of the same replication; amounts
//! that follow from prices alone are worked out by hand.

use std::collections::BTreeMap;

use forkcast::explain::{Explanation, Subject, explain};
use forkcast::orchestration::System;
use forkcast::units::Money;
use serde_json::Value;

use crate::orchestration::world;
use crate::support::program::{expect, json, read, shipped_scenarios};
use crate::support::random::SplitMix;
use crate::support::{scenario, try_load};

/// Explains replication 2 of a scenario; every change that is tried must be one that loads.
fn explained(text: &str) -> Explanation {
    let base = scenario(text, &[]).base;
    let (plan, scenario) = (&base.plan, &base.scenario);
    let subject = Subject { variant: "base", plan, scenario, seed: 7, replication: 2 };
    explain(&subject, &mut |set| {
        let set: Vec<(&str, &str)> =
            set.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        let loaded = try_load(text, &set);
        let loaded = loaded.unwrap_or_else(|problems| panic!("{set:?}: {problems}\n{text}"));
        Some(loaded.base.plan)
    })
}

#[test]
fn accounts_of_random_orchestrations_sum_to_the_bill_to_the_picodollar() {
    let mut random = SplitMix(31);
    for _ in 0..60 {
        let text = world(&mut random);
        let explanation = explained(&text);
        let mut system = System::new(scenario(&text, &[]).base.plan, 7);
        system.run(2);
        assert_eq!(&explanation.bill, system.bill(), "{text}");
        let charged = explanation
            .log
            .run
            .requests
            .iter()
            .zip(&explanation.requests)
            .filter(|(r, _)| !r.is_paid);
        let mut sum = Money::ZERO;
        for (record, account) in charged {
            let causes = account.causes.iter().map(|one| one.cost).sum::<Money>();
            assert_eq!(causes + account.read_cost + account.output_cost, record.cost, "{text}");
            sum += record.cost;
            assert_eq!(account.running_total, sum, "{text}");
        }
        assert_eq!(sum, explanation.bill.total, "{text}");
        let agents = explanation.agents.iter().map(|agent| agent.bill.cost).sum::<Money>();
        assert_eq!(agents, explanation.bill.total, "{text}");
        for moment in &explanation.moments {
            assert!(moment.cost > Money::ZERO && moment.cost <= explanation.bill.total, "{text}");
            for remedy in &moment.remedies {
                assert!(remedy.saved > Money::ZERO && remedy.keeps_work, "{text}");
                assert_eq!(remedy.cost + remedy.saved, explanation.bill.total, "{text}");
            }
            for tried in &moment.in_vain {
                assert!(tried.saved <= Money::ZERO || !tried.keeps_work, "{text}");
            }
        }
    }
}

#[test]
fn the_bill_is_that_of_a_run_of_one_replication() {
    for scenario in shipped_scenarios() {
        let run = json(&["run", &scenario, "--replications", "1"]);
        let told = json(&["explain", &scenario]);
        let variant = &run["variants"][0];
        assert_eq!(told["cost_usd"], variant["cost_usd"]["mean"], "{scenario}");
        for by in ["cost_by_cause_usd", "cost_by_item_usd", "cost_by_role_usd", "tokens"] {
            for (key, value) in told[by].as_object().expect("an object") {
                let same = value.as_f64() == variant[by][key]["mean"].as_f64();
                assert!(same, "{scenario}: {by}.{key}: {value} and {}", variant[by][key]);
            }
        }
        let causes: f64 = told["cost_by_cause_usd"]
            .as_object()
            .expect("an object")
            .values()
            .filter_map(Value::as_f64)
            .sum();
        let cost = told["cost_usd"].as_f64().expect("a number");
        assert!((causes - cost).abs() < 1e-9, "{scenario}");
    }
}

/// The third tool takes six minutes, so the fourth request writes 33,700 tokens again, at $6.25
/// per million. A keep-alive reads them twice instead, at $0.50.
#[test]
fn a_keep_alive_saves_what_the_pause_cost() {
    let told = json(&["explain", "scenarios/five-minute-pause.toml"]);
    let moment = &told["moments"][0];
    assert_eq!(
        (moment["what"].as_str(), moment["tokens"].as_u64()),
        (Some("expired"), Some(33_700))
    );
    let remedy = &moment["remedies"][0];
    assert_eq!(remedy["set"]["cache.keep_alive"], "\"4m\"");
    let saved = remedy["saved_usd"].as_f64().expect("a number");
    assert!((saved - 33_700.0 * (6.25 - 2.0 * 0.5) * 1e-6).abs() < 1e-12, "{saved}");
}

/// Eight siblings write tools and system, 20,000 tokens; all but one could read them.
#[test]
fn what_a_remedy_saves_is_what_a_run_with_it_costs_less() {
    let cases = [
        ("scenarios/five-minute-pause.toml", None),
        ("scenarios/siblings-cold-start.toml", Some("together")),
        ("scenarios/siblings-cold-start.toml", None),
        ("scenarios/fork-or-fresh.toml", Some("fork")),
    ];
    let mut tried = 0;
    for (scenario, variant) in cases {
        let mut arguments = vec!["explain", scenario, "--replication", "1", "--seed", "3"];
        arguments.extend(variant.into_iter().flat_map(|name| ["--variant", name]));
        let told = json(&arguments);
        for moment in told["moments"].as_array().expect("moments") {
            let lists = [&moment["remedies"], &moment["in_vain"]];
            let remedies = lists.into_iter().flat_map(|list| list.as_array().expect("a list"));
            for remedy in remedies.take(4) {
                let set = remedy["set"].as_object().expect("changes");
                let set = set.iter().map(|(key, value)| {
                    let value = value.as_str().expect("a text");
                    let prefix = variant.map_or(String::new(), |name| format!("variant.{name}."));
                    format!("{prefix}{key}={value}")
                });
                let sets: Vec<String> = set.collect();
                let mut arguments = arguments.clone();
                for set in &sets {
                    arguments.extend(["--set", set]);
                }
                assert_eq!(json(&arguments)["cost_usd"], remedy["cost_usd"], "{arguments:?}");
                tried += 1;
            }
        }
    }
    assert!(tried > 15, "{tried} remedies were tried");
}

#[test]
fn refusals_are_told_with_the_words_of_the_client() {
    let arguments = [
        "explain",
        "scenarios/fork-or-fresh.toml",
        "--variant",
        "fresh",
        "--set",
        "fanout.tasks=22",
        "--events",
        "-",
    ];
    let (events, _) = expect(0, &arguments);
    let refused: Vec<Value> =
        lines(&events).into_iter().filter(|event| event["event"] == "launch_refused").collect();
    assert_eq!(refused.len(), 2);
    for event in refused {
        assert_eq!(event["reason"], "concurrency");
        assert_eq!(event["text"], "Concurrent subagent limit reached");
    }
    let (text, _) = expect(0, &arguments[..6]);
    let line = "2 calls are refused (concurrency): \"Concurrent subagent limit reached\"";
    assert!(text.contains(line), "{text}");
    assert!(text.contains("2 launches were refused."), "{text}");
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect()
}

/// The keys of each event are those of the table at the top of the writer, and no others.
#[test]
fn events_have_the_documented_keys_in_the_order_of_time() {
    let writer = read(crate::support::program::root().join("src/report/events.rs"));
    let mut documented: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for row in writer.lines().filter_map(|line| line.strip_prefix("//! | `")) {
        let (events, keys) = row.split_once('|').expect("two columns");
        let quoted = |text: &str| -> Vec<String> {
            text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
        };
        let events = quoted(&format!("`{events}"));
        documented.extend(events.into_iter().map(|event| (event, quoted(keys))));
    }
    let mut seen = std::collections::BTreeSet::new();
    let cases: [&[&str]; 5] = [
        &["scenarios/recorded/2.1.260/resume.toml"],
        &["scenarios/thirteen-children.toml", "--set", "fanout.max_parallel=3"],
        &["scenarios/rate-limit-collapse.toml", "--set", "provider.tries=12"],
        &["scenarios/fork-or-fresh.toml", "--set", "limits.concurrency=2"],
        &["scenarios/five-minute-pause.toml", "--set", "cache.keep_alive=4m"],
    ];
    for case in cases {
        let mut arguments = vec!["explain", "--events", "-"];
        arguments.extend(case);
        let events = lines(&expect(0, &arguments).0);
        let mut before = f64::MIN;
        for event in &events {
            let at = event["at_s"].as_f64().expect("a time");
            assert!(before <= at, "{event}");
            before = at;
            let name = event["event"].as_str().expect("a name");
            let known = documented.get(name).unwrap_or_else(|| panic!("{name} is not documented"));
            for (key, _) in event.as_object().expect("an object") {
                let common = ["at_s", "agent", "event"].contains(&key.as_str());
                assert!(common || known.contains(key), "{name} has {key}");
            }
            seen.insert(name.to_owned());
        }
        let is_of_all = |event: &Value| event.get("agent").is_none();
        assert!(is_of_all(&events[0]) && is_of_all(&events[events.len() - 1]));
        assert_eq!(events.iter().filter(|event| is_of_all(event)).count(), 2);
        let total = events[events.len() - 1]["cost_usd"].as_f64();
        let last = events.iter().rev().find(|event| event["event"] == "request_started");
        assert_eq!(last.and_then(|event| event["total_usd"].as_f64()), total);
    }
    let missing: Vec<_> = documented.keys().filter(|name| !seen.contains(*name)).collect();
    assert!(missing.is_empty(), "never seen: {missing:?}");
}

/// Slices of a thread nest, as the Perfetto UI needs it; every event has what its phase needs.
#[test]
fn the_perfetto_trace_is_well_formed() {
    let cases: [&[&str]; 5] = [
        &["scenarios/siblings-cold-start.toml", "--variant", "pre-warm"],
        &["scenarios/five-minute-pause.toml", "--variant", "keep-alive every 4m"],
        &["scenarios/rate-limit-collapse.toml"],
        &["scenarios/fork-or-fresh.toml", "--set", "fanout.max_parallel=2"],
        &["scenarios/fork-or-fresh.toml", "--set", "title=\"a \\\"quote\\\" \\u0007 </script>\""],
    ];
    for case in cases {
        let mut arguments = vec!["explain", "--perfetto", "-"];
        arguments.extend(case);
        let text = expect(0, &arguments).0;
        assert_eq!(text, expect(0, &arguments).0, "the same bytes again");
        let trace: Value = serde_json::from_str(&text).expect("a JSON object");
        let events = trace["traceEvents"].as_array().expect("a list of events");
        let mut threads: BTreeMap<u64, Vec<(i64, i64)>> = BTreeMap::new();
        let mut counters: BTreeMap<&str, i64> = BTreeMap::new();
        for event in events {
            assert_eq!(event["pid"], 1, "{event}");
            assert!(event["name"].is_string() && event["args"].is_object(), "{event}");
            let at = event["ts"].as_i64();
            match event["ph"].as_str().expect("a phase") {
                "M" => assert!(event["tid"].is_u64(), "{event}"),
                "i" => assert!(event["s"] == "t" && at.is_some_and(|at| at >= 0), "{event}"),
                "X" => {
                    let (start, length) = (at.expect("a time"), event["dur"].as_i64());
                    let length = length.filter(|length| *length >= 0).expect("a length");
                    let thread = event["tid"].as_u64().expect("a thread");
                    threads.entry(thread).or_default().push((start, start + length));
                }
                "C" => {
                    let name = event["name"].as_str().expect("a name");
                    let before = counters.insert(name, at.expect("a time"));
                    assert!(before.is_none_or(|before| before < at.expect("a time")), "{event}");
                }
                other => panic!("unknown phase {other}"),
            }
        }
        for (thread, mut slices) in threads {
            slices.sort_by_key(|(start, end)| (*start, -end));
            let mut open: Vec<i64> = Vec::new();
            for (start, end) in slices {
                open.retain(|outer| *outer > start);
                assert!(
                    open.iter().all(|outer| end <= *outer),
                    "thread {thread}: {start} to {end}"
                );
                open.push(end);
            }
        }
        assert!(counters.contains_key("bill") && counters.contains_key("live entries"));
    }
}

#[test]
fn the_trace_of_a_told_replication_agrees() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("run.jsonl");
    let path = file.to_str().expect("a UTF-8 path");
    let told = json(&[
        "explain",
        "scenarios/fork-or-fresh.toml",
        "--variant",
        "fork",
        "--replication",
        "5",
        "--trace",
        path,
    ]);
    let trace = json_of(&expect(0, &["trace", path, "--json"]).0);
    assert_eq!(trace["agrees"], true);
    assert_eq!(trace["cost_usd"], told["cost_usd"]);
}

fn json_of(text: &str) -> Value {
    serde_json::from_str(text).expect("an object")
}

#[test]
fn csv_has_a_row_for_each_request_and_markdown_keeps_the_layout() {
    let scenario = "scenarios/five-minute-pause.toml";
    let csv = expect(0, &["explain", scenario, "--csv"]).0;
    assert_eq!(csv.lines().count(), 11);
    let heading = csv.lines().next().expect("a heading");
    for column in
        ["request", "agent", "start_s", "tokens_cache_read", "tokens_expired", "total_usd"]
    {
        assert!(heading.split(',').any(|name| name == column), "{column} in {heading}");
    }
    let markdown = expect(0, &["explain", scenario, "--markdown"]).0;
    assert_eq!(markdown.matches("```").count(), 2);
    assert!(markdown.contains("| with | that is | saves | of the bill | takes |\n|---|---|---:|"));
}

#[test]
fn what_cannot_be_explained_is_said() {
    let scenario = "scenarios/five-minute-pause.toml";
    let (_, error) = expect(2, &["explain", scenario, "--variant", "6m"]);
    assert!(error.contains("no variant `6m`; variants are: 5m, 1h"), "{error}");
    let (_, error) = expect(2, &["explain", scenario, "--events", "-", "--trace", "-"]);
    assert!(error.contains("only one of --events, --perfetto and --trace"), "{error}");
    expect(2, &["explain", scenario, "--replication", "0"]);
    let (_, error) = expect(1, &["explain", scenario, "--events", scenario]);
    assert!(error.contains("would be read or written twice"), "{error}");
    let (_, error) = expect(1, &["explain", scenario, "--perfetto", "no-such-folder/a.json"]);
    assert!(error.contains("there is no such folder"), "{error}");
}

/// A long run shows its most expensive requests and folds the others; `--all` shows each.
#[test]
fn long_runs_are_folded() {
    let arguments = ["explain", "scenarios/thirteen-children.toml", "--variant", "forks"];
    let short = expect(0, &arguments).0;
    let all = expect(0, &[&arguments[..], &["--all"]].concat()).0;
    assert!(short.contains("requests are folded into lines with dots"), "{short}");
    assert!(!all.contains("..."), "nothing is folded");
    assert!(short.lines().count() < 160 && all.lines().count() > 500);
    let last_total = |text: &str| {
        let told = text.split("Where each dollar went").next().expect("the timeline").to_owned();
        let total = told
            .lines()
            .rev()
            .find_map(|line| line.rsplit_once('$').map(|(_, end)| end.to_owned()));
        total.expect("a total")
    };
    assert_eq!(last_total(&short), last_total(&all));
}
