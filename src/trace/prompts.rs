//! Turns the block lists of a trace into chains of one tree, in which equal prompts are the same.

use std::collections::{BTreeMap, BTreeSet};

use crate::cache::{
    BlockKind, Breakpoint, CacheKey, Expected, Level, PrefixId, PromptTree, RoleTtl,
    check_breakpoints,
};
use crate::trace::object::shorten;
use crate::trace::{RequestLine, TraceBlock};
use crate::units::Tokens;

/// The prompt of one request, as the cache needs it. Nothing in it depends on what is cached.
pub(super) struct Prompt {
    /// The whole chain.
    pub(super) at: PrefixId,
    /// Its breakpoints, in prompt order.
    pub(super) breakpoints: Vec<Breakpoint>,
    /// Tokens taken over from another agent (a fork).
    pub(super) inherited: Tokens,
    /// Whether the client rebuilt the prompt.
    pub(super) expected: Expected,
}

/// Which breakpoints take effect.
#[derive(Clone, Copy)]
pub(super) enum Marks {
    /// None.
    Off,
    /// Those of the trace, with their lifetimes or with these.
    On(Option<RoleTtl>),
}

/// All prompts of a trace so far; requests come in the order of their starts.
#[derive(Default)]
pub(super) struct Prompts<'a> {
    blocks: BTreeMap<(PrefixId, &'a str), PrefixId>,
    models: BTreeMap<&'a str, u32>,
    /// Where whole prompts of requests end; a first prompt that goes on from one is a fork's.
    ends: BTreeSet<PrefixId>,
    last: BTreeMap<&'a str, (&'a RequestLine, PrefixId)>,
}

impl<'a> Prompts<'a> {
    /// Adds the prompt of a request to the tree.
    ///
    /// # Errors
    /// Each block that contradicts an earlier one of the same identity.
    pub(super) fn add(
        &mut self,
        tree: &mut PromptTree,
        line: &'a RequestLine,
        marks: Marks,
    ) -> Result<Prompt, Vec<String>> {
        let last = self.last.get(line.agent.as_str()).copied();
        let task = if last.is_none() { task_index(&line.blocks) } else { None };
        let model = self.models.len() as u32;
        let model = *self.models.entry(&line.model).or_insert(model);
        let mut at = tree.root(CacheKey { model, ..CacheKey::default() });
        let mut prompt = Chain { forked_at: None, breakpoints: Vec::new() };
        let mut problems = Vec::new();
        for (index, block) in line.blocks.iter().enumerate() {
            let is_conversation = tree.level(at) == Level::Messages;
            if last.is_none() && is_conversation && self.ends.contains(&at) {
                prompt.forked_at = Some(at);
            }
            let startup = last.is_none()
                && prompt.forked_at.is_none()
                && task.is_none_or(|task| index != task);
            at = self.append(tree, at, (block, startup), &mut problems);
            prompt.breakpoints.extend(breakpoint(tree, at, block, marks));
        }
        let ttls: Vec<_> = prompt.breakpoints.iter().map(|mark| mark.ttl).collect();
        problems.extend(check_breakpoints(&ttls).err().map(|error| error.to_string()));
        self.ends.insert(at);
        self.last.insert(&line.agent, (line, at));
        if !problems.is_empty() {
            return Err(problems);
        }
        Ok(Prompt {
            at,
            breakpoints: prompt.breakpoints,
            inherited: prompt.forked_at.map_or(Tokens::ZERO, |end| tree.tokens(end)),
            expected: last.map_or(Expected::Nothing, |last| rebuilt(tree, last, (line, at))),
        })
    }

    /// Appends a block, or finds the chain where it already stands.
    fn append(
        &mut self,
        tree: &mut PromptTree,
        parent: PrefixId,
        (block, startup): (&'a TraceBlock, bool),
        problems: &mut Vec<String>,
    ) -> PrefixId {
        let kind = block.block_kind();
        let Some(known) = self.blocks.get(&(parent, block.id.as_str())) else {
            let added = tree.append(parent, block.tokens, kind, startup);
            self.blocks.insert((parent, &block.id), added);
            return added;
        };
        let tokens = tree.tokens(*known) - tree.tokens(parent);
        let id = shorten(&block.id);
        if tokens != block.tokens {
            problems.push(format!(
                "block `{id}` has {} tokens here and {} earlier, after equal blocks; one identity \
                 is one content",
                block.tokens.get(),
                tokens.get()
            ));
        }
        if tree.kind(*known) != kind {
            let kind = shorten(&block.kind);
            problems.push(format!(
                "block `{id}` is `{kind}` here and of another kind earlier, after equal blocks"
            ));
        }
        *known
    }
}

/// What is found while a chain is built.
struct Chain {
    forked_at: Option<PrefixId>,
    breakpoints: Vec<Breakpoint>,
}

/// Returns where the task of an agent stands in its first prompt: the last text of the user.
fn task_index(blocks: &[TraceBlock]) -> Option<usize> {
    blocks.iter().rposition(|block| block.block_kind() == BlockKind::UserText)
}

fn breakpoint(
    tree: &PromptTree,
    at: PrefixId,
    block: &TraceBlock,
    marks: Marks,
) -> Option<Breakpoint> {
    let Marks::On(lifetimes) = marks else { return None };
    let own = block.ttl?;
    let ttl = match lifetimes {
        None => own,
        Some(lifetimes) if tree.level(at) == Level::Messages => lifetimes.tail,
        Some(lifetimes) => lifetimes.head,
    };
    Some(Breakpoint { at, ttl })
}

/// Tells from an agent's last prompt and its next one whether the client rebuilt it: the messages
/// differ from some point on and the prompt has become shorter (semantics K2, K3).
fn rebuilt(
    tree: &PromptTree,
    (old, old_at): (&RequestLine, PrefixId),
    (new, new_at): (&RequestLine, PrefixId),
) -> Expected {
    let differs_in_messages = tree.divergence(old_at, new_at).1 == Some(Level::Messages);
    if !differs_in_messages || tree.tokens(new_at) >= tree.tokens(old_at) {
        return Expected::Nothing;
    }
    if new.blocks.len() < old.blocks.len() {
        return Expected::Compaction;
    }
    let is_result = |block: &TraceBlock| block.block_kind() == BlockKind::ToolResult;
    let only_results = old
        .blocks
        .iter()
        .zip(&new.blocks)
        .all(|(old, new)| old.id == new.id || (is_result(old) && is_result(new)));
    if only_results { Expected::ClearedToolResults } else { Expected::Nothing }
}
