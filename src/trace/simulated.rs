//! A simulated run as a request trace.

use crate::cache::PromptTree;
use crate::ledger::{AttemptRecord, RequestRecord, RunLog, agent_name};
use crate::trace::{FailedAttempt, RequestLine, Trace, TraceBlock, kind_name};

/// Returns a run as a trace; its lines are numbered in the order in which they started.
pub fn simulated_trace(log: &RunLog, tree: &PromptTree, models: &[&str]) -> Trace {
    let line = |record| simulated_line(record, tree, models);
    Trace {
        requests: log.requests.iter().map(line).enumerate().collect(),
        failed: log.attempts.iter().map(simulated_attempt).enumerate().collect(),
    }
}

/// Returns the line of one failed attempt of a run.
pub fn simulated_attempt(record: &AttemptRecord) -> FailedAttempt {
    FailedAttempt {
        start: record.start,
        agent: agent_name(record.agent),
        status: record.status,
        attempt: Some(record.attempt),
    }
}

/// Returns the line of one request of a run.
///
/// `tree` holds the prompts of the records, `models` the names of the models they number. Ids of
/// blocks are numbers of prefixes, so they are equal exactly where content is.
pub fn simulated_line(record: &RequestRecord, tree: &PromptTree, models: &[&str]) -> RequestLine {
    let blocks = tree.blocks(record.prompt).into_iter().map(|(at, tokens, kind)| TraceBlock {
        id: format!("{:08x}", at.number()),
        tokens,
        kind: kind_name(kind).to_owned(),
        ttl: record.breakpoints.iter().find(|mark| mark.at == at).map(|mark| mark.ttl),
    });
    RequestLine {
        start: record.start,
        first_token: record.first_token,
        end: Some(record.end),
        agent: agent_name(record.agent),
        model: models[record.model].to_owned(),
        blocks: blocks.collect(),
        usage: Some(record.usage()),
        output: record.output,
        is_paid: record.is_paid,
    }
}
