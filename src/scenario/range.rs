//! A range of a numeric key to search: `KEY=LOW..HIGH` or `KEY=LOW..HIGH:STEP`.

use crate::scenario::split_key;
use crate::units::{parse_duration, parse_money, parse_tokens};

/// The most levels that a step may make of a range.
const LEVELS_MAX: f64 = 10_000.0;

/// A key and the range of its values.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyRange {
    /// Dotted key.
    pub key: String,
    /// Its values.
    pub range: Range,
}

/// A range of a numeric key, both bounds included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
    /// Distance of levels, where it is given.
    pub step: Option<f64>,
    /// How its values are written.
    pub unit: Unit,
}

/// How values of a numeric key are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// As plain numbers: counts, tokens, prices, shares.
    Number,
    /// As durations, counted in seconds.
    Seconds,
}

impl KeyRange {
    /// Reads `KEY=LOW..HIGH` or `KEY=LOW..HIGH:STEP`.
    ///
    /// # Errors
    /// What is wrong, and what is accepted.
    pub fn parse(text: &str) -> Result<KeyRange, String> {
        let parts = text.split_once('=').and_then(|(key, spec)| {
            spec.split_once("..").map(|(low, rest)| (key.trim(), low, rest))
        });
        let (key, low, rest) = parts
            .ok_or("a root lies in a range: write KEY=LOW..HIGH, such as fanout.tasks=1..60")?;
        split_key(key).map_err(|reason| format!("the key {reason}"))?;
        Ok(KeyRange { key: key.to_owned(), range: Range::parse(low, rest)? })
    }
}

impl Range {
    fn parse(low: &str, rest: &str) -> Result<Range, String> {
        let (high, step) = match rest.split_once(':') {
            Some((high, step)) => (high, Some(step)),
            None => (rest, None),
        };
        let parts: Vec<&str> = [low, high].into_iter().chain(step).collect();
        let read = parts.iter().map(|part| quantity(part)).collect::<Result<Vec<_>, _>>()?;
        let is_seconds = read.iter().any(|(_, unit)| *unit == Unit::Seconds);
        let unit = if is_seconds { Unit::Seconds } else { Unit::Number };
        // A bare number beside durations counts seconds; tokens and money do not.
        let strange = read.iter().zip(&parts).find(|((_, other), part)| {
            *other != unit && part.trim().replace('_', "").parse::<f64>().is_err()
        });
        if let Some((_, part)) = strange {
            return Err(format!("`{}` is no duration, unlike the rest of the range", part.trim()));
        }
        let (low, high, step) = (read[0].0, read[1].0, read.get(2).map(|(step, _)| *step));
        if low >= high {
            return Err("the lower bound of a range comes first: 1..60".to_owned());
        }
        if step.is_some_and(|step| step <= 0.0 || (high - low) / step > LEVELS_MAX) {
            return Err("the step must be above 0 and make at most 10,000 levels".to_owned());
        }
        Ok(Range { low, high, step, unit })
    }

    /// Returns the levels by its step, or by another one where it has none.
    pub fn values(&self, otherwise: f64) -> Vec<f64> {
        let step = self.step.unwrap_or(otherwise);
        let count = ((self.high - self.low) / step + 1e-9).floor().min(LEVELS_MAX) as u64;
        (0..=count).map(|index| self.low + index as f64 * step).collect()
    }
}

impl Unit {
    /// Writes a value as it would stand in a file, to the millionth.
    pub fn text(self, value: f64) -> String {
        let number = format!("{value:.6}");
        let number = number.trim_end_matches('0').trim_end_matches('.');
        match self {
            Unit::Number => number.to_owned(),
            Unit::Seconds => format!("{number}s"),
        }
    }
}

/// Reads a number that may have a unit; tokens and money as plain numbers, times in seconds.
///
/// # Errors
/// When it is neither; the message says what is accepted.
pub fn quantity(text: &str) -> Result<(f64, Unit), String> {
    let text = text.trim().trim_matches('"');
    let number = text.replace('_', "").parse::<f64>().ok().filter(|number| number.is_finite());
    let tokens = || parse_tokens(text).ok().map(|tokens| tokens.get() as f64);
    let money = || parse_money(text).ok().map(crate::units::Money::as_usd);
    if let Some(value) = number.or_else(tokens).or_else(money) {
        return Ok((value, Unit::Number));
    }
    let duration = parse_duration(text).map(|duration| (duration.as_seconds(), Unit::Seconds));
    duration.map_err(|_| format!("`{text}` is not a number or quantity, such as 12, 100k, 5m"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_of_a_range() {
        let texts = |text: &str| {
            let range = KeyRange::parse(text).unwrap().range;
            range.values(1.0).iter().map(|value| range.unit.text(*value)).collect::<Vec<_>>()
        };
        assert_eq!(texts("a.b=1..3"), ["1", "2", "3"]);
        assert_eq!(texts("a=100k..300k:100k"), ["100000", "200000", "300000"]);
        assert_eq!(texts("a=4m..6m:1m"), ["240s", "300s", "360s"]);
        assert_eq!(texts("a=0..0.5:0.25"), ["0", "0.25", "0.5"]);
        assert_eq!(texts("a=0..1m:30"), ["0s", "30s", "60s"]);
    }

    #[test]
    fn malformed_ranges_are_refused() {
        for text in [
            "a",
            "=1..2",
            "a=2..1",
            "a=x..y",
            "a=1..2:0",
            "a=1..2:1e-9",
            "a=1,2",
            "a=",
            "a=1m..90k",
        ] {
            assert!(KeyRange::parse(text).is_err(), "{text}");
        }
    }
}
