//! What to know before relying on results, and what to do about it.

use crate::experiment::results::{Difference, Results, VariantResults};
use crate::experiment::runner::Experiment;
use crate::experiment::{Reduced, StopRule, VarianceReduction};
use crate::stats::Verdict;

/// Fewest replications from which an interval is trusted (Law 2015, section 9.4.1).
const TRUSTED_MIN: u64 = 50;

/// The largest 1 % of bills, and the share of the cost from which they are a heavy tail.
const TAIL_PERMILLE: u64 = 10;
const TAIL_SHARE: f64 = 0.25;
/// Fewest replications from which 1 % of them says something.
const TAIL_COUNT: u64 = 100;

/// Variance without reduction by variance with it, below which it harms beyond what chance and the
/// degrees of freedom of a few controls make of an estimated factor.
const HARM: f64 = 0.8;

/// Observations for each unit of squared skewness.
const SKEWNESS: f64 = 25.0;

/// Something that weakens a result.
#[derive(Clone, Debug, PartialEq)]
pub enum Warning {
    /// Intervals from so few replications may not hold.
    TooFewReplications {
        /// Number of replications, or of antithetic pairs.
        count: u64,
        /// Replications of one observation: 1, or 2 in pairs.
        unit: u64,
    },
    /// Costs so skewed that the interval from these observations may not hold.
    SkewedCost {
        /// What varies most unevenly: a variant, or `b` against `a`.
        what: String,
        /// Skewness of the observations.
        skewness: f64,
        /// Replications from which the interval holds if the skewness stays as it is.
        needed: u64,
    },
    /// Variance reduction makes an interval wider.
    ReductionHarms {
        /// What varies more: a variant, or `a` against `b`.
        what: String,
        /// Variance without it by variance with it.
        factor: f64,
        /// How it was tried.
        reduction: VarianceReduction,
    },
    /// The mean cost is less precise than was asked for.
    IntervalTooWide {
        /// Name of the variant.
        variant: String,
        /// Relative half-width reached; `None` where there is no interval.
        reached: Option<f64>,
        /// Relative half-width asked for.
        asked: f64,
    },
    /// The order of two variants is open.
    IntervalCrossesZero {
        /// Name of the first.
        a: String,
        /// Name of the second.
        b: String,
    },
    /// Few runs hold much of the cost, so the mean moves with each of them.
    HeavyTail {
        /// Name of the variant.
        variant: String,
        /// Share of the cost in the dearest 1 % of runs.
        share: f64,
    },
    /// A price or limit in use is confirmed by no source.
    AssumedPrices {
        /// Which, in words: `minimum of claude-fable-5-2`.
        what: String,
    },
    /// Runs ended because a prompt no longer fitted into the context window.
    PromptTooLong {
        /// Name of the variant.
        variant: String,
        /// Share of replications.
        share: f64,
    },
    /// Runs ended because an agent was compacted again and again.
    Thrashing {
        /// Name of the variant.
        variant: String,
        /// Share of replications.
        share: f64,
    },
    /// A fork runs on the parent's model, whatever the fan-out says.
    ForkIgnoresModel {
        /// Name of the variant.
        variant: String,
        /// The model that is not used.
        model: String,
    },
    /// Nothing queues for the parent where all children may run at once.
    QueueIgnored {
        /// Name of the variant.
        variant: String,
    },
    /// Children start with nothing, which no client's do.
    EmptyStartup {
        /// Name of the variant.
        variant: String,
    },
    /// Tasks were not done, so the cost is not that of the work.
    TasksDropped {
        /// Name of the variant.
        variant: String,
        /// Calls refused or children failed in a run, on average.
        dropped: f64,
        /// Calls made in a run, on average.
        attempted: f64,
    },
    /// Tokens that a fresh agent must find out again, but no requests to do it in.
    RediscoveryIgnored {
        /// Name of the variant.
        variant: String,
    },
    /// An older client's rules stand in for a version that is not known.
    OlderProfile {
        /// The profile asked for.
        asked: String,
        /// The profile used.
        used: String,
    },
}

impl Warning {
    /// Returns the key of this kind of warning.
    pub const fn code(&self) -> &'static str {
        match self {
            Warning::TooFewReplications { .. } => "too_few_replications",
            Warning::SkewedCost { .. } => "skewed_cost",
            Warning::ReductionHarms { .. } => "variance_reduction_harms",
            Warning::IntervalTooWide { .. } => "interval_too_wide",
            Warning::IntervalCrossesZero { .. } => "interval_crosses_zero",
            Warning::HeavyTail { .. } => "heavy_tail",
            Warning::AssumedPrices { .. } => "assumed_prices",
            Warning::PromptTooLong { .. } => "prompt_too_long",
            Warning::Thrashing { .. } => "thrashing",
            Warning::ForkIgnoresModel { .. } => "fork_ignores_model",
            Warning::QueueIgnored { .. } => "queue_ignored",
            Warning::EmptyStartup { .. } => "empty_startup",
            Warning::TasksDropped { .. } => "tasks_dropped",
            Warning::RediscoveryIgnored { .. } => "rediscovery_ignored",
            Warning::OlderProfile { .. } => "older_profile",
        }
    }

    /// Returns what is the matter, and what to try.
    pub fn message(&self) -> String {
        match self {
            Warning::TooFewReplications { count, unit } => too_few(*count, *unit),
            Warning::SkewedCost { what, skewness, needed } => format!(
                "rare dear runs make the cost of {what} so uneven (skewness {skewness:.1}) that \
                 its interval holds less often than it says; use `--replications {needed}` or \
                 more, or bound the distributions with `max`"
            ),
            Warning::ReductionHarms { what, factor, reduction } => format!(
                "the mean cost of {what} varies {:.2} times as much with `--variance-reduction \
                 {}` as without; leave it out",
                1.0 / factor,
                reduction.name()
            ),
            Warning::IntervalTooWide { variant, reached, asked } => {
                too_wide(variant, *reached, *asked)
            }
            Warning::IntervalCrossesZero { a, b } => format!(
                "whether `{a}` or `{b}` is cheaper is not decided; ask for more with \
                 `--precision 0.1%` or `--replications`, or take them as equal"
            ),
            Warning::HeavyTail { variant, share } => format!(
                "the dearest 1 % of runs hold {:.0} % of the cost of `{variant}`; look at the \
                 percentiles, or bound the distributions with `max`",
                share * 100.0
            ),
            Warning::AssumedPrices { what } => {
                format!("{what}; set what you know with `--set prices.MODEL.KEY=...`")
            }
            Warning::PromptTooLong { variant, share } => format!(
                "{} % of the runs of `{variant}` stopped at a prompt that no longer fitted into \
                 the window, and what they had spent is in the mean; compact earlier \
                 (`compaction.trigger`), bound what one step adds (`max`), or choose a model \
                 with a larger window",
                percent(*share)
            ),
            Warning::Thrashing { variant, share } => format!(
                "{} % of the runs of `{variant}` stopped because compaction did not help; lower \
                 what refills the context, or raise `compaction.window`",
                percent(*share)
            ),
            Warning::ForkIgnoresModel { variant, model } => format!(
                "`{variant}` forks, and a fork runs on its parent's model: `fanout.model = \
                 \"{model}\"` is not used; set `session.model`"
            ),
            Warning::QueueIgnored { variant } => {
                format!("`fanout.queue` has no effect on `{variant}`; set `fanout.max_parallel`")
            }
            Warning::EmptyStartup { variant } => format!(
                "the children of `{variant}` start with 0 tokens of tools and system prompt; set \
                 `profile` (`forkcast profiles list`) or `startup`"
            ),
            Warning::TasksDropped { variant, dropped, attempted } => format!(
                "`{variant}` drops {dropped:.1} of {attempted:.1} tasks in a run, refused by \
                 `limits` or failed, so its cost does not compare; `fanout.max_parallel` queues \
                 instead"
            ),
            Warning::RediscoveryIgnored { variant } => format!(
                "`task.rediscovery.tokens` has no effect on `{variant}`; give \
                 `task.rediscovery.iterations`, the requests over which they are spread"
            ),
            Warning::OlderProfile { asked, used } => format!(
                "profile `{asked}` is not known; the rules of the older `{used}` are used, see \
                 `forkcast profiles list`"
            ),
        }
    }
}

fn percent(share: f64) -> String {
    format!("{:.3}", share * 100.0).trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn too_few(count: u64, unit: u64) -> String {
    let pairs = if unit == 2 { "pairs of " } else { "" };
    let enough = 64 * unit;
    format!(
        "intervals from {count} {pairs}replications may not hold; use `--replications {enough}` or \
         more"
    )
}

fn too_wide(variant: &str, reached: Option<f64>, asked: f64) -> String {
    let asked = percent(asked);
    let known = match reached {
        Some(reached) => format!("is known to {} %, not the {asked} % asked for", percent(reached)),
        None => format!("has no interval to compare with the {asked} % asked for"),
    };
    format!("the mean cost of `{variant}` {known}; raise `--replications`")
}

pub(super) fn of_precision(experiment: &Experiment, warnings: &mut Vec<Warning>) {
    let count = experiment.observation_count();
    if experiment.is_random() && count < TRUSTED_MIN {
        let unit = experiment.reduction().unit();
        warnings.push(Warning::TooFewReplications { count, unit });
    }
    let StopRule::Precision { relative: asked, .. } = experiment.stop_rule() else {
        return;
    };
    for (number, variant) in experiment.variants.iter().enumerate() {
        let cost = experiment.cost(number).estimate;
        let reached = cost.relative();
        if reached.is_none_or(|reached| reached > asked) {
            let variant = variant.name.clone();
            warnings.push(Warning::IntervalTooWide { variant, reached, asked });
        }
    }
}

pub(super) fn of_differences(differences: &[Difference], warnings: &mut Vec<Warning>) {
    for difference in differences {
        let is_open = difference.cost_usd.half_width != Some(0.0);
        if is_open && difference.verdict == Verdict::Undecided {
            let (a, b) = (difference.a.clone(), difference.b.clone());
            warnings.push(Warning::IntervalCrossesZero { a, b });
        }
    }
}

/// Tells of means whose observations are too skewed for their number (Cochran 1977, section 2.15:
/// with `n > 25 G^2` a 95 % interval misses in no more than about 6 % of cases).
pub(super) fn of_skewness(experiment: &Experiment, warnings: &mut Vec<Warning>) {
    let (count, replications) = (experiment.observation_count(), experiment.replications());
    if count < TRUSTED_MIN {
        return;
    }
    let variants = experiment.variants.iter().enumerate();
    let variants =
        variants.map(|(number, of)| (format!("`{}`", of.name), experiment.cost(number).skewness));
    let name = |variant: usize| &experiment.variants[variant].name;
    let pairs = experiment.pairs.iter().map(|pair| {
        let what = format!("`{}` against `{}`", name(pair.1), name(pair.0));
        (what, experiment.difference(pair).skewness)
    });
    let skewed = |(what, (skewness, count)): (String, (f64, u64))| {
        let factor = SKEWNESS * skewness * skewness / count as f64;
        (factor > 1.0).then_some((what, skewness, factor))
    };
    let skewed: Vec<(String, f64, f64)> = variants.chain(pairs).filter_map(skewed).collect();
    let worst = skewed.iter().max_by(|a, b| a.2.total_cmp(&b.2));
    if let Some((what, skewness, factor)) = worst {
        let others = match skewed.len() {
            1 => String::new(),
            count => format!(" (and {} more)", count - 1),
        };
        let needed = (factor * replications as f64 / 100.0).ceil() as u64 * 100;
        let what = format!("{what}{others}");
        warnings.push(Warning::SkewedCost { what, skewness: *skewness, needed });
    }
}

/// Tells of means that vary clearly more with variance reduction than without.
pub(super) fn of_reduction(results: &mut Results) {
    let reduction = results.reduction;
    let variants = results.variants.iter().map(|of| (format!("`{}`", of.name), &of.reduced));
    let pairs = results.differences.iter();
    let pairs = pairs.map(|of| (format!("`{}` against `{}`", of.b, of.a), &of.reduced));
    let harm = |(what, reduced): (String, &Option<Reduced>)| {
        let factor = reduced.as_ref()?.factor;
        (factor < HARM).then_some(Warning::ReductionHarms { what, factor, reduction })
    };
    let warnings: Vec<Warning> = variants.chain(pairs).filter_map(harm).collect();
    results.warnings.extend(warnings);
}

pub(super) fn of_variants(variants: &[VariantResults], warnings: &mut Vec<Warning>) {
    for results in variants {
        let variant = &results.name;
        let (dropped, attempted) = results.dropped_tasks();
        if dropped > 0.05 * attempted {
            let variant = variant.clone();
            warnings.push(Warning::TasksDropped { variant, dropped, attempted });
        }
        let share = results.outcome("prompt_too_long");
        if share > 0.0 {
            warnings.push(Warning::PromptTooLong { variant: variant.clone(), share });
        }
        let share = results.outcome("thrashing");
        if share > 0.0 {
            warnings.push(Warning::Thrashing { variant: variant.clone(), share });
        }
    }
}

pub(super) fn of_tails(experiment: &Experiment, warnings: &mut Vec<Warning>) {
    if experiment.replications() < TAIL_COUNT {
        return;
    }
    for variant in &experiment.variants {
        let costs = variant.ordered.cost.quantiles.ascending();
        let share = costs.share_of_largest(TAIL_PERMILLE);
        if share > TAIL_SHARE {
            warnings.push(Warning::HeavyTail { variant: variant.name.clone(), share });
        }
    }
}
