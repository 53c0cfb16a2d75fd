//! What to vary: `KEY=LOW..HIGH`, `KEY=LOW..HIGH:STEP`, or `KEY=A,B,C`.

use crate::units::{parse_duration, parse_money, parse_tokens};

/// The most levels that a step may make of a range.
const LEVELS_MAX: f64 = 10_000.0;

/// A key and the values it takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Vary {
    /// Dotted key.
    pub key: String,
    /// Its values.
    pub levels: Levels,
}

/// Values of a varied key.
#[derive(Clone, Debug, PartialEq)]
pub enum Levels {
    /// All between two bounds.
    Range(Range),
    /// These, as they would stand in a file.
    List(Vec<String>),
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

impl Vary {
    /// Reads `KEY=SPEC`.
    ///
    /// # Errors
    /// What is wrong, and what is accepted.
    pub fn parse(text: &str) -> Result<Vary, String> {
        let (key, spec) = text.split_once('=').ok_or("expected KEY=LOW..HIGH or KEY=A,B,C")?;
        let (key, spec) = (key.trim().to_owned(), spec.trim());
        let levels = match spec.split_once("..") {
            Some((low, rest)) => Levels::Range(Range::parse(low, rest)?),
            None => Levels::List(split_list(spec)),
        };
        match &levels {
            _ if key.is_empty() => Err("the key before `=` is empty".to_owned()),
            Levels::List(list) if list.iter().any(String::is_empty) => {
                Err("a value is empty; write KEY=LOW..HIGH or KEY=A,B,C".to_owned())
            }
            Levels::List(_) | Levels::Range(_) => Ok(Vary { key, levels }),
        }
    }

    /// Returns all levels as they would stand in a file; a range without a step goes by ones.
    pub fn texts(&self) -> Vec<String> {
        match &self.levels {
            Levels::List(list) => list.clone(),
            Levels::Range(range) => {
                range.values(1.0).into_iter().map(|value| range.unit.text(value)).collect()
            }
        }
    }

    /// Returns the two values of a list of two, or the bounds of a range; `None` of other lists.
    pub fn ends(&self) -> Option<(String, String)> {
        match &self.levels {
            Levels::Range(Range { low, high, unit, .. }) => {
                Some((unit.text(*low), unit.text(*high)))
            }
            Levels::List(list) => match &list[..] {
                [low, high] => Some((low.clone(), high.clone())),
                _ => None,
            },
        }
    }
}

impl Range {
    fn parse(low: &str, rest: &str) -> Result<Range, String> {
        let (high, step) = match rest.split_once(':') {
            Some((high, step)) => (high, Some(step)),
            None => (rest, None),
        };
        let ((low, low_unit), (high, high_unit)) = (quantity(low)?, quantity(high)?);
        let step = step.map(quantity).transpose()?.map(|(step, _)| step);
        let unit = if [low_unit, high_unit].contains(&Unit::Seconds) {
            Unit::Seconds
        } else {
            Unit::Number
        };
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

/// Reads a number that may have a unit.
///
/// # Errors
/// When it is neither a number nor a quantity.
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

/// Splits at commas outside brackets and quotes.
fn split_list(text: &str) -> Vec<String> {
    let (mut parts, mut depth, mut quoted) = (vec![String::new()], 0_i32, false);
    for c in text.chars() {
        match c {
            '"' => quoted = !quoted,
            '{' | '[' if !quoted => depth += 1,
            '}' | ']' if !quoted => depth -= 1,
            ',' if !quoted && depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(part) = parts.last_mut() {
            part.push(c);
        }
    }
    parts.iter().map(|part| part.trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_and_lists() {
        let texts = |text: &str| Vary::parse(text).unwrap().texts();
        assert_eq!(texts("a.b=1..3"), ["1", "2", "3"]);
        assert_eq!(texts("a=100k..300k:100k"), ["100000", "200000", "300000"]);
        assert_eq!(texts("a=4m..6m:1m"), ["240s", "300s", "360s"]);
        assert_eq!(texts("a=0..0.5:0.25"), ["0", "0.25", "0.5"]);
        assert_eq!(texts("a=5m, 1h"), ["5m", "1h"]);
        assert_eq!(
            texts("a=together,{ staggered = \"4s\" }"),
            ["together", "{ staggered = \"4s\" }"]
        );
        assert_eq!(texts("a={ x = 1, y = 2 }"), ["{ x = 1, y = 2 }"]);
    }

    #[test]
    fn malformed_ranges_are_refused() {
        for text in ["a", "=1..2", "a=2..1", "a=x..y", "a=1..2:0", "a=1..2:1e-9", "a=1,,2", "a="] {
            assert!(Vary::parse(text).is_err(), "{text}");
        }
    }
}
