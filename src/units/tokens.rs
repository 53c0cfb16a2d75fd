//! Numbers of tokens.

use std::borrow::Cow;
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};

use crate::units::parse::{NumberOrText, parse_tokens};

/// A number of tokens.
///
/// In files: a whole number, or a string with a unit such as `"48.5k"` or `"1.2M"`.
/// Range: 0 to [`Tokens::MAX`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Tokens(u64);

impl Tokens {
    /// No tokens.
    pub const ZERO: Tokens = Tokens(0);
    /// The largest number a file may state: 10^12, far above any context window.
    pub const MAX: Tokens = Tokens(1_000_000_000_000);

    /// Returns `count` tokens.
    pub const fn new(count: u64) -> Tokens {
        Tokens(count)
    }

    /// Returns the number as an integer.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns `self - other`, or zero where that would be negative.
    #[must_use]
    pub const fn saturating_sub(self, other: Tokens) -> Tokens {
        Tokens(self.0.saturating_sub(other.0))
    }

    /// Returns whether this is zero.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

impl Add for Tokens {
    type Output = Tokens;
    fn add(self, other: Tokens) -> Tokens {
        Tokens(self.0 + other.0)
    }
}

impl AddAssign for Tokens {
    fn add_assign(&mut self, other: Tokens) {
        self.0 += other.0;
    }
}

impl Sub for Tokens {
    type Output = Tokens;
    fn sub(self, other: Tokens) -> Tokens {
        Tokens(self.0 - other.0)
    }
}

impl Sum for Tokens {
    fn sum<I: Iterator<Item = Tokens>>(iter: I) -> Tokens {
        iter.fold(Tokens::ZERO, Add::add)
    }
}

impl fmt::Display for Tokens {
    /// Writes the number with thousands separators: `48,500`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0.to_string();
        let mut text = String::with_capacity(digits.len() + digits.len() / 3);
        for (index, digit) in digits.chars().enumerate() {
            if index > 0 && (digits.len() - index).is_multiple_of(3) {
                text.push(',');
            }
            text.push(digit);
        }
        formatter.pad(&text)
    }
}

impl<'de> Deserialize<'de> for Tokens {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Tokens, D::Error> {
        NumberOrText::read(deserializer, "a number of tokens such as 500, \"48.5k\" or \"1M\"")?
            .convert(parse_tokens)
    }
}

impl JsonSchema for Tokens {
    fn schema_name() -> Cow<'static, str> {
        "Tokens".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A number of tokens: 500, \"48.5k\", \"1.2M\".",
            "anyOf": [
                { "type": "number", "minimum": 0 },
                { "type": "string", "pattern": "^[0-9][0-9_]*(\\.[0-9]+)?\\s*[kKM]?$" }
            ]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_thousands_separators() {
        let cases = [(0, "0"), (999, "999"), (1_000, "1,000"), (48_500, "48,500")];
        for (count, text) in cases {
            assert_eq!(Tokens::new(count).to_string(), text);
        }
    }
}
