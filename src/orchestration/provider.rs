//! The provider's limits and the client's retries; tool work at the machine (semantics R1, L4).

use crate::des::{Discipline, TokenBucket, WorkStation};
use crate::orchestration::draws::Purpose;
use crate::orchestration::event::{Event, EventClass};
use crate::orchestration::log::Happening;
use crate::orchestration::outcome::Outcome;
use crate::orchestration::request::Outgoing;
use crate::orchestration::settings::{Contention, Machine, Provider, ScriptedFailure};
use crate::orchestration::system::{STATION, System};
use crate::units::{SimDuration, SimTime, Tokens};

/// Status of an attempt above a rate limit.
const RATE_LIMITED: u16 = 429;
/// Status of an attempt when the provider is overloaded.
const OVERLOADED: u16 = 529;
/// Longest exponent of the doubling back-off, so that it stays within range.
const DOUBLINGS_MAX: u32 = 30;

/// The buckets of one model class.
#[derive(Clone, Debug)]
pub(super) struct Buckets {
    requests: Option<TokenBucket>,
    input: Option<TokenBucket>,
    output: Option<TokenBucket>,
}

impl Buckets {
    /// Returns full buckets.
    pub(super) fn new(provider: &Provider) -> Buckets {
        let requests = bucket(provider.requests_per_minute, provider.requests_burst);
        let tokens = |rate: Option<Tokens>, burst: Option<Tokens>| {
            bucket(rate.map(Tokens::get), burst.map(Tokens::get))
        };
        Buckets {
            requests,
            input: tokens(provider.input_tokens_per_minute, provider.input_tokens_burst),
            output: tokens(provider.output_tokens_per_minute, provider.output_tokens_burst),
        }
    }

    /// Returns how long a request has to wait if nothing else arrives. Output counts as it is
    /// produced, so a request only has to find something left of it.
    fn wait(&mut self, input: Tokens, now: SimTime) -> SimDuration {
        let of = |bucket: &mut Option<TokenBucket>, units: u64| {
            bucket.as_mut().map_or(SimDuration::ZERO, |bucket| bucket.wait(units, now))
        };
        let requests = of(&mut self.requests, 1);
        requests.max(of(&mut self.input, input.get())).max(of(&mut self.output, 1))
    }

    fn take(&mut self, input: Tokens, output: Tokens, now: SimTime) {
        let uses = [
            (&mut self.requests, 1),
            (&mut self.input, input.get()),
            (&mut self.output, output.get()),
        ];
        for (bucket, units) in uses {
            if let Some(bucket) = bucket {
                bucket.take(units, now);
            }
        }
    }
}

fn bucket(per_minute: Option<u64>, burst: Option<u64>) -> Option<TokenBucket> {
    per_minute.map(|rate| TokenBucket::new(rate, burst.unwrap_or(rate)))
}

/// Makes the station at which tools contend, if they do.
pub(super) fn station(machine: &Machine) -> Option<WorkStation> {
    let discipline = match machine.contention {
        Contention::Sharing => Discipline::Sharing,
        Contention::Queue => Discipline::Queue,
    };
    machine.cores.map(|cores| WorkStation::new(cores, discipline))
}

/// The wait after failed attempt number `tried` that states none (C18).
fn backoff(provider: &Provider, tried: u32, uniform: f64) -> SimDuration {
    let longer = 1.0 + provider.backoff_jitter * uniform;
    let doubled =
        provider.backoff.as_micros() as f64 * f64::from(1u32 << (tried - 1).min(DOUBLINGS_MAX));
    let micros = (doubled * longer + 0.5).min(SimDuration::MAX.as_micros() as f64);
    SimDuration::from_micros(micros as i64)
}

impl System {
    /// Tries to send a request; a failed attempt is tried again later, or given up.
    pub(super) fn attempt(&mut self, slot: usize, now: SimTime) {
        let out = self.agents[slot].outgoing;
        if self.plan.is_limited
            && let Some((status, wait)) = self.refusal(slot, now, &out)
        {
            self.fail_attempt(slot, now, (status, wait));
            return;
        }
        let (first_token, end) = self.send(slot, now, &out);
        let agent = &mut self.agents[slot];
        agent.pings = 0;
        agent.output = out.output;
        self.schedule(slot, end, Event::ResponseEnd, EventClass::Response);
        self.sent(slot, first_token);
    }

    /// Returns why the provider refuses an attempt, and how long the client waits.
    fn refusal(&mut self, slot: usize, now: SimTime, out: &Outgoing) -> Option<(u16, SimDuration)> {
        let tried = self.agents[slot].failures + 1;
        let (entity, purpose, counter) = out.draw;
        let place = (purpose as u64) << 48 | counter << 12 | u64::from(tried.min(4_095));
        let uniform = |what: Purpose| {
            (self.stream(entity, what).at(place) >> 11) as f64 / (1u64 << 53) as f64
        };
        let provider = &self.plan.provider;
        if let Some(failure) = self.scripted(slot) {
            let wait = failure
                .retry_after
                .unwrap_or_else(|| backoff(provider, tried, uniform(Purpose::Backoff)));
            return Some((failure.status, wait));
        }
        if uniform(Purpose::Overload) < provider.overload_probability {
            return Some((OVERLOADED, backoff(provider, tried, uniform(Purpose::Backoff))));
        }
        let input = self.processed(slot, now, out);
        let wait = self.buckets(out.model).wait(input, now);
        (!wait.is_zero()).then_some((RATE_LIMITED, wait))
    }

    /// Returns how the script lets the agent's next attempt fail, if it does.
    fn scripted(&self, slot: usize) -> Option<&ScriptedFailure> {
        let agent = &self.agents[slot];
        let request = agent.bill.requests + 1;
        let script = self.plan.provider.failures.iter();
        script
            .filter(|failure| failure.agent_number() == Some(slot) && failure.request == request)
            .nth(agent.failures as usize)
    }

    fn fail_attempt(&mut self, slot: usize, now: SimTime, (status, wait): (u16, SimDuration)) {
        self.first_start = self.first_start.min(now);
        let agent = &mut self.agents[slot];
        agent.failures += 1;
        if status == OVERLOADED {
            self.record.overloaded += 1;
        } else {
            self.record.rate_limited += 1;
        }
        let gives_up = self.plan.provider.tries.is_some_and(|tries| agent.failures >= tries);
        self.note_attempt(slot, now, status, (!gives_up).then(|| now + wait));
        if gives_up {
            self.agents[slot].failures = 0;
            self.stop(slot, now, Outcome::RateLimited);
            return;
        }
        self.record.wait += wait;
        self.schedule(slot, now + wait, Event::Retry, EventClass::Start);
    }

    /// The buckets of a model's class.
    fn buckets(&mut self, model: usize) -> &mut Buckets {
        let shared = self.plan.same_model || self.plan.provider.shared;
        &mut self.limits[if shared { 0 } else { model }]
    }

    /// Takes what a request uses from the buckets.
    pub(super) fn use_up(&mut self, model: usize, input: Tokens, output: Tokens, now: SimTime) {
        if self.plan.is_limited {
            self.buckets(model).take(input, output, now);
        }
    }

    /// Starts the tool work of an agent; on a machine of few cores it contends with others'.
    pub(super) fn start_tools(&mut self, slot: usize, now: SimTime, work: SimDuration) {
        self.note(slot, now, Happening::ToolsStarted { work });
        let Some(station) = &mut self.station else {
            self.note(slot, now + work, Happening::ToolsEnded { late: SimDuration::ZERO });
            self.wait_until(slot, now, now + work);
            return;
        };
        station.arrive(slot, work, now);
        self.agents[slot].tools_due = now + work;
        self.wait_until(slot, now, SimTime::NEVER);
        self.schedule_station();
    }

    /// The next tool work at the machine has ended.
    pub(super) fn on_station(&mut self, now: SimTime) {
        while let Some(slot) = self.station.as_mut().and_then(|station| station.depart(now)) {
            let late = now.since(self.agents[slot].tools_due);
            self.record.wait += late;
            self.note(slot, now, Happening::ToolsEnded { late });
            self.schedule(slot, now, Event::RequestStart, EventClass::Start);
        }
        self.schedule_station();
    }

    fn schedule_station(&mut self) {
        match self.station.as_ref().and_then(WorkStation::next_end) {
            Some(end) => self.events.schedule(STATION, end, EventClass::Response as u8),
            None => self.events.cancel(STATION),
        }
    }
}
