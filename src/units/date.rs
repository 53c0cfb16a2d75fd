//! Calendar dates: when a price is in force.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::units::SimTime;
use crate::units::parse::{NumberOrText, parse_date};

const MICROS_PER_DAY: i64 = 86_400_000_000;

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

    /// Returns the UTC day of an instant that is stated since 1970-01-01, within the years 0 to
    /// 9999.
    pub fn of(instant: SimTime) -> Date {
        // Days are counted from 0000-03-01, so that a leap day ends its year and a 400-year cycle
        // of 146,097 days begins there; 1970-01-01 is day 719,468.
        let days = (instant.as_micros().div_euclid(MICROS_PER_DAY) + 719_468).clamp(60, 3_652_424);
        let (cycle, day_of_cycle) = (days / 146_097, days % 146_097);
        let leap_days = day_of_cycle / 1_460 - day_of_cycle / 36_524 + day_of_cycle / 146_096;
        let year_of_cycle = (day_of_cycle - leap_days) / 365;
        let first = 365 * year_of_cycle + year_of_cycle / 4 - year_of_cycle / 100;
        let day_of_year = day_of_cycle - first;
        // Months from March on: 153 days in each five of them.
        let month_from_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
        let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
        let year = 400 * cycle + year_of_cycle + i64::from(month <= 2);
        Date { year: year as u16, month: month as u8, day: day as u8 }
    }

    /// Returns the instant at which the UTC day begins, stated since 1970-01-01.
    pub fn start(self) -> SimTime {
        let (year, month) = (i64::from(self.year), i64::from(self.month));
        let year = if month <= 2 { year - 1 } else { year };
        let month_from_march = (month + 9) % 12;
        let day_of_year = (153 * month_from_march + 2) / 5 + i64::from(self.day) - 1;
        let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
        let days = 365 * year + leap_days + day_of_year - 719_468;
        SimTime::from_micros(days * MICROS_PER_DAY)
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
    fn days_and_instants_agree() {
        let cases = [
            ("1970-01-01", 0),
            ("1970-03-01", 59),
            ("2000-02-29", 11_016),
            ("2000-03-01", 11_017),
            ("2026-11-30", 20_787),
            ("1969-12-31", -1),
        ];
        for (text, days) in cases {
            let date = parse_date(text).unwrap();
            let start = SimTime::from_micros(days * MICROS_PER_DAY);
            assert_eq!((date.start(), Date::of(start)), (start, date), "{text}");
            assert_eq!(Date::of(SimTime::from_micros((days + 1) * MICROS_PER_DAY - 1)), date);
        }
        let mut date = Date::of(SimTime::from_micros(-200_000 * MICROS_PER_DAY));
        for day in -199_999..400_000 {
            let next = Date::of(SimTime::from_micros(day * MICROS_PER_DAY));
            assert!(date < next && next.start().as_micros() == day * MICROS_PER_DAY, "{next}");
            date = next;
        }
    }

    #[test]
    fn earlier_days_are_less() {
        assert!(parse_date("2026-09-30").unwrap() < parse_date("2026-10-07").unwrap());
        assert!(parse_date("2025-12-31").unwrap() < parse_date("2026-01-01").unwrap());
    }
}
