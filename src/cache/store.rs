//! Lookup and commit: what a request reads, writes and pays for, and which entries it leaves.

use crate::cache::breakpoint::BREAKPOINTS_MAX;
use crate::cache::prefix::Entry;
use crate::cache::{
    Breakpoint, CachePolicy, Category, Cause, ColdWrites, Level, PrefixId, PromptTree,
    RefreshShorter, Segment, Ttl, TtlClock,
};
use crate::units::{SimDuration, SimTime, Tokens};

/// A miss needs at least this many tokens processed again (semantics A5; F019).
const MISS_TOKENS_MIN: u64 = 2_000;
/// A miss needs more than one token in this many processed again: 5 % (semantics A5; F019).
const MISS_SHARE_INVERSE: u64 = 20;

/// What an agent's previous request left behind, as the causes of the next one need it.
#[derive(Clone, Copy, Debug)]
pub struct LastPrompt {
    /// The whole prompt.
    pub prompt: PrefixId,
    /// Up to where it was cached.
    pub cached: Tokens,
}

/// A rebuild that the client itself brought about (semantics A5: expected rebuilds).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Expected {
    /// None.
    #[default]
    Nothing,
    /// The first request after a compaction.
    Compaction,
    /// The first request after old tool results were cleared.
    ClearedToolResults,
}

/// One request, as the cache sees it.
#[derive(Clone, Copy, Debug)]
pub struct CacheRequest<'a> {
    /// The whole prompt.
    pub prompt: PrefixId,
    /// Breakpoints in prompt order, at distinct places; at most four, one-hour ones first.
    pub breakpoints: &'a [Breakpoint],
    /// When it starts.
    pub start: SimTime,
    /// When it would have started but for a rate limit; `start` where there was none.
    pub ready: SimTime,
    /// Shortest prefix that can be cached for its model (semantics E2).
    pub minimum: Tokens,
    /// Whether the provider misses although entries live (semantics E8).
    pub early_miss: bool,
    /// The agent's previous request; `None` for its first.
    pub last: Option<LastPrompt>,
    /// Tokens that the agent took over from another at its start (a fork: the parent's prompt).
    pub inherited: Tokens,
    /// Whether the client rebuilt the prompt.
    pub expected: Expected,
}

/// The four parts of a prompt; they sum to it, always (semantics A1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Split {
    /// Tokens read from the cache.
    pub read: Tokens,
    /// Tokens written for one hour.
    pub write_1h: Tokens,
    /// Tokens written for five minutes.
    pub write_5m: Tokens,
    /// Plain input.
    pub uncached: Tokens,
}

impl Split {
    /// Returns the tokens that the model had to process: all but those read.
    pub fn processed(&self) -> Tokens {
        self.write_1h + self.write_5m + self.uncached
    }
}

/// What a lookup found. [`PromptCache::segments`] holds the causes until the next lookup.
#[derive(Clone, Copy, Debug)]
pub struct Accounting {
    /// The parts of the prompt.
    pub split: Split,
    /// The entry that is read.
    pub hit: Option<PrefixId>,
    /// Up to where the prompt is cached once the response has begun.
    pub cached: Tokens,
    /// Tokens that an earlier request of the same key held (the perfect cache of semantics A6).
    pub held: Tokens,
    /// Whether this is a miss in the client's sense (semantics A5).
    pub is_miss: bool,
    /// Whether this is a rebuild that the client brought about (semantics A5).
    pub is_expected_rebuild: bool,
}

/// The prompt cache of a provider.
///
/// [`PromptCache::lookup`] accounts a request and changes nothing; [`PromptCache::commit`] then
/// writes and refreshes entries. Between the two the caller learns how long the response takes,
/// since an entry becomes readable when it begins (semantics E4).
#[derive(Clone, Debug)]
pub struct PromptCache {
    pub(super) tree: PromptTree,
    rules: Rules,
    segments: Vec<Segment>,
    blocks: Vec<(u64, Cause)>,
}

/// The settings that act on every request.
#[derive(Clone, Copy, Debug)]
struct Rules {
    lookback: u32,
    first_pays: bool,
    from_response_end: bool,
    refresh_on_read: bool,
    refresh_shorter: RefreshShorter,
    slack: SimDuration,
}

impl PromptCache {
    /// Returns an empty cache that follows `policy`.
    pub fn new(policy: &CachePolicy) -> PromptCache {
        let rules = Rules {
            lookback: policy.lookback,
            first_pays: policy.concurrent_cold_writes == ColdWrites::First,
            from_response_end: policy.ttl_clock == TtlClock::ResponseEnd,
            refresh_on_read: policy.refresh_on_read,
            refresh_shorter: policy.refresh_shorter,
            slack: policy.expiry_slack,
        };
        let tree = PromptTree::new(policy.collapse_tool_runs);
        PromptCache { tree, rules, segments: Vec::new(), blocks: Vec::new() }
    }

    /// Forgets all prompts and entries and keeps the memory.
    pub fn clear(&mut self) {
        self.tree.clear();
        self.segments.clear();
    }

    /// Returns the prompts.
    pub fn tree(&self) -> &PromptTree {
        &self.tree
    }

    /// Returns the prompts, to append blocks.
    pub fn tree_mut(&mut self) -> &mut PromptTree {
        &mut self.tree
    }

    /// Returns the causes of the processed tokens of the last lookup; they sum to them.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Returns when the entry at a prefix becomes readable, if one is or was written.
    pub fn readable_at(&self, prefix: PrefixId) -> Option<SimTime> {
        let entry = self.entry(prefix);
        (entry.expires > SimTime::BEGINNING).then_some(entry.readable_at)
    }

    /// Returns when the entry at a prefix ends, if one is or was written.
    pub fn expires_at(&self, prefix: PrefixId) -> Option<SimTime> {
        let expires = self.entry(prefix).expires;
        (expires > SimTime::BEGINNING).then_some(expires)
    }

    /// Returns whether the commit of a request will write the entry at one of its breakpoints.
    pub fn will_write(
        &self,
        request: &CacheRequest<'_>,
        accounting: &Accounting,
        at: PrefixId,
    ) -> bool {
        self.is_writable(at, accounting.hit, request.minimum)
            && !self.left_to_another(at, request.start)
    }

    /// Returns what `request` reads, writes and processes at its start, and finds the causes.
    pub fn lookup(&mut self, request: &CacheRequest<'_>) -> Accounting {
        debug_assert!(request.breakpoints.len() <= BREAKPOINTS_MAX, "at most four breakpoints");
        let found = self.find_hit(request);
        let hit = if request.early_miss { None } else { found };
        let bounds = self.bounds(request, hit);
        self.attribute(request, hit, found, &bounds);
        self.conclude(request, hit, &bounds)
    }

    /// Sums up an attribution.
    pub(super) fn conclude(
        &self,
        request: &CacheRequest<'_>,
        hit: Option<PrefixId>,
        bounds: &Bounds,
    ) -> Accounting {
        let split = bounds.split();
        let processed = self.segments.iter().map(|segment| segment.tokens).sum::<u64>();
        assert_eq!(processed, split.processed().get(), "causes must sum to the processed tokens");
        let missed: u64 =
            self.segments.iter().filter(|s| s.cause.is_miss()).map(|segment| segment.tokens).sum();
        let readable = split.read.get() + missed;
        let is_expected_rebuild = request.expected != Expected::Nothing;
        Accounting {
            split,
            hit,
            cached: Tokens::new(bounds.last_write),
            held: Tokens::new(self.tree.held_end(request.prompt)).max(split.read),
            is_miss: !is_expected_rebuild
                && missed >= MISS_TOKENS_MIN
                && missed * MISS_SHARE_INVERSE > readable,
            is_expected_rebuild,
        }
    }

    /// Writes and refreshes entries for a request whose response begins at `first_token` and ends
    /// at `end` (semantics E4, E5, E7).
    pub fn commit(
        &mut self,
        request: &CacheRequest<'_>,
        accounting: &Accounting,
        first_token: SimTime,
        end: SimTime,
    ) {
        let clock = if self.rules.from_response_end { end } else { request.start };
        if let Some(hit) = accounting.hit
            && self.rules.refresh_on_read
        {
            self.refresh(hit, clock);
            self.refresh_shorter(request, hit, clock);
        }
        for breakpoint in request.breakpoints {
            if self.will_write(request, accounting, breakpoint.at) {
                self.write(*breakpoint, request.start, first_token, clock);
            }
        }
        self.tree.mark_held(request.prompt);
    }

    fn entry(&self, prefix: PrefixId) -> &Entry {
        &self.tree.nodes[prefix.0 as usize].entry
    }

    pub(super) fn depth(&self, prefix: PrefixId) -> u32 {
        self.tree.nodes[prefix.0 as usize].depth
    }

    pub(super) fn end(&self, prefix: PrefixId) -> u64 {
        self.tree.nodes[prefix.0 as usize].end
    }

    /// Finds the entry that is read: windows from the last breakpoint backwards (semantics E3).
    pub(super) fn find_hit(&self, request: &CacheRequest<'_>) -> Option<PrefixId> {
        let mut untested = u32::MAX;
        for breakpoint in request.breakpoints.iter().rev() {
            let top = self.tree.nodes[breakpoint.at.0 as usize].position;
            let lowest = (top + 1).saturating_sub(self.rules.lookback);
            let mut index = breakpoint.at.0;
            loop {
                let node = &self.tree.nodes[index as usize];
                if node.depth == 0 || node.position < lowest {
                    break;
                }
                if node.depth < untested && is_readable(&node.entry, request.start) {
                    return Some(PrefixId(index));
                }
                untested = untested.min(node.depth);
                index = node.parent;
            }
        }
        None
    }

    /// Finds where reading ends and where each kind of write ends (semantics A1).
    pub(super) fn bounds(&self, request: &CacheRequest<'_>, hit: Option<PrefixId>) -> Bounds {
        let read = hit.map_or(0, |hit| self.end(hit));
        let prompt = self.end(request.prompt);
        let mut bounds =
            Bounds { read, plain: read, write_1h: read, last_write: read, end: prompt };
        for breakpoint in request.breakpoints {
            if !self.is_writable(breakpoint.at, hit, request.minimum) {
                continue;
            }
            let end = self.end(breakpoint.at);
            if self.left_to_another(breakpoint.at, request.start) {
                bounds.plain = end;
            }
            if breakpoint.ttl == Ttl::OneHour {
                bounds.write_1h = end;
            }
            bounds.last_write = end;
        }
        bounds
    }

    /// Returns whether a breakpoint stands above the hit and reaches the minimum (semantics E2,
    /// E7). Blocks may be empty, so that not tokens but blocks tell what stands above.
    fn is_writable(&self, at: PrefixId, hit: Option<PrefixId>, minimum: Tokens) -> bool {
        self.depth(at) > hit.map_or(0, |hit| self.depth(hit)) && self.end(at) >= minimum.get()
    }

    /// Returns whether only the first of several cold requests pays this write (semantics E4).
    fn left_to_another(&self, prefix: PrefixId, now: SimTime) -> bool {
        let entry = self.entry(prefix);
        self.rules.first_pays && entry.readable_at > now && entry.expires > now
    }

    /// Fills `segments` with the cause of every processed token, in prompt order.
    pub(super) fn attribute(
        &mut self,
        request: &CacheRequest<'_>,
        hit: Option<PrefixId>,
        found: Option<PrefixId>,
        bounds: &Bounds,
    ) {
        self.segments.clear();
        let mut from = bounds.read;
        if request.breakpoints.is_empty() {
            self.emit(Cause::CachingDisabled, &mut from, bounds.end, bounds);
            return;
        }
        let last = self.end(request.breakpoints[request.breakpoints.len() - 1].at);
        if last < request.minimum.get() {
            self.emit(Cause::BelowMinimum, &mut from, last, bounds);
        }
        let reach = self.reach(request, hit);
        let marked = last;
        // A prefix that a live entry still covers has not expired, though entries of earlier
        // requests below it have: nothing but the miss or the window kept it from being read.
        if request.early_miss {
            self.emit(Cause::EarlyMiss, &mut from, found.map_or(0, |at| self.end(at)), bounds);
        }
        self.emit(Cause::SiblingNotReady, &mut from, reach.pending.min(reach.readable), bounds);
        self.emit(Cause::LookbackExceeded, &mut from, reach.readable, bounds);
        self.emit(Cause::ExpiredWhileLimited, &mut from, reach.expired_while_limited, bounds);
        self.emit(Cause::Expired, &mut from, reach.expired, bounds);
        self.emit(Cause::SiblingNotReady, &mut from, reach.pending, bounds);
        match request.expected {
            Expected::Nothing => {}
            Expected::Compaction => self.emit(Cause::Compaction, &mut from, bounds.end, bounds),
            Expected::ClearedToolResults => {
                self.emit(Cause::ClearedToolResults, &mut from, bounds.end, bounds);
            }
        }
        if from == bounds.end {
            return;
        }
        match request.last {
            Some(last) => {
                if let Some(cause) = self.change(&last, request.prompt) {
                    self.emit(cause, &mut from, last.cached.get().min(marked), bounds);
                }
                self.emit(Cause::NewContent, &mut from, bounds.end, bounds);
            }
            None => self.attribute_first(request, &mut from, bounds),
        }
    }

    /// Attributes what an agent starts with: its start-up context and its task (semantics A5).
    fn attribute_first(&mut self, request: &CacheRequest<'_>, from: &mut u64, bounds: &Bounds) {
        self.blocks.clear();
        let mut index = request.prompt.0 as usize;
        while self.tree.nodes[index].end > *from {
            let node = &self.tree.nodes[index];
            let startup = node.startup || node.end <= request.inherited.get();
            self.blocks
                .push((node.end, if startup { Cause::ColdStart } else { Cause::NewContent }));
            index = node.parent as usize;
        }
        while let Some((end, cause)) = self.blocks.pop() {
            self.emit(cause, from, end, bounds);
        }
    }

    /// Finds how far each state of entries above the hit reaches. What stands after the last
    /// breakpoint is new content: the client did not ask for it to be read.
    fn reach(&self, request: &CacheRequest<'_>, hit: Option<PrefixId>) -> Reach {
        let mut reach = Reach::default();
        let now = request.start;
        let bottom = hit.map_or(0, |hit| self.depth(hit));
        let mut index = request.breakpoints.last().map_or(request.prompt, |mark| mark.at).0;
        loop {
            let node = &self.tree.nodes[index as usize];
            if node.depth <= bottom {
                return reach;
            }
            index = node.parent;
            let entry = &node.entry;
            if entry.expires == SimTime::BEGINNING {
                continue;
            }
            let live = now < entry.expires;
            let mut ended = entry.former_expiry;
            if entry.readable_at > now {
                reach.pending = reach.pending.max(node.end);
            } else if live {
                reach.readable = reach.readable.max(node.end);
                continue;
            } else if entry.readable_at < entry.expires {
                ended = entry.expires;
            }
            if ended == SimTime::BEGINNING {
                continue;
            }
            if request.ready < ended {
                reach.expired_while_limited = reach.expired_while_limited.max(node.end);
            } else {
                reach.expired = reach.expired.max(node.end);
            }
        }
    }

    /// Returns the cause when the prompt no longer continues what this agent had cached.
    fn change(&self, last: &LastPrompt, prompt: PrefixId) -> Option<Cause> {
        let (equal, level) = self.tree.divergence(last.prompt, prompt);
        let level = level.filter(|_| last.cached.get() > equal)?;
        if equal == 0 {
            let before = self.tree.key_of(last.prompt);
            let now = self.tree.key_of(prompt);
            if before.model != now.model {
                return Some(Cause::PrefixChangedModel);
            }
            if before.effort != now.effort {
                return Some(Cause::PrefixChangedEffort);
            }
        }
        Some(match level {
            Level::Tools => Cause::PrefixChangedTools,
            Level::System => Cause::PrefixChangedSystem,
            Level::Messages => Cause::PrefixChangedMessages,
        })
    }

    /// Adds the tokens from `from` up to `to` under one cause, by price category.
    fn emit(&mut self, cause: Cause, from: &mut u64, to: u64, bounds: &Bounds) {
        let to = to.min(bounds.end);
        for (category, end) in bounds.categories() {
            let upper = to.min(end);
            if *from < upper {
                self.push(Segment { cause, category, tokens: upper - *from });
                *from = upper;
            }
        }
    }

    fn push(&mut self, segment: Segment) {
        if let Some(last) = self.segments.last_mut()
            && last.cause == segment.cause
            && last.category == segment.category
        {
            last.tokens += segment.tokens;
            return;
        }
        self.segments.push(segment);
    }

    fn refresh(&mut self, prefix: PrefixId, clock: SimTime) {
        let slack = self.rules.slack;
        let entry = &mut self.tree.nodes[prefix.0 as usize].entry;
        entry.expires = entry.expires.max(clock + entry.ttl.duration() + slack);
    }

    fn refresh_shorter(&mut self, request: &CacheRequest<'_>, hit: PrefixId, clock: SimTime) {
        match self.rules.refresh_shorter {
            RefreshShorter::None => {}
            RefreshShorter::Breakpoints => {
                for breakpoint in request.breakpoints {
                    let live = request.start < self.entry(breakpoint.at).expires;
                    if live && self.depth(breakpoint.at) < self.depth(hit) {
                        self.refresh(breakpoint.at, clock);
                    }
                }
            }
            RefreshShorter::All => {
                let mut at = hit;
                while let Some(shorter) = self.tree.parent(at) {
                    if request.start < self.entry(shorter).expires {
                        self.refresh(shorter, clock);
                    }
                    at = shorter;
                }
            }
        }
    }

    pub(super) fn write(
        &mut self,
        at: Breakpoint,
        now: SimTime,
        first_token: SimTime,
        clock: SimTime,
    ) {
        let expires = clock + at.ttl.duration() + self.rules.slack;
        let entry = &mut self.tree.nodes[at.at.0 as usize].entry;
        if now < entry.expires {
            entry.readable_at = entry.readable_at.min(first_token);
            entry.expires = entry.expires.max(expires);
            entry.ttl = entry.ttl.max(at.ttl);
            return;
        }
        let had_been_readable = entry.readable_at <= now && entry.readable_at < entry.expires;
        let former_expiry = if had_been_readable { entry.expires } else { entry.former_expiry };
        *entry = Entry { readable_at: first_token, expires, former_expiry, ttl: at.ttl };
    }
}

/// Live and readable (semantics E3, E5): at the instant of expiry an entry is gone.
fn is_readable(entry: &Entry, now: SimTime) -> bool {
    entry.readable_at <= now && now < entry.expires
}

/// Positions in a prompt, in tokens: where reading, plain input, one-hour and five-minute writes
/// end. What follows the last write is plain input again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) read: u64,
    pub(super) plain: u64,
    pub(super) write_1h: u64,
    pub(super) last_write: u64,
    pub(super) end: u64,
}

impl Bounds {
    fn categories(&self) -> [(Category, u64); 4] {
        [
            (Category::Uncached, self.plain),
            (Category::Write1h, self.write_1h),
            (Category::Write5m, self.last_write),
            (Category::Uncached, self.end),
        ]
    }

    fn split(&self) -> Split {
        Split {
            read: Tokens::new(self.read),
            write_1h: Tokens::new(self.write_1h.saturating_sub(self.plain)),
            write_5m: Tokens::new(self.last_write - self.write_1h.max(self.plain)),
            uncached: Tokens::new(self.plain - self.read + self.end - self.last_write),
        }
    }
}

/// How far, in tokens, entries of each state above the hit reach.
#[derive(Clone, Copy, Debug, Default)]
struct Reach {
    expired: u64,
    expired_while_limited: u64,
    pending: u64,
    readable: u64,
}
