//! All that happened in a replication, as one JSON object a line.
//!
//! Every line has `at_s`, decimal seconds since the start with at most six decimals (negative: paid
//! before the run), and `event`; all but the first and the last have `agent`. Lines are in the
//! order of time. Keys by event:
//!
//! | event | keys |
//! |---|---|
//! | `replication_started` | `format_version`, `program`, `scenario`, `scenario_sha256`, `variant`, `seed`, `replication` |
//! | `request_started` | `request` (its number in the log), `purpose`, with iterations `number` and `of`, `role`, `model`, `prompt_tokens`, `tokens` by line item, `causes` (`cause`, `ttl`, `tokens`, `cost_usd`), `miss`, `expected_rebuild`, `cost_usd`, `total_usd` (the bill so far); `paid` where it was paid before the run |
//! | `response_begun`, `request_ended` | `request` |
//! | `attempt_failed` | `status`, `attempt` (from 1), `retry_at_s` (`null`: given up) |
//! | `entry_written` | `entry` (the id of its last block in a trace), `tokens`, `ttl`, `expires_s` |
//! | `entry_refreshed` | `entry`, `tokens`, `expires_s` |
//! | `entry_expired` | `entry`, `tokens`; the agent is the last that wrote or read it |
//! | `tools_started` | `work_s`, alone on the machine |
//! | `tools_ended` | `late_s`, later than alone on the machine |
//! | `launch_attempted` | `task`, from 0 for each agent that delegates |
//! | `launch_refused` | `task`, `reason`, `text`: the client's words, `null` where they are not known |
//! | `launch_started` | `task`, `parent`, `kind`, `model`, `called_s`, `earliest_s` (when it might have started but for other children) |
//! | `report_delivered` | `child`, `as`: `result` or `notice` |
//! | `agent_resumed` | none: a child that had ended goes on |
//! | `agent_ended` | `outcome`, `text`: the client's words, `null` where there are none |
//! | `compaction_started` | `prompt_tokens`: what would have been sent |
//! | `compaction_ended` | `prompt_tokens`: what is sent instead |
//! | `wait_started`, `wait_ended` | `reason`: `launch`, `slot`, `retry`, `children` |
//! | `replication_ended` | `cost_usd`, `makespan_s`, `wait_s`, `outcome`, `requests` |

use serde_json::{Value, json};

use crate::cache::PrefixId;
use crate::explain::Explanation;
use crate::ledger::agent_name;
use crate::orchestration::{Happening, LogEntry};
use crate::report::Header;
use crate::report::explain_data::{length, request_entries, seconds, usd};
use crate::report::json::extend;

/// Returns the lines, without line breaks.
pub fn lines<'a>(
    header: &'a Header,
    explanation: &'a Explanation,
) -> impl Iterator<Item = String> + 'a {
    let happenings = explanation.log.happenings.iter();
    std::iter::once_with(|| first(header, explanation).to_string())
        .chain(happenings.map(|entry| line(explanation, entry).to_string()))
        .chain(std::iter::once_with(|| last(explanation).to_string()))
}

fn first(header: &Header, explanation: &Explanation) -> Value {
    let begin = explanation.log.happenings.first().map(|entry| entry.at);
    json!({
        "at_s": seconds(begin.unwrap_or_default().min(crate::units::SimTime::ZERO)),
        "event": "replication_started",
        "format_version": 1,
        "program": header.program,
        "scenario": header.scenario,
        "scenario_sha256": header.scenario_sha256,
        "variant": explanation.variant,
        "seed": explanation.seed,
        "replication": explanation.replication,
    })
}

fn last(explanation: &Explanation) -> Value {
    let end = explanation.log.happenings.last().map(|entry| entry.at);
    json!({
        "at_s": seconds(end.unwrap_or_default().max(explanation.log.end)),
        "event": "replication_ended",
        "cost_usd": usd(explanation.bill.total),
        "makespan_s": length(explanation.record.makespan),
        "wait_s": length(explanation.record.wait),
        "outcome": explanation.record.outcome.name(),
        "requests": explanation.bill.requests,
    })
}

fn line(explanation: &Explanation, entry: &LogEntry) -> Value {
    let mut object = json!({
        "at_s": seconds(entry.at),
        "agent": agent_name(entry.agent),
        "event": name(entry.happening),
    });
    let details = match entry.happening {
        Happening::RequestStarted { request, .. } => started(explanation, request),
        Happening::ResponseBegun { request } | Happening::RequestEnded { request } => {
            json!({ "request": request })
        }
        Happening::AttemptFailed { status, attempt, retry_at } => {
            json!({ "status": status, "attempt": attempt, "retry_at_s": retry_at.map(seconds) })
        }
        Happening::EntryWritten { entry, tokens, ttl, expires } => json!({
            "entry": id(entry),
            "tokens": tokens.get(),
            "ttl": ttl.name(),
            "expires_s": seconds(expires),
        }),
        Happening::EntryRefreshed { entry, tokens, expires } => {
            json!({ "entry": id(entry), "tokens": tokens.get(), "expires_s": seconds(expires) })
        }
        Happening::EntryExpired { entry, tokens } => {
            json!({ "entry": id(entry), "tokens": tokens.get() })
        }
        Happening::ToolsStarted { work } => json!({ "work_s": length(work) }),
        Happening::ToolsEnded { late } => json!({ "late_s": length(late) }),
        Happening::LaunchAttempted { .. }
        | Happening::LaunchRefused { .. }
        | Happening::LaunchStarted { .. } => launch(explanation, entry),
        Happening::ReportDelivered { child, delivery } => {
            json!({ "child": agent_name(child), "as": delivery.name() })
        }
        Happening::Resumed => json!({}),
        Happening::AgentEnded { outcome } => {
            json!({ "outcome": outcome.name(), "text": explanation.texts.outcome(outcome) })
        }
        Happening::CompactionStarted { tokens } | Happening::Compacted { tokens } => {
            json!({ "prompt_tokens": tokens.get() })
        }
        Happening::WaitStarted { reason } | Happening::WaitEnded { reason } => {
            json!({ "reason": reason.name() })
        }
    };
    extend(&mut object, details);
    object
}

fn started(explanation: &Explanation, request: usize) -> Value {
    let mut details = json!({ "request": request });
    for (key, value) in request_entries(explanation, request) {
        details[key] = value;
    }
    if explanation.log.run.requests[request].is_paid {
        details["paid"] = true.into();
    }
    details
}

fn launch(explanation: &Explanation, entry: &LogEntry) -> Value {
    match entry.happening {
        Happening::LaunchRefused { task, reason } => json!({
            "task": task,
            "reason": reason.name(),
            "text": explanation.texts.refusal(reason),
        }),
        Happening::LaunchStarted { task, parent, kind, called, earliest } => json!({
            "task": task,
            "parent": agent_name(parent),
            "kind": kind.name(),
            "model": explanation.agents[entry.agent as usize].model,
            "called_s": seconds(called),
            "earliest_s": seconds(earliest),
        }),
        Happening::LaunchAttempted { task } => json!({ "task": task }),
        other => unreachable!("{other:?} is no launch"),
    }
}

/// Returns the id under which a trace has the last block of a prefix.
fn id(entry: PrefixId) -> String {
    format!("{:08x}", entry.number())
}

/// Returns the name of an event.
const fn name(happening: Happening) -> &'static str {
    match happening {
        Happening::RequestStarted { .. } => "request_started",
        Happening::ResponseBegun { .. } => "response_begun",
        Happening::RequestEnded { .. } => "request_ended",
        Happening::AttemptFailed { .. } => "attempt_failed",
        Happening::EntryWritten { .. } => "entry_written",
        Happening::EntryRefreshed { .. } => "entry_refreshed",
        Happening::EntryExpired { .. } => "entry_expired",
        Happening::ToolsStarted { .. } => "tools_started",
        Happening::ToolsEnded { .. } => "tools_ended",
        Happening::LaunchAttempted { .. } => "launch_attempted",
        Happening::LaunchRefused { .. } => "launch_refused",
        Happening::LaunchStarted { .. } => "launch_started",
        Happening::Resumed => "agent_resumed",
        Happening::ReportDelivered { .. } => "report_delivered",
        Happening::AgentEnded { .. } => "agent_ended",
        Happening::CompactionStarted { .. } => "compaction_started",
        Happening::Compacted { .. } => "compaction_ended",
        Happening::WaitStarted { .. } => "wait_started",
        Happening::WaitEnded { .. } => "wait_ended",
    }
}
