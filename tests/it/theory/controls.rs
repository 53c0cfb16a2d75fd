//! Control variates: the means that they are said to have, and what they explain.

use forkcast::experiment::{Experiment, StopRule, VarianceReduction};
use forkcast::orchestration::{Control, Controls, Draws, Plan};

use crate::support::scenario;

const REPLICATIONS: u64 = 20_000;

/// Everything is drawn, small enough that rounding matters.
const RANDOM: &str = r"
[session]
context = 4000
[startup.main]
notes = { first = 40, each = 7 }
[startup.fresh]
tools = 900
project = 100
notes = { first = 40, each = 7 }
[startup.explore]
tools = 300
[fork]
call = 5
placeholder = 6
directive = 70
[fanout]
tasks = 3
[task]
iterations = { lognormal = { median = 2, p90 = 6 } }
output = { mixture = [{ weight = 3, of = { exponential = { mean = 3 } } }, { weight = 1, of = 400 }] }
tool_result = { quantiles = [[0.1, 2], [0.5, 60], [0.99, 4000]] }
report = { uniform = { low = 10, high = 13.2 } }
prompt = { gamma = { shape = 0.6, scale = 40 } }
rediscovery = { tokens = { weibull = { shape = 0.7, scale = 300 } }, iterations = { uniform = { low = 0, high = 3 } } }
";

fn plan(text: &str, agent: &str) -> Plan {
    scenario(text, &[("fanout.agent", agent)]).base.plan
}

/// Fails unless the mean of independent observations agrees: |z| < 4.
fn assert_mean(what: &str, observations: &[f64], expected: f64) {
    let count = observations.len() as f64;
    let mean = observations.iter().sum::<f64>() / count;
    let squares: f64 = observations.iter().map(|x| (x - mean) * (x - mean)).sum();
    let z = (mean - expected) / (squares / count / (count - 1.0)).sqrt();
    assert!(z.abs() < 4.0, "{what}: mean {mean}, expected {expected}, z = {z:.2}");
}

/// Each control of each kind of agent and of a tree of children, and of mirrored draws, which must
/// have the same law.
#[test]
fn means_of_controls_are_those_of_their_values() {
    let tree = "[limits]\ndepth = 3\n[nested]\nprobability = 0.6\n\
                count = { uniform = { low = 0, high = 3 } }\n";
    let cases = [("fresh", ""), ("fork", ""), ("explore", ""), ("inline", ""), ("fresh", tree)];
    for (agent, more) in cases {
        let controls = Controls::new(&plan(&format!("{RANDOM}{more}"), agent));
        for is_mirrored in [false, true] {
            let draws = |replication| {
                let draws = Draws::new(11, replication);
                if is_mirrored { draws.mirrored() } else { draws }
            };
            let values: Vec<_> = (1..=REPLICATIONS)
                .map(|replication| controls.values(&draws(replication)))
                .collect();
            for control in Control::ALL {
                let at = control as usize;
                let observed: Vec<f64> = values.iter().map(|values| values[at]).collect();
                let what = format!("{agent}{more}, {}, {is_mirrored}", control.name());
                assert_eq!(controls.unknown(control), None, "{what}");
                assert_mean(&what, &observed, controls.means()[at]);
            }
        }
    }
}

/// Of forks whose entries never lapse the bill is the closed form of what was drawn, and only that
/// is left to chance: without it the mean is known to the last digits. By hand: the fork reads
/// `P = 100,000` with each of `K` requests, writes and reads its own 2,000 tokens a request as they
/// grow, and `K` is 1 or 4 (an hour of entries costs 10, reads 0.5, output 25 dollars a million).
#[test]
fn a_bill_that_is_its_closed_form_is_known_exactly() {
    let text = r#"
[session]
context = "100k"
[fanout]
agent = "fork"
background = false
[fork]
tail_tokens = 0
[cache]
ttl = "1h"
[task]
iterations = { empirical = [1, 4] }
output = { empirical = [400, 600] }
tool_result = { empirical = [100, 200, 4200] }
report = 0
[latency]
first_token = 0
speed = 1000000
"#;
    let plans = [("base".to_owned(), plan(text, "fork"))];
    let experiment = Experiment::new(&plans, 5, StopRule::Count(128));
    let mut experiment = experiment.with_reduction(VarianceReduction::Control);
    experiment.run(&|_| ());
    let results = experiment.results();
    let estimate = results.variants[0].cost_usd.estimate;
    // K = 1: the parent's context; K = 4: three blocks of 500 + 1,500 on average are written, and
    // 3 pairs of a block and a later reader.
    let fork = [1.0, 4.0].map(|k: f64| {
        let blocks = k - 1.0;
        k * 0.05
            + blocks * (2_000.0 * 10e-6 + 500.0 * 25e-6)
            + blocks * (blocks - 1.0) / 2.0 * 2_000.0 * 0.5e-6
    });
    // The parent's turn afterwards reads its context; its result has no tokens.
    let expected = 0.5 * (fork[0] + fork[1]) + 0.05;
    assert!((estimate.mean - expected).abs() < 1e-9, "{estimate:?}, expected {expected}");
    let reduced = results.variants[0].reduced.as_ref().expect("it is random");
    assert!(reduced.factor > 1e9 && estimate.half_width.is_some_and(|half| half < 1e-6));
}

/// A control whose mean or variance is not known is named and left out.
#[test]
fn controls_without_a_known_mean_are_not_used() {
    let cases: [(&str, [bool; 4]); 4] = [
        ("output = { sequence = [10, 20] }", [true, false, true, false]),
        ("tool_result = { pareto = { scale = 9, shape = 1.9 } }", [true, false, false, true]),
        // The bill holds the square of the number of requests.
        ("iterations = { pareto = { scale = 2, shape = 3 } }", [true, false, false, false]),
        ("iterations = { pareto = { scale = 2, shape = 3 }, max = 99 }", [false; 4]),
    ];
    for (task, unknown) in cases {
        let text = format!("[fanout]\nagent = \"inline\"\n[task]\n{task}\n");
        let controls = Controls::new(&plan(&text, "inline"));
        let got = Control::ALL.map(|control| controls.unknown(control).is_some());
        assert_eq!(got, unknown, "{task}");
    }
}
