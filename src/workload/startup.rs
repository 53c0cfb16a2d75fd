//! What agents start with, and the notes the client adds: the `[startup.KIND]` tables.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::units::Tokens;

/// Start-up contexts by kind of agent.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Startups {
    /// The main session.
    pub main: Startup,
    /// A general-purpose child.
    pub fresh: Startup,
    /// An Explore child.
    pub explore: Startup,
    /// A Plan child.
    pub plan: Startup,
    /// An agent of a workflow.
    pub workflow: Startup,
}

/// Start-up context of one kind of agent, in prompt order: tools, identity, system, project, then
/// the prompt, then the listing.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Startup {
    /// Tool definitions, in tokens.
    pub tools: Tokens,
    /// First block of the system prompt, in tokens.
    pub identity: Tokens,
    /// Rest of the system prompt, in tokens.
    pub system: Tokens,
    /// Project context (memory files, environment) before the prompt, in tokens.
    pub project: Tokens,
    /// Text of the client before the task prompt, in tokens.
    pub preamble: Tokens,
    /// Listings of agents and skills after the prompt, in tokens.
    pub listing: Tokens,
    /// System notes after tool results.
    pub notes: Notes,
    /// Listings announced again right after a compaction, in tokens (C16).
    pub relisting: Tokens,
    /// Tools that a child of this kind lacks in the background, in tokens (C22).
    pub background_withholds: Tokens,
    /// What the listing of such a child lacks, in tokens.
    pub background_withholds_listing: Tokens,
    /// The tool that launches agents, which a child of this kind lacks at the depth limit, in
    /// tokens (C22).
    pub depth_withholds: Tokens,
    /// By how much the main session's tools shrink where it forks, in tokens (C22).
    pub fork_withholds: Tokens,
    /// By how much the tools shrink where entries live one hour, in tokens (C22).
    pub one_hour_withholds: Tokens,
}

/// Small system notes that the client appends after tool results (C20, C23).
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Notes {
    /// After the first result, in tokens.
    pub first: Tokens,
    /// Besides, after the first result: the listing of agents, to a child that may launch some, in
    /// tokens (C6).
    pub agents: Tokens,
    /// After each later result, in tokens.
    pub each: Tokens,
    /// Besides, after the first result that follows a compaction, in tokens (C16).
    pub after_compaction: Tokens,
    /// Besides, after every `reminder_every` results without a text in between, in tokens (C20).
    pub reminder: Tokens,
    /// Results without a text after which the reminder comes; 0: it never does.
    pub reminder_every: u32,
}
