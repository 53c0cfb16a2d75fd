//! The whole engine against theory: renewal gaps and lifetimes, makespans, 5m against 1h.
//!
//! Method: |z| < 4 at fixed seeds. Each estimate is a mean over independent observations, so its
//! standard error is their standard deviation over the root of their number. Expected values:
//! validation 2.4 (lifetimes), 2.5 (makespans), 3.1 (5m against 1h).

use forkcast::orchestration::System;

use crate::support::scenario;

/// Runs replications and returns one observation each.
fn observe(text: &str, count: u64, observe: impl Fn(&System) -> f64) -> Vec<f64> {
    let mut system = System::new(scenario(text, &[]).base.plan, 20_261_130);
    (1..=count)
        .map(|replication| {
            system.run(replication);
            observe(&system)
        })
        .collect()
}

fn assert_mean(observations: &[f64], expected: f64, what: &str) {
    let count = observations.len() as f64;
    let mean = observations.iter().sum::<f64>() / count;
    let variance = observations.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (count - 1.0);
    let z = (mean - expected) / (variance / count).sqrt();
    assert!(z.abs() < 4.0, "{what}: mean {mean}, expected {expected}, z = {z:.2}");
}

/// One agent that sends the same prompt again after random gaps: a request misses exactly when the
/// gap outlasts the lifetime, so the share of hits is the gap's distribution function at it.
fn assert_hits(gap: &str, first_token: &str, ttl: &str, expected: f64) {
    const REQUESTS: u32 = 201;
    let text = format!(
        "[startup.main]\nsystem = \"20k\"\n[fanout]\nagent = \"inline\"\n[task]\n\
         iterations = {REQUESTS}\ntool_time = {gap}\n[cache]\nttl = \"{ttl}\"\n\
         [latency]\nfirst_token = {first_token}\n"
    );
    let gaps = f64::from(REQUESTS - 1);
    let hits = observe(&text, 400, |system| 1.0 - system.bill().misses as f64 / gaps);
    assert_mean(&hits, expected, &format!("gap {gap}, response {first_token}, {ttl}"));
}

#[test]
fn entries_outlive_gaps_as_renewal_theory_says() {
    let exponential = |mean: u32| format!("{{ exponential = {{ mean = \"{mean}s\" }} }}");
    let poisson = [
        (60, 0.993_262, None),
        (120, 0.917_915, None),
        (300, 0.632_121, None),
        (600, 0.393_469, Some(0.997_521)),
        (1_200, 0.221_199, Some(0.950_213)),
        (3_600, 0.079_956, Some(0.632_121)),
    ];
    for (mean, five_minutes, one_hour) in poisson {
        assert_hits(&exponential(mean), "0", "5m", five_minutes);
        if let Some(expected) = one_hour {
            assert_hits(&exponential(mean), "0", "1h", expected);
        }
    }
    let others = [
        ("{ gamma = { shape = 2, mean = \"300s\" } }", 0.593_994),
        ("{ lognormal = { median = \"79s\", sigma = 1.613 } }", 0.795_949),
        ("{ lognormal = { median = \"60s\", sigma = 1.0 } }", 0.946_240),
        ("{ weibull = { shape = 0.5, mean = \"300s\" } }", 0.756_883),
        (
            "{ mixture = [{ weight = 0.89, of = { exponential = { mean = \"10s\" } } }, \
             { weight = 0.11, of = { exponential = { mean = \"900s\" } } }] }",
            0.921_182,
        ),
    ];
    for (gap, expected) in others {
        assert_hits(gap, "0", "5m", expected);
    }
}

/// The lifetime counts from the start of a request, so the response eats part of it.
#[test]
fn responses_use_up_the_lifetime() {
    let exponential = |mean: u32| format!("{{ exponential = {{ mean = \"{mean}s\" }} }}");
    let cases = [
        (120, exponential(60), 0.842_568),
        (300, exponential(30), 0.591_250),
        (120, "60".to_owned(), 0.864_665),
        (300, "30".to_owned(), 0.593_430),
    ];
    for (gap, response, expected) in cases {
        assert_hits(&exponential(gap), &response, "5m", expected);
    }
}

/// Foreground children of one request each, and then the parent's turn with the results.
fn makespans(tasks: u32, parallel: u32, first_token: &str, count: u64) -> Vec<f64> {
    let text = format!(
        "[session]\ncontext = 1000\n[fanout]\ntasks = {tasks}\nmax_parallel = {parallel}\n\
         background = false\n[latency]\nfirst_token = {first_token}\n"
    );
    observe(&text, count, |system| system.record().makespan.as_seconds())
}

/// n exponential tasks of mean 1 on p slots take (n - p) / p + H_p on average in any order that
/// leaves no slot idle; the parent's own turn adds 1.
#[test]
fn makespans_of_exponential_tasks_are_those_of_theory() {
    let cases = [
        (8, 8, 2.717_857),
        (20, 8, 4.217_857),
        (100, 16, 8.630_729),
        (13, 5, 3.883_333),
        (16, 4, 5.083_333),
    ];
    for (tasks, parallel, expected) in cases {
        let spans = makespans(tasks, parallel, "{ exponential = { mean = \"1s\" } }", 20_000);
        assert_mean(&spans, expected + 1.0, &format!("{tasks} on {parallel}"));
    }
}

/// The largest of n lognormal times with median 1; the parent's own turn adds their mean.
#[test]
fn the_slowest_child_is_as_slow_as_order_statistics_say() {
    let cases = [
        (2, "0.5", 1.446_267, 1.133_148),
        (8, "0.5", 2.138_940, 1.133_148),
        (4, "1.0", 3.640_584, 1.648_721),
        (16, "1.0", 6.874_653, 1.648_721),
        (32, "1.5", 30.615_356, 3.080_217),
    ];
    for (tasks, sigma, expected, mean) in cases {
        let first_token = format!("{{ lognormal = {{ median = \"1s\", sigma = {sigma} }} }}");
        let spans = makespans(tasks, tasks, &first_token, 40_000);
        assert_mean(&spans, expected + mean, &format!("largest of {tasks}, sigma {sigma}"));
    }
}

#[test]
fn makespans_without_randomness_are_exact() {
    let equal = [(17, 16, 60.0), (20, 8, 90.0), (16, 16, 30.0)];
    for (tasks, parallel, expected) in equal {
        let span = makespans(tasks, parallel, "30", 1)[0];
        assert!((span - expected - 30.0).abs() < 1e-9, "{tasks} on {parallel}: {span}");
    }
    // Jobs of 7, 3, 9, ... requests of one second, first come first served on three slots: 24 s.
    let text = "[session]\ncontext = 1000\n[fanout]\ntasks = 10\nmax_parallel = 3\n\
                background = false\n[task]\n\
                iterations = { sequence = [7, 3, 9, 2, 5, 8, 4, 6, 1, 10] }\n\
                [latency]\nfirst_token = 1\n";
    let span = observe(text, 1, |system| system.record().makespan.as_seconds())[0];
    assert!((span - 25.0).abs() < 1e-9, "{span}");
    let wait = observe(text, 1, |system| system.record().wait.as_seconds())[0];
    assert!((wait - 61.0).abs() < 1e-9, "starts 0, 0, 0, 3, 5, 7, 9, 10, 13, 14 sum to {wait}");
}

/// One turn on a prefix of 100,000 tokens after a random gap, 2,000 tokens added, in token
/// equivalents (validation 3.1).
#[test]
fn five_minutes_against_one_hour_costs_what_the_gaps_say() {
    let h2 = "{ mixture = [{ weight = 0.89, of = { exponential = { mean = \"10s\" } } }, \
              { weight = 0.11, of = { exponential = { mean = \"900s\" } } }] }";
    let cases = [
        ("{ exponential = { mean = \"120s\" } }", 21_939.774_8, 14_000.0),
        ("{ exponential = { mean = \"600s\" } }", 82_251.025_9, 14_470.962_9),
        ("{ lognormal = { median = \"79s\", sigma = 1.613 } }", 35_965.880_7, 15_700.006_9),
        (h2, 21_564.121_1, 14_382.796_9),
    ];
    for (gap, five_minutes, one_hour) in cases {
        for (ttl, first_write, expected) in
            [("5m", 125_000.0, five_minutes), ("1h", 200_000.0, one_hour)]
        {
            let text = format!(
                "[session]\nmodel = \"unit\"\n[prices.unit]\ninput = 1\ncache_write_5m = 1.25\n\
                 cache_write_1h = 2\ncache_read = 0.1\noutput = 0\n\
                 [startup.main]\nsystem = \"100k\"\n[fanout]\nagent = \"inline\"\n[task]\n\
                 iterations = 2\noutput = 500\ntool_result = 1500\ntool_time = {gap}\n\
                 [cache]\nttl = \"{ttl}\"\n[latency]\nfirst_token = 0\nspeed = 1000000\n"
            );
            let turns =
                observe(&text, 100_000, |system| system.bill().total.as_usd() * 1e6 - first_write);
            let exact = turns.iter().all(|turn| (turn - expected).abs() < 1e-6);
            if !exact {
                assert_mean(&turns, expected, &format!("{ttl} after {gap}"));
            }
        }
    }
}

/// Seven siblings are held until the first response begins, at most 5 s: each reads the prefix if
/// it has begun by then and writes it otherwise (validation 3.4, with F the law of that time).
#[test]
fn held_siblings_pay_what_the_time_to_first_token_says() {
    let cases = [
        ("3", 0.195),
        ("6", 1.0),
        ("{ exponential = { mean = \"2s\" } }", 0.261_078),
        ("{ exponential = { mean = \"4s\" } }", 0.425_636),
        ("{ lognormal = { median = \"2s\", sigma = 0.6 } }", 0.246_006),
        ("{ lognormal = { median = \"4s\", sigma = 0.8 } }", 0.509_070),
    ];
    for (first_token, expected) in cases {
        let text = format!(
            "[session]\ncontext = 1\n[startup.fresh]\nsystem = \"20k\"\n[fanout]\ntasks = 8\n\
             launch = {{ hold_first = \"5s\" }}\n[latency]\nfirst_token = {first_token}\n"
        );
        let role = forkcast::ledger::Role::Subagent as usize;
        let costs = observe(&text, 20_000, |system| system.bill().roles[role].as_usd());
        if costs.iter().any(|cost| (cost - expected).abs() > 1e-9) {
            assert_mean(&costs, expected, first_token);
        }
    }
}
