//! Simulated time: instants and durations in whole microseconds.

use std::borrow::Cow;
use std::fmt;
use std::ops::{Add, AddAssign, Sub};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer};

use crate::units::parse::{NumberOrText, parse_duration};

const MICROS_PER_SECOND: i64 = 1_000_000;

/// An instant of simulated time: whole microseconds since the start of a replication.
///
/// Microseconds, because request traces state times with at most six decimals and compare them
/// as integers: a simulated run written as a trace and read back loses nothing. Negative instants
/// lie before the start (the last request of a session that was already there).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SimTime(i64);

impl SimTime {
    /// The start of a replication.
    pub const ZERO: SimTime = SimTime(0);
    /// Later than anything that happens.
    pub const NEVER: SimTime = SimTime(i64::MAX);
    /// Earlier than anything that happens.
    pub const BEGINNING: SimTime = SimTime(i64::MIN);

    /// Returns the instant `micros` microseconds after the start.
    pub const fn from_micros(micros: i64) -> SimTime {
        SimTime(micros)
    }

    /// Returns the microseconds since the start.
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// Returns the seconds since the start, for output and statistics.
    pub fn as_seconds(self) -> f64 {
        self.0 as f64 / MICROS_PER_SECOND as f64
    }

    /// Returns the time from `earlier` to this instant, or zero if it lies before.
    pub const fn since(self, earlier: SimTime) -> SimDuration {
        let micros = self.0.saturating_sub(earlier.0);
        SimDuration(if micros < 0 { 0 } else { micros })
    }
}

impl Add<SimDuration> for SimTime {
    type Output = SimTime;
    fn add(self, duration: SimDuration) -> SimTime {
        SimTime(self.0.saturating_add(duration.0))
    }
}

impl fmt::Display for SimTime {
    /// Writes seconds with as many decimals as are needed: `12.5`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&decimal_seconds(self.0))
    }
}

/// A length of simulated time: whole microseconds, never negative.
///
/// In files: seconds as a number, or a string with units such as `"5m"`, `"1h30m"`, `"250ms"`.
/// Range: 0 to [`SimDuration::MAX`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SimDuration(i64);

impl SimDuration {
    /// No time.
    pub const ZERO: SimDuration = SimDuration(0);
    /// The longest duration a file may state: 10 years.
    pub const MAX: SimDuration = SimDuration(10 * 365 * 86_400 * MICROS_PER_SECOND);

    /// Returns a duration of `micros` microseconds; a negative number counts as zero.
    pub const fn from_micros(micros: i64) -> SimDuration {
        SimDuration(if micros < 0 { 0 } else { micros })
    }

    /// Returns a duration of whole seconds.
    pub const fn from_seconds(seconds: i64) -> SimDuration {
        SimDuration::from_micros(seconds * MICROS_PER_SECOND)
    }

    /// Returns the length in microseconds.
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// Returns the length in seconds, for output and statistics.
    pub fn as_seconds(self) -> f64 {
        self.0 as f64 / MICROS_PER_SECOND as f64
    }

    /// Returns whether this is no time at all.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

impl Add for SimDuration {
    type Output = SimDuration;
    fn add(self, other: SimDuration) -> SimDuration {
        SimDuration(self.0.saturating_add(other.0))
    }
}

impl AddAssign for SimDuration {
    fn add_assign(&mut self, other: SimDuration) {
        *self = *self + other;
    }
}

impl Sub for SimDuration {
    type Output = SimDuration;
    fn sub(self, other: SimDuration) -> SimDuration {
        SimDuration::from_micros(self.0 - other.0)
    }
}

impl fmt::Display for SimDuration {
    /// Writes the length the way a person says it: `5m`, `1h 30m`, `2.5s`, `250ms`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = self.0;
        if micros != 0 && micros < MICROS_PER_SECOND {
            let text = decimal(micros, 1_000);
            return formatter.pad(&format!("{text}ms"));
        }
        let seconds = micros / MICROS_PER_SECOND;
        let (hours, minutes) = (seconds / 3_600, seconds / 60 % 60);
        let rest = micros - (hours * 3_600 + minutes * 60) * MICROS_PER_SECOND;
        let mut parts = Vec::new();
        if hours > 0 {
            parts.push(format!("{hours}h"));
        }
        if minutes > 0 {
            parts.push(format!("{minutes}m"));
        }
        if rest > 0 || parts.is_empty() {
            parts.push(format!("{}s", decimal_seconds(rest)));
        }
        formatter.pad(&parts.join(" "))
    }
}

impl<'de> Deserialize<'de> for SimDuration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<SimDuration, D::Error> {
        NumberOrText::read(deserializer, "a duration such as 90, \"5m\", \"1h30m\" or \"250ms\"")?
            .convert(parse_duration)
    }
}

impl serde::Serialize for SimDuration {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_string())
    }
}

impl JsonSchema for SimDuration {
    fn schema_name() -> Cow<'static, str> {
        "Duration".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A duration: seconds as a number, or \"5m\", \"1h30m\", \"250ms\".",
            "anyOf": [
                { "type": "number", "minimum": 0 },
                { "type": "string", "pattern": "^([0-9]+(\\.[0-9]+)?\\s*(us|ms|s|m|h|d)?\\s*)+$" }
            ]
        })
    }
}

fn decimal_seconds(micros: i64) -> String {
    decimal(micros, MICROS_PER_SECOND)
}

/// Writes `value / scale` exactly, without trailing zeros; `scale` is a power of ten.
fn decimal(value: i64, scale: i64) -> String {
    let sign = if value < 0 { "-" } else { "" };
    let (whole, part) = (value.unsigned_abs() / scale as u64, value.unsigned_abs() % scale as u64);
    if part == 0 {
        return format!("{sign}{whole}");
    }
    let width = scale.ilog10() as usize;
    let digits = format!("{part:0width$}");
    format!("{sign}{whole}.{}", digits.trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_durations_the_way_people_say_them() {
        let cases = [
            (0, "0s"),
            (250_000, "250ms"),
            (2_500_000, "2.5s"),
            (300_000_000, "5m"),
            (5_400_000_000, "1h 30m"),
            (3_600_000_000, "1h"),
        ];
        for (micros, text) in cases {
            assert_eq!(SimDuration::from_micros(micros).to_string(), text);
        }
    }

    #[test]
    fn prints_instants_as_decimal_seconds() {
        assert_eq!(SimTime::from_micros(-1_500_000).to_string(), "-1.5");
        assert_eq!(SimTime::from_micros(2_598_000).to_string(), "2.598");
    }
}
