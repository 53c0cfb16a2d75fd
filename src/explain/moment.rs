//! Where much was paid at once.

use crate::cache::Cause;
use crate::explain::{Explanation, Remedy};
use crate::ledger::RequestRecord;
use crate::orchestration::RequestPurpose;
use crate::units::{Money, SimDuration, SimTime, Tokens};

/// Requests that pay for the same reason within this time of each other make one moment.
const TOGETHER: SimDuration = SimDuration::from_seconds(60);

/// Something that cost much at one time: requests of the main session, or of children, that paid
/// for one reason, one shortly after the other.
#[derive(Clone, Debug)]
pub struct Moment {
    /// What was paid for.
    pub kind: MomentKind,
    /// Its requests, by their numbers in the log.
    pub requests: Vec<usize>,
    /// Who sent them, each once, in the order of numbers.
    pub agents: Vec<u32>,
    /// Start of the first.
    pub start: SimTime,
    /// Start of the last.
    pub end: SimTime,
    /// Tokens paid for that reason.
    pub tokens: Tokens,
    /// What they cost.
    pub cost: Money,
    /// Changes that make the whole replication cheaper, the best first.
    pub remedies: Vec<Remedy>,
    /// Changes that were tried and do not.
    pub in_vain: Vec<Remedy>,
}

/// What a moment paid for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MomentKind {
    /// Tokens processed for one cause; with `compaction` also what its summary cost.
    Cause(Cause),
    /// Turns of the parent after notices: what they read and answer.
    Notices,
}

impl MomentKind {
    /// Returns the key used in results: that of the cause, or `notices`.
    pub const fn name(self) -> &'static str {
        match self {
            MomentKind::Cause(cause) => cause.name(),
            MomentKind::Notices => "notices",
        }
    }

    /// Returns whether requests that pay for it belong together. New content is paid for by every
    /// request, and each of them stands for itself.
    const fn gathers(self) -> bool {
        !matches!(self, MomentKind::Cause(Cause::NewContent))
    }
}

/// What one request paid for one reason.
struct Part {
    kind: MomentKind,
    tokens: Tokens,
    cost: Money,
}

/// Finds the most expensive moments, at most `count`.
pub(super) fn moments(explanation: &Explanation, count: usize) -> Vec<Moment> {
    let mut found: Vec<Moment> = Vec::new();
    for (request, record) in explanation.log.run.requests.iter().enumerate() {
        if record.is_paid {
            continue;
        }
        for part in parts(explanation, request) {
            let is_near = |moment: &&mut Moment| {
                moment.kind == part.kind
                    && moment.agents.contains(&0) == (record.agent == 0)
                    && record.start <= moment.end + TOGETHER
            };
            let open = found.iter_mut().rev().find(is_near).filter(|_| part.kind.gathers());
            match open {
                Some(moment) => moment.add(request, record, &part),
                None => found.push(Moment::new(request, record, &part)),
            }
        }
    }
    found.retain(|moment| moment.cost > Money::ZERO);
    found.sort_by_key(|moment| (-moment.cost, moment.start));
    found.truncate(count);
    found
}

impl Moment {
    fn new(request: usize, record: &RequestRecord, part: &Part) -> Moment {
        Moment {
            kind: part.kind,
            requests: vec![request],
            agents: vec![record.agent],
            start: record.start,
            end: record.start,
            tokens: part.tokens,
            cost: part.cost,
            remedies: Vec::new(),
            in_vain: Vec::new(),
        }
    }

    fn add(&mut self, request: usize, record: &RequestRecord, part: &Part) {
        if self.requests.last() != Some(&request) {
            self.requests.push(request);
        }
        if let Err(place) = self.agents.binary_search(&record.agent) {
            self.agents.insert(place, record.agent);
        }
        self.end = self.end.max(record.start);
        self.tokens += part.tokens;
        self.cost += part.cost;
    }
}

/// Returns what a request paid for; reading and output only where they belong to a moment.
fn parts(explanation: &Explanation, request: usize) -> Vec<Part> {
    let account = &explanation.requests[request];
    let usage = explanation.log.run.requests[request].usage();
    let mut parts: Vec<Part> = account
        .causes
        .iter()
        .map(|one| Part { kind: MomentKind::Cause(one.cause), tokens: one.tokens, cost: one.cost })
        .collect();
    let kind = match account.purpose {
        RequestPurpose::Notices => MomentKind::Notices,
        RequestPurpose::Compaction => MomentKind::Cause(Cause::Compaction),
        RequestPurpose::Earlier
        | RequestPurpose::Prompt
        | RequestPurpose::Receipts
        | RequestPurpose::Results
        | RequestPurpose::Iteration { .. }
        | RequestPurpose::Rediscovery { .. }
        | RequestPurpose::KeepAlive
        | RequestPurpose::Prewarm => return parts,
    };
    let (tokens, cost) = (usage.cache_read + usage.output, account.read_cost + account.output_cost);
    parts.push(Part { kind, tokens, cost });
    parts
}
