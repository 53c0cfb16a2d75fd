//! The prompts behind the usage of a session, as chains of blocks.
//!
//! A transcript states how long each prompt was and how much of it was read, written and neither;
//! it does not hold the prompts. But a conversation only grows, and an entry stands where the
//! cached part of a request ended. So lengths tell the chain: a request goes on from where its
//! agent's last one ended, unless the client rebuilt the prompt, the model changed, or the prompt
//! became shorter. Where tools and system end is told by what was read at the start of a
//! conversation and after a rebuild.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::cache::{
    BlockKind, Breakpoint, CacheKey, CacheRequest, Expected, LastPrompt, PrefixId, PromptCache,
    RoleTtl, Ttl,
};
use crate::transcript::heads::Heads;
use crate::transcript::{Agent, Request, Trigger};
use crate::units::{SimTime, Tokens};

/// Bytes of text that make a token, as good as it gets without a tokenizer.
pub(super) const BYTES_PER_TOKEN: u64 = 4;
/// The most blocks that are told apart between two requests: far beyond any lookback.
const BLOCKS_MAX: u64 = 64;

/// What may shape the chains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Evidence {
    /// The recorded reads too: a conversation of which less was read than lived has changed where
    /// reading stopped, and what was read without having been written was written by someone else.
    Reads,
    /// Sizes, rebuilds and models alone, so that what is read is a prediction. Recorded reads count
    /// only for an agent's first request and after a rebuild.
    Sizes,
}

/// The prompt of one request.
#[derive(Clone, Debug)]
pub(super) struct Prompt {
    pub(super) at: PrefixId,
    /// Where entries are written, in prompt order, with the recorded lifetimes.
    pub(super) marks: Vec<Breakpoint>,
    /// Tokens taken over from another agent.
    pub(super) inherited: Tokens,
    /// The agent's request before.
    pub(super) last: Option<LastPrompt>,
    /// Number of marks in tools and system; they come first.
    pub(super) heads: usize,
    /// What was read beyond all that the agent had written: a request that the transcript does not
    /// hold had.
    pub(super) unseen: Tokens,
    /// An entry that no request of the data wrote, and when it was there.
    pub(super) placed: Option<(Breakpoint, SimTime)>,
}

/// Where a conversation stands under one cache key.
#[derive(Clone, Copy, Debug)]
struct Tail {
    whole: PrefixId,
    cached: PrefixId,
    /// When the response of its last request ended.
    end: SimTime,
}

/// What is known of one agent.
#[derive(Clone, Debug, Default)]
struct State {
    tails: BTreeMap<CacheKey, Tail>,
    last: Option<LastPrompt>,
    ttl: RoleTtl,
    effort: Option<Arc<str>>,
    effort_key: u32,
    heads: Vec<PrefixId>,
}

/// Sizes of a prompt as recorded, in tokens.
#[derive(Clone, Copy, Debug)]
struct Size {
    total: u64,
    /// End of the last entry; 0 where nothing was cached.
    cached: u64,
    read: u64,
    /// End of what was written for an hour, where five-minute writes follow.
    hour: Option<u64>,
}

impl Size {
    fn of(request: &Request) -> Size {
        let usage = &request.usage;
        let total = usage.prompt().get();
        let (read, long) = (usage.cache_read.get(), usage.cache_write_1h.get());
        let is_mixed = long > 0 && !usage.cache_write_5m.is_zero();
        let cached = total - usage.uncached.get();
        Size { total, cached, read, hour: is_mixed.then_some(read + long) }
    }
}

/// Agents whose prompts begin alike: a kind, or one agent of it alone.
type Group = (u32, Option<usize>);

/// Where a prompt goes on from.
#[derive(Clone, Copy, Debug)]
enum Base {
    /// A conversation that begins like others of its kind.
    Start,
    /// One that begins unlike them: other tools (C8).
    Alone,
    /// One's own conversation, or another agent's that is taken over.
    After(Tail),
    /// The same, of which only what has at most so many tokens is kept.
    Until(Tail, u64),
}

/// A prompt put together.
#[derive(Clone, Debug)]
struct Built {
    at: PrefixId,
    cached: PrefixId,
    heads: Vec<PrefixId>,
    inherited: Tokens,
    marks: Vec<Breakpoint>,
}

/// Builds the prompts of a project, request by request in the order of their starts.
#[derive(Debug)]
pub(super) struct Chains {
    evidence: Evidence,
    heads: Heads,
    models: BTreeMap<Arc<str>, u32>,
    efforts: BTreeMap<Arc<str>, u32>,
    /// Starts of prompts that agents share: parent, tokens, group.
    shared: BTreeMap<(PrefixId, u64, Group), PrefixId>,
    states: Vec<State>,
    /// Where requests left the conversation with whose history others begin.
    copied: BTreeMap<String, Option<(State, CacheKey)>>,
}

impl Chains {
    /// Prepares the chains of the agents of a project.
    pub(super) fn new(agents: &[(usize, &Agent)], evidence: Evidence) -> Chains {
        let copied = agents.iter().filter_map(|(_, agent)| agent.continues.clone());
        Chains {
            evidence,
            heads: Heads::of(agents),
            models: BTreeMap::new(),
            efforts: BTreeMap::new(),
            shared: BTreeMap::new(),
            states: vec![State::default(); agents.len()],
            copied: copied.map(|id| (id, None)).collect(),
        }
    }

    /// Builds the prompt of the next request of an agent; `cache` holds the entries before it, and
    /// `minimum` is the shortest prefix that its model caches.
    pub(super) fn prompt(
        &mut self,
        cache: &mut PromptCache,
        (number, agent): (usize, &Agent),
        request: &Request,
        minimum: Tokens,
    ) -> Prompt {
        let size = Size::of(request);
        self.take_over(number, agent);
        self.learn_ttl(number, request);
        let mut key = self.key(number, request);
        let base = self.base(cache, (number, agent), key, size);
        let base = rebuilt(cache, base, request, size);
        let mut built = self.build(cache, number, (base, key), request);
        let mut expected = self.rules_read(cache, number, &built, (request, minimum));
        // A conversation of which less was read than lived has changed where reading stopped.
        if (self.evidence == Evidence::Reads || matches!(base, Base::Start))
            && is_shortfall(size.read, expected)
            && let Some((base, other)) = self.changed(number, base, key, request)
        {
            key = other;
            built = self.build(cache, number, (base, key), request);
            expected = self.rules_read(cache, number, &built, (request, minimum));
        }
        if size.cached == 0 && Tokens::new(size.total) < minimum {
            built.marks = vec![Breakpoint { at: built.at, ttl: self.states[number].ttl.tail }];
        }
        let placed = self.placed(cache, number, &built, (base, request, expected));
        let last = self.states[number].last;
        let unseen = match (base, placed) {
            (Base::After(tail), Some(_)) if last.is_some() => {
                let written = cache.tree().tokens(tail.cached);
                request.usage.cache_read.saturating_sub(written)
            }
            _ => Tokens::ZERO,
        };
        self.note(number, &built, (key, request));
        Prompt {
            at: built.at,
            heads: built.marks.iter().filter(|mark| built.heads.contains(&mark.at)).count(),
            marks: built.marks,
            inherited: if last.is_none() { built.inherited } else { Tokens::ZERO },
            last,
            unseen,
            placed,
        }
    }

    /// Lets an agent begin with the history that it copied.
    fn take_over(&mut self, number: usize, agent: &Agent) {
        let is_new = self.states[number].tails.is_empty();
        let Some(id) = agent.continues.as_ref().filter(|_| is_new) else { return };
        if let Some(Some((state, _))) = self.copied.get(id) {
            self.states[number] = state.clone();
            if agent.parent.is_some() {
                self.states[number].last = None;
            }
        }
    }

    /// Learns lifetimes from what was written.
    fn learn_ttl(&mut self, number: usize, request: &Request) {
        let ttl = &mut self.states[number].ttl;
        let written = (request.usage.cache_write_1h, request.usage.cache_write_5m);
        match (written.0.is_zero(), written.1.is_zero()) {
            (false, false) => *ttl = RoleTtl { head: Ttl::OneHour, tail: Ttl::FiveMinutes },
            (false, true) => *ttl = RoleTtl { head: Ttl::OneHour, tail: Ttl::OneHour },
            (true, false) if *ttl == RoleTtl { head: Ttl::OneHour, tail: Ttl::OneHour } => {
                *ttl = RoleTtl::default();
            }
            _ => {}
        }
    }

    fn key(&mut self, number: usize, request: &Request) -> CacheKey {
        let next = self.models.len() as u32;
        let model = *self.models.entry(Arc::clone(&request.model)).or_insert(next);
        CacheKey { model, scope: 0, effort: self.states[number].effort_key }
    }

    /// Finds what the conversation goes on from.
    fn base(
        &self,
        cache: &PromptCache,
        (number, agent): (usize, &Agent),
        key: CacheKey,
        size: Size,
    ) -> Base {
        if let Some(tail) = self.states[number].tails.get(&key) {
            return Base::After(*tail);
        }
        let parent = self.heads.parent(number).and_then(|parent| self.states.get(parent));
        let Some(tail) = parent.and_then(|parent| parent.tails.get(&key)) else {
            return Base::Start;
        };
        // A fork without a copy of its history is known by reading exactly what its parent had
        // cached; a summary request by whose it is.
        let inherits = cache.tree().tokens(tail.cached).get() == size.read && size.read > 0;
        let summarizes = agent.role == crate::ledger::Role::Compaction;
        if inherits || summarizes { Base::After(*tail) } else { Base::Start }
    }

    /// Returns what the rules would read.
    fn rules_read(
        &self,
        cache: &mut PromptCache,
        number: usize,
        built: &Built,
        (request, minimum): (&Request, Tokens),
    ) -> u64 {
        let looked_up = CacheRequest {
            prompt: built.at,
            breakpoints: &built.marks,
            start: request.start,
            ready: request.ready,
            minimum,
            early_miss: false,
            last: self.states[number].last,
            inherited: built.inherited,
            expected: request.expected,
        };
        cache.lookup(&looked_up).split.read.get()
    }

    /// Decides what changed where less was read than lived: effort, or the conversation from where
    /// reading stopped. `None`: nothing that is known, so that it is an early miss. Prompts of the
    /// user come with changes of tools, modes and reminders; results of tools do not.
    fn changed(
        &mut self,
        number: usize,
        base: Base,
        key: CacheKey,
        request: &Request,
    ) -> Option<(Base, CacheKey)> {
        let tail = match base {
            Base::Start => return Some((Base::Alone, key)),
            Base::After(tail) => tail,
            Base::Alone | Base::Until(..) => return None,
        };
        let state = &mut self.states[number];
        state.last?;
        if request.effort.is_some() && request.effort != state.effort && state.effort.is_some() {
            let effort = request.effort.clone()?;
            let next = self.efforts.len() as u32 + 1;
            state.effort_key = *self.efforts.entry(effort).or_insert(next);
            let key = CacheKey { effort: state.effort_key, ..key };
            return Some((
                state.tails.get(&key).map_or(Base::Start, |tail| Base::After(*tail)),
                key,
            ));
        }
        let read = request.usage.cache_read.get();
        (request.trigger == Trigger::Prompt).then_some((Base::Until(tail, read), key))
    }

    /// Finds the entry that someone else must have written for what was read.
    fn placed(
        &self,
        cache: &PromptCache,
        number: usize,
        built: &Built,
        (base, request, rules_read): (Base, &Request, u64),
    ) -> Option<(Breakpoint, SimTime)> {
        let read = request.usage.cache_read;
        let is_given = self.states[number].last.is_none() || request.expected != Expected::Nothing;
        if rules_read >= read.get() || (self.evidence == Evidence::Sizes && !is_given) {
            return None;
        }
        let at = cache.tree().within(built.at, read);
        if cache.tree().depth(at) == 0 {
            return None;
        }
        let ttl = self.states[number].ttl;
        // What goes beyond one's own last entry was written by a request that the transcript does
        // not hold, soon after the last response; the rest is kept alive by other sessions.
        if let Base::After(tail) = base
            && read > cache.tree().tokens(tail.cached)
            && request.start < tail.end + ttl.tail.duration()
        {
            return Some((Breakpoint { at, ttl: ttl.tail }, tail.end));
        }
        let ttl = if built.heads.contains(&at) { ttl.head } else { ttl.tail };
        Some((Breakpoint { at, ttl }, request.start))
    }

    fn note(&mut self, number: usize, built: &Built, (key, request): (CacheKey, &Request)) {
        let usage = &request.usage;
        let cached = usage.prompt().saturating_sub(usage.uncached);
        let state = &mut self.states[number];
        state.last = Some(LastPrompt { prompt: built.at, cached });
        state.tails.insert(key, Tail { whole: built.at, cached: built.cached, end: request.end });
        state.heads.clone_from(&built.heads);
        if request.effort.is_some() {
            state.effort.clone_from(&request.effort);
        }
        if let Some(copied) = self.copied.get_mut(&request.id) {
            *copied = Some((state.clone(), key));
        }
    }

    /// Puts the prompt of a request together.
    fn build(
        &mut self,
        cache: &mut PromptCache,
        number: usize,
        (base, key): (Base, CacheKey),
        request: &Request,
    ) -> Built {
        let size = Size::of(request);
        let ttl = self.states[number].ttl;
        let mut heads = self.states[number].heads.clone();
        let (from, inherited) = match base {
            Base::Start | Base::Alone => {
                let group = self.heads.group(number);
                let group =
                    if matches!(base, Base::Start) { (group, None) } else { (group, Some(number)) };
                let (at, started) = self.start(cache, number, (key, group), size.cached);
                heads = started;
                (at, Tokens::ZERO)
            }
            Base::After(tail) => (tail.whole, cache.tree().tokens(tail.whole)),
            Base::Until(tail, most) => {
                let kept = cache.tree().within(tail.whole, Tokens::new(most));
                let depth = cache.tree().depth(kept);
                heads.retain(|head| cache.tree().depth(*head) <= depth);
                (kept, cache.tree().tokens(kept))
            }
        };
        let mut body = Body { at: from, first: first_kind(from, &heads, base) };
        let begins = matches!(base, Base::Start | Base::Alone);
        let is_start = begins && self.states[number].last.is_none();
        body.append(cache, &stops(cache, &body, size), (request, is_start));
        let cached = cache.tree().within(body.at, Tokens::new(size.cached));
        body.append(cache, &[size.total], (request, is_start));
        let mut marks: Vec<Breakpoint> =
            heads.iter().map(|at| Breakpoint { at: *at, ttl: ttl.head }).collect();
        if let Some(hour) = size.hour {
            let at = cache.tree().within(body.at, Tokens::new(hour));
            marks.push(Breakpoint { at, ttl: Ttl::OneHour });
        }
        marks.push(Breakpoint { at: cached, ttl: ttl.tail });
        marks.retain(|mark| cache.tree().depth(mark.at) > 0 && size.cached > 0);
        marks.dedup_by_key(|mark| mark.at);
        Built { at: body.at, cached, heads, inherited, marks }
    }

    /// Begins a conversation: returns where tools and system end, and the ends that are marked.
    fn start(
        &mut self,
        cache: &mut PromptCache,
        number: usize,
        (key, group): (CacheKey, Group),
        cached: u64,
    ) -> (PrefixId, Vec<PrefixId>) {
        let mut at = cache.tree_mut().root(key);
        let mut heads = Vec::new();
        for (end, is_marked) in self.heads.ends(number).iter().filter(|(end, _)| *end < cached) {
            let tokens = *end - cache.tree().tokens(at).get();
            let place = (at, tokens, group);
            at = match self.shared.get(&place) {
                Some(known) => *known,
                None => cache.tree_mut().append(at, Tokens::new(tokens), BlockKind::System, true),
            };
            self.shared.insert(place, at);
            if *is_marked {
                heads.push(at);
            }
        }
        (at, heads)
    }
}

/// A conversation that the client rebuilt, or that has become shorter, is kept up to where reading
/// stopped.
fn rebuilt(cache: &PromptCache, base: Base, request: &Request, size: Size) -> Base {
    let Base::After(tail) = base else { return base };
    let is_shorter = size.total < cache.tree().tokens(tail.whole).get();
    if request.expected == Expected::Nothing && !is_shorter {
        return base;
    }
    Base::Until(tail, size.read.min(size.cached))
}

/// Whether so much less was read than lived that it is a miss in the client's sense (semantics A5).
fn is_shortfall(read: u64, expected: u64) -> bool {
    let missed = expected.saturating_sub(read);
    missed >= 2_000 && missed * 20 > expected
}

/// Returns what the first block after `from` is: it tells how deep a change goes.
fn first_kind(from: PrefixId, heads: &[PrefixId], base: Base) -> BlockKind {
    match base {
        // What is read begins with the tools, so they are the same.
        Base::Until(_, 0) => BlockKind::Tool,
        Base::Until(..) if heads.contains(&from) && heads.last() != Some(&from) => {
            BlockKind::System
        }
        _ => BlockKind::UserText,
    }
}

/// Returns where blocks must end: at what was read, at the end of hour-long writes, at the end of
/// what is cached.
fn stops(cache: &PromptCache, body: &Body, size: Size) -> Vec<u64> {
    let begin = cache.tree().tokens(body.at).get();
    let mut stops: Vec<u64> = [Some(size.read), size.hour, Some(size.cached)]
        .into_iter()
        .flatten()
        .filter(|stop| *stop > begin && *stop <= size.cached)
        .collect();
    stops.sort_unstable();
    stops.dedup();
    stops
}

/// The part of a prompt that is appended.
struct Body {
    at: PrefixId,
    first: BlockKind,
}

impl Body {
    /// Appends blocks up to each stop. Of what an agent starts with, its task comes last.
    fn append(
        &mut self,
        cache: &mut PromptCache,
        stops: &[u64],
        (request, is_start): (&Request, bool),
    ) {
        for (index, stop) in stops.iter().enumerate() {
            let tokens = stop.saturating_sub(cache.tree().tokens(self.at).get());
            if tokens == 0 {
                continue;
            }
            let is_last = index + 1 == stops.len();
            let task = (request.prompt_bytes / BYTES_PER_TOKEN).min(tokens);
            if is_start && is_last && task > 0 {
                self.block(cache, tokens - task, true);
                self.block(cache, task, false);
                continue;
            }
            let blocks = if is_last { u64::from(request.appended_blocks) } else { 1 };
            let blocks = blocks.clamp(1, BLOCKS_MAX.min(tokens));
            for block in 0..blocks {
                let end = |block: u64| tokens * block / blocks;
                self.block(cache, end(block + 1) - end(block), is_start);
            }
        }
    }

    fn block(&mut self, cache: &mut PromptCache, tokens: u64, startup: bool) {
        if tokens > 0 {
            let kind = self.first;
            self.at = cache.tree_mut().append(self.at, Tokens::new(tokens), kind, startup);
            self.first = BlockKind::UserText;
        }
    }
}
