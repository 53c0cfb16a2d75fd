//! What a line of a request trace states, and how it is written (interfaces section 4).

use std::fmt::Write;

use crate::cache::{BlockKind, Ttl};
use crate::pricing::Usage;
use crate::units::{SimTime, Tokens};

/// One request of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestLine {
    /// When it started.
    pub start: SimTime,
    /// When its response began.
    pub first_token: SimTime,
    /// When its response ended, where the trace says so.
    pub end: Option<SimTime>,
    /// Who sent it: `main`, `a1`, ...
    pub agent: String,
    /// Id of the model.
    pub model: String,
    /// Its whole prompt, in order: tools, system, messages.
    pub blocks: Vec<TraceBlock>,
    /// What the provider reported, if it was recorded.
    pub usage: Option<Usage>,
    /// Its output, thinking included.
    pub output: Tokens,
    /// Whether it was paid before the trace begins: its entries and its prompt count, it is neither
    /// charged nor listed. A key of our own, `"paid": true`.
    pub is_paid: bool,
}

/// One block of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceBlock {
    /// Identity of its content: equal ids after equal blocks are the same content.
    pub id: String,
    /// Its size.
    pub tokens: Tokens,
    /// What it is: `ROLE:BLOCK_TYPE`.
    pub kind: String,
    /// The lifetime of the breakpoint on it, if one stands there.
    pub ttl: Option<Ttl>,
}

impl TraceBlock {
    /// Returns what the block is to the cache.
    pub fn block_kind(&self) -> BlockKind {
        let (role, block_type) = self.kind.split_once(':').unwrap_or((&self.kind, ""));
        let ends = |tail: &str| block_type == &tail[1..] || block_type.ends_with(tail);
        match role {
            "tool" => BlockKind::Tool,
            "system" => BlockKind::System,
            _ if ends("_tool_use") => BlockKind::ToolUse,
            _ if ends("_tool_result") => BlockKind::ToolResult,
            "assistant" => BlockKind::AssistantText,
            _ => BlockKind::UserText,
        }
    }
}

/// One attempt that failed before its response began: charged nothing (semantics A3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedAttempt {
    /// When it started.
    pub start: SimTime,
    /// Who made it.
    pub agent: String,
    /// The HTTP status it failed with.
    pub status: u16,
    /// Which try of its request it was, from 1, where the trace says so.
    pub attempt: Option<u32>,
}

/// Returns the `ROLE:BLOCK_TYPE` under which a kind of block is written.
pub const fn kind_name(kind: BlockKind) -> &'static str {
    match kind {
        BlockKind::Tool => "tool:tool",
        BlockKind::System => "system:text",
        BlockKind::UserText => "user:text",
        BlockKind::AssistantText => "assistant:text",
        BlockKind::ToolUse => "assistant:tool_use",
        BlockKind::ToolResult => "user:tool_result",
    }
}

/// Returns a request as a line of a trace, without the line break. Times are written exactly.
pub fn write_line(line: &RequestLine) -> String {
    let mut text =
        format!("{{\"start_s\": {}, \"first_token_s\": {}", line.start, line.first_token);
    if let Some(end) = line.end {
        push(&mut text, "end_s", end);
    }
    push(&mut text, "agent", quoted(&line.agent));
    push(&mut text, "model", quoted(&line.model));
    let blocks: Vec<String> = line.blocks.iter().map(write_block).collect();
    push(&mut text, "blocks", format_args!("[{}]", blocks.join(", ")));
    match &line.usage {
        Some(usage) => push(&mut text, "usage", write_usage(usage)),
        None => push(&mut text, "output_tokens", line.output.get()),
    }
    if line.is_paid {
        push(&mut text, "paid", true);
    }
    text.push('}');
    text
}

/// Returns a failed attempt as a line of a trace, without the line break.
pub fn write_attempt(line: &FailedAttempt) -> String {
    let mut text = format!("{{\"start_s\": {}", line.start);
    if let Some(attempt) = line.attempt {
        push(&mut text, "attempt", attempt);
    }
    push(&mut text, "status", line.status);
    push(&mut text, "agent", quoted(&line.agent));
    text.push('}');
    text
}

fn write_block(block: &TraceBlock) -> String {
    let mut text = format!("{{\"id\": {}", quoted(&block.id));
    push(&mut text, "tokens", block.tokens.get());
    push(&mut text, "kind", quoted(&block.kind));
    if let Some(ttl) = block.ttl {
        push(&mut text, "ttl", quoted(ttl.name()));
    }
    text.push('}');
    text
}

fn write_usage(usage: &Usage) -> String {
    let mut text = format!("{{\"input_tokens\": {}", usage.uncached.get());
    let written = format!(
        "{{\"ephemeral_5m_input_tokens\": {}, \"ephemeral_1h_input_tokens\": {}}}",
        usage.cache_write_5m.get(),
        usage.cache_write_1h.get()
    );
    push(&mut text, "cache_creation", written);
    push(&mut text, "cache_read_input_tokens", usage.cache_read.get());
    push(&mut text, "output_tokens", usage.output.get());
    text.push('}');
    text
}

fn push(text: &mut String, key: &str, value: impl std::fmt::Display) {
    // Writing to a String cannot fail.
    let _ = write!(text, ", \"{key}\": {value}");
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_read_from_role_and_block_type() {
        use BlockKind::{AssistantText, System, Tool, ToolResult, ToolUse, UserText};
        let cases = [
            ("tool:tool", Tool),
            ("tool:tool_result", Tool),
            ("system:text", System),
            ("assistant:tool_use", ToolUse),
            ("assistant:server_tool_use", ToolUse),
            ("user:tool_result", ToolResult),
            ("assistant:web_search_tool_result", ToolResult),
            ("assistant:thinking", AssistantText),
            ("user:image", UserText),
            ("user:text", UserText),
        ];
        for (kind, expected) in cases {
            let (id, tokens) = (String::new(), Tokens::ZERO);
            let block = TraceBlock { id, tokens, kind: kind.to_owned(), ttl: None };
            assert_eq!(block.block_kind(), expected, "{kind}");
        }
        for kind in [Tool, System, UserText, AssistantText, ToolUse, ToolResult] {
            let block = TraceBlock {
                id: String::new(),
                tokens: Tokens::ZERO,
                kind: kind_name(kind).to_owned(),
                ttl: None,
            };
            assert_eq!(block.block_kind(), kind);
        }
    }
}
