//! Exact factors that multiply a price.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::units::parse::{NumberOrText, parse_ratio};

/// A factor in whole millionths: 0.5 is 500,000.
///
/// In files: a number with at most six decimals. Range: 0 to [`Ratio::MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ratio(u64);

impl Ratio {
    /// The factor that changes nothing.
    pub const ONE: Ratio = Ratio(1_000_000);
    /// The largest factor a file may state: 1,000.
    pub const MAX: Ratio = Ratio(1_000_000_000);

    /// Returns a factor of whole millionths.
    pub const fn from_millionths(millionths: u64) -> Ratio {
        Ratio(millionths)
    }

    /// Returns the factor in millionths.
    pub const fn millionths(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Ratio {
    /// Writes the factor with as many decimals as are needed: `1.1`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&(self.0 as f64 / 1e6).to_string())
    }
}

impl<'de> Deserialize<'de> for Ratio {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Ratio, D::Error> {
        NumberOrText::read(deserializer, "a factor such as 0.5")?.convert(parse_ratio)
    }
}

impl Serialize for Ratio {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0 as f64 / 1e6)
    }
}

impl JsonSchema for Ratio {
    fn schema_name() -> Cow<'static, str> {
        "Ratio".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A factor with at most six decimals: 0.5, 1.1.",
            "anyOf": [
                { "type": "number", "minimum": 0, "maximum": 1000 },
                { "type": "string", "pattern": "^[0-9]+(\\.[0-9]+)?$" }
            ]
        })
    }
}
