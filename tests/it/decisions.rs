//! Decisions against known answers: roots, and how often their intervals hold them.
//!
//! Method: closed forms exactly where nothing is random (validation 3.3, seed facts C12); where
//! something is, seeded repetitions with a binomial bound. `FORKCAST_LONG=1` runs more of them.

use forkcast::experiment::{BreakEven, RootSearch, StopRule, breakeven};
use forkcast::scenario::Problems;
use forkcast::stats::Verdict;

use crate::support::{scenario, try_load};

/// The scenario of validation 3.3, with both variants. Responses take next to no time, for the
/// formulas know no parent that expires while it waits.
const FORK_OR_FRESH: &str = r#"
profile = "plain"
[session]
model = "claude-opus-5"
context = "100k"
[fanout]
background = false
[task]
output = 500
tool_result = 1500
report = 500
prompt = 500
rediscovery = { tokens = "30k", iterations = 1 }
[startup.fresh]
system = "20k"
[fork]
tail_tokens = 500
[latency]
first_token = "1ms"
speed = 1000000
[[variant]]
name = "fork"
set = { "fanout.agent" = "fork" }
[[variant]]
name = "fresh"
"#;

#[expect(clippy::disallowed_methods, reason = "tests read how long they may take")]
fn is_long() -> bool {
    std::env::var("FORKCAST_LONG").is_ok()
}

/// Searches a whole-numbered key of the scenario.
fn solve(key: &str, search: &RootSearch, sets: &[(&str, &str)]) -> BreakEven {
    let mut plans_at = |value: f64| {
        let text = format!("{value}");
        let all: Vec<(&str, &str)> = sets.iter().copied().chain([(key, text.as_str())]).collect();
        let loaded = try_load(FORK_OR_FRESH, &all)?;
        Ok::<_, Problems>([0, 1].map(|variant| loaded.variants[variant].plan.clone()))
    };
    breakeven(search, &mut plans_at, &|_| ()).expect("every level loads")
}

fn search(low: f64, high: f64, stop: StopRule, seed: u64) -> RootSearch {
    RootSearch { low, high, step: None, resolution: 1.0, seed, stop }
}

#[test]
fn roots_in_requests_are_those_of_the_closed_form() {
    // P, C, b, R, m, then K* at a read price of 0.1 and of 0.025 (validation 3.3).
    let cases = [
        ("100k", "20k", "500", "30k", "1", 12.651_515, 52.424_242),
        ("100k", "20k", "500", "30k", "5", 18.868_421, 68.210_526),
        ("150k", "12k", "1000", "10k", "2", 2.780_632, 10.932_806),
        ("400k", "20k", "2000", "60k", "10", 5.605_263, 18.344_498),
        ("60k", "20k", "500", "40k", "4", f64::INFINITY, f64::INFINITY),
    ];
    for (context, startup, prompt, tokens, iterations, tenth, fortieth) in cases {
        for (read, expected) in [("0.5", tenth), ("0.125", fortieth)] {
            let sets = [
                ("session.context", context),
                ("startup.fresh.system", startup),
                ("task.prompt", prompt),
                ("task.rediscovery.tokens", tokens),
                ("task.rediscovery.iterations", iterations),
                ("prices.claude-opus-5.cache_read_usd_per_mtok", read),
            ];
            let range = search(1.0, 80.0, StopRule::default(), 1);
            let found = solve("task.iterations", &range, &sets);
            let what = format!("P = {context}, read {read}: {found:?}");
            if expected.is_infinite() {
                assert!(found.crossings.is_empty(), "{what}");
                assert_eq!((found.below, found.above), (Verdict::A, Verdict::A), "{what}");
                continue;
            }
            let crossing = found.crossings[0];
            assert_eq!((found.crossings.len(), found.replications), (1, 1), "{what}");
            assert!((crossing.root.at - expected).abs() < 1e-6, "{what}");
            let exact = Some(crossing.root.at);
            assert_eq!((crossing.root.low, crossing.root.high), (exact, exact), "{what}");
            assert_eq!((crossing.below(), crossing.above()), (Verdict::A, Verdict::B), "{what}");
        }
    }
}

/// Seed facts C12: `S* = N (w + (k - 1) r) / (k r)` for N = 30,000, w = 1.25, r = 0.1, nothing to
/// find out again and equal growth.
#[test]
fn roots_in_context_are_those_of_the_closed_form() {
    let cases = [(1, 375_000.0), (2, 202_500.0), (5, 99_000.0), (10, 64_500.0), (25, 43_800.0)];
    for (requests, expected) in cases {
        let requests = requests.to_string();
        let sets = [
            ("task.iterations", requests.as_str()),
            ("startup.fresh.system", "30k"),
            ("task.rediscovery.tokens", "0"),
            ("task.rediscovery.iterations", "0"),
            ("task.prompt", "0"),
            ("fork.tail_tokens", "0"),
        ];
        let found = solve("session.context", &search(31e3, 6e5, StopRule::default(), 1), &sets);
        let root = found.crossings[0].root.at;
        assert!((root - expected).abs() < 1e-3, "k = {requests}: {found:?}");
    }
}

/// Goal: the interval of the root holds it as often as it says. Method: the number of requests is
/// exponential-like (lognormal, mean 12 before rounding) and the bills are linear in it apart from
/// what cancels, so the root in the context has a closed form in the mean of the drawn counts;
/// that mean is taken from 400,000 draws, whose error is a twentieth of the interval's. The share
/// of `n` repetitions that hold the root is binomial with standard error
/// `sqrt(0.95 * 0.05 / n)`: 0.0069 at 1,000 and 0.0218 at 100; four of them, and 1 % for stopping
/// as soon as the interval is narrow, are allowed on the lower side.
#[test]
fn the_interval_of_the_root_holds_it_as_often_as_it_says() {
    let sets = [("task.iterations", "{ lognormal = { median = 10, mean = 12 } }")];
    let repetitions: u64 = if is_long() { 1_000 } else { 100 };
    let truth = true_root(&sets);
    for stop in [StopRule::Count(100), StopRule::precision(0.05)] {
        let holds = |seed: &u64| {
            let found = solve("session.context", &search(4e4, 3e5, stop, *seed + 1_000), &sets);
            let [crossing] = found.crossings[..] else { return false };
            let (low, high) = (crossing.root.low, crossing.root.high);
            low.is_some_and(|low| low <= truth) && high.is_some_and(|high| high >= truth)
        };
        let share = (0..repetitions).filter(holds).count() as f64 / repetitions as f64;
        let error = (0.95 * 0.05 / repetitions as f64).sqrt();
        println!("coverage {share} under {stop:?}, root {truth}");
        assert!(share >= 0.94 - 4.0 * error, "coverage {share} under {stop:?}");
    }
}

/// The difference is linear in the context: its root from two means of many replications each.
fn true_root(sets: &[(&str, &str)]) -> f64 {
    let mean = |context: &str| {
        let all: Vec<(&str, &str)> =
            sets.iter().copied().chain([("session.context", context)]).collect();
        let variants = scenario(FORK_OR_FRESH, &all).variants;
        let plans: Vec<_> = variants.into_iter().map(|one| (one.name, one.plan)).collect();
        let stop = StopRule::Count(100_000);
        let results = forkcast::experiment::run(&plans, 77, stop, &|_| ()).results();
        results.differences[0].cost_usd.mean
    };
    let (low, high) = (mean("50k"), mean("200k"));
    5e4 - low * 1.5e5 / (high - low)
}
