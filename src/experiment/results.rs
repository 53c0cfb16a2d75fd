//! What an experiment came to: the record that every report renders.

use crate::cache::Cause;
use crate::experiment::VarianceReduction;
use crate::experiment::reduction::{Reduced, Reduction, UnusedControl};
use crate::experiment::runner::Experiment;
use crate::experiment::tally::{Series, Totals};
use crate::experiment::warning::{self, Warning};
use crate::ledger::{ITEM_NAMES, Role, agent_name};
use crate::orchestration::{Outcome, Plan};
use crate::stats::{CONFIDENCE, Estimate, PairedDifference, Verdict, mean_usd};
use crate::units::Money;

/// Results of all variants on common random numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    /// Seed of the random streams.
    pub seed: u64,
    /// Replications of each variant.
    pub replications: u64,
    /// How intervals were made narrower; none where nothing is random.
    pub reduction: VarianceReduction,
    /// Variants, in the order of the scenario.
    pub variants: Vec<VariantResults>,
    /// Each variant against each later one.
    pub differences: Vec<Difference>,
    /// Controls that variance reduction could not use.
    pub unused_controls: Vec<UnusedControl>,
    /// What to know before relying on it.
    pub warnings: Vec<Warning>,
}

/// Results of one variant: means over all replications, in units that the names state.
///
/// Breakdowns of the cost sum to the mean cost of the sample
/// ([`VariantResults::sample_mean_usd`]), which differs from the estimate where that is corrected
/// by controls.
#[derive(Clone, Debug, PartialEq)]
pub struct VariantResults {
    /// Its name.
    pub name: String,
    /// Cost of a run, in US dollars.
    pub cost_usd: Summary,
    /// What variance reduction came to for its mean.
    pub reduced: Option<Reduced>,
    /// From the first request to the last response, in seconds.
    pub makespan_s: Summary,
    /// Time in queues and back-off, summed over agents, in seconds.
    pub wait_s: Summary,
    /// Tokens by the five categories of a bill.
    pub tokens: Breakdown,
    /// Cost by line item; sums to the cost.
    pub cost_by_item_usd: Breakdown,
    /// Cost by role; sums to the cost.
    pub cost_by_role_usd: Breakdown,
    /// Cost and requests by agent; the costs sum to the cost. An agent that did not start in a
    /// replication counts there with nothing.
    pub agents: Vec<AgentMean>,
    /// Cost by cause (semantics A5); sums to the cost.
    pub cost_by_cause_usd: Breakdown,
    /// Requests that were charged.
    pub requests: f64,
    /// Mean over replications of tokens read per token of prompt; a replication without prompts
    /// counts 0.
    pub hit_ratio_tokens: f64,
    /// Misses in the client's sense, of all agents (semantics A5).
    pub misses: f64,
    /// Rebuilds that the client brought about (semantics A5).
    pub expected_rebuilds: f64,
    /// Launches of children.
    pub launches: LaunchMeans,
    /// Tasks that were called and not done: refused for good, or their child stopped.
    pub tasks_dropped: f64,
    /// Attempts that failed: above a rate limit (429), or the provider overloaded (529).
    pub failed_attempts: Breakdown,
    /// Sum over agents of the size of the agent's last request, output included: what a client
    /// shows as tokens used, and no measure of cost (semantics A4).
    pub last_request_tokens: f64,
    /// Cost with all input at base price, in US dollars (semantics A6).
    pub no_cache_usd: f64,
    /// Cost with a perfect cache, in US dollars (semantics A6).
    pub perfect_cache_usd: f64,
    /// How runs ended.
    pub outcomes: OutcomeShares,
}

/// Mean of a response with its interval, and quantiles ([`crate::stats::Quantiles`]).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// Mean.
    pub estimate: Estimate,
    /// 5th percentile.
    pub p5: f64,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Largest observation.
    pub max: f64,
}

/// Means by the keys of results, in their order.
pub type Breakdown = Vec<(&'static str, f64)>;

/// What one agent came to.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentMean {
    /// `main`, then `a1`, `a2`, ... in order of launch.
    pub agent: String,
    /// Cost in US dollars.
    pub cost_usd: f64,
    /// Requests.
    pub requests: f64,
}

/// Means of launch counts, by the keys of results.
///
/// Depth, budget and partial reports are no part of the simulated system yet; they are 0.
pub type LaunchMeans = Breakdown;

/// Shares of replications by how they ended, by the keys of results.
///
/// Budgets and rate limits are no part of the simulated system yet; they are 0.
pub type OutcomeShares = Breakdown;

/// One variant against another.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Name of the first.
    pub a: String,
    /// Name of the second.
    pub b: String,
    /// Mean of cost of `b` minus cost of `a` in US dollars: negative where `b` costs less.
    pub cost_usd: Estimate,
    /// What variance reduction came to for it.
    pub reduced: Option<Reduced>,
    /// Share of replications in which `b` costs less, ties counted half.
    pub probability_b_cheaper: f64,
    /// Which is cheaper, where the interval excludes zero.
    pub verdict: Verdict,
}

impl Difference {
    /// Returns the verdict in words: `NAME cheaper` or `not decided`.
    pub fn verdict_text(&self) -> String {
        match self.verdict {
            Verdict::A => format!("{} cheaper", self.a),
            Verdict::B => format!("{} cheaper", self.b),
            Verdict::Undecided => "not decided".to_owned(),
        }
    }
}

impl Results {
    pub(super) fn new(experiment: &Experiment) -> Results {
        let variants: Vec<_> = (0..experiment.variants.len())
            .map(|variant| VariantResults::new(experiment, variant))
            .collect();
        let differences = differences(experiment);
        let mut warnings = Vec::new();
        warning::of_precision(experiment, &mut warnings);
        warning::of_differences(&differences, &mut warnings);
        warning::of_variants(&variants, &mut warnings);
        warning::of_tails(experiment, &mut warnings);
        warning::of_skewness(experiment, &mut warnings);
        let mut results = Results {
            seed: experiment.seed(),
            replications: experiment.replications(),
            reduction: experiment.reduction(),
            variants,
            differences,
            unused_controls: experiment.unused_controls(),
            warnings,
        };
        warning::of_reduction(&mut results);
        results
    }
}

fn differences(experiment: &Experiment) -> Vec<Difference> {
    let difference = |pair: &(usize, usize, PairedDifference)| {
        let (a, b, paired) = pair;
        let Reduction { estimate, reduced, .. } = experiment.difference(pair);
        Difference {
            a: experiment.variants[*a].name.clone(),
            b: experiment.variants[*b].name.clone(),
            cost_usd: estimate,
            reduced,
            probability_b_cheaper: paired.probability_b_cheaper(),
            verdict: Verdict::of(&estimate),
        }
    };
    experiment.pairs.iter().map(difference).collect()
}

impl VariantResults {
    fn new(experiment: &Experiment, number: usize) -> VariantResults {
        let variant = &experiment.variants[number];
        let totals = variant.totals();
        let ordered = &variant.ordered;
        let count = ordered.cost.each.count();
        let usd = |sum: Money| mean_usd(sum, count);
        let mean = |sum: u128| sum as f64 / count.max(1) as f64;
        let Reduction { estimate, reduced, .. } = experiment.cost(number);
        let cost_usd = Summary { estimate, ..Summary::new(&ordered.cost, &variant.plan) };
        VariantResults {
            name: variant.name.clone(),
            cost_usd,
            reduced,
            makespan_s: Summary::new(&ordered.makespan, &variant.plan),
            wait_s: Summary::new(&ordered.wait, &variant.plan),
            tokens: ITEM_NAMES.into_iter().zip(totals.tokens.map(mean)).collect(),
            cost_by_item_usd: ITEM_NAMES.into_iter().zip(totals.items.map(usd)).collect(),
            cost_by_role_usd: Role::ALL
                .map(Role::name)
                .into_iter()
                .zip(totals.roles.map(usd))
                .collect(),
            agents: agents(&totals, count),
            cost_by_cause_usd: Cause::ALL
                .map(Cause::name)
                .into_iter()
                .zip(totals.causes.map(usd))
                .collect(),
            requests: mean(totals.requests.into()),
            hit_ratio_tokens: ordered.hit_ratio.mean(),
            misses: mean(totals.misses.into()),
            expected_rebuilds: mean(totals.expected_rebuilds.into()),
            launches: launches(totals.launches.map(|sum| mean(sum.into()))),
            tasks_dropped: mean(totals.dropped.into()),
            failed_attempts: ["rate_limited", "overloaded"]
                .into_iter()
                .zip(totals.failed_attempts.map(|sum| mean(sum.into())))
                .collect(),
            last_request_tokens: mean(totals.last_request),
            no_cache_usd: usd(totals.no_cache),
            perfect_cache_usd: usd(totals.perfect_cache),
            outcomes: outcomes(totals.outcomes.map(|sum| mean(sum.into()))),
        }
    }

    /// Returns the mean cost of the sample, without correction by controls: the sum of each
    /// breakdown of the cost.
    pub fn sample_mean_usd(&self) -> f64 {
        self.reduced.as_ref().map_or(self.cost_usd.estimate.mean, |of| of.sample_mean_usd)
    }

    /// Returns how many tasks of a run are called and not done, and how many calls there are, on
    /// average.
    pub fn dropped_tasks(&self) -> (f64, f64) {
        let attempted = self.launches.iter().find(|(name, _)| *name == "attempted");
        (self.tasks_dropped, attempted.map_or(0.0, |(_, count)| *count))
    }

    /// Returns the share of replications that ended in a way, by its key; 0 of an unknown key.
    pub fn outcome(&self, name: &str) -> f64 {
        self.outcomes.iter().find(|(key, _)| *key == name).map_or(0.0, |(_, share)| *share)
    }
}

impl Summary {
    fn new(series: &Series, plan: &Plan) -> Summary {
        let moments = &series.moments;
        let estimate = if plan.is_random() {
            Estimate::new(moments.mean(), moments, CONFIDENCE)
        } else {
            Estimate::certain(moments.mean(), CONFIDENCE, moments.count())
        };
        let ascending = series.quantiles.ascending();
        let [p5, p50, p95, p99] = [50, 500, 950, 990].map(|permille| ascending.quantile(permille));
        Summary { estimate, p5, p50, p95, p99, max: ascending.max() }
    }
}

fn agents(totals: &Totals, count: u64) -> Vec<AgentMean> {
    let agent = |(index, total): (usize, &crate::experiment::tally::AgentTotal)| AgentMean {
        agent: agent_name(index as u32),
        cost_usd: mean_usd(total.cost, count),
        requests: total.requests as f64 / count.max(1) as f64,
    };
    totals.agents.iter().enumerate().map(agent).collect()
}

fn launches(counts: [f64; 7]) -> LaunchMeans {
    let [attempted, started, concurrency, depth, other, completed, failed] = counts;
    vec![
        ("attempted", attempted),
        ("started", started),
        ("refused_concurrency", concurrency),
        ("refused_depth", depth),
        ("refused_budget", 0.0),
        ("refused_other", other),
        ("completed", completed),
        ("failed", failed),
        ("partial", 0.0),
    ]
}

fn outcomes(shares: [f64; Outcome::ALL.len()]) -> OutcomeShares {
    let share = |outcome: Outcome| (outcome.name(), shares[outcome as usize]);
    vec![
        share(Outcome::Completed),
        ("budget_exhausted", 0.0),
        share(Outcome::RateLimited),
        share(Outcome::Thrashing),
        share(Outcome::PromptTooLong),
    ]
}
