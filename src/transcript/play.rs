//! One policy played over the requests of a project: same requests, same times, other rules.

use crate::cache::{
    Accounting, BlockKind, Breakpoint, CacheRequest, Expected, KeepAlive, LastPrompt, PrefixId,
    PromptCache, RoleTtl, Split, Ttl,
};
use crate::ledger::{Bill, Booking, Role};
use crate::pricing::{RateOptions, Usage};
use crate::transcript::policy::{ReplayLaunch, ReplayPolicy};
use crate::transcript::rates::{Rates, Unpriced};
use crate::transcript::recorded::{Recorded, RecordedStep};
use crate::transcript::walk::first_token;
use crate::units::{Money, SimDuration, SimTime, Tokens};

/// The most keep-alive requests in one wait, as in a simulation (semantics L5).
const KEEP_ALIVES_MAX: u32 = 10_000;
/// Siblings that start within this time of the first were launched together.
const TOGETHER: SimDuration = SimDuration::from_seconds(3);

/// What a policy comes to.
#[derive(Clone, Debug, Default)]
pub(super) struct Played {
    /// By session, in the order of the project.
    pub(super) bills: Vec<Bill>,
    /// What each request read and wrote, in the order of the recording; `None` where it has no
    /// price.
    pub(super) splits: Vec<Option<(Split, Money)>>,
    pub(super) unpriced: Vec<Unpriced>,
    pub(super) keep_alives: u64,
    pub(super) compactions: u64,
    /// Siblings that start later than recorded.
    pub(super) delayed: u64,
}

/// A conversation that was compacted in the replay alone.
#[derive(Clone, Copy, Debug)]
struct Shadow {
    whole: PrefixId,
    cached: PrefixId,
    /// Tokens by which its prompts are shorter than recorded; negative where they are longer.
    removed: i64,
}

#[derive(Clone, Copy, Debug, Default)]
struct AgentState {
    last: Option<LastPrompt>,
    shadow: Option<Shadow>,
    /// Where its first prompt was cached: what stays after a compaction.
    startup: Option<PrefixId>,
    /// What the last request was: its prompt, and where it was cached.
    sent: Option<(PrefixId, PrefixId)>,
}

/// What is sent, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    at: SimTime,
    what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Request(usize),
    /// The keep-alive of the agent that sent this request last.
    KeepAlive(usize),
}

/// Plays a policy.
pub(super) fn play(recorded: &Recorded<'_>, policy: &ReplayPolicy) -> Played {
    let mut play = Play {
        recorded,
        policy,
        cache: recorded.cache.emptied(&policy.cache),
        rates: Rates::new(recorded.book),
        states: vec![AgentState::default(); recorded.agents.len()],
        played: Played {
            bills: vec![Bill::default(); recorded.sessions.len()],
            splits: vec![None; recorded.steps.len()],
            ..Played::default()
        },
    };
    let delays = delays(recorded, policy.launch);
    play.played.delayed = delays.iter().filter(|delay| !delay.is_zero()).count() as u64;
    for event in events(recorded, policy, &delays) {
        match event.what {
            What::Request(number) => {
                let delay = delays[recorded.steps[number].agent];
                play.request(number, delay);
            }
            What::KeepAlive(number) => play.keep_alive(number, event.at),
        }
    }
    play.played
}

fn events(recorded: &Recorded<'_>, policy: &ReplayPolicy, delays: &[SimDuration]) -> Vec<Event> {
    let mut events = Vec::new();
    let mut next: Vec<Option<SimTime>> = vec![None; recorded.agents.len()];
    for (number, step) in recorded.steps.iter().enumerate().rev() {
        let at = step.request.start + delays[step.agent];
        events.push(Event { at, what: What::Request(number) });
        if let (KeepAlive::Every(interval), Some(until)) =
            (policy.cache.keep_alive, next[step.agent])
        {
            let mut ping = at + interval;
            let mut count = 0;
            while ping < until && count < KEEP_ALIVES_MAX {
                events.push(Event { at: ping, what: What::KeepAlive(number) });
                ping = ping + interval;
                count += 1;
            }
        }
        next[step.agent] = Some(at);
    }
    events.sort_unstable();
    events
}

/// Returns by how much later each agent sends its requests than recorded.
fn delays(recorded: &Recorded<'_>, launch: ReplayLaunch) -> Vec<SimDuration> {
    let mut delays = vec![SimDuration::ZERO; recorded.agents.len()];
    if launch == ReplayLaunch::AsRecorded {
        return delays;
    }
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (number, (session, agent)) in recorded.agents.iter().enumerate() {
        if agent.role != Role::Subagent {
            continue;
        }
        let first = &agent.requests[0];
        let is_sibling = |group: &&mut Vec<usize>| {
            let (of, other) = recorded.agents[group[0]];
            let begun = &other.requests[0];
            let is_alike =
                of == *session && other.parent == agent.parent && other.kind == agent.kind;
            let apart = first.start.since(begun.start).max(begun.start.since(first.start));
            is_alike && begun.model == first.model && apart <= TOGETHER
        };
        match groups.iter_mut().find(is_sibling) {
            Some(group) => group.push(number),
            None => groups.push(vec![number]),
        }
    }
    for group in groups {
        let begin = |number: usize| recorded.agents[number].1.requests[0].start;
        let first = group[0];
        let ready = first_token(&recorded.agents[first].1.requests[0]);
        for (position, number) in group.iter().enumerate().skip(1) {
            let from = match launch {
                ReplayLaunch::AsRecorded => begin(*number),
                ReplayLaunch::Staggered(interval) => {
                    let all = interval.as_micros().saturating_mul(position as i64);
                    begin(first) + SimDuration::from_micros(all)
                }
                ReplayLaunch::HoldFirst(most) => ready.min(begin(first) + most),
            };
            delays[*number] = from.since(begin(*number));
        }
    }
    inherit(recorded, &mut delays);
    delays
}

/// What an agent launches is later with it.
fn inherit(recorded: &Recorded<'_>, delays: &mut [SimDuration]) {
    for number in 0..recorded.agents.len() {
        let (session, agent) = recorded.agents[number];
        let is_parent = |(of, other): &(usize, &crate::transcript::Agent)| {
            *of == session && agent.parent.as_ref() == Some(&other.name)
        };
        // Parents stand before their children, since they begin before them.
        if let Some(parent) = recorded.agents[..number].iter().position(is_parent) {
            delays[number] += delays[parent];
        }
    }
}

struct Play<'p, 'a> {
    recorded: &'p Recorded<'a>,
    policy: &'p ReplayPolicy,
    cache: PromptCache,
    rates: Rates<'a>,
    states: Vec<AgentState>,
    played: Played,
}

/// A request about to be looked up.
struct Outgoing {
    prompt: PrefixId,
    marks: Vec<Breakpoint>,
    cached: PrefixId,
    expected: Expected,
}

impl<'a> Play<'_, 'a> {
    fn request(&mut self, number: usize, delay: SimDuration) {
        let step = &self.recorded.steps[number];
        let role = self.recorded.role(step.agent);
        if let Some((at, when)) = step.prompt.placed {
            self.cache.place(at, when + delay);
        }
        let out = self.outgoing(step, role);
        let state = self.states[step.agent];
        let asked = CacheRequest {
            prompt: out.prompt,
            breakpoints: &out.marks,
            start: step.request.start + delay,
            ready: step.request.ready + delay,
            minimum: step.minimum,
            early_miss: false,
            last: state.last,
            inherited: step.prompt.inherited,
            expected: out.expected,
        };
        let accounting = match step.at_most {
            Some(most) if state.shadow.is_none() => self.cache.lookup_at_most(&asked, most),
            _ => self.cache.lookup(&asked),
        };
        self.book(number, role, &accounting);
        let (first, end) = (first_token(step.request) + delay, step.request.end + delay);
        self.cache.commit(&asked, &accounting, first, end);
        let state = &mut self.states[step.agent];
        state.last = Some(LastPrompt { prompt: out.prompt, cached: accounting.cached });
        state.startup.get_or_insert(out.cached);
        state.sent = Some((out.prompt, out.cached));
    }

    /// Returns the prompt as recorded, or as it is after a compaction of the replay.
    fn outgoing(&mut self, step: &RecordedStep<'a>, role: Role) -> Outgoing {
        let ttl = self.policy.ttl(role);
        let marks = self.marks(&step.prompt.marks, step.prompt.heads, ttl);
        let cached = step.prompt.marks.last().map_or(step.prompt.at, |mark| mark.at);
        let own =
            Outgoing { prompt: step.prompt.at, marks, cached, expected: step.request.expected };
        if step.request.expected != Expected::Nothing || self.states[step.agent].sent.is_none() {
            self.states[step.agent].shadow = None;
            return own;
        }
        let removed = self.states[step.agent].shadow.map_or(0, |shadow| shadow.removed);
        let total = step.request.usage.prompt().get();
        let is_due = self
            .trigger(step, role)
            .is_some_and(|trigger| total as i64 - removed >= trigger.get() as i64)
            && self.is_worthwhile(step);
        if is_due {
            self.compact(step, role);
        } else if self.states[step.agent].shadow.is_none() {
            return own;
        }
        self.in_shadow(step, ttl, if is_due { Expected::Compaction } else { Expected::Nothing })
    }

    fn marks(&self, marks: &[Breakpoint], heads: usize, ttl: Option<RoleTtl>) -> Vec<Breakpoint> {
        if !self.policy.cache.enabled {
            return Vec::new();
        }
        let Some(ttl) = ttl else { return marks.to_vec() };
        let marks = marks.iter().enumerate();
        marks
            .map(|(index, mark)| Breakpoint {
                at: mark.at,
                ttl: if index < heads { ttl.head } else { ttl.tail },
            })
            .collect()
    }

    fn trigger(&self, step: &RecordedStep<'a>, role: Role) -> Option<Tokens> {
        let settings = &self.policy.compaction;
        if role == Role::Compaction || (settings.window.is_none() && settings.trigger.is_none()) {
            return None;
        }
        let model = self.policy.model(role).unwrap_or(&step.request.model);
        let known = self.recorded.book.model(model).map(|(_, model)| model);
        let window = known.and_then(|model| model.context_window_tokens);
        settings.trigger_tokens(window, known.and_then(|model| model.max_output_tokens))
    }

    /// Whether a compaction makes prompts shorter; one that does not would be made again and again.
    fn is_worthwhile(&self, step: &RecordedStep<'a>) -> bool {
        let state = &self.states[step.agent];
        let (Some((whole, _)), Some(startup)) = (state.sent, state.startup) else { return false };
        let settings = &self.policy.compaction;
        let kept = self.cache.tree().tokens(startup) + settings.summary + settings.reread;
        self.cache.tree().tokens(whole) > kept
    }

    /// Sends the summary request before a request, and keeps the start-up context, the summary and
    /// what is read again (semantics K2, K3).
    fn compact(&mut self, step: &RecordedStep<'a>, role: Role) {
        let state = self.states[step.agent];
        let (Some((whole, cached)), Some(startup)) = (state.sent, state.startup) else { return };
        let settings = &self.policy.compaction;
        let mut append =
            |at, tokens| self.cache.tree_mut().append(at, tokens, BlockKind::UserText, false);
        let prompt = append(whole, settings.instruction);
        let kept = append(startup, settings.summary + settings.reread);
        let ttl = self.policy.ttl(Role::Compaction).unwrap_or_default().tail;
        let marks = [Breakpoint { at: cached, ttl }];
        let start = step.request.start;
        let asked = CacheRequest {
            prompt,
            breakpoints: if self.policy.cache.enabled { &marks } else { &[] },
            start,
            ready: start,
            minimum: step.minimum,
            early_miss: false,
            last: state.last,
            inherited: Tokens::ZERO,
            expected: Expected::Nothing,
        };
        let accounting = self.cache.lookup(&asked);
        let output = settings.summary;
        self.charge((step, role, Role::Compaction), &accounting, output);
        self.cache.commit(&asked, &accounting, start, start);
        self.played.compactions += 1;
        // What this request adds comes after the summary.
        let before = self.cache.tree().tokens(whole).get() as i64
            + state.shadow.map_or(0, |shadow| shadow.removed);
        let removed = before - self.cache.tree().tokens(kept).get() as i64;
        let startup = self.states[step.agent].startup.unwrap_or(kept);
        self.states[step.agent].shadow = Some(Shadow { whole: kept, cached: startup, removed });
    }

    /// Puts a prompt together that goes on from a compaction of the replay.
    fn in_shadow(
        &mut self,
        step: &RecordedStep<'a>,
        ttl: Option<RoleTtl>,
        expected: Expected,
    ) -> Outgoing {
        let Some(shadow) = self.states[step.agent].shadow else {
            unreachable!("a prompt of the replay comes after a compaction of it")
        };
        let total = (step.request.usage.prompt().get() as i64 - shadow.removed).max(0) as u64;
        let uncached = step.request.usage.uncached.get();
        let mut at = shadow.whole;
        for end in [total.saturating_sub(uncached), total] {
            let tokens = end.saturating_sub(self.cache.tree().tokens(at).get());
            if tokens > 0 {
                let tokens = Tokens::new(tokens);
                at = self.cache.tree_mut().append(at, tokens, BlockKind::UserText, false);
            }
        }
        let cached = Tokens::new(total.saturating_sub(uncached));
        let end = self.cache.tree().within(at, cached);
        let last = step.prompt.marks.last().map_or(Ttl::default(), |mark| mark.ttl);
        let tail = ttl.map_or(last, |ttl| ttl.tail);
        let head = ttl.map_or(last, |ttl| ttl.head).max(tail);
        let heads = &step.prompt.marks[..step.prompt.heads];
        let depth = self.cache.tree().depth(shadow.cached);
        let heads = heads.iter().filter(|mark| self.cache.tree().depth(mark.at) <= depth);
        let heads = heads.map(|mark| Breakpoint { at: mark.at, ttl: head });
        let mut marks: Vec<Breakpoint> = heads.chain([Breakpoint { at: end, ttl: tail }]).collect();
        if !self.policy.cache.enabled {
            marks.clear();
        }
        self.states[step.agent].shadow = Some(Shadow { whole: at, ..shadow });
        Outgoing { prompt: at, marks, cached: end, expected }
    }

    /// Sends the minimal request that keeps a waiting agent's entries alive (semantics L5).
    fn keep_alive(&mut self, number: usize, at: SimTime) {
        let step = &self.recorded.steps[number];
        let role = self.recorded.role(step.agent);
        let state = self.states[step.agent];
        let Some((_, cached)) = state.sent else { return };
        if !self.policy.cache.enabled {
            return;
        }
        let recorded = step.prompt.marks.last().map_or(Ttl::default(), |mark| mark.ttl);
        let ttl = self.policy.ttl(role).map_or(recorded, |ttl| ttl.tail);
        let marks = [Breakpoint { at: cached, ttl }];
        let asked = CacheRequest {
            prompt: cached,
            breakpoints: &marks,
            start: at,
            ready: at,
            minimum: step.minimum,
            early_miss: false,
            last: state.last,
            inherited: Tokens::ZERO,
            expected: Expected::Nothing,
        };
        let accounting = self.cache.lookup(&asked);
        self.charge((step, role, Role::KeepAlive), &accounting, Tokens::ZERO);
        self.cache.commit(&asked, &accounting, at, at);
        self.played.keep_alives += 1;
    }

    fn book(&mut self, number: usize, role: Role, accounting: &Accounting) {
        let step = &self.recorded.steps[number];
        let output = step.request.usage.output;
        if let Some(cost) = self.charge((step, role, role), accounting, output) {
            self.played.splits[number] = Some((accounting.split, cost));
        }
    }

    /// Charges what was looked up last, and returns its cost.
    fn charge(
        &mut self,
        (step, of, role): (&RecordedStep<'a>, Role, Role),
        accounting: &Accounting,
        output: Tokens,
    ) -> Option<Money> {
        let request = step.request;
        let other = self.policy.model(of);
        // Another model may lack the modifiers of the recorded one.
        let options = if other.is_some() { RateOptions::default() } else { request.options };
        let split = &accounting.split;
        let usage = Usage {
            uncached: split.uncached,
            cache_write_5m: split.write_5m,
            cache_write_1h: split.write_1h,
            cache_read: split.read,
            output,
        };
        let model = other.unwrap_or(&request.model);
        let rates = match self.rates.of(model, options, request.start, &usage) {
            Ok(rates) => rates,
            Err(reason) => {
                Unpriced::note(&mut self.played.unpriced, request, &reason);
                return None;
            }
        };
        let fees = if of == role { self.rates.fees(request) } else { Money::ZERO };
        let bill = &mut self.played.bills[self.recorded.agents[step.agent].0];
        let segments = self.cache.segments();
        let booking = Booking { role, rates: &rates, accounting, segments, output };
        let cost = bill.book(&booking);
        bill.book_fees(role, fees);
        Some(cost + fees)
    }
}
