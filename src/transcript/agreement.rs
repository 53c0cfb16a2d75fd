//! Whether the rules predict what real sessions read, from sizes and times alone.

use std::collections::BTreeMap;

use crate::cache::{Accounting, CachePolicy, CacheRequest, Expected, TtlClock};
use crate::ledger::Role;
use crate::transcript::Trigger;
use crate::transcript::recorded::{Recorded, RecordedStep};
use crate::transcript::walk::first_token;
use crate::units::{SimDuration, SimTime};

/// How often the rules say hit or miss as the provider did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Agreement {
    /// Requests that could be predicted: neither an agent's first nor after a rebuild.
    pub requests: u64,
    /// Those with the verdict that was recorded.
    pub same_verdict: u64,
    /// Those in which every part of the prompt is as recorded, to the token.
    pub same_tokens: u64,
    /// The others, by what tells them apart.
    pub differences: BTreeMap<Difference, u64>,
}

/// Why a verdict is not the one predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Difference {
    /// Less was read after a prompt of the user: tools, modes or reminders had changed, which a
    /// transcript does not tell.
    ChangedWithPrompt,
    /// Less was read after results of tools, when nothing changes: an early miss.
    EarlyMiss,
    /// An entry was read after its lifetime.
    Outlived,
}

impl Difference {
    /// All of them.
    pub const ALL: [Difference; 3] =
        [Difference::ChangedWithPrompt, Difference::EarlyMiss, Difference::Outlived];

    /// Returns the key used in results.
    pub const fn name(self) -> &'static str {
        match self {
            Difference::ChangedWithPrompt => "changed_with_prompt",
            Difference::EarlyMiss => "early_miss",
            Difference::Outlived => "outlived",
        }
    }
}

impl Agreement {
    pub(super) fn add(&mut self, other: &Agreement) {
        self.requests += other.requests;
        self.same_verdict += other.same_verdict;
        self.same_tokens += other.same_tokens;
        for (difference, number) in &other.differences {
            *self.differences.entry(*difference).or_default() += number;
        }
    }

    /// Returns the share of requests with the recorded verdict; 1 where there are none.
    pub fn share(&self) -> f64 {
        if self.requests == 0 { 1.0 } else { self.same_verdict as f64 / self.requests as f64 }
    }
}

/// How well one clock of lifetimes tells hits from misses (semantics E5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockFit {
    /// From when lifetimes count.
    pub clock: TtlClock,
    /// Time for which entries outlive them.
    pub slack: SimDuration,
    /// Verdicts that are not as recorded.
    pub wrong: u64,
    /// Requests sent within a minute of the end of a lifetime by either clock: only these can tell
    /// clocks apart.
    pub near: u64,
}

/// Seconds of slack that are tried.
const SLACKS: [i64; 8] = [0, 5, 10, 15, 20, 30, 40, 60];
/// How near the end of a lifetime a request must be to tell clocks apart.
const NEAR: SimDuration = SimDuration::from_seconds(60);

/// Predicts the requests of a project; `recorded` must be built from sizes alone. One sum for each
/// session: its main session's requests, and those of all its agents.
pub(super) fn agreement(
    recorded: &Recorded<'_>,
    policy: &CachePolicy,
) -> Vec<(Agreement, Agreement)> {
    let mut sums = vec![(Agreement::default(), Agreement::default()); recorded.sessions.len()];
    predict(recorded, policy, |step, predicted, found| {
        let mut one = Agreement { requests: 1, ..Agreement::default() };
        one.same_tokens = u64::from(predicted.split == step.split);
        if predicted.is_miss == found.is_miss {
            one.same_verdict = 1;
        } else {
            let difference = match (predicted.is_miss, step.request.trigger) {
                (true, _) => Difference::Outlived,
                (false, Trigger::Prompt) => Difference::ChangedWithPrompt,
                (false, Trigger::Tool) => Difference::EarlyMiss,
            };
            one.differences.insert(difference, 1);
        }
        let (main, all) = &mut sums[recorded.agents[step.agent].0];
        all.add(&one);
        if recorded.role(step.agent) == Role::Main {
            main.add(&one);
        }
    });
    sums
}

/// Tries clocks and slacks on a project.
pub(super) fn clock_fits(recorded: &Recorded<'_>, policy: &CachePolicy) -> Vec<ClockFit> {
    let near = near_the_end(recorded);
    let mut fits = Vec::new();
    for clock in [TtlClock::RequestStart, TtlClock::ResponseEnd] {
        for slack in SLACKS.map(SimDuration::from_seconds) {
            let tried = CachePolicy { ttl_clock: clock, expiry_slack: slack, ..policy.clone() };
            let mut wrong = 0;
            predict(recorded, &tried, |_, predicted, found| {
                wrong += u64::from(predicted.is_miss != found.is_miss);
            });
            fits.push(ClockFit { clock, slack, wrong, near });
        }
    }
    fits
}

fn near_the_end(recorded: &Recorded<'_>) -> u64 {
    let mut last: Vec<Option<(SimTime, SimTime)>> = vec![None; recorded.agents.len()];
    let mut near = 0;
    for step in &recorded.steps {
        let start = step.request.start;
        if let (Some((sent, end)), Some(mark)) = (last[step.agent], step.prompt.marks.last()) {
            let ttl = mark.ttl.duration();
            let is_near = |from: SimTime| {
                let pause = start.since(from);
                pause + NEAR >= ttl && pause <= ttl + NEAR
            };
            near += u64::from(is_near(sent) || is_near(end));
        }
        last[step.agent] = Some((start, step.request.end));
    }
    near
}

/// Looks every request up as the rules say, and goes on from what really was.
fn predict(
    recorded: &Recorded<'_>,
    policy: &CachePolicy,
    mut see: impl FnMut(&RecordedStep<'_>, &Accounting, &Accounting),
) {
    let mut cache = recorded.cache.emptied(policy);
    for step in &recorded.steps {
        if let Some((at, when)) = step.prompt.placed {
            cache.place(at, when);
        }
        let asked = CacheRequest {
            prompt: step.prompt.at,
            breakpoints: &step.prompt.marks,
            start: step.request.start,
            ready: step.request.ready,
            minimum: step.minimum,
            early_miss: false,
            last: step.prompt.last,
            inherited: step.prompt.inherited,
            expected: step.request.expected,
        };
        let predicted = cache.lookup(&asked);
        let found = cache.explain(&asked, &step.split);
        if step.prompt.last.is_some() && step.request.expected == Expected::Nothing {
            see(step, &predicted, &found);
        }
        cache.commit(&asked, &found, first_token(step.request), step.request.end);
    }
}
