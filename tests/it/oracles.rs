//! Deterministic scenarios on the profile `plain` against closed forms, exactly.
//!
//! The expected values are worked out from formulas that share nothing with the simulator:
//! validation cases 2.6 (bill of a k-call loop), 3.3 (fork against fresh child), 3.4 (sibling
//! fan-out), and the cost example of the fork guide (seed facts C1).

use forkcast::ledger::Role;
use forkcast::orchestration::System;

use crate::support::{FORK_OR_FRESH, run, scenario};

fn usd(picodollars: i128) -> f64 {
    picodollars as f64 / 1e12
}

fn role_usd(system: &System, role: Role) -> f64 {
    usd(system.bill().roles[role as usize].picodollars())
}

fn assert_usd(got: f64, expected: f64, what: &str) {
    assert!((got - expected).abs() < 1e-9, "{what}: got {got}, expected {expected}");
}

#[test]
fn forks_and_fresh_children_cost_what_the_closed_forms_say() {
    // K, fork, fresh (validation 3.3, first row).
    let cases = [
        ("1", 0.065_625, 0.354),
        ("5", 0.372_625, 0.562),
        ("10", 0.778_875, 0.844_5),
        ("20", 1.666_375, 1.484_5),
        ("50", 4.928_875, 4.004_5),
    ];
    for (iterations, fork, fresh) in cases {
        for (agent, expected) in [("fork", fork), ("fresh", fresh)] {
            let sets = [("task.iterations", iterations), ("fanout.agent", agent)];
            let system = run(FORK_OR_FRESH, &sets);
            let got = role_usd(&system, Role::Subagent);
            assert_usd(got, expected, &format!("{agent}, K = {iterations}"));
        }
    }
}

#[test]
fn rediscovery_over_several_iterations_costs_what_the_closed_form_says() {
    // P, a, C, b, R, m, then fork and fresh at K = 5 (validation 3.3).
    let cases = [
        ("100k", "500", "20k", "500", "30k", "5", 0.372_625, 0.702),
        ("150k", "500", "12k", "1000", "10k", "2", 0.497_625, 0.357_25),
        ("400k", "500", "20k", "2000", "60k", "10", 1.122_625, 1.217_5),
        ("60k", "500", "20k", "500", "40k", "4", 0.272_625, 0.756_625),
    ];
    for (context, tail, startup, prompt, tokens, iterations, fork, fresh) in cases {
        for (agent, expected) in [("fork", fork), ("fresh", fresh)] {
            let sets = [
                ("session.context", context),
                ("fork.tail_tokens", tail),
                ("startup.fresh.system", startup),
                ("task.prompt", prompt),
                ("task.rediscovery.tokens", tokens),
                ("task.rediscovery.iterations", iterations),
                ("task.iterations", "5"),
                ("fanout.agent", agent),
            ];
            let got = role_usd(&run(FORK_OR_FRESH, &sets), Role::Subagent);
            assert_usd(got, expected, &format!("{agent}, P = {context}, m = {iterations}"));
        }
    }
}

#[test]
fn a_fork_of_an_expired_parent_writes_it_again() {
    let sets = [("task.iterations", "10"), ("fanout.agent", "fork"), ("session.age", "6m")];
    assert_usd(role_usd(&run(FORK_OR_FRESH, &sets), Role::Subagent), 1.353_875, "expired parent");
}

#[test]
fn forks_of_a_warm_parent_do_not_disturb_each_other() {
    let sets = [("task.iterations", "10"), ("fanout.agent", "fork"), ("fanout.tasks", "8")];
    assert_usd(role_usd(&run(FORK_OR_FRESH, &sets), Role::Subagent), 6.231, "eight forks");
}

#[test]
fn cold_siblings_share_only_what_is_readable_when_they_start() {
    // Eight children with nothing but a shared prefix of 20k (validation 3.4).
    let text = "[startup.fresh]\nsystem = \"20k\"\n[fanout]\ntasks = 8\n";
    let cases = [
        ("together", 1.0),
        ("{ staggered = \"60s\" }", 0.195),
        ("{ hold_first = \"60s\" }", 0.195),
    ];
    for (launch, expected) in cases {
        let system = run(text, &[("fanout.launch", launch)]);
        assert_usd(role_usd(&system, Role::Subagent), expected, launch);
    }
    // Prewarmed: one write by main, eight reads.
    let system = run(text, &[("fanout.launch", "{ prewarm = \"system\" }")]);
    assert_usd(role_usd(&system, Role::Subagent), 0.08, "prewarm, children");
    assert_usd(role_usd(&system, Role::Prewarm), 0.125, "prewarm, main");
}

#[test]
fn staggered_launches_read_once_the_first_response_has_begun() {
    // Interval and time to first token, then the bill in units of the prefix (validation 3.4).
    let cases = [("0.5s", "3.2s", 8.85), ("1s", "3s", 4.25), ("4s", "3s", 1.95)];
    for (interval, first_token, units) in cases {
        let text = format!(
            "[startup.fresh]\nsystem = \"20k\"\n[fanout]\ntasks = 8\n\
             launch = {{ staggered = \"{interval}\" }}\n[latency]\nfirst_token = \"{first_token}\"\n"
        );
        let got = role_usd(&run(&text, &[]), Role::Subagent);
        assert_usd(got, units * 0.1, interval);
    }
}

#[test]
fn the_break_even_is_where_the_closed_form_crosses_zero() {
    use forkcast::scenario::closed_form;
    // P, C, R, m, then K* at a read price of 0.1 and of 0.025 (validation 3.3).
    let cases = [
        ("100k", "20k", "500", "30k", "1", 12.651_515, 52.424_242),
        ("100k", "20k", "500", "30k", "5", 18.868_421, 68.210_526),
        ("150k", "12k", "1000", "10k", "2", 2.780_632, 10.932_806),
        ("400k", "20k", "2000", "60k", "10", 5.605_263, 18.344_498),
    ];
    for (context, startup, prompt, tokens, iterations, tenth, fortieth) in cases {
        for (read, expected) in [("0.5", tenth), ("0.125", fortieth)] {
            let sets = [
                ("session.context", context),
                ("startup.fresh.system", startup),
                ("task.prompt", prompt),
                ("task.rediscovery.tokens", tokens),
                ("task.rediscovery.iterations", iterations),
                ("task.iterations", "10"),
                ("prices.claude-opus-5.cache_read_usd_per_mtok", read),
            ];
            let fresh = scenario(FORK_OR_FRESH, &sets).base;
            let mut sets = sets.to_vec();
            sets.push(("fanout.agent", "fork"));
            let fork = scenario(FORK_OR_FRESH, &sets).base;
            let form = closed_form(&fork, &fresh).expect("a fork and a fresh variant");
            let got = form.break_even.expect("they cross");
            assert!((got - expected).abs() < 1e-5, "P = {context}, read {read}: {got}");
        }
    }
}

/// The k-call loop of validation 2.6 as the parent doing one task itself.
const LOOP: &str = r#"
[session]
model = "claude-opus-5"
[fanout]
agent = "inline"
[startup.main]
"#;

type Sets = &'static [(&'static str, &'static str)];

/// k, S, o, d, then the bill with 5m entries by mode and with 1h entries of all modes but the first.
type LoopRow = (&'static str, &'static str, &'static str, &'static str, [f64; 5], [f64; 4]);

#[test]
fn a_loop_costs_what_the_closed_forms_say_in_every_mode() {
    let modes: [(&str, Sets); 5] = [
        ("none", &[("cache.enabled", "false")]),
        ("ideal", &[]),
        ("system only", &[("cache.breakpoints", "[\"system\"]")]),
        ("pinned", &[("task.prefix_change", "messages")]),
        ("no reuse", &[("task.prefix_change", "tools")]),
    ];
    let rows: [LoopRow; 4] = [
        (
            "5",
            "10000",
            "300",
            "700",
            [0.3375, 0.148, 0.17, 0.1825, 0.4125],
            [0.2005, 0.2075, 0.2575, 0.6375],
        ),
        (
            "10",
            "20000",
            "500",
            "1500",
            [1.575, 0.4885, 0.79, 0.9025, 1.9375],
            [0.631, 0.865, 1.315, 3.025],
        ),
        (
            "50",
            "20000",
            "500",
            "1500",
            [17.875, 3.0285, 13.49, 16.5525, 22.1875],
            [3.471, 13.565, 25.815, 35.125],
        ),
        (
            "100",
            "20000",
            "500",
            "1500",
            [60.75, 8.4535, 51.865, 64.24, 75.625],
            [9.271, 51.94, 101.44, 120.25],
        ),
    ];
    for (iterations, prefix, output, result, five_minutes, one_hour) in rows {
        for (index, (mode, extra)) in modes.iter().enumerate() {
            for ttl in ["5m", "1h"] {
                let mut sets = vec![
                    ("task.iterations", iterations),
                    ("startup.main.tools", prefix),
                    ("task.output", output),
                    ("task.report", output),
                    ("task.tool_result", result),
                    ("cache.ttl", ttl),
                ];
                sets.extend_from_slice(extra);
                let expected = match (ttl, index) {
                    ("1h", 0) => continue,
                    ("1h", _) => one_hour[index - 1],
                    _ => five_minutes[index],
                };
                let got = role_usd(&run(LOOP, &sets), Role::Main);
                assert_usd(got, expected, &format!("{mode}, k = {iterations}, {ttl}"));
            }
        }
    }
}
