//! What to know before relying on results, and what to do about it.

use crate::experiment::StopRule;
use crate::experiment::results::{Difference, VariantResults};
use crate::experiment::runner::Experiment;
use crate::stats::Verdict;

/// Fewest replications from which an interval is trusted (Law 2015, section 9.4.1).
const TRUSTED_MIN: u64 = 50;

/// The largest 1 % of bills, and the share of the cost from which they are a heavy tail.
const TAIL_PERMILLE: u64 = 10;
const TAIL_SHARE: f64 = 0.25;
/// Fewest replications from which 1 % of them says something.
const TAIL_COUNT: u64 = 100;

/// Something that weakens a result.
#[derive(Clone, Debug, PartialEq)]
pub enum Warning {
    /// Intervals from so few replications may not hold.
    TooFewReplications {
        /// Their number.
        count: u64,
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
        let percent = |share: f64| {
            format!("{:.3}", share * 100.0).trim_end_matches('0').trim_end_matches('.').to_owned()
        };
        match self {
            Warning::TooFewReplications { count } => format!(
                "intervals from {count} replications may not hold; use `--replications 64` or more"
            ),
            Warning::IntervalTooWide { variant, reached: Some(reached), asked } => format!(
                "the mean cost of `{variant}` is known to {} %, not the {} % asked for; raise \
                 `--replications`",
                percent(*reached),
                percent(*asked)
            ),
            Warning::IntervalTooWide { variant, reached: None, asked } => format!(
                "the mean cost of `{variant}` has no interval to compare with the {} % asked for; \
                 raise `--replications`",
                percent(*asked)
            ),
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

pub(super) fn of_precision(experiment: &Experiment, warnings: &mut Vec<Warning>) {
    let count = experiment.replications();
    if experiment.is_random() && count < TRUSTED_MIN {
        warnings.push(Warning::TooFewReplications { count });
    }
    let StopRule::Precision { relative: asked, .. } = experiment.stop_rule() else {
        return;
    };
    for variant in &experiment.variants {
        let cost = variant.cost_estimate();
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
