//! Values of options, read from their texts; the error says what is accepted.

use forkcast::scenario::KeyRange;
use forkcast::units::{Money, SimDuration, parse_duration, parse_money};

use super::args::{RangeOption, ShardChoice};

/// Reads `KEY=VALUE`.
pub(super) fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => {
            Ok((key.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err("expected KEY=VALUE, such as fanout.tasks=8".to_owned()),
    }
}

/// Reads which part of a sweep to work on: `I/N` or `auto`.
pub(super) fn shard(text: &str) -> Result<ShardChoice, String> {
    if text == "auto" {
        return Ok(ShardChoice::Auto);
    }
    let parts = text.split_once('/').and_then(|(one, all)| {
        let (one, all): (u32, u32) = (one.parse().ok()?, all.parse().ok()?);
        ((1..=all).contains(&one) && all <= 1_000_000).then_some(ShardChoice::One(one, all))
    });
    parts.ok_or_else(|| "expected I/N with I from 1 to N, such as 2/8, or `auto`".to_owned())
}

/// Reads a key and the range to search.
pub(super) fn range(text: &str) -> Result<RangeOption, String> {
    KeyRange::parse(text).map(|vary| RangeOption { text: text.to_owned(), vary })
}

/// Reads a share above 0 and below 1, as a number or in per cent.
pub(super) fn share(text: &str) -> Result<f64, String> {
    let error = || "expected a share above 0 and below 1, such as 1% or 0.01".to_owned();
    let (number, scale) = match text.trim().strip_suffix('%') {
        Some(percent) => (percent, 100.0),
        None => (text, 1.0),
    };
    let value: f64 = number.trim().parse().map_err(|_| error())?;
    let share = value / scale;
    if share > 0.0 && share < 1.0 { Ok(share) } else { Err(error()) }
}

/// Reads a share from 0 to 1.
pub(super) fn share_or_none(text: &str) -> Result<f64, String> {
    let value: Option<f64> = text.trim().parse().ok();
    value
        .filter(|value| (0.0..=1.0).contains(value))
        .map_or_else(|| share(text).map_err(|_| "expected a share from 0 to 1".to_owned()), Ok)
}

/// Reads an amount of US dollars.
pub(super) fn money(text: &str) -> Result<f64, String> {
    parse_money(text).map(Money::as_usd).map_err(|error| error.to_string())
}

/// Reads a length of time.
pub(super) fn duration(text: &str) -> Result<SimDuration, String> {
    parse_duration(text).map_err(|error| error.to_string())
}
