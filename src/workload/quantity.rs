//! Kinds of quantities that a distribution can be of.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::units::{SimDuration, Tokens, parse_duration, parse_tokens};

/// A kind of quantity: how its values are read and written. Values are in its base unit.
pub trait Quantity: JsonSchema {
    /// Name of the kind, the first part of the schema's name.
    const NAME: &'static str;
    /// What a value looks like; completes "expected".
    const EXPECTED: &'static str;

    /// Parses a parameter of a distribution, which may have a fraction of the base unit.
    ///
    /// # Errors
    /// When the text is no value of this kind; the message names it and what is accepted.
    fn parse(text: &str) -> Result<f64, String>;

    /// Parses a value that is used as it stands.
    ///
    /// # Errors
    /// As [`Quantity::parse`], and for a fraction of a base unit that cannot be divided.
    fn parse_constant(text: &str) -> Result<f64, String> {
        Self::parse(text)
    }

    /// Writes a value the way files state it.
    fn show(value: f64) -> String;
}

/// Base unit: one token.
impl Quantity for Tokens {
    const NAME: &'static str = "Tokens";
    const EXPECTED: &'static str = "a number of tokens such as 500, \"48.5k\" or \"1M\"";

    fn parse(text: &str) -> Result<f64, String> {
        let fraction = decimal(text).filter(|tokens| *tokens <= Tokens::MAX.get() as f64);
        fraction.map_or_else(|| Tokens::parse_constant(text), Ok)
    }
    fn parse_constant(text: &str) -> Result<f64, String> {
        parse_tokens(text).map(|tokens| tokens.get() as f64).map_err(|error| error.to_string())
    }
    fn show(value: f64) -> String {
        if value.fract() == 0.0 { Tokens::new(value as u64).to_string() } else { value.to_string() }
    }
}

/// Base unit: one microsecond.
impl Quantity for SimDuration {
    const NAME: &'static str = "Duration";
    const EXPECTED: &'static str = "a duration such as 90, \"5m\", \"1h30m\" or \"250ms\"";

    fn parse(text: &str) -> Result<f64, String> {
        parse_duration(text)
            .map(|duration| duration.as_micros() as f64)
            .map_err(|error| error.to_string())
    }
    fn show(value: f64) -> String {
        SimDuration::from_micros(value as i64).to_string()
    }
}

/// A plain number of things, such as iterations; drawn values are rounded where they are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count(u32);

impl Count {
    /// The largest number a file may state.
    pub const MAX: Count = Count(1_000_000_000);
}

impl Quantity for Count {
    const NAME: &'static str = "Count";
    const EXPECTED: &'static str = "a number such as 24";

    fn parse(text: &str) -> Result<f64, String> {
        decimal(text).filter(|count| *count <= f64::from(Count::MAX.0)).ok_or_else(|| {
            format!("`{text}` is not a count; write a plain number from 0 to 1e9: 24")
        })
    }
    fn parse_constant(text: &str) -> Result<f64, String> {
        let whole = |count: &f64| count.fract() == 0.0;
        Count::parse(text).ok().filter(whole).ok_or_else(|| {
            format!("`{text}` is not a count; write a whole number from 0 to 1e9: 24")
        })
    }
    fn show(value: f64) -> String {
        value.to_string()
    }
}

impl JsonSchema for Count {
    fn schema_name() -> Cow<'static, str> {
        "Count".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "description": "A plain number.", "type": "number", "minimum": 0 })
    }
}

/// Parses a plain decimal without sign or exponent.
fn decimal(text: &str) -> Option<f64> {
    let text = text.trim();
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.' || byte == b'_');
    let digits = text.starts_with(|c: char| c.is_ascii_digit()) && !text.ends_with('.');
    (plain && digits).then(|| text.replace('_', "").parse().ok()).flatten()
}
