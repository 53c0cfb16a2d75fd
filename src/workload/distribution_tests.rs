//! Reading, laws and error messages of distributions.
//!
//! Laws are checked against closed forms at fixed seeds: |z| < 4, with the standard error of the
//! mean sigma/sqrt(n), and of an empirical probability sqrt(p(1-p)/n).

use rand_distr::Distribution as _;
use serde::Deserialize;

use super::*;
use crate::des::{RandomStream, StreamKey};
use crate::units::{SimDuration, Tokens};
use crate::workload::Count;

const DRAWS: u64 = 100_000;

#[derive(Debug, Deserialize)]
#[serde(bound = "Q: Quantity")]
struct File<Q> {
    x: Distribution<Q>,
}

fn read<Q: Quantity>(text: &str) -> Result<Distribution<Q>, String> {
    let file: Result<File<Q>, _> = toml::from_str(&format!("x = {text}"));
    file.map(|file| file.x).map_err(|error| error.to_string())
}

fn count(text: &str) -> Distribution<Count> {
    read(text).unwrap()
}

fn stream(purpose: u64) -> RandomStream {
    StreamKey::new(1, 0, 0, purpose).stream()
}

fn draws(distribution: &Distribution<Count>, purpose: u64) -> Vec<f64> {
    let sampler = distribution.compile();
    (0..DRAWS).map(|counter| sampler.sample(stream(purpose), counter)).collect()
}

type LawCase = (&'static str, f64, [(f64, f64); 2]);

/// Text, mean, and pairs of a probability and its quantile, by closed form.
const LAWS: [LawCase; 9] = [
    ("{ uniform = { low = 2, high = 6 } }", 4.0, [(0.25, 3.0), (0.9, 5.6)]),
    ("{ exponential = { mean = 8 } }", 8.0, [(0.5, 5.545_177), (0.99, 36.841_36)]),
    ("{ lognormal = { median = 24, mean = 35 } }", 35.0, [(0.5, 24.0), (0.9, 73.328_6)]),
    ("{ lognormal = { median = 10, p95 = 30 } }", 12.498_85, [(0.5, 10.0), (0.95, 30.0)]),
    ("{ weibull = { shape = 2, mean = 5 } }", 5.0, [(0.5, 4.697_19), (0.9, 8.561_12)]),
    ("{ gamma = { shape = 2, scale = 3 } }", 6.0, [(0.5, 5.035_04), (0.9, 11.669_16)]),
    ("{ pareto = { scale = 2, shape = 3 } }", 3.0, [(0.5, 2.519_842), (0.99, 9.283_178)]),
    (
        "{ quantiles = [[0, 1], [0.5, 10], [1, 10]] }",
        0.5 * 9.0 / std::f64::consts::LN_10 + 5.0,
        [(0.25, 3.162_278), (0.4, 6.309_573)],
    ),
    (
        "{ mixture = [{ weight = 3, of = { uniform = { low = 0, high = 1 } } }, \
         { weight = 1, of = { uniform = { low = 10, high = 30 } } }] }",
        0.75 * 0.5 + 0.25 * 20.0,
        [(0.375, 0.5), (0.9, 22.0)],
    ),
];

#[test]
fn sample_means_and_quantiles_agree_with_closed_forms() {
    for (index, (text, mean, quantiles)) in LAWS.iter().enumerate() {
        let law = count(text);
        assert!((law.mean() / mean - 1.0).abs() < 1e-5, "{text}: {} {mean}", law.mean());
        let drawn = draws(&law, index as u64);
        let size = DRAWS as f64;
        let average = drawn.iter().sum::<f64>() / size;
        let squares = drawn.iter().map(|x| (x - average) * (x - average)).sum::<f64>();
        let z = (average - mean) / (squares / size / size).sqrt();
        assert!(z.abs() < 4.0, "{text}: mean {average}, z {z}");
        for (p, value) in quantiles {
            let below = drawn.iter().filter(|x| *x <= value).count() as f64 / size;
            let z = (below - p) / (p * (1.0 - p) / size).sqrt();
            assert!(z.abs() < 4.0, "{text}: {below} of draws up to {value}, z {z}");
        }
    }
}

/// Two-sample Kolmogorov-Smirnov: sqrt(n m / (n + m)) D above 1.949 has probability 0.001.
#[test]
fn lognormal_agrees_with_a_reference_sampler() {
    let mut ours = draws(&count("{ lognormal = { median = 24, sigma = 0.9 } }"), 50);
    let reference = rand_distr::LogNormal::new(libm::log(24.0), 0.9).unwrap();
    let mut theirs: Vec<f64> =
        reference.sample_iter(stream(51).cursor()).take(DRAWS as usize).collect();
    ours.sort_by(f64::total_cmp);
    theirs.sort_by(f64::total_cmp);
    let gap = |(index, x): (usize, &f64)| {
        let below = theirs.partition_point(|y| y <= x);
        (index as f64 + 1.0 - below as f64).abs() / DRAWS as f64
    };
    let distance = ours.iter().enumerate().map(gap).fold(0.0, f64::max);
    let statistic = distance * (DRAWS as f64 / 2.0).sqrt();
    assert!(statistic < 1.949, "{statistic}");
}

/// The memoryless law: an exponential above 5 is 5 plus the exponential.
#[test]
fn truncation_conditions_inside_and_beside_the_family() {
    let beside = count("{ exponential = { mean = 8 }, min = 5 }");
    let inside = count("{ exponential = { mean = 8, min = 5 } }");
    assert_eq!(beside, inside);
    assert!((beside.mean() - 13.0).abs() < 1e-9, "{}", beside.mean());
    let drawn = draws(&beside, 60);
    assert!(drawn.iter().all(|x| *x >= 5.0));
    let average = drawn.iter().sum::<f64>() / DRAWS as f64;
    let z = (average - 13.0) / (8.0 / (DRAWS as f64).sqrt());
    assert!(z.abs() < 4.0, "{z}");
    let both = count("{ pareto = { scale = 2, shape = 0.9, max = 4 }, min = 3 }");
    assert!(draws(&both, 61).iter().all(|x| (3.0..=4.0).contains(x)));
}

/// The example of the interface: tool times by three quantiles.
#[test]
fn quantiles_of_durations_hit_their_points() {
    let law: Distribution<SimDuration> =
        read("{ quantiles = [[0.5, \"0.3s\"], [0.9, \"14s\"], [0.99, \"4m\"]] }").unwrap();
    assert_eq!(law.to_string(), "quantiles (0.5: 300ms, 0.9: 14s, 0.99: 4m)");
    let sampler = law.compile();
    let least = SimDuration::from_micros(300_000);
    let drawn: Vec<SimDuration> =
        (0..DRAWS).map(|counter| sampler.sample_duration(stream(70), counter)).collect();
    assert_eq!(drawn.iter().min(), Some(&least));
    assert_eq!(drawn.iter().max(), Some(&SimDuration::from_seconds(240)));
    // Log-linear: the part of the way from 14 s to 240 s is ln(100/14) / ln(240/14).
    for (p, seconds) in [(0.9, 14), (0.9 + 0.09 * 0.691_883, 100)] {
        let value = SimDuration::from_seconds(seconds);
        let below = drawn.iter().filter(|x| **x < value).count() as f64 / DRAWS as f64;
        let z = (below - p) / (p * (1.0 - p) / DRAWS as f64).sqrt();
        assert!(z.abs() < 4.0, "{below} below {seconds}, z {z}");
    }
}

#[test]
fn constants_and_sequences_draw_nothing() {
    let fixed: Distribution<Tokens> = read("\"48.5k\"").unwrap();
    assert!(fixed.is_constant());
    assert_eq!(fixed, Distribution::constant(48_500.0));
    assert_eq!(fixed.compile().sample_tokens(stream(0), 9), Tokens::new(48_500));
    let sampler = count("{ sequence = [3, 1, 2] }").compile();
    let drawn: Vec<u32> =
        (0..5).map(|counter| sampler.sample_count_at_least_one(stream(0), counter)).collect();
    assert_eq!(drawn, [3, 1, 2, 2, 2]);
    assert_eq!(count("0").compile().sample_count_at_least_one(stream(0), 0), 1);
}

#[test]
fn empirical_values_come_from_a_list_or_a_file() {
    let list = count("{ empirical = [5, 1, 3] }");
    let mut file = count("{ empirical = { file = \"x.csv\" }, max = 9 }");
    assert_eq!(file.to_string(), "empirical (file x.csv, max 9)");
    file.resolve_files(&mut |name| {
        assert_eq!(name, "x.csv");
        Ok("# lengths\n5\n\n1\n3\n".to_owned())
    })
    .unwrap();
    assert_eq!(list.compile(), file.compile());
    assert!((file.mean() - 3.0).abs() < 1e-15);
    let problem = file.resolve_files(&mut |_| Ok("5\nfive".to_owned())).unwrap_err();
    assert!(problem.contains("x.csv, line 2: `five` is not a count"), "{problem}");
    let problem = file.resolve_files(&mut |_| Ok("10".to_owned())).unwrap_err();
    assert!(problem.contains("10 lies outside min and max"), "{problem}");
}

#[test]
fn display_is_what_a_person_says() {
    let cases = [
        ("24", "24"),
        ("{ lognormal = { median = 24, mean = 35 } }", "lognormal (median 24, mean 35)"),
        ("{ gamma = { shape = 2.5, mean = 9, max = 40 } }", "gamma (shape 2.5, mean 9, max 40)"),
        ("{ sequence = [1, 2, 3, 4, 5, 6, 7] }", "sequence (1, 2, 3, 4, 5, 6, ...)"),
        (
            "{ mixture = [{ weight = 0.9, of = 5 }, { weight = 0.1, of = { empirical = [7, 8] } }] }",
            "mixture (0.9 of 5, 0.1 of empirical (2 values))",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(count(text).to_string(), expected);
    }
}

const PROBLEMS: [(&str, &str); 38] = [
    ("-1", "`-1` is not a count"),
    ("2.5", "`2.5` is not a count; write a whole number"),
    ("nan", "`NaN` is not a count"),
    ("inf", "`inf` is not a count"),
    ("true", "invalid type: boolean `true`, expected a number such as 24, or a distribution"),
    ("{ lognormall = { median = 1 } }", "unknown distribution `lognormall`, expected one of"),
    ("{ lognormall = { median = 1 } }", "did you mean `lognormal`?"),
    ("{ lognormal = { medain = 1 } }", "unknown lognormal key `medain`"),
    ("{ lognormal = { medain = 1 } }", "did you mean `median`?"),
    ("{}", "a family is missing, expected one of `constant`, `sequence`"),
    ("{ constant = 1, exponential = { mean = 1 } }", "one family, found `constant` and `expon"),
    ("{ lognormal = 5 }", "expected the parameters of lognormal: `median`, `mean`"),
    ("{ lognormal = { mean = 5 } }", "lognormal: `median` is missing"),
    ("{ lognormal = { median = 5 } }", "lognormal: exactly one of `mean`, `sigma`, `p90`, `p95`"),
    ("{ lognormal = { median = 5, mean = 6, p90 = 9 } }", "found `mean`, `p90`"),
    ("{ lognormal = { median = 0, mean = 6 } }", "lognormal: median 0 must be above 0"),
    ("{ lognormal = { median = -3, mean = 6 } }", "`-3` is not a count"),
    ("{ lognormal = { median = 24, p95 = 20 } }", "p95 20 is not above the median 24"),
    ("{ lognormal = { median = 24, mean = 24 } }", "mean 24 is not above the median 24"),
    ("{ lognormal = { median = 24, sigma = 0 } }", "sigma is 0; it must be above 0"),
    ("{ lognormal = { median = 24, sigma = nan } }", "sigma is NaN; it must be above 0"),
    ("{ uniform = { low = 3, high = 2 } }", "uniform: low 3 is above high 2"),
    ("{ exponential = { mean = 0 } }", "exponential: mean 0 must be above 0"),
    ("{ weibull = { shape = 0, mean = 2 } }", "shape is 0; it must be from 0.1 to 100"),
    ("{ gamma = { shape = inf, mean = 2 } }", "shape is inf; it must be from 0.05 to 1000"),
    ("{ pareto = { scale = 1, shape = 1 } }", "pareto: shape 1 has no finite mean"),
    ("{ sequence = [] }", "sequence: needs at least one value"),
    ("{ empirical = [] }", "empirical: needs at least one value"),
    ("{ empirical = { fil = \"a\" } }", "unknown empirical key `fil`"),
    ("{ mixture = [{ weight = 0, of = 1 }] }", "mixture: needs a component with a weight above 0"),
    ("{ mixture = [{ weight = -1, of = 1 }] }", "mixture: weight -1 must be a number"),
    ("{ mixture = [{ weight = 1, of = { sequence = [1] } }] }", "cannot be a component"),
    ("{ quantiles = [[0.5, 1], [0.5, 2]] }", "probability 0.5 does not rise above 0.5"),
    ("{ quantiles = [[0.5, 1], [1.5, 2]] }", "probability 1.5 is not from 0 to 1"),
    ("{ quantiles = [[0.5, 3], [0.9, 2]] }", "value 2 at 0.9 is below 3 at 0.5"),
    ("{ exponential = { mean = 1 }, min = 5, max = 2 }", "min 5 is above max 2"),
    ("{ uniform = { low = 1, high = 2 }, min = 5 }", "min and max leave nothing of uniform"),
    ("{ sequence = [1, 7], max = 5 }", "the value 7 lies outside min and max"),
];

#[test]
fn every_problem_has_its_message() {
    for (text, expected) in PROBLEMS {
        let problem = read::<Count>(text).unwrap_err();
        assert!(problem.contains(expected), "{text}:\n{problem}");
    }
}

#[test]
fn the_schema_names_every_family_and_refers_to_itself() {
    let schema = schemars::schema_for!(Distribution<Tokens>).to_value().to_string();
    for name in ["constant", "lognormal", "quantiles", "mixture", "empirical", "sigma"] {
        assert!(schema.contains(&format!("\"{name}\"")), "{name}");
    }
    assert!(schema.contains("TokensDistribution") || schema.contains("\"$ref\":\"#\""), "{schema}");
}

#[test]
fn the_greatest_value_is_that_of_the_law_and_its_limit() {
    let cases = [
        ("7", 7.0),
        ("{ sequence = [3, 9, 4] }", 9.0),
        ("{ uniform = { low = 1, high = 5 } }", 5.0),
        ("{ uniform = { low = 1, high = 5 }, max = 3 }", 3.0),
        ("{ empirical = [2, 8, 1] }", 8.0),
        ("{ quantiles = [[0.5, 2], [0.9, 6]] }", 6.0),
        ("{ exponential = { mean = 4 } }", f64::INFINITY),
        ("{ exponential = { mean = 4 }, max = 20 }", 20.0),
    ];
    for (text, greatest) in cases {
        let law = count(text);
        assert_eq!(law.greatest().total_cmp(&greatest), std::cmp::Ordering::Equal, "{text}");
    }
}

/// The bits of the middle of equal parts of the unit interval, each with its weight: of the lower
/// and the upper half, of halves of these towards the ends, and so on down to 2^-50.
fn grid(mut take: impl FnMut(u64, f64)) {
    for level in 1..50_u32 {
        let parts = if level < 12 { 1_u64 << 16 } else { 1 << 10 };
        let width = (1_u64 << (63 - level)) / parts;
        for part in 0..parts {
            let distance = (1 << (63 - level)) + part * width + width / 2;
            let weight = 0.5_f64.powi(level as i32 + 1) / parts as f64;
            take(distance, weight);
            take(!distance, weight);
        }
    }
}

/// Mean and mean square of whole variates, against the variates at a grid of the unit interval. A
/// value that a part of the grid straddles is off by half a part at most, in all below 1e-5.
#[test]
fn moments_of_whole_variates_are_those_of_what_is_drawn() {
    let laws = [
        "{ exponential = { mean = 1 } }",
        "{ exponential = { mean = 90000 } }",
        "{ lognormal = { median = 2, sigma = 0.7 } }",
        "{ lognormal = { median = 800, p90 = 4000 }, max = 20000 }",
        "{ weibull = { shape = 0.7, mean = 5 } }",
        "{ gamma = { shape = 0.3, mean = 2 } }",
        "{ gamma = { shape = 900, mean = 1000000 } }",
        "{ pareto = { scale = 2, shape = 1.5 }, max = 400 }",
        "{ quantiles = [[0.1, 4], [0.5, 300], [0.99, 15325]] }",
        "{ mixture = [{ weight = 3, of = { exponential = { mean = 3 } } }, { weight = 1, of = 40 }] }",
    ];
    for text in laws {
        let sampler = count(text).compile();
        let Sampler::Table(table) = &sampler else { panic!("{text} has a table") };
        for limits in [Sampler::COUNT, (1, 300)] {
            let (mut mean, mut square) = (0.0, 0.0);
            grid(|bits, weight| {
                let whole = (table.sample(bits) + 0.5).floor() as u64;
                let whole = whole.clamp(limits.0, limits.1) as f64;
                mean += weight * whole;
                square += weight * whole * whole;
            });
            let got = sampler.whole_moments(0, limits);
            let errors = [got.mean / mean - 1.0, got.square / square - 1.0];
            assert!(errors.iter().all(|error| error.abs() < 1e-5), "{text} {limits:?}: {errors:?}");
        }
    }
}
