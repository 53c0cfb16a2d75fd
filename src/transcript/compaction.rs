//! Summary requests of compactions: transcripts tell that there was one, not what it cost.
//!
//! The request is put together as the client does it (semantics K2; C16): the history as last sent
//! with a final instruction, the last breakpoint after the newest own output in it. Clients that
//! wrote a file for it (`agent-acompact-*`) need no estimate.

use crate::ledger::Role;
use crate::pricing::Usage;
use crate::transcript::account::cost_of;
use crate::transcript::chain::BYTES_PER_TOKEN;
use crate::transcript::rates::Rates;
use crate::transcript::{Agent, CompactionMark, Request, Session};
use crate::units::{Money, SimDuration, SimTime, Tokens};
use crate::workload::Compaction;

/// A summary in the transcript that is shorter than this is no summary but what was left when
/// texts were taken out.
const SUMMARY_BYTES_MIN: u64 = 1_000;
/// The longest that a summary usually takes: 80 to 130 s lie between the last request and the first
/// after it (transcripts.md, section 3).
const SUMMARY_TIME: SimDuration = SimDuration::from_seconds(120);

/// Summary requests that no transcript holds, estimated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompactionEstimate {
    /// Number of requests.
    pub requests: u64,
    /// Their tokens.
    pub tokens: Usage,
    /// Their cost.
    pub cost: Money,
}

impl CompactionEstimate {
    pub(super) fn plus(self, other: &CompactionEstimate) -> CompactionEstimate {
        let mut sum = self;
        sum.requests += other.requests;
        sum.tokens += other.tokens;
        sum.cost += other.cost;
        sum
    }
}

/// Estimates the summary requests of a session that it does not hold.
pub(super) fn summary_requests(
    session: &Session,
    rates: &mut Rates<'_>,
    covers: impl Fn(SimTime) -> bool,
) -> CompactionEstimate {
    let recorded = session.agents.iter().filter(|agent| agent.role == Role::Compaction);
    let recorded: Vec<SimTime> =
        recorded.flat_map(|agent| &agent.requests).map(|request| request.start).collect();
    let mut sum = CompactionEstimate::default();
    for agent in session.agents.iter().filter(|agent| agent.role != Role::Compaction) {
        for mark in agent.compactions.iter().filter(|mark| covers(mark.at)) {
            let Some(last) = last_before(agent, mark) else { continue };
            let is_recorded = recorded.iter().any(|at| last.start <= *at && *at <= mark.at);
            if is_recorded {
                continue;
            }
            let usage = summary_usage(agent, mark, last);
            let Some(cost) = cost_of(rates, last, &usage) else { continue };
            sum = sum.plus(&CompactionEstimate { requests: 1, tokens: usage, cost });
        }
    }
    sum
}

fn last_before<'a>(agent: &'a Agent, mark: &CompactionMark) -> Option<&'a Request> {
    agent.requests.get(mark.requests_before.checked_sub(1)?)
}

fn summary_usage(agent: &Agent, mark: &CompactionMark, last: &Request) -> Usage {
    let settings = Compaction::default();
    let output = match mark.summary_bytes {
        bytes if bytes < SUMMARY_BYTES_MIN => settings.summary,
        bytes => Tokens::new(bytes / BYTES_PER_TOKEN),
    };
    let history = last.usage.prompt();
    let prompt = history + settings.instruction;
    let before = mark.requests_before.checked_sub(2).and_then(|row| agent.requests.get(row));
    // Where the newest own output in the history ends, and what had been cached before it.
    let marked = before
        .map(|before| (before.usage.prompt() + before.usage.output, cached(before)))
        .filter(|(end, cached)| *end <= history && cached <= end);
    let (end, read) = marked.unwrap_or((prompt, cached(last)));
    let start = last.end.max(SimTime::from_micros(mark.at.as_micros() - SUMMARY_TIME.as_micros()));
    let is_hourly = !last.usage.cache_write_1h.is_zero();
    let ttl = SimDuration::from_seconds(if is_hourly { 3_600 } else { 300 });
    let read = if start < last.start + ttl { read } else { Tokens::ZERO };
    Usage {
        uncached: prompt.saturating_sub(end),
        cache_write_5m: end - read,
        cache_write_1h: Tokens::ZERO,
        cache_read: read,
        output,
    }
}

fn cached(request: &Request) -> Tokens {
    request.usage.prompt() - request.usage.uncached
}
