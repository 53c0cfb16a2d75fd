//! Prompts as chains of blocks, held as a tree in which forks share their common prefix.

use crate::units::{SimTime, Tokens};

use crate::cache::Ttl;

/// A prefix of a prompt: the chain of blocks from the first one to this one (semantics B1).
///
/// Two prompts share a prefix exactly as far as their chains are equal, that is, as far as their
/// nodes in a [`PromptTree`] are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PrefixId(pub(crate) u32);

impl PrefixId {
    /// The first prefix that a tree makes: a place holder until there is a better one.
    pub(crate) const FIRST: PrefixId = PrefixId(0);

    /// Returns its number: the same for the same prefix of one tree.
    pub const fn number(self) -> u32 {
        self.0
    }
}

/// What a block is, as far as caching cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockKind {
    /// A tool definition.
    Tool,
    /// A block of the system prompt, or a system note between messages.
    System,
    /// Text of the user's side.
    UserText,
    /// Text of the assistant's side.
    AssistantText,
    /// A tool call; a run of them costs one lookback position (semantics E3).
    ToolUse,
    /// A tool result; a run of them costs one lookback position (semantics E3).
    ToolResult,
}

/// Level of a block in the prefix order tools, system, messages (semantics B1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Tool definitions.
    Tools,
    /// The system prompt.
    System,
    /// The conversation.
    Messages,
}

/// What besides the blocks distinguishes cache entries (semantics B2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct CacheKey {
    /// Number of the model.
    pub model: u32,
    /// Number of the cache scope: workspace, machine and directory.
    pub scope: u32,
    /// Number of the effort and speed setting, where it is part of the key.
    pub effort: u32,
}

/// State of the cache entry at a node. `expires == BEGINNING` means that none was ever written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) readable_at: SimTime,
    pub(crate) expires: SimTime,
    /// End of an earlier life in which the entry had been readable.
    pub(crate) former_expiry: SimTime,
    pub(crate) ttl: Ttl,
}

impl Entry {
    pub(crate) const NONE: Entry = Entry {
        readable_at: SimTime::NEVER,
        expires: SimTime::BEGINNING,
        former_expiry: SimTime::BEGINNING,
        ttl: Ttl::FiveMinutes,
    };
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    pub(crate) parent: u32,
    /// Number of blocks of the chain.
    pub(crate) depth: u32,
    /// Number of lookback positions of the chain; a collapsed run counts once.
    pub(crate) position: u32,
    pub(crate) kind: BlockKind,
    pub(crate) level: Level,
    /// Part of what an agent starts with, as against its task and what follows.
    pub(crate) startup: bool,
    /// Some earlier request held this whole chain (semantics A6).
    pub(crate) held: bool,
    /// Tokens of the chain.
    pub(crate) end: u64,
    pub(crate) entry: Entry,
}

/// All prompts of one replication or trace, as a tree of blocks.
///
/// Appending a block costs one push; nothing is hashed. Who reads content from outside (a trace)
/// interns it before appending, so that equal chains become the same nodes.
#[derive(Clone, Debug)]
pub struct PromptTree {
    pub(crate) nodes: Vec<Node>,
    keys: Vec<(CacheKey, PrefixId)>,
    collapse_tool_runs: bool,
}

impl PromptTree {
    /// Returns an empty tree; `collapse_tool_runs` is the setting of semantics E3.
    pub fn new(collapse_tool_runs: bool) -> PromptTree {
        PromptTree { nodes: Vec::new(), keys: Vec::new(), collapse_tool_runs }
    }

    /// Empties the tree and keeps its memory.
    pub fn clear(&mut self) {
        self.nodes.clear();
        self.keys.clear();
    }

    /// Returns the empty prefix under a cache key; the first call for a key makes it.
    pub fn root(&mut self, key: CacheKey) -> PrefixId {
        if let Some((_, root)) = self.keys.iter().find(|(known, _)| *known == key) {
            return *root;
        }
        let root = PrefixId(self.nodes.len() as u32);
        self.nodes.push(Node {
            parent: root.0,
            depth: 0,
            position: 0,
            kind: BlockKind::Tool,
            level: Level::Tools,
            startup: true,
            held: true,
            end: 0,
            entry: Entry::NONE,
        });
        self.keys.push((key, root));
        root
    }

    /// Appends a block and returns the longer prefix. `startup` tells what an agent starts with
    /// from its task and from what follows (semantics A5, `cold_start`).
    pub fn append(
        &mut self,
        parent: PrefixId,
        tokens: Tokens,
        kind: BlockKind,
        startup: bool,
    ) -> PrefixId {
        let before = self.nodes[parent.0 as usize];
        let runs = matches!(kind, BlockKind::ToolUse | BlockKind::ToolResult);
        let continues = self.collapse_tool_runs && runs && before.kind == kind && before.depth > 0;
        let id = PrefixId(self.nodes.len() as u32);
        self.nodes.push(Node {
            parent: parent.0,
            depth: before.depth + 1,
            position: before.position + u32::from(!continues),
            kind,
            level: level_after(before.level, kind),
            startup,
            held: false,
            end: before.end + tokens.get(),
            entry: Entry::NONE,
        });
        id
    }

    /// Returns the tokens of a prefix.
    pub fn tokens(&self, prefix: PrefixId) -> Tokens {
        Tokens::new(self.nodes[prefix.0 as usize].end)
    }

    /// Returns the number of blocks of a prefix.
    pub fn depth(&self, prefix: PrefixId) -> usize {
        self.nodes[prefix.0 as usize].depth as usize
    }

    /// Returns the prefix without its last block, or `None` for an empty one.
    pub fn parent(&self, prefix: PrefixId) -> Option<PrefixId> {
        let node = &self.nodes[prefix.0 as usize];
        (node.depth > 0).then_some(PrefixId(node.parent))
    }

    /// Returns what the last block of a prefix is.
    pub fn kind(&self, prefix: PrefixId) -> BlockKind {
        self.nodes[prefix.0 as usize].kind
    }

    /// Returns whether the last block of a prefix is part of what an agent starts with.
    pub fn is_startup(&self, prefix: PrefixId) -> bool {
        self.nodes[prefix.0 as usize].startup
    }

    /// Returns the level of the last block of a prefix.
    pub fn level(&self, prefix: PrefixId) -> Level {
        self.nodes[prefix.0 as usize].level
    }

    /// Returns the blocks of a prefix in prompt order: where each ends, its tokens and kind.
    pub fn blocks(&self, prefix: PrefixId) -> Vec<(PrefixId, Tokens, BlockKind)> {
        let mut blocks = Vec::new();
        let mut at = prefix;
        while let Some(parent) = self.parent(at) {
            blocks.push((at, self.tokens(at) - self.tokens(parent), self.kind(at)));
            at = parent;
        }
        blocks.reverse();
        blocks
    }

    /// Returns whether `ancestor` is a prefix of `prefix`.
    pub fn starts_with(&self, prefix: PrefixId, ancestor: PrefixId) -> bool {
        let depth = self.nodes[ancestor.0 as usize].depth;
        self.truncated(prefix, depth) == ancestor
    }

    /// Marks a chain as held by an earlier request (semantics A6).
    pub fn mark_held(&mut self, prefix: PrefixId) {
        let mut index = prefix.0 as usize;
        while !self.nodes[index].held {
            self.nodes[index].held = true;
            index = self.nodes[index].parent as usize;
        }
    }

    /// Returns the tokens of the longest prefix that an earlier request held (semantics A6).
    pub(crate) fn held_end(&self, prefix: PrefixId) -> u64 {
        let mut node = &self.nodes[prefix.0 as usize];
        while !node.held {
            node = &self.nodes[node.parent as usize];
        }
        node.end
    }

    /// Returns the longest prefix of `prefix` that has at most so many tokens.
    pub fn within(&self, prefix: PrefixId, tokens: Tokens) -> PrefixId {
        let mut index = prefix.0;
        while self.nodes[index as usize].end > tokens.get() {
            index = self.nodes[index as usize].parent;
        }
        PrefixId(index)
    }

    /// Returns the same prompts as if none had been sent yet.
    pub(crate) fn without_entries(&self) -> PromptTree {
        let mut other = self.clone();
        for node in &mut other.nodes {
            node.entry = Entry::NONE;
            node.held = node.depth == 0;
        }
        other
    }

    /// Returns the prefix of at most `depth` blocks.
    fn truncated(&self, prefix: PrefixId, depth: u32) -> PrefixId {
        let mut index = prefix.0;
        while self.nodes[index as usize].depth > depth {
            index = self.nodes[index as usize].parent;
        }
        PrefixId(index)
    }

    /// Returns the tokens up to which two prompts are equal and, where `new` goes on from there
    /// with other content than `old`, the level of the first block that differs: the lower one of
    /// the two, since a tool that is gone is a change of the tools (semantics B3).
    pub(crate) fn divergence(&self, old: PrefixId, new: PrefixId) -> (u64, Option<Level>) {
        let depth = self.nodes[old.0 as usize].depth.min(self.nodes[new.0 as usize].depth);
        let mut left = self.truncated(old, depth);
        let mut right = self.truncated(new, depth);
        let mut first = None;
        while left != right {
            let (before, node) = (&self.nodes[left.0 as usize], &self.nodes[right.0 as usize]);
            if node.depth == 0 {
                return (0, Some(Level::Tools));
            }
            first = Some(before.level.min(node.level));
            left = PrefixId(before.parent);
            right = PrefixId(node.parent);
        }
        (self.nodes[left.0 as usize].end, first)
    }

    /// Returns the cache key under which a prefix stands.
    pub(crate) fn key_of(&self, prefix: PrefixId) -> CacheKey {
        let root = self.truncated(prefix, 0);
        self.keys.iter().find(|(_, known)| *known == root).map_or(CacheKey::default(), |(k, _)| *k)
    }
}

/// A system block counts to the system prompt only before the first message.
fn level_after(before: Level, kind: BlockKind) -> Level {
    match kind {
        BlockKind::Tool if before == Level::Tools => Level::Tools,
        BlockKind::System if before <= Level::System => Level::System,
        _ => Level::Messages,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grow(tree: &mut PromptTree, from: PrefixId, kinds: &[BlockKind]) -> PrefixId {
        kinds.iter().fold(from, |at, kind| tree.append(at, Tokens::new(10), *kind, false))
    }

    #[test]
    fn runs_of_tool_blocks_cost_one_position() {
        use BlockKind::{ToolResult, ToolUse, UserText};
        let kinds = [UserText, ToolUse, ToolUse, ToolResult, ToolResult, UserText, UserText];
        for (collapse, positions) in [(true, 5), (false, 7)] {
            let mut tree = PromptTree::new(collapse);
            let root = tree.root(CacheKey::default());
            let end = grow(&mut tree, root, &kinds);
            assert_eq!(tree.nodes[end.0 as usize].position, positions);
            assert_eq!(tree.tokens(end), Tokens::new(70));
        }
    }

    #[test]
    fn system_notes_between_messages_are_messages() {
        let mut tree = PromptTree::new(true);
        let root = tree.root(CacheKey::default());
        let system = grow(&mut tree, root, &[BlockKind::Tool, BlockKind::System]);
        let note = grow(&mut tree, system, &[BlockKind::UserText, BlockKind::System]);
        assert_eq!((tree.level(system), tree.level(note)), (Level::System, Level::Messages));
    }

    #[test]
    fn prompts_diverge_where_their_chains_do() {
        let mut tree = PromptTree::new(true);
        let root = tree.root(CacheKey::default());
        let shared = grow(&mut tree, root, &[BlockKind::Tool, BlockKind::System]);
        let left = grow(&mut tree, shared, &[BlockKind::UserText; 3]);
        let right = grow(&mut tree, shared, &[BlockKind::UserText; 2]);
        assert_eq!(tree.divergence(left, right), (20, Some(Level::Messages)));
        assert_eq!(tree.divergence(shared, right), (20, None));
        assert!(tree.starts_with(left, shared));
        assert!(!tree.starts_with(left, right));
        let tools = grow(&mut tree, root, &[BlockKind::Tool; 2]);
        let one_less = grow(&mut tree, root, &[BlockKind::System]);
        assert_eq!(tree.divergence(tools, one_less), (0, Some(Level::Tools)));
        let other = tree.root(CacheKey { model: 1, ..CacheKey::default() });
        assert_eq!(tree.divergence(left, other), (0, Some(Level::Tools)));
    }
}
