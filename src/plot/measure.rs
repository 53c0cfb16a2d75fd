//! What can be measured: the columns of a sweep, by their names.

use crate::cache::Cause;
use crate::experiment::{Summary, VariantResults};
use crate::figure::{Axis, Better, Unit};
use crate::ledger::{ITEM_NAMES, Role};

/// A column of results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Measure {
    group: Group,
    /// A key of a breakdown; empty of anything else.
    part: &'static str,
    statistic: Statistic,
}

/// Columns that are read in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Group {
    Cost,
    Makespan,
    Wait,
    Requests,
    HitRatio,
    Misses,
    ExpectedRebuilds,
    LastRequest,
    Tokens,
    CostByItem,
    CostByRole,
    CostByCause,
    Launches,
    Outcomes,
}

/// What is taken of a response that varies over runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Statistic {
    Mean,
    P5,
    P50,
    P95,
    P99,
    Max,
}

const STATISTICS: [(Statistic, &str, &str); 6] = [
    (Statistic::Mean, "mean", "Mean"),
    (Statistic::P5, "p5", "5th percentile"),
    (Statistic::P50, "p50", "Median"),
    (Statistic::P95, "p95", "95th percentile"),
    (Statistic::P99, "p99", "99th percentile"),
    (Statistic::Max, "max", "Largest value"),
];

const LAUNCHES: [&str; 9] = [
    "attempted",
    "started",
    "refused_concurrency",
    "refused_depth",
    "refused_budget",
    "refused_other",
    "completed",
    "failed",
    "partial",
];

const OUTCOMES: [&str; 5] =
    ["completed", "budget_exhausted", "rate_limited", "thrashing", "prompt_too_long"];

/// The name of a group, whether it varies over runs, what it counts.
static GROUPS: [(Group, &str, &str, Unit, Better); 14] = [
    (Group::Cost, "cost_usd", "cost of a run", Unit::Usd, Better::CHEAPER),
    (Group::Makespan, "makespan_s", "time to the last response", Unit::Seconds, Better::FASTER),
    (Group::Wait, "wait_s", "waits of all agents", Unit::Seconds, Better::FEWER),
    (Group::Requests, "requests", "requests of a run", Unit::Number, Better::FEWER),
    (
        Group::HitRatio,
        "hit_ratio_tokens",
        "share of prompt tokens read from the cache",
        Unit::Share,
        Better::More,
    ),
    (Group::Misses, "misses", "cache misses of a run", Unit::Number, Better::FEWER),
    (
        Group::ExpectedRebuilds,
        "expected_rebuilds",
        "rebuilds that the client brings about",
        Unit::Number,
        Better::FEWER,
    ),
    (
        Group::LastRequest,
        "last_request_tokens",
        "tokens of all last requests",
        Unit::Tokens,
        Better::FEWER,
    ),
    (Group::Tokens, "tokens", "tokens of a run", Unit::Tokens, Better::FEWER),
    (Group::CostByItem, "cost_by_item_usd", "cost of a run", Unit::Usd, Better::CHEAPER),
    (Group::CostByRole, "cost_by_role_usd", "cost of a run", Unit::Usd, Better::CHEAPER),
    (Group::CostByCause, "cost_by_cause_usd", "cost of a run", Unit::Usd, Better::CHEAPER),
    (Group::Launches, "launches", "launches of a run", Unit::Number, Better::None),
    (Group::Outcomes, "outcomes", "share of runs", Unit::Share, Better::None),
];

impl Group {
    fn parts(self) -> Vec<&'static str> {
        match self {
            Group::Tokens => ITEM_NAMES[..5].to_vec(),
            Group::CostByItem => ITEM_NAMES.to_vec(),
            Group::CostByRole => Role::ALL.map(Role::name).to_vec(),
            Group::CostByCause => Cause::ALL.map(Cause::name).to_vec(),
            Group::Launches => LAUNCHES.to_vec(),
            Group::Outcomes => OUTCOMES.to_vec(),
            Group::Cost
            | Group::Makespan
            | Group::Wait
            | Group::Requests
            | Group::HitRatio
            | Group::Misses
            | Group::ExpectedRebuilds
            | Group::LastRequest => vec![""],
        }
    }

    fn statistics(self) -> &'static [(Statistic, &'static str, &'static str)] {
        match self {
            Group::Cost | Group::Makespan | Group::Wait => &STATISTICS,
            _ => &STATISTICS[..1],
        }
    }
}

impl Measure {
    /// The mean cost.
    pub(super) const COST: Measure =
        Measure { group: Group::Cost, part: "", statistic: Statistic::Mean };

    /// Reads the name of a column; `_mean` at its end may be left out.
    pub(super) fn parse(name: &str) -> Result<Measure, String> {
        let all = Measure::all();
        let found = all.iter().find(|(known, _)| {
            known == name || known.strip_suffix("_mean").is_some_and(|short| short == name)
        });
        if let Some((_, measure)) = found {
            return Ok(measure.clone());
        }
        let distance = |(known, _): &&(String, Measure)| {
            strsim::damerau_levenshtein(known.trim_end_matches("_mean"), name)
        };
        let nearest = all.iter().min_by_key(distance).map_or("cost_usd", |(known, _)| known);
        let nearest = nearest.trim_end_matches("_mean");
        Err(format!("`{name}` is no column of results; the nearest is `{nearest}`"))
    }

    /// Returns all names with what they mean.
    fn all() -> Vec<(String, Measure)> {
        let mut all = Vec::new();
        for (group, name, ..) in GROUPS {
            for part in group.parts() {
                for (statistic, suffix, _) in group.statistics() {
                    let parts = [name, part, suffix];
                    let named = parts.into_iter().filter(|part| !part.is_empty());
                    let name = named.collect::<Vec<_>>().join("_");
                    all.push((name, Measure { group, part, statistic: *statistic }));
                }
            }
        }
        all
    }

    /// Returns whether it is a mean that has an interval, and quantiles of runs around it.
    pub(super) fn has_band(&self) -> bool {
        self.statistic == Statistic::Mean && self.observed().is_some()
    }

    /// Returns the number of the observations of each run that it is the mean of, as
    /// [`crate::experiment::Experiment::observations`] has them.
    pub(super) fn observed(&self) -> Option<usize> {
        match (self.statistic, self.group) {
            (Statistic::Mean, Group::Cost) => Some(0),
            (Statistic::Mean, Group::Makespan) => Some(1),
            (Statistic::Mean, Group::Wait) => Some(2),
            _ => None,
        }
    }

    /// Returns the summary that it is taken from.
    pub(super) fn summary<'a>(&self, results: &'a VariantResults) -> Option<&'a Summary> {
        match self.group {
            Group::Cost => Some(&results.cost_usd),
            Group::Makespan => Some(&results.makespan_s),
            Group::Wait => Some(&results.wait_s),
            _ => None,
        }
    }

    /// Returns its value.
    pub(super) fn value(&self, results: &VariantResults) -> f64 {
        if let Some(summary) = self.summary(results) {
            return match self.statistic {
                Statistic::Mean => summary.estimate.mean,
                Statistic::P5 => summary.p5,
                Statistic::P50 => summary.p50,
                Statistic::P95 => summary.p95,
                Statistic::P99 => summary.p99,
                Statistic::Max => summary.max,
            };
        }
        let of = |breakdown: &[(&'static str, f64)]| {
            breakdown.iter().find(|(key, _)| *key == self.part).map_or(0.0, |(_, value)| *value)
        };
        match self.group {
            Group::Cost | Group::Makespan | Group::Wait => 0.0,
            Group::Requests => results.requests,
            Group::HitRatio => results.hit_ratio_tokens,
            Group::Misses => results.misses,
            Group::ExpectedRebuilds => results.expected_rebuilds,
            Group::LastRequest => results.last_request_tokens,
            Group::Tokens => of(&results.tokens),
            Group::CostByItem => of(&results.cost_by_item_usd),
            Group::CostByRole => of(&results.cost_by_role_usd),
            Group::CostByCause => of(&results.cost_by_cause_usd),
            Group::Launches => of(&results.launches),
            Group::Outcomes => of(&results.outcomes),
        }
    }

    /// Returns its axis.
    pub(super) fn axis(&self, label: &str) -> Axis {
        let (_, _, words, unit, _) = self.row();
        let part = if self.part.is_empty() {
            String::new()
        } else {
            format!(": {}", self.part.replace('_', " "))
        };
        let of_runs = STATISTICS.iter().find(|(one, ..)| *one == self.statistic);
        let words = match of_runs {
            Some((statistic, _, name)) if *statistic != Statistic::Mean => {
                format!("{name} of the {words}{part}")
            }
            _ => format!("{}{part}", capitalized(words)),
        };
        Axis::plain(if label.is_empty() { &words } else { label }, *unit)
    }

    /// Returns which values are good.
    pub(super) fn better(&self) -> Better {
        self.row().4
    }

    fn row(&self) -> &'static (Group, &'static str, &'static str, Unit, Better) {
        let row = GROUPS.iter().find(|row| row.0 == self.group);
        row.unwrap_or(&GROUPS[0])
    }
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measures_are_columns_of_a_sweep() {
        let label = |name: &str| Measure::parse(name).map(|one| one.axis("").label);
        let cases = [
            ("cost_usd", "Cost of a run"),
            ("cost_usd_mean", "Cost of a run"),
            ("cost_usd_p95", "95th percentile of the cost of a run"),
            ("makespan_s", "Time to the last response"),
            ("tokens_cache_read", "Tokens of a run: cache read"),
            ("cost_by_cause_usd_sibling_not_ready", "Cost of a run: sibling not ready"),
            ("launches_completed", "Launches of a run: completed"),
        ];
        for (name, expected) in cases {
            assert_eq!(label(name).unwrap(), expected, "{name}");
        }
        assert_eq!(
            label("cost_usd_p59").unwrap_err(),
            "`cost_usd_p59` is no column of results; the nearest is `cost_usd_p5`"
        );
        assert!(Measure::COST.has_band() && !Measure::parse("cost_usd_p95").unwrap().has_band());
        assert_eq!(Measure::all().len(), 3 * 6 + 5 + 5 + 6 + 6 + Cause::COUNT + 9 + 5);
    }
}
