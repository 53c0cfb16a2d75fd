//! Money: whole picodollars.

use std::borrow::Cow;
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul, Neg, Sub};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::units::parse::{NumberOrText, parse_money, parse_price};
use crate::units::{Ratio, Tokens};

const PICODOLLARS_PER_DOLLAR: i128 = 1_000_000_000_000;

/// An amount of US dollars in whole picodollars (10^-12 USD).
///
/// A price per token is a whole number of picodollars whenever the price per million tokens has at
/// most six decimals, so a bill is an exact sum of integers (semantics T1).
///
/// In files: US dollars as a number or a string, `5` or `"$0.15"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Money(i128);

impl Money {
    /// No money.
    pub const ZERO: Money = Money(0);

    /// Returns an amount of whole picodollars.
    pub const fn from_picodollars(picodollars: i128) -> Money {
        Money(picodollars)
    }

    /// Returns the amount in whole picodollars.
    pub const fn picodollars(self) -> i128 {
        self.0
    }

    /// Returns the amount in US dollars, for output and statistics.
    pub fn as_usd(self) -> f64 {
        self.0 as f64 / PICODOLLARS_PER_DOLLAR as f64
    }
}

impl Add for Money {
    type Output = Money;
    fn add(self, other: Money) -> Money {
        Money(self.0 + other.0)
    }
}

impl AddAssign for Money {
    fn add_assign(&mut self, other: Money) {
        self.0 += other.0;
    }
}

impl Sub for Money {
    type Output = Money;
    fn sub(self, other: Money) -> Money {
        Money(self.0 - other.0)
    }
}

impl Neg for Money {
    type Output = Money;
    fn neg(self) -> Money {
        Money(-self.0)
    }
}

impl Sum for Money {
    fn sum<I: Iterator<Item = Money>>(iter: I) -> Money {
        iter.fold(Money::ZERO, Add::add)
    }
}

impl fmt::Display for Money {
    /// Writes the exact amount without trailing zeros, at least two decimals: `$0.778875`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let whole = self.0.abs() / PICODOLLARS_PER_DOLLAR;
        let part = format!("{:012}", self.0.abs() % PICODOLLARS_PER_DOLLAR);
        let trimmed = part.trim_end_matches('0');
        let digits = if trimmed.len() < 2 { &part[..2] } else { trimmed };
        formatter.pad(&format!("{sign}${whole}.{digits}"))
    }
}

/// A price of one token in whole picodollars.
///
/// $1 per million tokens is 1,000,000 picodollars per token.
///
/// In files: US dollars per million tokens as a number or a string, `6.25` or `"$6.25/MTok"`.
/// Range: 0 to [`PricePerToken::MAX`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PricePerToken(u64);

impl PricePerToken {
    /// The highest price a book may state: $1,000,000 per million tokens.
    pub const MAX: PricePerToken = PricePerToken(1_000_000_000_000);

    /// Returns a price of whole picodollars per token.
    pub const fn from_picodollars(picodollars: u64) -> PricePerToken {
        PricePerToken(picodollars)
    }

    /// Returns the price in picodollars per token.
    pub const fn picodollars(self) -> u64 {
        self.0
    }

    /// Returns the price in US dollars per million tokens, for output.
    pub fn as_usd_per_mtok(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// Returns the lower of two prices.
    #[must_use]
    pub fn min(self, other: PricePerToken) -> PricePerToken {
        PricePerToken(self.0.min(other.0))
    }

    /// Returns the price times all of `factors` at once, or `None` where that is not a whole number
    /// of picodollars per token or above [`PricePerToken::MAX`].
    pub fn scaled(self, factors: [Ratio; 2]) -> Option<PricePerToken> {
        let one = u128::from(Ratio::ONE.millionths());
        let [first, second] = factors.map(|factor| u128::from(factor.millionths()));
        let product = u128::from(self.0).checked_mul(first)?.checked_mul(second)?;
        let price = product / (one * one);
        let exact = product.is_multiple_of(one * one);
        (exact && price <= u128::from(PricePerToken::MAX.0)).then_some(PricePerToken(price as u64))
    }
}

impl Mul<Tokens> for PricePerToken {
    type Output = Money;
    fn mul(self, tokens: Tokens) -> Money {
        Money(i128::from(self.0) * i128::from(tokens.get()))
    }
}

impl fmt::Display for PricePerToken {
    /// Writes US dollars per million tokens: `6.25`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = Money(i128::from(self.0) * 1_000_000).to_string();
        formatter.pad(text.trim_start_matches('$'))
    }
}

impl<'de> Deserialize<'de> for Money {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Money, D::Error> {
        NumberOrText::read(deserializer, "an amount of US dollars such as 5 or \"$0.15\"")?
            .convert(parse_money)
    }
}

impl Serialize for Money {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.as_usd())
    }
}

impl JsonSchema for Money {
    fn schema_name() -> Cow<'static, str> {
        "Money".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "An amount of US dollars: 5, \"$0.15\".",
            "anyOf": [
                { "type": "number", "minimum": 0 },
                { "type": "string", "pattern": "^\\$?[0-9][0-9_]*(\\.[0-9]+)?$" }
            ]
        })
    }
}

impl<'de> Deserialize<'de> for PricePerToken {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<PricePerToken, D::Error> {
        NumberOrText::read(deserializer, "US dollars per million tokens such as 6.25")?
            .convert(parse_price)
    }
}

impl Serialize for PricePerToken {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.as_usd_per_mtok())
    }
}

impl JsonSchema for PricePerToken {
    fn schema_name() -> Cow<'static, str> {
        "PricePerToken".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "US dollars per million tokens: 6.25, \"$6.25/MTok\".",
            "anyOf": [
                { "type": "number", "minimum": 0, "maximum": 1_000_000 },
                { "type": "string", "pattern": "^\\$?[0-9][0-9_]*(\\.[0-9]+)?(/MTok)?$" }
            ]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bill_is_an_exact_product() {
        // 778,875 tokens at $1 per million.
        let bill = PricePerToken::from_picodollars(1_000_000) * Tokens::new(778_875);
        assert_eq!(bill.to_string(), "$0.778875");
        assert_eq!((-bill).to_string(), "-$0.778875");
        assert_eq!(Money::ZERO.to_string(), "$0.00");
    }

    #[test]
    fn factors_are_exact_or_refused() {
        let (half, tenth_more) =
            (Ratio::from_millionths(500_000), Ratio::from_millionths(1_100_000));
        let price = PricePerToken::from_picodollars;
        // 5 x 0.5 is no whole number; 5 x 0.5 x 1.1 neither; 20 x 0.5 x 1.1 = 11.
        assert_eq!(price(20).scaled([half, tenth_more]), Some(price(11)));
        assert_eq!(price(5).scaled([half, Ratio::ONE]), None);
        assert_eq!(PricePerToken::MAX.scaled([tenth_more, Ratio::ONE]), None);
    }
}
