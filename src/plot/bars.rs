//! Results as bars.

use crate::cache::Cause;
use crate::experiment::VariantResults;
use crate::figure::{Axis, Bar, Bars, Better, HUES, Part, Unit};
use crate::ledger::{ITEM_NAMES, Role};
use crate::plot::Plot;
use crate::plot::file::By;
use crate::plot::read::Facet;
use crate::plot::simulate::{Cell, Points, difference};
use crate::plot::words;

/// A part that is less than this share of every bar goes into the rest.
const SMALL: f64 = 0.015;

impl Plot {
    /// Returns the bars of a panel: one for each variant at each level of `x`.
    pub(super) fn bars(&self, points: &Points, panel: usize) -> Bars {
        let variants = match self.facet {
            Some(Facet::Variants) => panel..panel + 1,
            Some(Facet::Levels(_)) | None => 0..points.at(0, 0, 0).len(),
        };
        let facet = if self.facet == Some(Facet::Variants) { 0 } else { panel };
        let has_names = variants.len() > 1 || self.x.is_none();
        let mut rows: Vec<(String, &Cell)> = Vec::new();
        for at in 0..Plot::levels(self.x.as_ref()) {
            for variant in variants.clone() {
                let cell = &points.at(facet, 0, at)[variant];
                let level = self
                    .x
                    .as_ref()
                    .map(|factor| words::level(&factor.key, &factor.levels[at].label));
                let name = has_names.then(|| cell.results.name.clone());
                let names: Vec<String> = name.into_iter().chain(level).collect();
                rows.push((names.join(", "), cell));
            }
        }
        let results: Vec<_> =
            rows.iter().map(|(name, cell)| (name.clone(), &cell.results)).collect();
        let differ = |a: &Cell| {
            let differs = |(_, b): &(String, &Cell)| !difference(a, b, 0).crosses_zero();
            rows.iter().map(differs).collect()
        };
        Bars {
            differ: rows.iter().map(|(_, cell)| differ(cell)).collect(),
            ..bars(&results, self.file.by, &self.file.x_label)
        }
    }
}

/// Returns bills as bars, each with its name, taken for certain to differ.
///
/// Parts that are small in every bill are put together as the rest.
pub fn bars(rows: &[(String, &VariantResults)], by: By, label: &str) -> Bars {
    let share = |results: &VariantResults, value: f64| {
        value / results.cost_usd.estimate.mean.max(f64::MIN_POSITIVE)
    };
    let keys = keys(by);
    let largest = |at: usize| {
        let of = |(_, results): &(String, &VariantResults)| share(results, parts(results, by)[at]);
        rows.iter().map(of).fold(0.0, f64::max)
    };
    let mut shown: Vec<usize> = (0..keys.len()).filter(|at| largest(*at) > 0.0).collect();
    let small: Vec<usize> = shown.iter().copied().filter(|at| largest(*at) < SMALL).collect();
    if small.len() > 1 {
        shown.retain(|at| !small.contains(at));
    }
    while shown.len() > HUES {
        let least = shown.iter().copied().min_by(|a, b| largest(*a).total_cmp(&largest(*b)));
        shown.retain(|at| Some(*at) != least);
    }
    let part = |at: &usize| Part { name: keys[*at].0.to_owned(), hue: hue(&keys, *at, &shown) };
    let mut all: Vec<Part> = shown.iter().map(part).collect();
    let has_rest = (0..keys.len()).any(|at| largest(at) > 0.0 && !shown.contains(&at));
    if has_rest {
        all.push(Part { name: "the rest".to_owned(), hue: HUES });
    }
    let bar = |(name, results): &(String, &VariantResults)| {
        let values = parts(results, by);
        let mut parts: Vec<f64> = shown.iter().map(|at| values[*at]).collect();
        if has_rest {
            let rest = (0..keys.len()).filter(|at| !shown.contains(at));
            parts.push(rest.map(|at| values[at]).sum());
        }
        Bar { name: name.clone(), parts, half_width: results.cost_usd.estimate.half_width }
    };
    let label = if label.is_empty() { "Cost of a run, US dollars" } else { label };
    Bars {
        x: Axis::plain(label, Unit::Usd),
        better: Better::CHEAPER,
        parts: all,
        bars: rows.iter().map(bar).collect(),
        differ: vec![vec![true; rows.len()]; rows.len()],
    }
}

fn parts(results: &VariantResults, by: By) -> Vec<f64> {
    let breakdown = match by {
        By::Item => &results.cost_by_item_usd,
        By::Role => &results.cost_by_role_usd,
        By::Cause => &results.cost_by_cause_usd,
    };
    breakdown.iter().map(|(_, value)| *value).collect()
}

/// Names of all parts in the order of results, each with the hue that it has in every figure.
fn keys(by: By) -> Vec<(&'static str, Option<usize>)> {
    match by {
        By::Item => ITEM_NAMES.into_iter().map(item).collect(),
        By::Role => Role::ALL
            .into_iter()
            .enumerate()
            .map(|(at, role)| (self::role(role), Some(at)))
            .collect(),
        By::Cause => Cause::ALL.into_iter().map(cause).collect(),
    }
}

fn item(name: &'static str) -> (&'static str, Option<usize>) {
    match name {
        "uncached" => ("uncached input", Some(4)),
        "cache_write_5m" => ("cache writes, 5m", Some(1)),
        "cache_write_1h" => ("cache writes, 1h", Some(3)),
        "cache_read" => ("cache reads", Some(0)),
        "output" => ("output", Some(2)),
        other => (other, None),
    }
}

fn role(role: Role) -> &'static str {
    match role {
        Role::Main => "main session",
        Role::Subagent => "children",
        Role::Teammate => "teammates",
        Role::Compaction => "compaction",
        Role::KeepAlive => "keep-alive",
        Role::Prewarm => "pre-warm",
    }
}

fn cause(cause: Cause) -> (&'static str, Option<usize>) {
    match cause {
        Cause::Output => ("output", Some(2)),
        Cause::Read => ("read", Some(0)),
        Cause::NewContent => ("new content", Some(5)),
        Cause::ColdStart => ("cold start", Some(4)),
        Cause::Expired => ("expired", Some(1)),
        Cause::SiblingNotReady => ("sibling not ready", Some(3)),
        Cause::Fees => ("fees", None),
        Cause::CachingDisabled => ("caching disabled", None),
        Cause::BelowMinimum => ("below the minimum", None),
        Cause::ExpiredWhileLimited => ("expired while limited", Some(6)),
        Cause::EarlyMiss => ("early miss", None),
        Cause::LookbackExceeded => ("lookback exceeded", None),
        Cause::Compaction => ("compaction", Some(7)),
        Cause::ClearedToolResults => ("cleared tool results", None),
        Cause::PrefixChangedTools => ("tools changed", None),
        Cause::PrefixChangedSystem => ("system prompt changed", None),
        Cause::PrefixChangedModel => ("model changed", None),
        Cause::PrefixChangedEffort => ("effort changed", None),
        Cause::PrefixChangedMessages => ("messages changed", None),
    }
}

/// The hue of a part: its own, else the first that no part shown has.
fn hue(keys: &[(&str, Option<usize>)], at: usize, shown: &[usize]) -> usize {
    if let Some(own) = keys[at].1 {
        return own;
    }
    let is_free = |hue: &usize| !shown.iter().any(|at| keys[*at].1 == Some(*hue));
    let before = shown.iter().filter(|other| **other < at && keys[**other].1.is_none()).count();
    (0..HUES).filter(is_free).nth(before).unwrap_or(HUES)
}
