//! Sending a request: breakpoints, cache, response time, money, record.

use crate::cache::{
    Accounting, BlockKind, Breakpoint, BreakpointName, CacheRequest, Expected, LastPrompt,
    PrefixId, RoleTtl, Ttl,
};
use crate::ledger::{Booking, Role};
use crate::orchestration::agent::{Activity, Base};
use crate::orchestration::draws::Purpose;
use crate::orchestration::event::{Event, EventClass};
use crate::orchestration::plan::FirstTokenPlan;
use crate::orchestration::recorder::Sent;
use crate::orchestration::system::{MAIN, System};
use crate::units::{Money, SimDuration, SimTime, Tokens};

/// Most keep-alives in one wait: a month of them at four minutes.
const PINGS_MAX: u32 = 10_000;

/// Entity of the streams that belong to an agent and not to a task.
const AGENT_ENTITIES: u64 = 1 << 32;

/// A request about to be sent by an agent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outgoing {
    pub(super) role: Role,
    /// Its whole prompt.
    pub(super) prompt: PrefixId,
    /// Where the last breakpoint stands.
    pub(super) end: PrefixId,
    /// Whether it stands there even if the client's list has none at the end.
    pub(super) marks_end: bool,
    /// Where the breakpoints of the start-up context stand.
    pub(super) base: Base,
    pub(super) model: usize,
    pub(super) ttl: RoleTtl,
    pub(super) output: Tokens,
    /// Where its time to first token is drawn.
    pub(super) draw: (u64, Purpose, u64),
}

/// When a request starts, and when its response begins and ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    pub(super) start: SimTime,
    pub(super) first_token: SimTime,
    pub(super) end: SimTime,
}

impl Outgoing {
    /// A place holder until there is a request.
    pub(super) const NONE: Outgoing = Outgoing {
        role: Role::Main,
        prompt: PrefixId::FIRST,
        end: PrefixId::FIRST,
        marks_end: false,
        base: Base::EMPTY,
        model: 0,
        ttl: RoleTtl { head: Ttl::FiveMinutes, tail: Ttl::FiveMinutes },
        output: Tokens::ZERO,
        draw: (0, Purpose::ExtraFirstToken, 0),
    };
}

/// The breakpoints of one request.
#[derive(Clone, Copy, Debug)]
struct Marks {
    list: [Breakpoint; 4],
    count: usize,
}

impl System {
    /// Returns the request that an agent would send with its own prompt and breakpoints.
    pub(super) fn outgoing(&self, slot: usize, role: Role, output: Tokens) -> Outgoing {
        let agent = &self.agents[slot];
        Outgoing {
            role,
            prompt: agent.prompt,
            end: agent.prompt,
            marks_end: false,
            base: agent.base,
            model: agent.model,
            ttl: self.plan.role_ttl(slot == MAIN),
            output,
            draw: (AGENT_ENTITIES + slot as u64, Purpose::ExtraFirstToken, agent.extras),
        }
    }

    /// Sends a request and returns when its response begins and ends.
    pub(super) fn send(&mut self, slot: usize, now: SimTime, out: &Outgoing) -> (SimTime, SimTime) {
        let marks = self.marks(slot, out);
        let request = self.cache_request(slot, now, out, &marks);
        let accounting = self.cache.lookup(&request);
        let context = self.cache.tree().tokens(out.prompt);
        let first_token = now + self.first_token(&accounting, context, out.draw);
        let end = first_token + self.plan.speed.time(out.output);
        let writes = self.writes(&request, &accounting);
        self.cache.commit(&request, &accounting, first_token, end);
        self.use_up(out.model, accounting.split.processed(), out.output, now);
        let cost = self.bill.book(&Booking {
            role: out.role,
            rates: &self.plan.models[out.model].rates,
            accounting: &accounting,
            segments: self.cache.segments(),
            output: out.output,
        });
        self.first_start = self.first_start.min(now);
        self.last_end = self.last_end.max(end);
        self.note_request(slot, out, &accounting, now);
        self.agents[slot].bill.cost += cost;
        let times = Times { start: now, first_token, end };
        let is_paid = false;
        let sent =
            Sent { request: &request, accounting: &accounting, writes, times, cost, is_paid };
        self.record_request(slot, out, &sent);
        (first_token, end)
    }

    /// Sends a request as soon as the provider allows it, and lets the agent go on when the
    /// response ends.
    pub(super) fn send_and_wait(&mut self, slot: usize, now: SimTime, out: &Outgoing) {
        let agent = &mut self.agents[slot];
        agent.outgoing = *out;
        agent.failures = 0;
        agent.ready = now;
        self.attempt(slot, now);
    }

    /// An agent's request is on its way.
    pub(super) fn sent(&mut self, slot: usize, first_token: SimTime) {
        match self.agents[slot].activity {
            Activity::Iterate => {
                self.count_since_compaction(slot);
                if slot != MAIN && self.agents[slot].iteration == 0 {
                    self.release_held(slot, first_token);
                }
            }
            Activity::Turn(_) => self.count_since_compaction(slot),
            Activity::Idle | Activity::Compact(_) | Activity::CompactIteration => {}
        }
    }

    /// Enters what the session paid before the run began: its entries and what it held.
    pub(super) fn enter_paid_request(&mut self, now: SimTime) {
        let out = self.outgoing(MAIN, Role::Main, Tokens::ZERO);
        let marks = self.marks(MAIN, &out);
        let request = self.cache_request(MAIN, now, &out, &marks);
        let accounting = self.cache.lookup(&request);
        let writes = self.writes(&request, &accounting);
        self.cache.commit(&request, &accounting, now, now);
        let agent = &mut self.agents[MAIN];
        agent.last = Some(LastPrompt { prompt: out.prompt, cached: accounting.cached });
        agent.last_start = now;
        let times = Times { start: now, first_token: now, end: now };
        let (cost, is_paid) = (Money::ZERO, true);
        let sent =
            Sent { request: &request, accounting: &accounting, writes, times, cost, is_paid };
        self.record_request(MAIN, &out, &sent);
    }

    fn cache_request<'a>(
        &self,
        slot: usize,
        now: SimTime,
        out: &Outgoing,
        marks: &'a Marks,
    ) -> CacheRequest<'a> {
        let agent = &self.agents[slot];
        CacheRequest {
            prompt: out.prompt,
            breakpoints: &marks.list[..marks.count],
            start: now,
            ready: if agent.failures > 0 { agent.ready } else { now },
            minimum: self.plan.models[out.model].minimum,
            early_miss: self.is_early_miss(out.draw),
            last: agent.last,
            inherited: agent.inherited,
            expected: agent.expected,
        }
    }

    /// Draws from a stream beside that of the request's own time to first token, so that variants
    /// that do the same work miss at the same requests.
    fn is_early_miss(&self, (entity, purpose, counter): (u64, Purpose, u64)) -> bool {
        let probability = self.plan.cache.early_miss_probability;
        if probability <= 0.0 {
            return false;
        }
        let stream = self.stream(entity, Purpose::EarlyMiss);
        let uniform = (stream.at((purpose as u64) << 48 | counter) >> 11) as f64;
        let uniform = uniform / (1u64 << 53) as f64;
        uniform < probability
    }

    fn first_token(
        &self,
        accounting: &Accounting,
        context: Tokens,
        (entity, purpose, counter): (u64, Purpose, u64),
    ) -> SimDuration {
        match &self.plan.first_token {
            FirstTokenPlan::Regression(regression) => {
                regression.time(accounting.split.processed(), context)
            }
            FirstTokenPlan::Drawn(sampler) => {
                sampler.sample_duration(self.stream(entity, purpose), counter)
            }
        }
    }

    /// Returns whether a prefix ends before another of the same prompt.
    fn precedes(&self, at: PrefixId, end: PrefixId) -> bool {
        self.cache.tree().depth(at) < self.cache.tree().depth(end)
    }

    /// Places the breakpoints: at distinct prefixes that are not empty, in prompt order.
    fn marks(&self, slot: usize, out: &Outgoing) -> Marks {
        let nothing = Breakpoint { at: out.prompt, ttl: Ttl::FiveMinutes };
        let mut marks = Marks { list: [nothing; 4], count: 0 };
        let mut before = out.base.root;
        for name in &self.plan.breakpoints {
            let (at, ttl) = match name {
                BreakpointName::Identity => (out.base.identity, out.ttl.head),
                BreakpointName::System => (out.base.system, out.ttl.head),
                BreakpointName::Project => (out.base.project, out.ttl.tail),
                BreakpointName::BeforeDirective => match self.agents[slot].before_directive {
                    Some(at) if self.precedes(at, out.end) => (at, out.ttl.tail),
                    Some(_) | None => continue,
                },
                BreakpointName::End => (out.end, out.ttl.tail),
            };
            if at != before {
                marks.list[marks.count] = Breakpoint { at, ttl };
                marks.count += 1;
                before = at;
            }
        }
        let is_on = !self.plan.breakpoints.is_empty();
        if out.marks_end && is_on && out.end != before && marks.count < marks.list.len() {
            marks.list[marks.count] = Breakpoint { at: out.end, ttl: out.ttl.tail };
            marks.count += 1;
        }
        marks
    }

    fn note_request(&mut self, slot: usize, out: &Outgoing, accounting: &Accounting, now: SimTime) {
        let context = self.cache.tree().tokens(out.prompt);
        let agent = &mut self.agents[slot];
        agent.last = Some(LastPrompt { prompt: out.prompt, cached: accounting.cached });
        agent.last_start = now;
        agent.expected = Expected::Nothing;
        agent.failures = 0;
        agent.extras += u64::from(matches!(out.draw.1, Purpose::ExtraFirstToken));
        agent.bill.requests += 1;
        agent.bill.last_request = context + out.output;
    }

    /// Returns what a request would have to process now.
    pub(super) fn processed(&mut self, slot: usize, now: SimTime, out: &Outgoing) -> Tokens {
        let marks = self.marks(slot, out);
        let request = self.cache_request(slot, now, out, &marks);
        self.cache.lookup(&request).split.processed()
    }

    /// Appends what has been waiting to the agent's prompt.
    pub(super) fn flush(&mut self, slot: usize) {
        let mut added = std::mem::take(&mut self.agents[slot].added);
        let mut prompt = self.agents[slot].prompt;
        for block in added.drain(..) {
            prompt = self.append(prompt, block.tokens, block.kind, false);
            if matches!(block.kind, BlockKind::ToolUse | BlockKind::AssistantText) {
                self.agents[slot].last_output = prompt;
            }
        }
        self.agents[slot].added = added;
        self.agents[slot].prompt = prompt;
    }

    /// Lets an agent wait until `resume_at`; meanwhile it may keep its entries alive
    /// (semantics L5).
    pub(super) fn wait_until(&mut self, slot: usize, now: SimTime, resume_at: SimTime) {
        self.agents[slot].resume_at = resume_at;
        if let Some(interval) = self.plan.keep_alive {
            let ping = (self.agents[slot].last_start + interval).max(now);
            let agent = &self.agents[slot];
            if ping < resume_at && agent.last.is_some() && agent.pings < PINGS_MAX {
                self.schedule(slot, ping, Event::KeepAlive, EventClass::Start);
                return;
            }
        }
        if resume_at < SimTime::NEVER {
            self.schedule(slot, resume_at, Event::RequestStart, EventClass::Start);
        }
    }

    /// Sends the minimal request that keeps a waiting agent's entries alive (semantics L5).
    pub(super) fn on_keep_alive(&mut self, slot: usize, now: SimTime) {
        let before = self.agents[slot].bill.last_request;
        let out = self.outgoing(slot, Role::KeepAlive, Tokens::ZERO);
        let expected = self.agents[slot].expected;
        let end = self.last_end;
        self.send(slot, now, &out);
        self.last_end = end;
        self.agents[slot].expected = expected;
        self.agents[slot].bill.last_request = before;
        self.agents[slot].pings += 1;
        let resume_at = self.agents[slot].resume_at;
        debug_assert!(self.agents[slot].activity != Activity::Idle || resume_at == SimTime::NEVER);
        self.wait_until(slot, now, resume_at);
    }
}
