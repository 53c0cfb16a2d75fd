//! A second prompt cache, written from the semantics alone and as simply as possible.
//!
//! Goal: to be wrong in other ways than `forkcast::cache`. Prompts are whole lists of blocks,
//! entries a plain list that is scanned, and every rule is a loop over the list. Only settings and
//! the names of causes are shared with the library.

use std::collections::BTreeMap;

use forkcast::cache::{
    BlockKind, CacheKey, CachePolicy, Cause, ColdWrites, Expected, Level, RefreshShorter, Ttl,
    TtlClock,
};
use forkcast::units::SimTime;

/// A block; equal identities are equal blocks (B1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) id: u16,
    pub(crate) tokens: u64,
    pub(crate) kind: BlockKind,
    pub(crate) startup: bool,
}

/// What an agent's previous request was.
#[derive(Clone, Debug)]
pub(crate) struct Previous {
    pub(crate) key: CacheKey,
    pub(crate) prompt: Vec<Block>,
    pub(crate) cached: u64,
}

/// A request: a key, a whole prompt and its marks, each a number of blocks.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(crate) key: CacheKey,
    pub(crate) prompt: Vec<Block>,
    pub(crate) marks: Vec<(usize, Ttl)>,
    pub(crate) start: SimTime,
    pub(crate) ready: SimTime,
    pub(crate) minimum: u64,
    pub(crate) early_miss: bool,
    pub(crate) last: Option<Previous>,
    pub(crate) inherited: u64,
    pub(crate) expected: Expected,
}

/// What is charged for a token that is not read: the same three categories as the library's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Charge {
    Uncached,
    Write5m,
    Write1h,
}

/// All that the two caches must agree on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    /// Number of blocks of the entry that is read.
    pub(crate) hit: Option<usize>,
    pub(crate) read: u64,
    pub(crate) write_1h: u64,
    pub(crate) write_5m: u64,
    pub(crate) uncached: u64,
    pub(crate) cached: u64,
    pub(crate) held: u64,
    pub(crate) is_miss: bool,
    pub(crate) causes: BTreeMap<(Cause, Charge), u64>,
}

/// One life of an entry, from a write to its end.
#[derive(Debug)]
struct Life {
    key: CacheKey,
    chain: Vec<u16>,
    ttl: Ttl,
    readable_at: SimTime,
    expires: SimTime,
}

/// What stands at one length of a prompt when a request starts.
struct Standing {
    tokens: u64,
    readable: bool,
    pending: bool,
    ended: Option<SimTime>,
}

/// The cache: every life that ever was, every prompt that was ever sent.
pub(crate) struct Naive {
    policy: CachePolicy,
    lives: Vec<Life>,
    sent: Vec<(CacheKey, Vec<Block>)>,
}

fn tokens(prompt: &[Block]) -> u64 {
    prompt.iter().map(|block| block.tokens).sum()
}

fn is_run_kind(kind: BlockKind) -> bool {
    kind == BlockKind::ToolUse || kind == BlockKind::ToolResult
}

fn common(left: &[Block], right: &[Block]) -> usize {
    left.iter().zip(right).take_while(|(a, b)| a.id == b.id).count()
}

/// B1: tools, then system, then messages.
fn level(prompt: &[Block], index: usize) -> Level {
    let mut kinds = prompt[..=index].iter().map(|block| block.kind).peekable();
    while kinds.next_if_eq(&BlockKind::Tool).is_some() {}
    if kinds.peek().is_none() {
        return Level::Tools;
    }
    while kinds.next_if_eq(&BlockKind::System).is_some() {}
    if kinds.peek().is_none() { Level::System } else { Level::Messages }
}

impl Naive {
    pub(crate) fn new(policy: &CachePolicy) -> Naive {
        Naive { policy: policy.clone(), lives: Vec::new(), sent: Vec::new() }
    }

    fn at<'a>(&'a self, ask: &'a Ask, length: usize) -> impl Iterator<Item = &'a Life> {
        self.lives.iter().filter(move |life| {
            life.chain.len() == length
                && life.key == ask.key
                && life.chain.iter().zip(&ask.prompt).all(|(id, block)| *id == block.id)
        })
    }

    /// E3 to E5: live and readable; at the instant of expiry it is gone.
    fn readable(&self, ask: &Ask, length: usize) -> bool {
        self.at(ask, length).any(|life| life.readable_at <= ask.start && ask.start < life.expires)
    }

    /// E3: the lengths that one mark tests, in order.
    fn window(&self, ask: &Ask, mark: usize) -> Vec<usize> {
        let mut tested = Vec::new();
        let mut positions = 0;
        for length in (1..=mark).rev() {
            let kind = ask.prompt[length - 1].kind;
            let same_run = self.policy.collapse_tool_runs
                && is_run_kind(kind)
                && length < mark
                && ask.prompt[length].kind == kind;
            if !same_run {
                positions += 1;
            }
            if positions > self.policy.lookback {
                break;
            }
            tested.push(length);
        }
        tested
    }

    /// E3: the first match, from the last mark backwards.
    fn find(&self, ask: &Ask) -> Option<usize> {
        ask.marks
            .iter()
            .rev()
            .flat_map(|(mark, _)| self.window(ask, *mark))
            .find(|length| self.readable(ask, *length))
    }

    /// E2 and E7: the marks that are written or left to another.
    fn writable(ask: &Ask, hit: Option<usize>) -> Vec<(usize, Ttl)> {
        let above = |length: usize| hit.is_none_or(|hit| length > hit);
        let long_enough = |length: usize| tokens(&ask.prompt[..length]) >= ask.minimum;
        ask.marks.iter().copied().filter(|(at, _)| above(*at) && long_enough(*at)).collect()
    }

    /// E4 with `first`: another request is writing this very entry.
    fn left_to_another(&self, ask: &Ask, length: usize) -> bool {
        self.policy.concurrent_cold_writes == ColdWrites::First
            && self
                .at(ask, length)
                .any(|life| life.readable_at > ask.start && ask.start < life.expires)
    }

    /// Answers a request and changes nothing.
    pub(crate) fn answer(&self, ask: &Ask) -> Answer {
        let found = self.find(ask);
        let hit = if ask.early_miss { None } else { found };
        let prompt = tokens(&ask.prompt);
        let until = |length: usize| tokens(&ask.prompt[..length]);
        let writable = Naive::writable(ask, hit);
        // A1, in its own letters.
        let a = hit.map_or(0, until);
        let long = writable.iter().rfind(|(_, ttl)| *ttl == Ttl::OneHour);
        let b = long.map_or(a, |(length, _)| until(*length));
        let c = writable.last().map_or(b, |(length, _)| until(*length));
        let left = writable.iter().rfind(|(length, _)| self.left_to_another(ask, *length));
        let plain = left.map_or(a, |(length, _)| until(*length));
        let charge = |position: u64| match position {
            _ if position <= plain || position > c => Charge::Uncached,
            _ if position <= b => Charge::Write1h,
            _ => Charge::Write5m,
        };
        let mut answer = Answer { hit, read: a, cached: c, ..Answer::default() };
        let mut from = a;
        for to in Naive::cuts(ask) {
            if to <= from {
                continue;
            }
            let cause = self.cause(ask, hit, found, to);
            *answer.causes.entry((cause, charge(to))).or_default() += to - from;
            from = to;
        }
        let charged = |charge: Charge| {
            answer.causes.iter().filter(|((_, of), _)| *of == charge).map(|(_, count)| count).sum()
        };
        (answer.write_1h, answer.write_5m, answer.uncached) =
            (charged(Charge::Write1h), charged(Charge::Write5m), charged(Charge::Uncached));
        if left.is_none() {
            let parts = (answer.write_1h, answer.write_5m, answer.uncached);
            assert_eq!(parts, (b - a, c - b, prompt - c), "A1 as a formula");
        }
        answer.held = self.held(ask);
        answer.is_miss = Naive::is_miss(ask, &answer);
        answer
    }

    /// Positions at which a cause or a charge can change.
    fn cuts(ask: &Ask) -> Vec<u64> {
        let prompt = tokens(&ask.prompt);
        let mut cuts: Vec<u64> = (1..=ask.prompt.len()).map(|n| tokens(&ask.prompt[..n])).collect();
        cuts.extend(ask.last.iter().map(|last| last.cached).filter(|cached| *cached <= prompt));
        cuts.sort_unstable();
        cuts
    }

    fn standing(&self, ask: &Ask, length: usize) -> Standing {
        let ended = |life: &Life| life.readable_at < life.expires && life.expires <= ask.start;
        Standing {
            tokens: tokens(&ask.prompt[..length]),
            readable: self.readable(ask, length),
            pending: self.at(ask, length).any(|life| life.readable_at > ask.start),
            ended: self.at(ask, length).filter(|l| ended(l)).map(|life| life.expires).max(),
        }
    }

    /// A5: the first cause that applies to the token at `position`.
    ///
    /// Readings where the text leaves a choice: a prefix that a live entry still covers has not
    /// expired; a prompt is `below_minimum` up to its last mark when even that one is too short;
    /// after a change all is blamed on it up to where the agent's earlier prompt was cached; what
    /// stands after the last mark is new, whatever entries stand there.
    fn cause(&self, ask: &Ask, hit: Option<usize>, found: Option<usize>, position: u64) -> Cause {
        let Some((last_mark, _)) = ask.marks.last() else {
            return Cause::CachingDisabled;
        };
        let marked = *last_mark;
        let last_mark = tokens(&ask.prompt[..marked]);
        if last_mark < ask.minimum && position <= last_mark {
            return Cause::BelowMinimum;
        }
        let above: Vec<Standing> = (hit.map_or(1, |hit| hit + 1)..=marked)
            .map(|length| self.standing(ask, length))
            .filter(|standing| standing.tokens >= position)
            .collect();
        let live = above.iter().any(|standing| standing.readable);
        let ended: Vec<SimTime> = above.iter().filter_map(|standing| standing.ended).collect();
        if !live && ended.iter().any(|ended| *ended > ask.ready) {
            return Cause::ExpiredWhileLimited;
        }
        if !live && !ended.is_empty() {
            return Cause::Expired;
        }
        if ask.early_miss && found.is_some_and(|at| tokens(&ask.prompt[..at]) >= position) {
            return Cause::EarlyMiss;
        }
        if above.iter().any(|standing| standing.pending && !standing.readable) {
            return Cause::SiblingNotReady;
        }
        if live {
            return Cause::LookbackExceeded;
        }
        match ask.expected {
            Expected::Compaction => Cause::Compaction,
            Expected::ClearedToolResults => Cause::ClearedToolResults,
            Expected::Nothing if position > last_mark && ask.last.is_some() => Cause::NewContent,
            Expected::Nothing => Naive::own_cause(ask, position),
        }
    }

    /// A5: causes that lie in the agent's own prompts.
    fn own_cause(ask: &Ask, position: u64) -> Cause {
        let Some(last) = &ask.last else {
            let reaches = |length: &usize| tokens(&ask.prompt[..*length]) >= position;
            let length = (1..=ask.prompt.len()).find(reaches).expect("a position of the prompt");
            let inherited = tokens(&ask.prompt[..length]) <= ask.inherited;
            let startup = ask.prompt[length - 1].startup;
            return if startup || inherited { Cause::ColdStart } else { Cause::NewContent };
        };
        let equal = if last.key == ask.key { common(&last.prompt, &ask.prompt) } else { 0 };
        let differs = last.key != ask.key || equal < last.prompt.len().min(ask.prompt.len());
        let was_cached = last.cached > tokens(&ask.prompt[..equal]) && position <= last.cached;
        if !differs || !was_cached {
            return Cause::NewContent;
        }
        if last.key.model != ask.key.model {
            return Cause::PrefixChangedModel;
        }
        if last.key.effort != ask.key.effort {
            return Cause::PrefixChangedEffort;
        }
        match level(&last.prompt, equal).min(level(&ask.prompt, equal)) {
            Level::Tools => Cause::PrefixChangedTools,
            Level::System => Cause::PrefixChangedSystem,
            Level::Messages => Cause::PrefixChangedMessages,
        }
    }

    /// A6: tokens of blocks whose whole chain an earlier request of the key held.
    fn held(&self, ask: &Ask) -> u64 {
        let same_key = self.sent.iter().filter(|(key, _)| *key == ask.key);
        same_key.map(|(_, sent)| tokens(&sent[..common(sent, &ask.prompt)])).max().unwrap_or(0)
    }

    /// A5: more than 5 % and at least 2,000 tokens of what could have been read.
    fn is_miss(ask: &Ask, answer: &Answer) -> bool {
        let missed: u64 = answer
            .causes
            .iter()
            .filter(|((cause, _), _)| {
                let name = cause.name();
                name.starts_with("expired")
                    || name.starts_with("prefix_changed")
                    || matches!(cause, Cause::EarlyMiss | Cause::LookbackExceeded)
            })
            .map(|(_, count)| count)
            .sum();
        let could = missed + answer.read;
        ask.expected == Expected::Nothing && missed >= 2_000 && missed * 100 > could * 5
    }

    /// Writes and refreshes (E1, E4, E5, E7).
    pub(crate) fn commit(&mut self, ask: &Ask, answer: &Answer, begins: SimTime, ends: SimTime) {
        let from_end = self.policy.ttl_clock == TtlClock::ResponseEnd;
        let clock = if from_end { ends } else { ask.start };
        if let Some(hit) = answer.hit.filter(|_| self.policy.refresh_on_read) {
            for length in 1..=hit {
                let marked = ask.marks.iter().any(|(mark, _)| *mark == length);
                let refreshed = match self.policy.refresh_shorter {
                    _ if length == hit => true,
                    RefreshShorter::All => true,
                    RefreshShorter::Breakpoints => marked,
                    RefreshShorter::None => false,
                };
                if refreshed {
                    self.refresh(ask, length, clock);
                }
            }
        }
        for (length, ttl) in Naive::writable(ask, answer.hit) {
            if !self.left_to_another(ask, length) {
                self.write(ask, (length, ttl), begins, clock);
            }
        }
        self.sent.push((ask.key, ask.prompt.clone()));
    }

    fn live_index(&self, ask: &Ask, length: usize) -> Option<usize> {
        let ids: Vec<u16> = ask.prompt[..length].iter().map(|block| block.id).collect();
        self.lives
            .iter()
            .position(|life| life.key == ask.key && life.chain == ids && ask.start < life.expires)
    }

    fn refresh(&mut self, ask: &Ask, length: usize, clock: SimTime) {
        if let Some(index) = self.live_index(ask, length) {
            let life = &mut self.lives[index];
            let until = clock + life.ttl.duration() + self.policy.expiry_slack;
            life.expires = life.expires.max(until);
        }
    }

    /// E7: two cold writers make one entry with the later expiry and the longer lifetime, readable
    /// when the first of the two responses begins.
    fn write(&mut self, ask: &Ask, mark: (usize, Ttl), begins: SimTime, clock: SimTime) {
        let (length, ttl) = mark;
        let expires = clock + ttl.duration() + self.policy.expiry_slack;
        if let Some(index) = self.live_index(ask, length) {
            let life = &mut self.lives[index];
            life.readable_at = life.readable_at.min(begins);
            life.expires = life.expires.max(expires);
            life.ttl = life.ttl.max(ttl);
            return;
        }
        let chain = ask.prompt[..length].iter().map(|block| block.id).collect();
        self.lives.push(Life { key: ask.key, chain, ttl, readable_at: begins, expires });
    }
}
