//! How long a response takes: the `[latency]` table (semantics L3).

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use crate::units::{NumberOrText, SimDuration, Tokens, parse_speed};
use crate::workload::Distribution;

/// Time to the first token and speed of output.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Latency {
    /// Time from the start of a request to the beginning of its response.
    pub first_token: FirstToken,
    /// Output tokens per second: 68 or "68 tokens/s".
    pub speed: Speed,
}

/// Time to first token: a regression on the size of the prompt, or any distribution.
#[derive(Clone, Debug, PartialEq)]
pub enum FirstToken {
    /// `base + per_1k_new * new / 1000 + per_1k_context * context / 1000`, where new tokens are
    /// those not read from the cache and the context is the whole prompt.
    Regression(Regression),
    /// A distribution of its own, whatever the prompt.
    Drawn(Distribution<SimDuration>),
}

/// Coefficients of the regression.
///
/// Default: 1.17 s + 85 ms + 15 ms (39,747 requests, R^2 0.87; transcripts.md, section 3).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Regression {
    /// Time that every request takes.
    pub base: SimDuration,
    /// Time for 1,000 tokens that are not read from the cache.
    pub per_1k_new: SimDuration,
    /// Time for 1,000 tokens of prompt.
    pub per_1k_context: SimDuration,
}

impl Default for Regression {
    fn default() -> Regression {
        Regression {
            base: SimDuration::from_micros(1_170_000),
            per_1k_new: SimDuration::from_micros(85_000),
            per_1k_context: SimDuration::from_micros(15_000),
        }
    }
}

impl Regression {
    /// Returns the time to first token, rounded to the nearest microsecond.
    pub fn time(&self, new: Tokens, context: Tokens) -> SimDuration {
        let part = |rate: SimDuration, tokens: Tokens| {
            (rate.as_micros() as u64).saturating_mul(tokens.get()).min(u64::MAX / 4)
        };
        let thousandths = part(self.per_1k_new, new) + part(self.per_1k_context, context);
        self.base + SimDuration::from_micros(((thousandths + 500) / 1_000) as i64)
    }
}

impl Default for FirstToken {
    fn default() -> FirstToken {
        FirstToken::Regression(Regression::default())
    }
}

impl<'de> Deserialize<'de> for FirstToken {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<FirstToken, D::Error> {
        const KEYS: [&str; 3] = ["base", "per_1k_new", "per_1k_context"];
        let value = toml::Value::deserialize(deserializer)?;
        let is_regression =
            value.as_table().is_some_and(|table| KEYS.iter().any(|key| table.contains_key(*key)));
        if is_regression {
            Regression::deserialize(value)
                .map(FirstToken::Regression)
                .map_err(|error| plain(&error))
        } else {
            Distribution::deserialize(value).map(FirstToken::Drawn).map_err(|error| plain(&error))
        }
    }
}

fn plain<E: Error>(error: &toml::de::Error) -> E {
    E::custom(error.message())
}

impl JsonSchema for FirstToken {
    fn schema_name() -> Cow<'static, str> {
        "FirstToken".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let regression = generator.subschema_for::<Regression>();
        let distribution = generator.subschema_for::<Distribution<SimDuration>>();
        json_schema!({ "anyOf": [regression, distribution] })
    }
}

/// Speed of output, kept as nanoseconds per token.
///
/// Default: 14.8 ms per token, about 67.6 tokens a second (transcripts.md, section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Speed {
    nanoseconds_per_token: u64,
}

impl Default for Speed {
    fn default() -> Speed {
        Speed { nanoseconds_per_token: 14_800_000 }
    }
}

impl Speed {
    /// Returns the time that `output` tokens take, rounded to the nearest microsecond.
    pub fn time(self, output: Tokens) -> SimDuration {
        let nanoseconds = self.nanoseconds_per_token.saturating_mul(output.get());
        SimDuration::from_micros((nanoseconds.saturating_add(500) / 1_000) as i64)
    }
}

impl<'de> Deserialize<'de> for Speed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Speed, D::Error> {
        NumberOrText::read(deserializer, "a speed such as 68 or \"68 tokens/s\"")?
            .convert(parse_speed)
            .map(|nanoseconds_per_token| Speed { nanoseconds_per_token })
    }
}

impl JsonSchema for Speed {
    fn schema_name() -> Cow<'static, str> {
        "Speed".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Output tokens per second: 68 or \"68 tokens/s\".",
            "anyOf": [
                { "type": "number", "exclusiveMinimum": 0 },
                { "type": "string", "pattern": "^[0-9]+(\\.[0-9]+)?\\s*(tokens/s)?$" }
            ]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_regression_is_the_measured_one() {
        // 1.17 s + 0.085 s x 16.184 + 0.015 s x 16.184 = 2.7884 s.
        let size = Tokens::new(16_184);
        assert_eq!(Regression::default().time(size, size), SimDuration::from_micros(2_788_400));
        assert_eq!(Speed::default().time(Tokens::new(100)), SimDuration::from_micros(1_480_000));
    }
}
