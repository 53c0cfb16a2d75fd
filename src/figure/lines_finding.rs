//! Findings of lines: who is best where, or how the only line runs.

use crate::figure::finding::{capitalized, percent, short, verb};
use crate::figure::{Better, Levels, Lines};

/// Where one series gives way to another as the best.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Crossing {
    /// Place on the horizontal axis, between levels by linear interpolation.
    pub(super) at: f64,
    /// Value of both there.
    pub(super) value: f64,
}

/// Levels next to each other with the same best series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stretch {
    best: Option<usize>,
    from: usize,
    to: usize,
}

/// Returns where the best series changes, from one that is certain to another.
pub(super) fn crossings(lines: &Lines) -> Vec<Crossing> {
    let stretches = stretches(lines);
    stretches.windows(2).filter_map(|pair| crossing(lines, pair[0], pair[1])).collect()
}

/// Returns the stretches; an undecided one between two is a crossing, or part of both.
fn stretches(lines: &Lines) -> Vec<Stretch> {
    let mut all: Vec<Stretch> = Vec::new();
    for (level, best) in lines.best.iter().enumerate() {
        match all.last_mut() {
            Some(last) if last.best == *best => last.to = level,
            _ => all.push(Stretch { best: *best, from: level, to: level }),
        }
    }
    let mut joined: Vec<Stretch> = Vec::new();
    for (at, stretch) in all.iter().enumerate() {
        let is_between = at > 0 && at + 1 < all.len();
        if stretch.best.is_none() && is_between {
            continue;
        }
        match joined.last_mut() {
            Some(last) if last.best == stretch.best => last.to = stretch.to,
            _ => joined.push(*stretch),
        }
    }
    joined
}

fn crossing(lines: &Lines, a: Stretch, b: Stretch) -> Option<Crossing> {
    let Levels::Values(values) = &lines.levels else { return None };
    let (a_series, b_series) = (a.best?, b.best?);
    let value = |series: usize, level: usize| lines.series[series].points[level].value;
    let gap = |level: usize| value(a_series, level) - value(b_series, level);
    let at = (a.to..b.from).find(|level| gap(*level) * gap(level + 1) <= 0.0)?;
    let (left, right) = (gap(at), gap(at + 1));
    let share = if (left - right).abs() > 0.0 { left / (left - right) } else { 0.5 };
    let between = |from: f64, to: f64| from + share * (to - from);
    Some(Crossing {
        at: between(values[at], values[at + 1]),
        value: between(value(a_series, at), value(a_series, at + 1)),
    })
}

impl Lines {
    pub(super) fn finding(&self) -> String {
        if self.series.len() < 2 {
            return self.trend();
        }
        let stretches = stretches(self);
        match &stretches[..] {
            [] => String::new(),
            [Stretch { best: None, .. }] => self.undecided(),
            [only] => self.throughout(only.best.unwrap_or(0)),
            [first, second] => self.two(*first, *second),
            many if many.len() <= 4 => self.several(many),
            many => format!(
                "The {} changes {} times between {} and {}",
                self.better.word(2),
                many.len() - 1,
                self.say(0),
                self.say(self.levels.count() - 1)
            ),
        }
    }

    fn name(&self, series: usize) -> String {
        short(&self.series[series].name)
    }

    fn say(&self, level: usize) -> String {
        self.levels.say(&self.x, level)
    }

    /// `is cheaper`, for a series.
    fn is(&self, series: usize) -> String {
        let is = verb(&self.series[series].name, "is", "are");
        format!("{is} {}", self.better.word(self.series.len() - 1))
    }

    fn undecided(&self) -> String {
        match &self.series[..] {
            [a, b] => format!(
                "{} and {} differ nowhere by more than chance",
                capitalized(&short(&a.name)),
                short(&b.name)
            ),
            _ => format!("Nowhere is it certain which is the {}", self.better.word(2)),
        }
    }

    /// One series is the best at every level, or at each at which that is certain.
    fn throughout(&self, best: usize) -> String {
        let others = |level: usize| {
            let values = (0..self.series.len()).filter(|one| *one != best);
            let values = values.map(|one| self.series[one].points[level].value);
            match self.better {
                Better::More => values.fold(f64::NEG_INFINITY, f64::max),
                Better::Less { .. } | Better::None => values.fold(f64::INFINITY, f64::min),
            }
        };
        let gain = |level: usize| {
            let next = others(level);
            (next - self.series[best].points[level].value).abs() / next.abs().max(1e-300)
        };
        let gains = (0..self.levels.count()).map(gain);
        let (low, high) = gains
            .fold((f64::INFINITY, 0.0_f64), |(low, high), gain| (low.min(gain), high.max(gain)));
        let is_certain = self.best.iter().all(Option::is_some);
        let by = match (percent(low), percent(high)) {
            _ if !is_certain => format!("wherever they differ, by up to {}", percent(high)),
            (low, high) if low == high => format!("throughout, by {high}"),
            (low, high) => format!("throughout, by {low} to {high}"),
        };
        let name = capitalized(&self.name(best));
        match self.series.len() {
            2 => format!("{name} {} than {} {by}", self.is(best), self.name(1 - best)),
            _ => format!("{name} {} {by}", self.is(best)),
        }
    }

    /// Where the first of two stretches ends: at a crossing, else at its last level.
    fn end(&self, first: Stretch, second: Stretch) -> String {
        match crossing(self, first, second) {
            Some(crossing) if self.x.is_whole => self.x.say(crossing.at.floor()),
            Some(crossing) => self.x.say(crossing.at),
            None => self.say(first.to),
        }
    }

    fn two(&self, first: Stretch, second: Stretch) -> String {
        let name = |series: usize| capitalized(&self.name(series));
        match (first.best, second.best) {
            (Some(a), Some(b)) => format!(
                "{} {} up to {}; beyond, {} {}",
                name(a),
                self.is(a),
                self.end(first, second),
                self.name(b),
                verb(&self.series[b].name, "is", "are")
            ),
            (Some(a), None) => format!(
                "{} {} up to {}; beyond, no difference is certain",
                name(a),
                self.is(a),
                self.say(first.to)
            ),
            (None, Some(b)) => format!(
                "{} {} from {} on; below, no difference is certain",
                name(b),
                self.is(b),
                self.say(second.from)
            ),
            (None, None) => self.undecided(),
        }
    }

    fn several(&self, stretches: &[Stretch]) -> String {
        let mut parts = Vec::new();
        for pair in stretches.windows(2) {
            let name =
                pair[0].best.map_or_else(|| "none for certain".to_owned(), |one| self.name(one));
            let is = pair[0].best.filter(|_| parts.is_empty()).map(|best| self.is(best));
            let is = is.map_or_else(String::new, |is| format!(" {is}"));
            parts.push(format!("{name}{is} up to {}", self.end(pair[0], pair[1])));
        }
        let last = stretches[stretches.len() - 1].best;
        let last = last.map_or_else(|| "none for certain".to_owned(), |one| self.name(one));
        capitalized(&format!("{}, then {last}", parts.join(", ")))
    }

    /// How the only line runs.
    fn trend(&self) -> String {
        let Some(series) = self.series.first() else { return String::new() };
        let values: Vec<f64> = series.points.iter().map(|point| point.value).collect();
        let (Some(first), Some(last)) = (values.first(), values.last()) else {
            return String::new();
        };
        let end = values.len() - 1;
        let lowest = (0..=end).min_by(|a, b| values[*a].total_cmp(&values[*b])).unwrap_or(0);
        let (unit, label) = (self.y.unit, capitalized(&self.y.label));
        if lowest != 0 && lowest != end {
            return format!(
                "{label} is lowest at {}: {}",
                self.say(lowest),
                unit.value(values[lowest])
            );
        }
        let verb = match last.total_cmp(first) {
            std::cmp::Ordering::Less => "falls",
            std::cmp::Ordering::Equal => {
                return format!("{label} is {} throughout", unit.value(*first));
            }
            std::cmp::Ordering::Greater => "rises",
        };
        let (from, to) = (unit.value(*first), unit.value(*last));
        format!("{label} {verb} from {from} at {} to {to} at {}", self.say(0), self.say(end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::{Axis, Point, Series, Unit};

    type Named<'a> = (&'a str, &'a [f64]);

    /// Lines over 1, 2, 3, ... where the lower value is better; within 0.05 nothing is certain.
    fn lines(series: &[Named<'_>]) -> Lines {
        let count = series[0].1.len();
        let best = |level: usize| {
            let mut order: Vec<usize> = (0..series.len()).collect();
            order.sort_by(|a, b| series[*a].1[level].total_cmp(&series[*b].1[level]));
            let gap = order.get(1).map(|next| series[*next].1[level] - series[order[0]].1[level]);
            gap.filter(|gap| *gap > 0.05).map(|_| order[0])
        };
        Lines {
            x: Axis {
                phrase: "{} children".to_owned(),
                phrase_of_one: "{} child".to_owned(),
                ..Axis::plain("Children", Unit::Number)
            },
            levels: Levels::Values((1..=count).map(|level| level as f64).collect()),
            y: Axis::plain("cost", Unit::Usd),
            better: Better::CHEAPER,
            best: (0..count).map(best).collect(),
            series: series
                .iter()
                .map(|(name, values)| Series {
                    name: (*name).to_owned(),
                    points: values.iter().map(|value| Point::exact(*value)).collect(),
                })
                .collect(),
        }
    }

    #[test]
    fn the_finding_names_who_is_best_where() {
        let cases: [(&[Named<'_>], &str); 9] = [
            // The gap goes from -1 to 2: zero a third of the way from 2 to 3.
            (
                &[("fork", &[1.0, 2.0, 5.0]), ("fresh", &[3.0, 3.0, 3.0])],
                "Fork is cheaper up to 2.33 children; beyond, fresh is",
            ),
            (
                &[("fork", &[1.0, 2.0, 3.0]), ("fresh", &[2.0, 2.5, 4.0])],
                "Fork is cheaper than fresh throughout, by 20 % to 50 %",
            ),
            (
                &[("a", &[1.0, 2.0, 9.0]), ("b", &[2.0, 4.0, 10.0]), ("c", &[3.0, 3.0, 12.0])],
                "A is cheapest throughout, by 10 % to 50 %",
            ),
            (
                &[("a", &[1.0, 2.0]), ("b", &[1.01, 2.01])],
                "A and b differ nowhere by more than chance",
            ),
            (
                &[("a", &[1.0, 2.0, 3.0]), ("b", &[1.01, 2.01, 4.0])],
                "A is cheaper from 3 children on; below, no difference is certain",
            ),
            (
                &[("a", &[1.0, 2.0, 3.0]), ("b", &[2.0, 2.01, 3.01])],
                "A is cheaper up to 1 child; beyond, no difference is certain",
            ),
            (
                &[
                    ("a", &[1.0, 3.0, 4.0, 5.0]),
                    ("b", &[2.0, 2.0, 3.0, 4.0]),
                    ("c", &[9.0, 9.0, 5.0, 1.0]),
                ],
                "A is cheapest up to 1.5 children, b up to 3.4 children, then c",
            ),
            (&[("", &[4.0, 2.0, 3.0])], "Cost is lowest at 2 children: $2.00"),
            (&[("", &[1.0, 2.0, 3.0])], "Cost rises from $1.00 at 1 child to $3.00 at 3 children"),
        ];
        for (series, expected) in cases {
            assert_eq!(lines(series).finding(), expected);
        }
    }

    #[test]
    fn an_uncertain_level_between_two_is_part_of_the_crossing() {
        let lines = lines(&[("a", &[1.0, 2.0, 4.0]), ("b", &[2.0, 2.02, 2.0])]);
        // From -0.02 to 2 between 2 and 3: zero at 2.0099.
        assert_eq!(lines.finding(), "A is cheaper up to 2.01 children; beyond, b is");
        assert_eq!(crossings(&lines).len(), 1);
        let whole = Lines { x: Axis { is_whole: true, ..lines.x.clone() }, ..lines };
        assert_eq!(whole.finding(), "A is cheaper up to 2 children; beyond, b is");
    }
}
