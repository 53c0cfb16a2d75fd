//! Results as lines.

use crate::figure::{Axis, Better, Levels, Lines, Point, Series, Unit};
use crate::plot::Plot;
use crate::plot::file::{AxisName, Band};
use crate::plot::read::Facet;
use crate::plot::simulate::{Cell, Points, difference};
use crate::plot::words;
use crate::scenario::{Factor, Unit as KeyUnit, quantity};

impl Plot {
    /// Returns the lines of a panel; of one variant where each has its own panel.
    pub(super) fn lines(&self, points: &Points, panel: usize) -> Lines {
        let variants = match self.facet {
            Some(Facet::Variants) => panel..panel + 1,
            Some(Facet::Levels(_)) | None => 0..points.at(0, 0, 0).len(),
        };
        let facet = if self.facet == Some(Facet::Variants) { 0 } else { panel };
        let (x, levels) = self.x_axis();
        let count = levels.count();
        let mut rows: Vec<(String, Vec<&Cell>)> = Vec::new();
        for number in 0..Plot::levels(self.series.as_ref()) {
            for variant in variants.clone() {
                let cells = (0..count).map(|at| &points.at(facet, number, at)[variant]).collect();
                rows.push((self.series_name(points, number, variant), cells));
            }
        }
        let best = (0..count).map(|at| self.best(&rows, at)).collect();
        let series = rows.into_iter().map(|(name, cells)| Series {
            name,
            points: cells.into_iter().map(|cell| self.point(cell)).collect(),
        });
        let is_log = self.file.log.contains(&AxisName::Y);
        Lines {
            x,
            levels,
            y: Axis { is_log, ..self.measure.axis(&self.file.y_label) },
            better: self.measure.better(),
            series: series.collect(),
            best,
        }
    }

    fn series_name(&self, points: &Points, number: usize, variant: usize) -> String {
        let name = &points.at(0, 0, 0)[variant].results.name;
        match &self.series {
            Some(factor) => words::level(&factor.key, &factor.levels[number].label),
            None => name.clone(),
        }
    }

    fn point(&self, cell: &Cell) -> Point {
        let value = self.measure.value(&cell.results);
        let summary = self.measure.summary(&cell.results).filter(|_| self.measure.has_band());
        match (self.file.band, summary) {
            (Band::Interval, Some(summary)) => {
                Point::around(value, summary.estimate.half_width.unwrap_or(0.0))
            }
            (Band::Runs, Some(summary)) => Point { value, low: summary.p5, high: summary.p95 },
            (Band::None, _) | (_, None) => Point::exact(value),
        }
    }

    /// Returns the best series at a level, where it is certain against each other one.
    fn best(&self, rows: &[(String, Vec<&Cell>)], level: usize) -> Option<usize> {
        let sign = if self.measure.better() == Better::More { -1.0 } else { 1.0 };
        let value = |row: usize| sign * self.measure.value(&rows[row].1[level].results);
        let best = (0..rows.len()).min_by(|a, b| value(*a).total_cmp(&value(*b)))?;
        let is_certain = |other: usize| match self.measure.observed() {
            Some(observed) => {
                let (a, b) = (rows[best].1[level], rows[other].1[level]);
                !difference(a, b, observed).crosses_zero()
            }
            None => value(other) - value(best) > 1e-9 * value(best).abs(),
        };
        (0..rows.len()).filter(|other| *other != best).all(is_certain).then_some(best)
    }

    /// Returns the horizontal axis and its levels.
    pub(super) fn x_axis(&self) -> (Axis, Levels) {
        let Some(factor) = &self.x else {
            return (Axis::plain("", Unit::Number), Levels::Names(vec![String::new()]));
        };
        let (levels, unit) = levels(factor);
        let is_log = self.file.log.contains(&AxisName::X);
        (Axis { is_log, ..words::axis(&factor.key, unit, &self.file.x_label) }, levels)
    }
}

/// Returns the levels of a factor as numbers where all of them are, in ascending order; else as
/// names.
pub(super) fn levels(factor: &Factor) -> (Levels, Unit) {
    let names =
        || Levels::Names(factor.levels.iter().map(|level| level.label.to_string()).collect());
    let mut values = Vec::new();
    for level in &factor.levels {
        match quantity(&level.value) {
            Ok(number) if level.label == level.value => values.push(number),
            _ => return (names(), Unit::Number),
        }
    }
    let is_ascending = values.windows(2).all(|pair| pair[0].0 < pair[1].0);
    let is_time = values.iter().any(|(_, unit)| *unit == KeyUnit::Seconds);
    let is_tokens = factor.levels.iter().any(|level| level.value.ends_with(['k', 'K', 'M']));
    if !is_ascending {
        return (names(), Unit::Number);
    }
    let unit = match (is_time, is_tokens) {
        (true, _) => Unit::Seconds,
        (false, true) => Unit::Tokens,
        (false, false) => Unit::Number,
    };
    (Levels::Values(values.into_iter().map(|(value, _)| value).collect()), unit)
}
