//! Calendar dates: when a price is in force.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::units::parse::{NumberOrText, parse_date};

/// A day of the Gregorian calendar, in UTC.
///
/// In files: a string, `"2026-10-07"`. Range: years 0 to 9999. Earlier days are less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date {
    year: u16,
    month: u8,
    day: u8,
}

impl Date {
    /// Returns the day, or `None` where the calendar has no such day.
    pub const fn new(year: u16, month: u8, day: u8) -> Option<Date> {
        if year > 9_999 || day == 0 || day > days_in_month(year, month) {
            return None;
        }
        Some(Date { year, month, day })
    }
}

/// Returns the length of a month; 0 where there is no such month.
const fn days_in_month(year: u16, month: u8) -> u8 {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => 0,
    }
}

impl fmt::Display for Date {
    /// Writes `2026-10-07`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&format!("{:04}-{:02}-{:02}", self.year, self.month, self.day))
    }
}

impl<'de> Deserialize<'de> for Date {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Date, D::Error> {
        NumberOrText::read(deserializer, "a date such as \"2026-10-07\"")?.convert(parse_date)
    }
}

impl Serialize for Date {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_string())
    }
}

impl JsonSchema for Date {
    fn schema_name() -> Cow<'static, str> {
        "Date".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A day: \"2026-10-07\".",
            "type": "string",
            "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_prints_days_of_the_calendar() {
        for text in ["2026-10-07", "2024-02-29", "2000-02-29", "0001-12-31"] {
            assert_eq!(parse_date(text).unwrap().to_string(), text);
        }
        let bad = ["2026-02-29", "1900-02-29", "2026-13-01", "2026-00-01", "2026-01-00"];
        for text in bad.into_iter().chain(["2026-1-1", "2026/10/07", "20261007", "", "+026-10-07"])
        {
            assert!(parse_date(text).is_err(), "{text}");
        }
    }

    #[test]
    fn earlier_days_are_less() {
        assert!(parse_date("2026-09-30").unwrap() < parse_date("2026-10-07").unwrap());
        assert!(parse_date("2025-12-31").unwrap() < parse_date("2026-01-01").unwrap());
    }
}
