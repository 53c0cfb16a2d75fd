//! Parsing of quantities with units, exactly and without floats.

use std::fmt;

use serde::Deserializer;
use serde::de::{self, Visitor};
use thiserror::Error;

use crate::units::{Date, Money, PricePerToken, Ratio, SimDuration, SimTime, Tokens};

/// Why a text is not a quantity. Each message names the value and what is accepted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{value}` is not {expected}")]
pub struct UnitError {
    value: String,
    expected: &'static str,
}

impl UnitError {
    fn new(value: &str, expected: &'static str) -> UnitError {
        UnitError { value: value.to_owned(), expected }
    }
}

/// Parses a number of tokens: `500`, `48.5k`, `1.2M`, `10_000`.
///
/// # Errors
/// When the text is no number, negative, not whole after its unit, or above [`Tokens::MAX`].
pub fn parse_tokens(text: &str) -> Result<Tokens, UnitError> {
    const EXPECTED: &str = "a number of tokens; write a whole number from 0 to 1e12, or with a \
                            unit: 500, \"48.5k\", \"1.2M\"";
    let error = || UnitError::new(text, EXPECTED);
    let (number, unit) = split_unit(text);
    let scale = match unit {
        "" | "tokens" => 1,
        "k" | "K" => 1_000,
        "M" => 1_000_000,
        _ => return Err(error()),
    };
    let tokens = scaled(number, scale).ok_or_else(error)?;
    if tokens > u128::from(Tokens::MAX.get()) {
        return Err(error());
    }
    Ok(Tokens::new(tokens as u64))
}

/// Parses a duration: `90` (seconds), `5m`, `1h30m`, `250ms`, `0.3s`.
///
/// # Errors
/// When the text is no duration, negative, or above [`SimDuration::MAX`]. Parts of a microsecond
/// are rounded to the nearest whole one.
pub fn parse_duration(text: &str) -> Result<SimDuration, UnitError> {
    const EXPECTED: &str = "a duration; write seconds or units from us, ms, s, m, h, d, up to 10 \
                            years: 90, \"5m\", \"1h30m\", \"250ms\"";
    let error = || UnitError::new(text, EXPECTED);
    let mut rest = text.trim();
    let mut total: u128 = 0;
    if rest.is_empty() {
        return Err(error());
    }
    while !rest.is_empty() {
        let number_end = rest.find(|c: char| !is_numeral(c)).unwrap_or(rest.len());
        let (number, tail) = rest.split_at(number_end);
        let tail = tail.trim_start();
        let unit_end = tail.find(|c: char| !c.is_alphabetic()).unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit_end);
        let micros: u128 = match unit {
            "us" => 1,
            "ms" => 1_000,
            "s" => 1_000_000,
            "m" => 60_000_000,
            "h" => 3_600_000_000,
            "d" => 86_400_000_000,
            "" if total == 0 && tail.is_empty() => 1_000_000,
            _ => return Err(error()),
        };
        total = total.checked_add(rounded(number, micros).ok_or_else(error)?).ok_or_else(error)?;
        rest = tail.trim_start();
    }
    if total > SimDuration::MAX.as_micros() as u128 {
        return Err(error());
    }
    Ok(SimDuration::from_micros(total as i64))
}

/// Parses a price: US dollars per million tokens, `6.25` or `$6.25/MTok`.
///
/// # Errors
/// When the text is no price, negative, finer than a picodollar per token, or above
/// [`PricePerToken::MAX`].
pub fn parse_price(text: &str) -> Result<PricePerToken, UnitError> {
    const EXPECTED: &str = "a price; write US dollars per million tokens from 0 to 1,000,000 with \
                            at most six decimals: 6.25 or \"$6.25/MTok\"";
    let error = || UnitError::new(text, EXPECTED);
    let number = text.trim().trim_start_matches('$');
    let number = number.strip_suffix("/MTok").unwrap_or(number).trim();
    let picodollars = scaled(number, 1_000_000).ok_or_else(error)?;
    if picodollars > u128::from(PricePerToken::MAX.picodollars()) {
        return Err(error());
    }
    Ok(PricePerToken::from_picodollars(picodollars as u64))
}

/// Parses an amount of US dollars: `5`, `$0.15`.
///
/// # Errors
/// When the text is no amount, negative, finer than a picodollar, or above one trillion dollars.
pub fn parse_money(text: &str) -> Result<Money, UnitError> {
    const EXPECTED: &str = "an amount of US dollars; write 5 or \"$0.15\"";
    let error = || UnitError::new(text, EXPECTED);
    let number = text.trim().trim_start_matches('$');
    let picodollars = scaled(number, 1_000_000_000_000).ok_or_else(error)?;
    if picodollars > 1_000_000_000_000_000_000_000_000 {
        return Err(error());
    }
    Ok(Money::from_picodollars(picodollars as i128))
}

/// Parses a factor: `0.5`, `1.1`.
///
/// # Errors
/// When the text is no number, negative, finer than a millionth, or above [`Ratio::MAX`].
pub fn parse_ratio(text: &str) -> Result<Ratio, UnitError> {
    const EXPECTED: &str =
        "a factor; write a number from 0 to 1,000 with at most six decimals: 0.5 or 1.1";
    let error = || UnitError::new(text, EXPECTED);
    let millionths = scaled(text.trim(), 1_000_000).ok_or_else(error)?;
    if millionths > u128::from(Ratio::MAX.millionths()) {
        return Err(error());
    }
    Ok(Ratio::from_millionths(millionths as u64))
}

/// Parses a day: `2026-10-07`.
///
/// # Errors
/// When the text is not written year-month-day or the calendar has no such day.
pub fn parse_date(text: &str) -> Result<Date, UnitError> {
    let error = || UnitError::new(text, "a date; write year-month-day: \"2026-10-07\"");
    let parts: Vec<&str> = text.trim().split('-').collect();
    let [year, month, day] = parts[..] else { return Err(error()) };
    let numeral = |part: &str, width: usize| {
        let plain = part.len() == width && part.bytes().all(|b| b.is_ascii_digit());
        plain.then(|| part.parse::<u16>().ok()).flatten()
    };
    let date = || Date::new(numeral(year, 4)?, numeral(month, 2)? as u8, numeral(day, 2)? as u8);
    date().ok_or_else(error)
}

/// Parses an instant such as `2026-11-30T20:57:48.888Z` or `...+09:00` (RFC 3339) into the time
/// since 1970-01-01 UTC; digits below a microsecond are dropped.
///
/// # Errors
/// When the text is no such instant.
pub fn parse_instant(text: &str) -> Result<SimTime, UnitError> {
    let error = || UnitError::new(text, "an instant; write \"2026-11-30T20:57:48.888Z\"");
    instant(text.as_bytes()).ok_or_else(error)
}

fn instant(text: &[u8]) -> Option<SimTime> {
    let number = |from: usize, width: usize| {
        let digits = text.get(from..from + width)?;
        let value = |sum: i64, digit: &u8| {
            digit.is_ascii_digit().then(|| sum * 10 + i64::from(digit - b'0'))
        };
        digits.iter().try_fold(0, value)
    };
    let stands = |at: usize, marks: &[u8]| text.get(at).is_some_and(|byte| marks.contains(byte));
    let separated = stands(4, b"-") && stands(7, b"-") && stands(10, b"Tt ");
    if !(separated && stands(13, b":") && stands(16, b":")) {
        return None;
    }
    let date = Date::new(number(0, 4)? as u16, number(5, 2)? as u8, number(8, 2)? as u8)?;
    let (hour, minute, second) = (number(11, 2)?, number(14, 2)?, number(17, 2)?);
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let mut micros = ((hour * 60 + minute) * 60 + second) * 1_000_000;
    let mut at = 19;
    if stands(at, b".") {
        let from = at + 1;
        let end = text[from..].iter().position(|byte| !byte.is_ascii_digit())? + from;
        let kept = (end - from).min(6);
        if kept == 0 {
            return None;
        }
        micros += number(from, kept)? * 10_i64.pow(6 - kept as u32);
        at = end;
    }
    let offset_minutes = match text.get(at..)? {
        b"Z" | b"z" => 0,
        [sign @ (b'+' | b'-'), _, _, b':', _, _] => {
            let ahead = number(at + 1, 2)? * 60 + number(at + 4, 2)?;
            if *sign == b'+' { ahead } else { -ahead }
        }
        _ => return None,
    };
    let start = date.start().as_micros();
    Some(SimTime::from_micros(start + micros - offset_minutes * 60_000_000))
}

/// Parses a speed of output, `68` or `68 tokens/s`, to nanoseconds per token.
///
/// # Errors
/// When the text is no speed, or not above 0 and at most 1,000,000 tokens a second.
pub fn parse_speed(text: &str) -> Result<u64, UnitError> {
    const EXPECTED: &str =
        "a speed; write tokens per second above 0 and up to 1e6: 68 or \"68 tokens/s\"";
    let error = || UnitError::new(text, EXPECTED);
    let number = text.trim();
    let number = number.strip_suffix("tokens/s").unwrap_or(number).trim();
    let thousandths = rounded(number, 1_000).ok_or_else(error)?;
    if thousandths == 0 || thousandths > 1_000_000_000 {
        return Err(error());
    }
    Ok(((1_000_000_000_000 + thousandths / 2) / thousandths) as u64)
}

fn is_numeral(c: char) -> bool {
    c.is_ascii_digit() || c == '.' || c == '_'
}

fn split_unit(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text.find(|c: char| !is_numeral(c)).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    (number, unit.trim())
}

/// Returns `number * scale` where that is whole; `None` for anything but a plain decimal.
fn scaled(number: &str, scale: u128) -> Option<u128> {
    let (numerator, decimals) = digits(number)?;
    let denominator = 10u128.checked_pow(decimals)?;
    let product = numerator.checked_mul(scale)?;
    product.is_multiple_of(denominator).then(|| product / denominator)
}

/// Returns `number * scale` rounded to the nearest whole.
fn rounded(number: &str, scale: u128) -> Option<u128> {
    let (numerator, decimals) = digits(number)?;
    let denominator = 10u128.checked_pow(decimals)?;
    Some((numerator.checked_mul(scale)?.checked_add(denominator / 2)?) / denominator)
}

/// Splits a plain decimal into its digits as an integer and the number of decimals.
fn digits(number: &str) -> Option<(u128, u32)> {
    let number = number.replace('_', "");
    let (whole, part) = number.split_once('.').unwrap_or((&number, ""));
    if whole.is_empty() || !whole.bytes().chain(part.bytes()).all(|b| b.is_ascii_digit()) {
        return None;
    }
    if number.ends_with('.') {
        return None;
    }
    let part = part.trim_end_matches('0');
    Some((format!("{whole}{part}").parse().ok()?, part.len() as u32))
}

/// A number or a text in a file; the shared first step of reading any quantity.
pub(crate) struct NumberOrText(String);

impl NumberOrText {
    /// Reads a number or a text; `expected` completes "invalid type: ..., expected".
    pub(crate) fn read<'de, D: Deserializer<'de>>(
        deserializer: D,
        expected: &'static str,
    ) -> Result<NumberOrText, D::Error> {
        deserializer.deserialize_any(NumberOrTextVisitor(expected))
    }

    /// Returns the number or text as it was written.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Converts the text with one of this module's parsers.
    pub(crate) fn convert<T, E: de::Error>(
        self,
        parse: impl Fn(&str) -> Result<T, UnitError>,
    ) -> Result<T, E> {
        parse(&self.0).map_err(E::custom)
    }
}

struct NumberOrTextVisitor(&'static str);

impl Visitor<'_> for NumberOrTextVisitor {
    type Value = NumberOrText;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.0)
    }
    fn visit_i64<E: de::Error>(self, value: i64) -> Result<NumberOrText, E> {
        Ok(NumberOrText(value.to_string()))
    }
    fn visit_u64<E: de::Error>(self, value: u64) -> Result<NumberOrText, E> {
        Ok(NumberOrText(value.to_string()))
    }
    fn visit_f64<E: de::Error>(self, value: f64) -> Result<NumberOrText, E> {
        Ok(NumberOrText(value.to_string()))
    }
    fn visit_str<E: de::Error>(self, value: &str) -> Result<NumberOrText, E> {
        Ok(NumberOrText(value.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_tokens_with_units() {
        let cases = [("500", 500), ("48.5k", 48_500), ("1.2M", 1_200_000), ("10_000", 10_000)];
        for (text, count) in cases {
            assert_eq!(parse_tokens(text), Ok(Tokens::new(count)), "{text}");
        }
        for text in ["", "-1", "1.5", "NaN", "inf", "1e3", "2k5", "0.0001k", "9999G", "1."] {
            assert!(parse_tokens(text).is_err(), "{text}");
        }
    }

    #[test]
    fn reads_durations_with_units() {
        let cases = [
            ("90", 90_000_000),
            ("5m", 300_000_000),
            ("1h30m", 5_400_000_000),
            ("1h 30m", 5_400_000_000),
            ("250ms", 250_000),
            ("1.17s", 1_170_000),
            ("0.0000004s", 0),
        ];
        for (text, micros) in cases {
            assert_eq!(parse_duration(text), Ok(SimDuration::from_micros(micros)), "{text}");
        }
        for text in ["", "-5m", "5min", "m", "1h30", "2 parsecs", "NaN", "99999d"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn reads_prices_and_money_exactly() {
        assert_eq!(parse_price("6.25"), Ok(PricePerToken::from_picodollars(6_250_000)));
        assert_eq!(parse_price("$0.01/MTok"), Ok(PricePerToken::from_picodollars(10_000)));
        assert!(parse_price("0.0000001").is_err());
        assert_eq!(parse_ratio("1.1"), Ok(Ratio::from_millionths(1_100_000)));
        assert!(parse_ratio("1000.1").is_err());
        assert_eq!(parse_money("$0.15"), Ok(Money::from_picodollars(150_000_000_000)));
    }

    #[test]
    fn reads_instants() {
        let cases = [
            ("1970-01-01T00:00:01Z", 1_000_000),
            ("1970-01-01T09:00:00.5+09:00", 500_000),
            ("1969-12-31T19:00:00.123456789-05:00", 123_456),
            ("2026-11-30T20:57:48.888Z", 1_796_072_268_888_000),
        ];
        for (text, micros) in cases {
            assert_eq!(parse_instant(text), Ok(SimTime::from_micros(micros)), "{text}");
        }
        for text in ["", "2026-11-30", "2026-11-30T20:57:48", "2026-13-30T20:57:48Z"] {
            assert!(parse_instant(text).is_err(), "{text}");
        }
        for text in ["2026-11-30T20:57:48.Z", "2026-11-30T25:57:48Z", "2026-11-30T20:57:48.1é"] {
            assert!(parse_instant(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_speed_becomes_nanoseconds_per_token() {
        assert_eq!(parse_speed("68 tokens/s"), Ok(14_705_882));
        assert!(parse_speed("0").is_err());
    }
}
