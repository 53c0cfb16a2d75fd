//! Decisions against known answers: roots and best levels, and how often they are right.
//!
//! Method: closed forms exactly where nothing is random (validation 3.3, seed facts C12); where
//! something is, seeded repetitions with a binomial bound. `FORKCAST_LONG=1` runs more of them.

use forkcast::experiment::{
    BreakEven, Change, Indifference, LevelState, Objective, RootSearch, SizeDesign, SizeResults,
    StopRule, breakeven, sensitivity, size,
};
use forkcast::scenario::Problems;
use forkcast::stats::Verdict;

use crate::support::program::{expect, json};
use crate::support::{FORK_OR_FRESH, is_long, scenario, try_load};

/// The scenario of validation 3.3 with both variants. Responses take next to no time, for the
/// formulas know no parent that expires while it waits.
fn fork_or_fresh() -> String {
    let more = r#"
[latency]
first_token = "1ms"
speed = 1000000
[[variant]]
name = "fork"
set = { "fanout.agent" = "fork" }
[[variant]]
name = "fresh"
"#;
    FORK_OR_FRESH.to_owned() + more
}

/// Searches a whole-numbered key of the scenario.
fn solve(key: &str, search: &RootSearch, sets: &[(&str, &str)]) -> BreakEven {
    let mut plans_at = |value: f64| {
        let text = format!("{value}");
        let all: Vec<(&str, &str)> = sets.iter().copied().chain([(key, text.as_str())]).collect();
        let loaded = try_load(&fork_or_fresh(), &all)?;
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
        let variants = scenario(&fork_or_fresh(), &all).variants;
        let plans: Vec<_> = variants.into_iter().map(|one| (one.name, one.plan)).collect();
        let stop = StopRule::Count(100_000);
        let results = forkcast::experiment::run(&plans, 77, stop, &|_| ()).results();
        results.differences[0].cost_usd.mean
    };
    let (low, high) = (mean("50k"), mean("200k"));
    5e4 - low * 1.5e5 / (high - low)
}

/// Eight cold siblings with a prefix of 20k and responses of a minute on average: with `p` at a
/// time the first `p` write the prefix and the others read it, and the makespan is
/// `(8 - p) / p + H_p` minutes and the parent's own turn. With time at $0.18 a minute, `p = 3` is
/// better than 2 by $0.065 and than 4 by $0.040 (apart from the rare entry that expires).
const SIBLINGS: &str = r#"
[session]
context = 1000
[startup.fresh]
system = "20k"
[fanout]
tasks = 8
background = false
[latency]
first_token = { exponential = { mean = "60s" } }
"#;

fn select(text: &str, key: &str, levels: &[&str], design: &SizeDesign) -> SizeResults {
    let level = |level: &&str| ((*level).to_owned(), scenario(text, &[(key, *level)]).base.plan);
    let levels: Vec<_> = levels.iter().map(level).collect();
    size(&levels, design, &|_| ())
}

fn design(objective: Objective, zone: f64, seed: u64) -> SizeDesign {
    SizeDesign {
        objective,
        probability: 0.95,
        indifference: Indifference::Usd(zone),
        dropped_max: 0.0,
        count_max: 100_000,
        seed,
    }
}

const PARALLEL: [&str; 8] = ["1", "2", "3", "4", "5", "6", "7", "8"];

/// Goal: the right level is selected at least as often as promised. Method: the indifference zone
/// is the gap of $0.040 itself, the hardest case, so 3 must be selected with probability 0.95; the share of
/// `n` repetitions that do is binomial with standard error `sqrt(0.95 * 0.05 / n)`, 0.028 at 60 and
/// 0.0126 at 300, of which three are allowed.
#[test]
fn the_right_level_is_selected_as_often_as_promised() {
    let repetitions: u64 = if is_long() { 300 } else { 60 };
    let objective = Objective::CostAndTime(0.18 * 60.0);
    let (mut right, mut used, mut equal) = (0, 0, 0);
    for seed in 0..repetitions {
        let got =
            select(SIBLINGS, "fanout.max_parallel", &PARALLEL, &design(objective, 0.04, seed));
        assert!(got.is_guaranteed);
        right += u64::from(got.chosen == Some(2));
        (used, equal) = (used + got.replications, equal + got.equal_allocation);
    }
    let share = right as f64 / repetitions as f64;
    println!("right {share}, {} replications, {} equal", used / repetitions, equal / repetitions);
    assert!(share >= 0.95 - 3.0 * (0.95 * 0.05 / repetitions as f64).sqrt(), "right in {share}");
}

/// Goal: the selection finds what brute force with 4,000 replications of each level finds, at less
/// than a tenth of its replications.
#[test]
fn a_selection_agrees_with_brute_force() {
    for (objective, zone) in [
        (Objective::CostAndTime(10.8), 0.03),
        (Objective::Cost, 0.05),
        (Objective::Quantile(0.95), 0.05),
    ] {
        let brute = |level: &&str| {
            let plan = scenario(SIBLINGS, &[("fanout.max_parallel", *level)]).base.plan;
            let plans = [("base".to_owned(), plan)];
            let results = forkcast::experiment::run(&plans, 9, StopRule::Count(4_000), &|_| ());
            let results = results.results();
            let variant = &results.variants[0];
            let cost = variant.cost_usd.estimate.mean;
            match objective {
                Objective::CostAndTime(rate) => {
                    cost + rate * variant.makespan_s.estimate.mean / 3_600.0
                }
                Objective::Cost | Objective::CostWithin(_) => cost,
                Objective::Quantile(_) => variant.cost_usd.p95,
            }
        };
        let values: Vec<f64> = PARALLEL.iter().map(brute).collect();
        let best = (0..values.len()).min_by(|a, b| values[*a].total_cmp(&values[*b]));
        let got = select(SIBLINGS, "fanout.max_parallel", &PARALLEL, &design(objective, zone, 5));
        assert_eq!(got.chosen, best, "{objective:?}: {values:?}");
        if objective.batch() == 1 {
            assert!(got.replications * 10 <= 4_000 * 8, "{}", got.replications);
        }
    }
}

#[test]
fn levels_that_drop_tasks_or_take_too_long_take_no_part() {
    let refusing = format!("{SIBLINGS}[limits]\nconcurrency = 4\n");
    let got =
        select(&refusing, "fanout.max_parallel", &PARALLEL, &design(Objective::Cost, 0.05, 1));
    assert_eq!(got.levels[4].state, LevelState::Drops, "5 at a time, 4 are let run");
    assert_eq!(got.chosen, Some(0), "the fewest write the prefix");
    // 4.5 + 1 minutes for two at a time, 3.5 + 1 for three.
    let within = design(Objective::CostWithin(300.0), 0.05, 1);
    let got = select(SIBLINGS, "fanout.max_parallel", &PARALLEL, &within);
    assert_eq!((got.levels[1].state, got.chosen), (LevelState::TooSlow, Some(2)));
    assert!(got.levels[7].is_on_frontier && !got.levels[1].is_on_frontier);
}

/// Ten requests of a fork read 20k more or less of context at $0.50 per million: $0.10 either way;
/// the fresh child reads none of it, and the parent's own turns cancel.
#[test]
fn the_effect_of_the_context_is_what_a_fork_reads_of_it() {
    let plans = |context: &str| {
        let sets = [("task.iterations", "10"), ("session.context", context)];
        scenario(&fork_or_fresh(), &sets)
            .variants
            .into_iter()
            .map(|one| one.plan)
            .collect::<Vec<_>>()
    };
    let change = Change {
        key: "session.context".to_owned(),
        low: "80k".to_owned(),
        high: "120k".to_owned(),
        low_plans: plans("80k"),
        high_plans: plans("120k"),
    };
    let got = sensitivity(&plans("100k"), &[change], (1, 64), &|_| ());
    let effect = &got.effects[0];
    assert!((effect.at_high.mean + 0.1).abs() < 1e-12 && (effect.at_low.mean - 0.1).abs() < 1e-12);
    assert!((got.base.mean - (0.844_5 - 0.778_875)).abs() < 1e-12, "{got:?}");
    assert!(effect.turns(&got.base) && got.replications == 1);
}

#[test]
fn commands_that_decide_write_every_format_and_reproduce() {
    let scenario = "scenarios/fork-or-fresh.toml";
    let commands: [&[&'static str]; 3] = [
        &["breakeven", scenario, "--vary", "task.rediscovery.tokens=1k..100k"],
        &["size", scenario, "--vary", "fanout.max_parallel=1..3"],
        &["sensitivity", scenario, "--vary", "session.context=80k,120k", "--between", "fresh,fork"],
    ];
    for command in commands {
        let with = |more: &[&'static str]| [command, &["--replications", "64"], more].concat();
        let value = json(&with(&[]));
        let line = value["reproduce"].as_str().expect("a line").to_owned();
        let words: Vec<&str> = line.split(' ').skip(1).collect();
        assert_eq!(json(&words), value, "{line}");
        assert_eq!(json(&with(&["--threads", "1"])), value);
        for format in ["--csv", "--markdown"] {
            assert!(expect(0, &with(&[format])).0.lines().count() >= 2, "{command:?} {format}");
        }
        expect(0, &with(&[]));
    }
    let (_, stderr) = expect(2, &["breakeven", scenario, "--vary", "fanout.tasks=1,2"]);
    assert!(stderr.contains("KEY=LOW..HIGH"), "{stderr}");
    expect(2, &["size", scenario, "--vary", "fanout.tasks=1..2", "--objective", "fun"]);
    expect(1, &["size", scenario, "--vary", "fanout.nothing=1..2"]);
}
