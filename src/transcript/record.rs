//! What a line of a transcript can state, as far as money and time need it. Texts stay where they
//! are: of a text only its length is taken.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::transcript::lenient::{Count, Flag, Nested, Text, TextLength, absent_unless};

/// One line.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Record<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Text<'a>,
    #[serde(borrow)]
    pub(super) subtype: Text<'a>,
    #[serde(borrow)]
    pub(super) timestamp: Text<'a>,
    #[serde(borrow)]
    pub(super) uuid: Text<'a>,
    #[serde(borrow)]
    pub(super) parent_uuid: Text<'a>,
    #[serde(borrow)]
    pub(super) session_id: Text<'a>,
    #[serde(borrow)]
    pub(super) agent_id: Text<'a>,
    #[serde(borrow)]
    pub(super) request_id: Text<'a>,
    #[serde(borrow)]
    pub(super) version: Text<'a>,
    #[serde(borrow)]
    pub(super) effort: Text<'a>,
    pub(super) is_sidechain: Flag,
    pub(super) is_meta: Flag,
    pub(super) is_compact_summary: Flag,
    pub(super) is_api_error_message: Flag,
    pub(super) retry_in_ms: Count,
    #[serde(borrow)]
    pub(super) message: Nested<Message<'a>>,
    #[serde(borrow)]
    pub(super) tool_use_result: Nested<ToolUseResult<'a>>,
    #[serde(borrow)]
    pub(super) data: Nested<Progress<'a>>,
    pub(super) compact_metadata: Nested<CompactMetadata>,
    #[serde(rename = "parentToolUseID", borrow)]
    pub(super) parent_tool_use_id: Text<'a>,
}

/// The message of an assistant or a user.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Message<'a> {
    #[serde(borrow)]
    pub(super) id: Text<'a>,
    #[serde(borrow)]
    pub(super) model: Text<'a>,
    #[serde(borrow)]
    pub(super) stop_reason: Text<'a>,
    #[serde(borrow)]
    pub(super) content: Content<'a>,
    #[serde(borrow)]
    pub(super) usage: Nested<UsageRecord<'a>>,
}

/// The usage that the provider reported for a request.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct UsageRecord<'a> {
    pub(super) input_tokens: Count,
    pub(super) cache_creation_input_tokens: Count,
    pub(super) cache_read_input_tokens: Count,
    pub(super) output_tokens: Count,
    pub(super) cache_creation: Nested<CacheCreation>,
    pub(super) server_tool_use: Nested<ServerToolUse>,
    #[serde(borrow)]
    pub(super) service_tier: Text<'a>,
    #[serde(borrow)]
    pub(super) inference_geo: Text<'a>,
    #[serde(borrow)]
    pub(super) speed: Text<'a>,
}

/// Cache writes by lifetime, stated since client 1.0.98.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CacheCreation {
    pub(super) ephemeral_5m_input_tokens: Count,
    pub(super) ephemeral_1h_input_tokens: Count,
}

/// What the provider's own tools did.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ServerToolUse {
    pub(super) web_search_requests: Count,
}

/// What a tool call came to, as far as it tells of agents.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ToolUseResult<'a> {
    #[serde(borrow)]
    pub(super) agent_id: Text<'a>,
    #[serde(borrow)]
    pub(super) agent_type: Text<'a>,
}

/// What a progress record carries: of `agent_progress` a whole record of a subagent.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Progress<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Text<'a>,
    #[serde(borrow)]
    pub(super) agent_id: Text<'a>,
    #[serde(borrow)]
    pub(super) message: Nested<ProgressMessage<'a>>,
}

/// The record of a subagent inside `agent_progress`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ProgressMessage<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Text<'a>,
    #[serde(borrow)]
    pub(super) timestamp: Text<'a>,
    #[serde(borrow)]
    pub(super) uuid: Text<'a>,
    #[serde(borrow)]
    pub(super) request_id: Text<'a>,
    #[serde(borrow)]
    pub(super) message: Nested<Message<'a>>,
}

/// What stands beside a compaction.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct CompactMetadata {
    pub(super) pre_tokens: Count,
}

/// The content of a message: a text, or blocks.
#[derive(Debug, Default)]
pub(super) struct Content<'a> {
    /// Bytes of its texts, thinking and tool inputs; results of tools are not counted.
    pub(super) bytes: u64,
    /// Its blocks; none where it is a text alone.
    pub(super) blocks: Vec<ContentBlock<'a>>,
}

/// One block of a message.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ContentBlock<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Text<'a>,
    #[serde(borrow)]
    pub(super) id: Text<'a>,
    #[serde(borrow)]
    pub(super) tool_use_id: Text<'a>,
    #[serde(borrow)]
    pub(super) name: Text<'a>,
    text: TextLength,
    thinking: TextLength,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
}

impl ContentBlock<'_> {
    /// Returns the kind of subagent that a call asks for.
    pub(super) fn subagent_type(&self) -> Option<String> {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Input<'a> {
            #[serde(borrow)]
            subagent_type: Text<'a>,
        }
        if !matches!(self.name.as_str(), Some("Task" | "Agent")) {
            return None;
        }
        let input: Input<'_> = serde_json::from_str(self.input?.get()).ok()?;
        input.subagent_type.as_str().map(str::to_owned)
    }

    fn bytes(&self) -> u64 {
        let input = self.input.map_or(0, |input| input.get().len() as u64);
        self.text.0 + self.thinking.0 + input
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Content<'a>, D::Error> {
        struct ContentVisitor;
        impl<'de> Visitor<'de> for ContentVisitor {
            type Value = Content<'de>;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a text or a list of blocks")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Content<'de>, E> {
                Ok(Content { bytes: text.len() as u64, blocks: Vec::new() })
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Content<'de>, A::Error> {
                let mut content = Content::default();
                while let Some(block) = list.next_element::<Nested<ContentBlock<'de>>>()? {
                    let block = block.0.unwrap_or_default();
                    content.bytes += block.bytes();
                    content.blocks.push(block);
                }
                Ok(content)
            }
            absent_unless!(bool, number, null, object);
        }
        deserializer.deserialize_any(ContentVisitor)
    }
}
