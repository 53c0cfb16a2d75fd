//! When a conversation is replaced by a summary: the `[compaction]` table (semantics 7).

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer};

use crate::units::{NumberOrText, Tokens, parse_tokens};

/// Tokens kept free for the answer at most, when the trigger is taken from the window (K1).
const ANSWER_RESERVE_MAX: u64 = 20_000;
/// Tokens kept free besides (K1).
const MARGIN: u64 = 13_000;

/// Settings of compaction. Without a window and a trigger there is none.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Compaction {
    /// Whether conversations are compacted at all; left out: where a window or trigger is given.
    pub enabled: Option<bool>,
    /// Context window in tokens; left out: the model's.
    pub window: Option<Tokens>,
    /// Prompt size at which a conversation is compacted: tokens, or a percentage of the window
    /// such as "80%". It can only lower the default, which leaves room for an answer and a margin
    /// (semantics K1: 167,000 at a window of 200,000).
    pub trigger: Option<Trigger>,
    /// Output of the summary request, in tokens.
    pub summary: Tokens,
    /// Instruction that asks for the summary, in tokens.
    pub instruction: Tokens,
    /// Files and skills read again after it, in tokens.
    pub reread: Tokens,
}

impl Default for Compaction {
    fn default() -> Compaction {
        Compaction {
            enabled: None,
            window: None,
            trigger: None,
            summary: Tokens::new(4_000),
            instruction: Tokens::new(1_626),
            reread: Tokens::ZERO,
        }
    }
}

/// A prompt size, absolute or as a share of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// Tokens.
    Tokens(Tokens),
    /// Hundredths of the window, 1 to 100.
    Percent(u8),
}

impl Compaction {
    /// Returns the prompt size at which an agent is compacted, if it is at all (semantics K1).
    ///
    /// `window` and `max_output` are the model's.
    pub fn trigger_tokens(
        &self,
        window: Option<Tokens>,
        max_output: Option<Tokens>,
    ) -> Option<Tokens> {
        let asked = self.window.is_some() || self.trigger.is_some();
        if !self.enabled.unwrap_or(asked) {
            return None;
        }
        let window = self.window.or(window);
        let default = window.map(|window| {
            let reserve =
                max_output.map_or(ANSWER_RESERVE_MAX, Tokens::get).min(ANSWER_RESERVE_MAX);
            window.saturating_sub(Tokens::new(reserve + MARGIN))
        });
        let explicit = match self.trigger {
            None => None,
            Some(Trigger::Tokens(tokens)) => Some(tokens),
            Some(Trigger::Percent(percent)) => {
                window.map(|window| Tokens::new(window.get() * u64::from(percent) / 100))
            }
        };
        match (default, explicit) {
            (Some(default), Some(explicit)) => Some(default.min(explicit)),
            (default, explicit) => explicit.or(default),
        }
    }
}

impl<'de> Deserialize<'de> for Trigger {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Trigger, D::Error> {
        let expected = "a number of tokens such as \"150k\", or a percentage such as \"80%\"";
        let text = NumberOrText::read(deserializer, expected)?;
        if let Some(percent) = text.as_str().trim().strip_suffix('%') {
            return match percent.trim().parse::<u8>() {
                Ok(percent @ 1..=100) => Ok(Trigger::Percent(percent)),
                _ => Err(serde::de::Error::custom(format_args!(
                    "`{}` is not a percentage from 1% to 100%",
                    text.as_str()
                ))),
            };
        }
        text.convert(parse_tokens).map(Trigger::Tokens)
    }
}

impl JsonSchema for Trigger {
    fn schema_name() -> Cow<'static, str> {
        "Trigger".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let tokens = generator.subschema_for::<Tokens>();
        json_schema!({ "anyOf": [tokens, { "type": "string", "pattern": "^[0-9]{1,3}\\s*%$" }] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_trigger_is_that_of_the_client() {
        let window = |tokens| Some(Tokens::new(tokens));
        let on = Compaction { enabled: Some(true), ..Compaction::default() };
        let cases = [(200_000, 167_000), (1_000_000, 967_000), (400_000, 367_000)];
        for (size, trigger) in cases {
            assert_eq!(on.trigger_tokens(window(size), window(64_000)), window(trigger));
        }
        assert_eq!(Compaction::default().trigger_tokens(window(200_000), None), None);
    }

    #[test]
    fn an_explicit_trigger_only_lowers() {
        let with = |trigger| Compaction {
            window: Some(Tokens::new(200_000)),
            trigger: Some(trigger),
            ..Compaction::default()
        };
        let cases = [
            (Trigger::Percent(50), 100_000),
            (Trigger::Percent(95), 167_000),
            (Trigger::Tokens(Tokens::new(190_000)), 167_000),
        ];
        for (trigger, expected) in cases {
            assert_eq!(with(trigger).trigger_tokens(None, None), Some(Tokens::new(expected)));
        }
    }
}
