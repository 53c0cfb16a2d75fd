//! The shipped scenarios and the contract of their results.

use serde_json::Value;

use crate::support::program::{expect, json, shipped_scenarios};

fn mean(value: &Value) -> f64 {
    value["mean"].as_f64().unwrap_or_else(|| panic!("no mean in {value}"))
}

fn sum(object: &Value) -> f64 {
    object.as_object().expect("an object").values().map(mean).sum()
}

fn agents(variant: &Value) -> Vec<f64> {
    let list = variant["cost_by_agent_usd"].as_array().expect("a list");
    list.iter().map(|agent| agent["mean"].as_f64().expect("a number")).collect()
}

#[test]
fn every_shipped_scenario_loads_without_problems() {
    for scenario in shipped_scenarios() {
        let (stdout, _) = expect(0, &["check", &scenario]);
        assert!(stdout.contains("no problems"), "{scenario}: {stdout}");
    }
}

#[test]
fn items_roles_agents_and_causes_each_sum_to_the_bill() {
    for scenario in shipped_scenarios() {
        let results = json(&["compare", &scenario, "--replications", "100"]);
        for variant in results["variants"].as_array().expect("variants") {
            let cost = mean(&variant["cost_usd"]);
            for key in ["cost_by_item_usd", "cost_by_role_usd", "cost_by_cause_usd"] {
                let parts = sum(&variant[key]);
                assert!((parts / cost - 1.0).abs() < 1e-9, "{scenario}: {key}");
            }
            let parts: f64 = agents(variant).iter().sum();
            assert!((parts / cost - 1.0).abs() < 1e-9, "{scenario}: agents");
            let perfect = mean(&variant["bounds"]["perfect_cache_usd"]);
            assert!(perfect <= cost * (1.0 + 1e-12), "{scenario}: the perfect cache is a bound");
        }
    }
}

/// The arithmetic of the guide to forks, with writes at 1.0 and at 1.25 (seed facts C1).
#[test]
fn the_guide_to_forks_is_reproduced_to_the_token_equivalent() {
    let children = |sets: &[&str], variant: usize| -> Vec<f64> {
        let mut arguments = vec!["compare", "scenarios/fork-guide.toml"];
        arguments.extend(sets.iter().flat_map(|set| ["--set", *set]));
        let results = json(&arguments);
        let costs = agents(&results["variants"][variant]);
        costs[1..].iter().map(|usd| (usd * 1e9).round() / 1e3).collect()
    };
    let total = |costs: &[f64]| costs.iter().sum::<f64>();
    let premium = ["prices.unit.cache_write_5m_usd_per_mtok=1.25"];
    let close = |got: f64, expected: f64| assert!((got - expected).abs() < 1e-6, "{got}");

    let fork = children(&[], 0);
    close(fork[0], 48_700.0);
    fork[1..].iter().for_each(|cost| close(*cost, 5_050.0));
    close(total(&fork), 68_900.0);
    close(total(&children(&[], 1)), 243_500.0);
    close(total(&children(&[], 2)), 25_250.0);
    close(total(&children(&[], 3)), 243_500.0);

    close(total(&children(&premium, 0)), 81_275.0);
    close(total(&children(&premium, 1)), 304_375.0);
    close(total(&children(&premium, 2)), 25_500.0);
    close(total(&children(&premium, 3)), 304_375.0);

    let hour = ["cache.ttl=1h"];
    close(total(&children(&hour, 0)), 118_400.0);
    close(total(&children(&hour, 1)), 487_000.0);
    close(total(&children(&hour, 2)), 26_250.0);
}

/// Keys of results are a contract; this lists them in their order.
#[test]
fn results_have_the_keys_of_the_contract() {
    let results = json(&["compare", "scenarios/fork-or-fresh.toml", "--replications", "20"]);
    let keys = |value: &Value| -> Vec<String> {
        value.as_object().expect("an object").keys().cloned().collect()
    };
    assert_eq!(
        keys(&results),
        [
            "format_version",
            "program",
            "scenario",
            "scenario_sha256",
            "seed",
            "replications",
            "reproduce",
            "prices",
            "profile",
            "variants",
            "differences",
            "warnings",
            "closed_form"
        ]
    );
    let variant = &results["variants"][0];
    assert_eq!(
        keys(variant),
        [
            "name",
            "cost_usd",
            "makespan_s",
            "wait_s",
            "tokens",
            "cost_by_item_usd",
            "cost_by_role_usd",
            "cost_by_agent_usd",
            "cost_by_cause_usd",
            "requests",
            "requests_by_agent",
            "hit_ratio_tokens",
            "misses",
            "expected_rebuilds",
            "launches",
            "failed_attempts",
            "last_request_tokens",
            "bounds",
            "outcomes"
        ]
    );
    assert_eq!(
        keys(&variant["cost_usd"]),
        ["mean", "half_width", "confidence", "p5", "p50", "p95", "p99", "max"]
    );
    assert_eq!(results["differences"].as_array().map(Vec::len), Some(3));
}

#[test]
fn a_scenario_without_randomness_needs_one_replication() {
    let results = json(&["compare", "scenarios/five-minute-pause.toml"]);
    assert_eq!(results["replications"], 1);
    for variant in results["variants"].as_array().expect("variants") {
        assert_eq!(variant["cost_usd"]["half_width"].as_f64(), Some(0.0));
    }
}
