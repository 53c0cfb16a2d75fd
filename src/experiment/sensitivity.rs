//! Which single setting matters: each is changed alone, all else equal, on common random numbers.

use crate::experiment::{Experiment, Progress, StopRule};
use crate::orchestration::Plan;
use crate::stats::{CONFIDENCE, Estimate, Moments};

/// One change of a setting: what is simulated at its low and at its high value.
#[derive(Clone, Debug)]
pub struct Change {
    /// Dotted key.
    pub key: String,
    /// Its low value, as it would stand in a file.
    pub low: String,
    /// Its high value.
    pub high: String,
    /// Plans at the low value: one, or two whose difference is looked at.
    pub low_plans: Vec<Plan>,
    /// Plans at the high value.
    pub high_plans: Vec<Plan>,
}

/// What a change does to the response, which is a cost or a difference of two, in US dollars.
#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    /// Dotted key.
    pub key: String,
    /// Its low value.
    pub low: String,
    /// Its high value.
    pub high: String,
    /// The response at the low value minus that of the base, paired.
    pub at_low: Estimate,
    /// The response at the high value minus that of the base.
    pub at_high: Estimate,
    /// The response at the high value minus that at the low one.
    pub swing: Estimate,
}

/// Effects of changes, the largest swing first.
#[derive(Clone, Debug, PartialEq)]
pub struct Sensitivity {
    /// The response without any change: the cost, or the second variant's minus the first's.
    pub base: Estimate,
    /// Effects, the largest swing or departure from the base first.
    pub effects: Vec<Effect>,
    /// Replications of each plan.
    pub replications: u64,
}

impl Effect {
    /// Returns by how much the response moves at most between low, base and high.
    pub fn size(&self) -> f64 {
        [self.at_low, self.at_high, self.swing]
            .map(|one| one.mean.abs())
            .into_iter()
            .fold(0.0, f64::max)
    }

    /// Returns whether a change turns the sign of the response.
    pub fn turns(&self, base: &Estimate) -> bool {
        let sign = base.mean > 0.0;
        [self.at_low, self.at_high].iter().any(|at| (base.mean + at.mean > 0.0) != sign)
    }
}

/// Measures the effect of each change on the cost of one plan, or on the difference of two.
///
/// Works in the current rayon thread pool.
pub fn sensitivity(
    base: &[Plan],
    changes: &[Change],
    (seed, count): (u64, u64),
    progress: &(dyn Fn(Progress) + Sync),
) -> Sensitivity {
    let all = changes.iter().flat_map(|change| [&change.low_plans, &change.high_plans]);
    let is_random = all.flatten().chain(base).any(Plan::is_random);
    let count = if is_random { count } else { 1 };
    let planned = (2 * changes.len() + 1) as u64 * count * base.len() as u64;
    let mut done = 0;
    let mut responses = |plans: &[Plan]| {
        let values = responses(plans, seed, count);
        done += count * plans.len() as u64;
        progress(Progress { done, planned });
        values
    };
    let standing = responses(base);
    let estimate = |values: Vec<f64>| {
        let moments: Moments = values.into_iter().collect();
        if is_random {
            Estimate::new(moments.mean(), &moments, CONFIDENCE)
        } else {
            Estimate::certain(moments.mean(), CONFIDENCE, moments.count())
        }
    };
    let minus = |a: &[f64], b: &[f64]| estimate(differences(a, b));
    let mut effects: Vec<Effect> = Vec::new();
    for change in changes {
        let (low, high) = (responses(&change.low_plans), responses(&change.high_plans));
        effects.push(Effect {
            key: change.key.clone(),
            low: change.low.clone(),
            high: change.high.clone(),
            at_low: minus(&low, &standing),
            at_high: minus(&high, &standing),
            swing: minus(&high, &low),
        });
    }
    effects.sort_by(|a, b| b.size().total_cmp(&a.size()));
    Sensitivity { base: estimate(standing), effects, replications: count }
}

/// Costs of one plan, or those of the second of two minus those of the first, by replication.
fn responses(plans: &[Plan], seed: u64, count: u64) -> Vec<f64> {
    let named: Vec<(String, Plan)> =
        plans.iter().map(|plan| (String::new(), plan.clone())).collect();
    let mut experiment = Experiment::new(&named, seed, StopRule::Count(count));
    experiment.extend(count, count, &|_| ());
    let costs =
        |variant: usize| experiment.observations(variant).map_or(&[][..], |[costs, ..]| costs);
    if plans.len() > 1 { differences(costs(1), costs(0)) } else { costs(0).to_vec() }
}

/// Costs are whole picodollars and so are their differences: what is equal varies by nothing.
fn differences(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| ((a - b) * 1e12).round() / 1e12).collect()
}
