//! Axes: from values to places, and where ticks stand.

use crate::figure::font::Type;
use crate::figure::{Axis, Levels};

/// Letters of ticks.
pub(super) const TICK: Type = Type::regular(12.0);

/// A monotone map from values to pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scale {
    pub(super) low: f64,
    pub(super) high: f64,
    /// Where `low` is.
    pub(super) from: f64,
    /// Where `high` is; less than `from` where values grow upwards.
    pub(super) to: f64,
    pub(super) is_log: bool,
}

impl Scale {
    pub(super) fn new((low, high): (f64, f64), (from, to): (f64, f64), is_log: bool) -> Scale {
        Scale { low, high, from, to, is_log }
    }

    /// Returns where a value is; values beyond the ends lie beyond them.
    pub(super) fn at(&self, value: f64) -> f64 {
        let number = |value: f64| if self.is_log { libm::log(value.max(1e-12)) } else { value };
        let (low, high) = (number(self.low), number(self.high));
        if high <= low {
            return f64::midpoint(self.from, self.to);
        }
        self.from + (number(value) - low) / (high - low) * (self.to - self.from)
    }
}

/// Returns bounds of an axis around values: from zero where they do not all lie far above it.
pub(super) fn bounds(values: impl Iterator<Item = f64>, is_log: bool) -> (f64, f64) {
    let finite = values.filter(|value| value.is_finite() && (!is_log || *value > 0.0));
    let none = (f64::INFINITY, f64::NEG_INFINITY);
    let (low, high) = finite.fold(none, |(low, high), value| (low.min(value), high.max(value)));
    if low > high {
        return (if is_log { 1.0 } else { 0.0 }, if is_log { 10.0 } else { 1.0 });
    }
    if is_log {
        let margin = libm::pow(high / low, 0.05).max(1.05);
        return (low / margin, high * margin);
    }
    let span = (high - low).max(0.05 * high.abs());
    let low = match low {
        low if low >= 0.0 && low < 0.75 * high => 0.0,
        low if low == 0.0 && high == 0.0 => 0.0,
        low => low - 0.08 * span,
    };
    (low, if high == 0.0 && low == 0.0 { 1.0 } else { high + 0.05 * span.max(high - low) })
}

/// A tick: where it stands on its axis, and its text.
pub(super) type Tick = (f64, String);

/// Returns the ticks of an axis of values, so many at most.
pub(super) fn ticks(axis: &Axis, scale: &Scale, count_max: usize) -> Vec<Tick> {
    let values = if scale.is_log {
        axis.unit.log_ticks(scale.low, scale.high, count_max)
    } else {
        axis.unit.ticks(scale.low, scale.high, count_max)
    };
    let texts = axis.unit.tick_texts(&values);
    values.into_iter().map(|value| scale.at(value)).zip(texts).collect()
}

/// Returns the ticks of a horizontal axis: at the levels where they are few, else at round values;
/// never so many that their texts touch.
pub(super) fn horizontal_ticks(axis: &Axis, levels: &Levels, scale: &Scale) -> Vec<Tick> {
    let length = (scale.to - scale.from).abs();
    match levels {
        Levels::Names(names) => {
            let room = length / names.len().max(1) as f64 - 8.0;
            let tick = |(at, name): (usize, &String)| {
                (scale.at(at as f64), TICK.fitted(name, room.max(TICK.width("mmm"))))
            };
            let ticks: Vec<Tick> = names.iter().enumerate().map(tick).collect();
            thinned(ticks)
        }
        Levels::Values(values) => {
            let at_levels = || {
                let texts: Vec<String> =
                    values.iter().map(|value| axis.unit.value(*value)).collect();
                values.iter().map(|value| scale.at(*value)).zip(texts).collect::<Vec<Tick>>()
            };
            if (2..=12).contains(&values.len()) && are_apart(&at_levels()) {
                return at_levels();
            }
            let choices = (2..=10).rev().map(|count| ticks(axis, scale, count));
            choices.into_iter().find(|ticks| are_apart(ticks)).unwrap_or_default()
        }
    }
}

/// Returns whether texts in the middle of their ticks keep a distance.
fn are_apart(ticks: &[Tick]) -> bool {
    const GAP: f64 = 10.0;
    ticks.windows(2).all(|pair| {
        let [(a, text_a), (b, text_b)] = pair else { return true };
        (b - a).abs() >= f64::midpoint(TICK.width(text_a), TICK.width(text_b)) + GAP
    })
}

/// Leaves out every second tick until the texts keep a distance.
fn thinned(mut ticks: Vec<Tick>) -> Vec<Tick> {
    while !are_apart(&ticks) {
        let mut keep = false;
        ticks.retain(|_| {
            keep = !keep;
            keep
        });
    }
    ticks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Unit;

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-9, "{a} and {b}");
    }

    #[test]
    fn scales_are_linear_or_logarithmic() {
        let linear = Scale::new((0.0, 10.0), (100.0, 0.0), false);
        close(linear.at(2.5), 75.0);
        let log = Scale::new((1.0, 100.0), (0.0, 50.0), true);
        close(log.at(10.0), 25.0);
        close(Scale::new((3.0, 3.0), (0.0, 50.0), false).at(3.0), 25.0);
    }

    #[test]
    fn axes_begin_at_zero_unless_that_hides_the_differences() {
        let low = |values: &[f64]| bounds(values.iter().copied(), false).0;
        assert!(low(&[1.0, 4.0]).abs() < 1e-12);
        assert!(low(&[9.0, 10.0]) > 8.0 && low(&[-1.0, 4.0]) < -1.0);
        let (low, high) = bounds([0.0, f64::NAN].into_iter(), false);
        assert!(low.abs() < 1e-12 && high > 0.9);
        let (low, high) = bounds([1.0, 100.0, 0.0].into_iter(), true);
        assert!(low < 1.0 && low > 0.5 && high > 100.0);
    }

    #[test]
    fn ticks_stand_at_few_levels_and_never_touch() {
        let axis = Axis::plain("tasks", Unit::Number);
        let texts = |values: &[f64], length: f64, is_log: bool| {
            let ends = (values[0], values[values.len() - 1]);
            let scale = Scale::new(ends, (0.0, length), is_log);
            let ticks = horizontal_ticks(&axis, &Levels::Values(values.to_vec()), &scale);
            ticks.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(" ")
        };
        let doubles = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0];
        assert_eq!(texts(&doubles, 500.0, true), "1 2 4 8 16 32");
        assert_eq!(texts(&doubles, 200.0, false), "5 10 15 20 25 30");
        let many: Vec<f64> = (1..=60).map(f64::from).collect();
        assert_eq!(texts(&many, 300.0, false), "10 20 30 40 50 60");
        let names = Levels::Names((0..9).map(|at| format!("level number {at}")).collect());
        let scale = Scale::new((0.0, 8.0), (0.0, 300.0), false);
        let ticks = horizontal_ticks(&axis, &names, &scale);
        assert!(are_apart(&ticks) && ticks.len() >= 3, "{ticks:?}");
    }
}
