//! Settings of the prompt cache: the `[cache]` table of a scenario.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::cache::Ttl;
use crate::units::{SimDuration, Tokens};

/// How the provider's prompt cache behaves and where the client marks prompts (semantics 3).
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CachePolicy {
    /// Whether requests mark anything for caching at all (semantics E10).
    pub enabled: bool,
    /// Where breakpoints stand, in prompt order; at most four (semantics E1, E10).
    pub breakpoints: Vec<BreakpointName>,
    /// Lifetime of written entries, for all agents or by role (semantics E6); left out: by
    /// `session.billing` (P 4.1).
    pub ttl: Option<TtlPolicy>,
    /// Interval of minimal requests that keep entries alive while an agent waits, at least 1 s, or
    /// `off`; at most 10,000 in one wait (semantics L5).
    pub keep_alive: KeepAlive,
    /// Positions tested from a breakpoint backwards, its own included; 1 to 1,000 (semantics E3).
    pub lookback: u32,
    /// Shortest prefix that can be cached, in tokens; left out: the model's (semantics E2).
    pub minimum: Option<Tokens>,
    /// Whether a run of tool calls, and of tool results, costs one position (semantics E3).
    pub collapse_tool_runs: bool,
    /// Whether equal cold requests in flight each pay their write (semantics E4; unconfirmed).
    pub concurrent_cold_writes: ColdWrites,
    /// From when an entry's lifetime counts (semantics E5).
    pub ttl_clock: TtlClock,
    /// Whether a read starts the lifetime again (semantics E5).
    pub refresh_on_read: bool,
    /// Which entries below the one read are refreshed with it (semantics E5; unconfirmed).
    pub refresh_shorter: RefreshShorter,
    /// Probability from 0 to 1 that a request finds nothing although entries live (semantics E8).
    pub early_miss_probability: f64,
    /// Time for which entries outlive their TTL (semantics E8).
    pub expiry_slack: SimDuration,
}

impl Default for CachePolicy {
    fn default() -> CachePolicy {
        CachePolicy {
            enabled: true,
            breakpoints: vec![
                BreakpointName::Identity,
                BreakpointName::System,
                BreakpointName::End,
            ],
            ttl: None,
            keep_alive: KeepAlive::Off,
            lookback: 20,
            minimum: None,
            collapse_tool_runs: true,
            concurrent_cold_writes: ColdWrites::Each,
            ttl_clock: TtlClock::RequestStart,
            refresh_on_read: true,
            refresh_shorter: RefreshShorter::Breakpoints,
            early_miss_probability: 0.0,
            expiry_slack: SimDuration::ZERO,
        }
    }
}

/// A place in a prompt at which a client sets a breakpoint, in prompt order.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum BreakpointName {
    /// After the first system block, tools included.
    Identity,
    /// After the last system block.
    System,
    /// After the project context.
    Project,
    /// After the last block that all forks of one message share; only in forks.
    BeforeDirective,
    /// On the last block of the prompt.
    End,
}

/// What equal cold requests in flight pay (semantics E4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ColdWrites {
    /// Each pays its own write.
    Each,
    /// The first pays the write, the others plain input.
    First,
}

/// From when an entry's lifetime counts (semantics E5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TtlClock {
    /// From the start of the request that writes or reads it (documented).
    RequestStart,
    /// From the end of that request's response (fits public transcripts better).
    ResponseEnd,
}

/// Which live entries below the one read are refreshed with it (semantics E5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RefreshShorter {
    /// Those on which a breakpoint of the reading request stands.
    Breakpoints,
    /// All on the chain.
    All,
    /// None.
    None,
}

/// Interval of keep-alive requests (semantics L5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeepAlive {
    /// No such requests.
    Off,
    /// One whenever this long has passed since the agent's last request started.
    Every(SimDuration),
}

impl<'de> Deserialize<'de> for KeepAlive {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<KeepAlive, D::Error> {
        use crate::units::NumberOrText;
        NumberOrText::read(deserializer, "`off` or an interval such as \"4m\"")?.convert(|text| {
            if text == "off" {
                return Ok(KeepAlive::Off);
            }
            crate::units::parse_duration(text).map(KeepAlive::Every)
        })
    }
}

impl Serialize for KeepAlive {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            KeepAlive::Off => serializer.serialize_str("off"),
            KeepAlive::Every(interval) => interval.serialize(serializer),
        }
    }
}

impl JsonSchema for KeepAlive {
    fn schema_name() -> Cow<'static, str> {
        "KeepAlive".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let duration = generator.subschema_for::<SimDuration>();
        json_schema!({ "anyOf": [{ "const": "off" }, duration] })
    }
}

/// Lifetime of the entries of one role: at the head (breakpoints of the system prompt and before)
/// and at the tail (breakpoints in the messages).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoleTtl {
    /// Lifetime at breakpoints up to the end of the system prompt.
    pub head: Ttl,
    /// Lifetime at breakpoints in the messages.
    pub tail: Ttl,
}

/// Lifetimes by role: `main`, and `subagent` for all else (P 4.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TtlPolicy {
    /// The main session.
    pub main: RoleTtl,
    /// Children, forks, compaction.
    pub subagent: RoleTtl,
}

const HEAD_BEFORE_TAIL: &str = "head `5m` with tail `1h`; 1h breakpoints must come before 5m ones";
const TTL_EXPECTED: &str = "`5m`, `1h` or a table { head = \"1h\", tail = \"5m\" }";

impl<'de> Deserialize<'de> for RoleTtl {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RoleTtl, D::Error> {
        deserializer.deserialize_any(RoleTtlVisitor)
    }
}

struct RoleTtlVisitor;

impl<'de> Visitor<'de> for RoleTtlVisitor {
    type Value = RoleTtl;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(TTL_EXPECTED)
    }
    fn visit_str<E: de::Error>(self, value: &str) -> Result<RoleTtl, E> {
        let ttl = Ttl::deserialize(StrDeserializer::<E>::new(value)).map_err(|_| {
            E::custom(format_args!("`{value}` is not a lifetime; expected {TTL_EXPECTED}"))
        })?;
        Ok(RoleTtl { head: ttl, tail: ttl })
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<RoleTtl, A::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct HeadTail {
            head: Ttl,
            tail: Ttl,
        }
        let HeadTail { head, tail } = HeadTail::deserialize(MapAccessDeserializer::new(map))?;
        if head < tail {
            return Err(de::Error::custom(HEAD_BEFORE_TAIL));
        }
        Ok(RoleTtl { head, tail })
    }
}

impl<'de> Deserialize<'de> for TtlPolicy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<TtlPolicy, D::Error> {
        deserializer.deserialize_any(TtlPolicyVisitor)
    }
}

struct TtlPolicyVisitor;

impl<'de> Visitor<'de> for TtlPolicyVisitor {
    type Value = TtlPolicy;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("`5m`, `1h` or a table { main = \"1h\", subagent = \"5m\" }")
    }
    fn visit_str<E: de::Error>(self, value: &str) -> Result<TtlPolicy, E> {
        let ttl = RoleTtlVisitor.visit_str(value)?;
        Ok(TtlPolicy { main: ttl, subagent: ttl })
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<TtlPolicy, A::Error> {
        #[derive(Default, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        struct ByRole {
            main: RoleTtl,
            subagent: RoleTtl,
            head: Option<Ttl>,
            tail: Option<Ttl>,
        }
        let found = ByRole::deserialize(MapAccessDeserializer::new(map))?;
        match (found.head, found.tail) {
            (None, None) => Ok(TtlPolicy { main: found.main, subagent: found.subagent }),
            (Some(head), Some(tail)) if head >= tail => {
                let both = RoleTtl { head, tail };
                Ok(TtlPolicy { main: both, subagent: both })
            }
            (Some(_), Some(_)) => Err(de::Error::custom(HEAD_BEFORE_TAIL)),
            _ => Err(de::Error::custom("`head` and `tail` go together")),
        }
    }
}

impl JsonSchema for TtlPolicy {
    fn schema_name() -> Cow<'static, str> {
        "TtlPolicy".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let ttl = generator.subschema_for::<Ttl>();
        let role = json_schema!({ "anyOf": [ttl, {
            "type": "object", "additionalProperties": false, "required": ["head", "tail"],
            "properties": { "head": ttl, "tail": ttl }
        }]});
        json_schema!({ "anyOf": [ttl, {
            "type": "object", "additionalProperties": false,
            "properties": { "main": role, "subagent": role, "head": ttl, "tail": ttl }
        }]})
    }
}
