//! A replication for the Perfetto UI, as a trace in Chrome's JSON format.
//!
//! Each agent is a thread with slices for requests (and in them the time to the first token), tools
//! and waits, and with instants for what happens at once. Minimal requests (keep-alives, pre-warms)
//! go on while an agent does something else and have a thread of their own, because slices of one
//! thread must nest. Counters show the bill, the entries that live and the prompt of each agent.
//! The format is that of the Trace Event Format document of the Chromium project.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::explain::Explanation;
use crate::ledger::agent_name;
use crate::orchestration::{Happening, LogEntry, Span, SpanActivity, WaitReason};
use crate::report::Header;
use crate::report::explain_data::{request_entries, usd};
use crate::report::number::tokens;
use crate::units::SimTime;

/// Number of the only process.
const PROCESS: u32 = 1;

/// Returns the trace as one JSON object with a line for each event, without line breaks.
pub fn lines(header: &Header, explanation: &Explanation) -> impl Iterator<Item = String> {
    let mut events = Vec::new();
    events.extend(names(header, explanation));
    let spans = explanation.log.spans();
    events.extend(spans.iter().flat_map(|span| slices(explanation, span)));
    events
        .extend(explanation.log.happenings.iter().filter_map(|entry| instant(explanation, entry)));
    events.extend(counters(explanation));
    let other = json!({ "program": header.program, "reproduce": header.reproduce });
    let first = format!("{{\"displayTimeUnit\":\"ms\",\"otherData\":{other},\"traceEvents\":[");
    let last = events.len() - 1;
    let line = move |(number, event): (usize, Value)| {
        format!("{event}{}", if number < last { "," } else { "" })
    };
    std::iter::once(first)
        .chain(events.into_iter().enumerate().map(line))
        .chain(std::iter::once("]}".to_owned()))
}

/// The thread of an agent, or of its minimal requests.
const fn thread(agent: u32, is_minimal: bool) -> u32 {
    2 * agent + 1 + is_minimal as u32
}

/// Microseconds; what was paid before the run stands at its beginning.
fn micros(at: SimTime) -> i64 {
    at.max(SimTime::ZERO).as_micros()
}

fn is_minimal(explanation: &Explanation, activity: SpanActivity) -> bool {
    match activity {
        SpanActivity::Request(request) => explanation.requests[request].purpose.is_minimal(),
        SpanActivity::Tools | SpanActivity::Wait(_) => false,
    }
}

/// Names of the process and of its threads, in the order of agents.
fn names(header: &Header, explanation: &Explanation) -> Vec<Value> {
    let meta = |thread: u32, name: &str, args: Value| {
        let (phase, process) = ("M", PROCESS);
        json!({ "ph": phase, "pid": process, "tid": thread, "name": name, "args": args })
    };
    let title = header.title.as_deref().unwrap_or(&header.scenario);
    let name =
        format!("{title} ({}, replication {})", explanation.variant, explanation.replication);
    let mut events = vec![meta(0, "process_name", json!({ "name": name }))];
    let mut minimal = BTreeSet::new();
    for (record, account) in explanation.log.run.requests.iter().zip(&explanation.requests) {
        if account.purpose.is_minimal() {
            minimal.insert(record.agent);
        }
    }
    for (number, agent) in (0..).zip(&explanation.agents) {
        let kind = agent.kind.map_or("main session", |kind| kind.name());
        let name = format!("{} ({kind}, {})", agent.name, agent.model);
        let own = thread(number, false);
        events.push(meta(own, "thread_name", json!({ "name": name })));
        events.push(meta(own, "thread_sort_index", json!({ "sort_index": own })));
        if minimal.contains(&number) {
            let beside = thread(number, true);
            let name = format!("{}: minimal requests", agent.name);
            events.push(meta(beside, "thread_name", json!({ "name": name })));
            events.push(meta(beside, "thread_sort_index", json!({ "sort_index": beside })));
        }
    }
    events
}

/// A span as a slice; in a request stands the time to its first token.
fn slices(explanation: &Explanation, span: &Span) -> Vec<Value> {
    let thread = thread(span.agent, is_minimal(explanation, span.activity));
    let slice = |name: &str, category: &str, [start, end]: [SimTime; 2], args: Value| {
        let (start, end) = (micros(start), micros(end));
        json!({
            "ph": "X",
            "pid": PROCESS,
            "tid": thread,
            "ts": start,
            "dur": end - start,
            "name": name,
            "cat": category,
            "args": args,
        })
    };
    let whole = [span.start, span.end];
    match span.activity {
        SpanActivity::Request(request) => {
            let record = &explanation.log.run.requests[request];
            if record.is_paid {
                return Vec::new();
            }
            let entries = request_entries(explanation, request).into_iter();
            let mut args = json!({ "request": request });
            entries.for_each(|(key, value)| args[key] = value);
            let name = explanation.requests[request].purpose.name();
            let begun = [record.start, record.first_token];
            vec![
                slice(name, "request", whole, args),
                slice("time to first token", "request", begun, json!({})),
            ]
        }
        SpanActivity::Tools => vec![slice("tools", "tools", whole, json!({}))],
        SpanActivity::Wait(reason) => {
            let name = match reason {
                WaitReason::Launch => "held",
                WaitReason::Slot => "queued",
                WaitReason::Retry => "back-off",
                WaitReason::Children => "waits for children",
            };
            vec![slice(name, "wait", whole, json!({}))]
        }
    }
}

/// What happens at once.
fn instant(explanation: &Explanation, entry: &LogEntry) -> Option<Value> {
    let (name, args) = match entry.happening {
        Happening::LaunchRefused { task, reason } => {
            let text = explanation.texts.refusal(reason);
            (format!("refused: {}", reason.name()), json!({ "task": task, "text": text }))
        }
        Happening::AttemptFailed { status, attempt, .. } => {
            (format!("failed: {status}"), json!({ "attempt": attempt }))
        }
        Happening::EntryExpired { tokens: length, .. } => {
            let name = format!("expired: {} tokens", tokens(length.get() as f64));
            (name, json!({ "tokens": length.get() }))
        }
        Happening::ReportDelivered { child, delivery } => {
            let name = format!("{} of {}", delivery.name(), agent_name(child));
            (name, json!({}))
        }
        Happening::AgentEnded { outcome } => {
            let text = explanation.texts.outcome(outcome);
            (format!("ended: {}", outcome.name()), json!({ "text": text }))
        }
        Happening::Resumed => ("resumed".to_owned(), json!({})),
        Happening::CompactionStarted { tokens } => {
            ("compaction".to_owned(), json!({ "prompt_tokens": tokens.get() }))
        }
        Happening::RequestStarted { .. }
        | Happening::ResponseBegun { .. }
        | Happening::RequestEnded { .. }
        | Happening::EntryWritten { .. }
        | Happening::EntryRefreshed { .. }
        | Happening::ToolsStarted { .. }
        | Happening::ToolsEnded { .. }
        | Happening::LaunchAttempted { .. }
        | Happening::LaunchStarted { .. }
        | Happening::Compacted { .. }
        | Happening::WaitStarted { .. }
        | Happening::WaitEnded { .. } => return None,
    };
    Some(json!({
        "ph": "i",
        "s": "t",
        "pid": PROCESS,
        "tid": thread(entry.agent, false),
        "ts": micros(entry.at),
        "name": name,
        "cat": "instant",
        "args": args,
    }))
}

/// The bill so far, the entries that live, and the prompt of each agent, where they change.
fn counters(explanation: &Explanation) -> Vec<Value> {
    let counter = |at: SimTime, name: &str, unit: &str, value: Value| {
        let args = json!({ unit: value });
        json!({ "ph": "C", "pid": PROCESS, "ts": micros(at), "name": name, "args": args })
    };
    let mut values: BTreeMap<(i64, String), Value> = BTreeMap::new();
    let mut set = |at: SimTime, name: String, unit: &str, value: Value| {
        let event = counter(at, &name, unit, value);
        values.insert((micros(at), name), event);
    };
    let mut live = BTreeSet::new();
    for entry in &explanation.log.happenings {
        match entry.happening {
            Happening::RequestStarted { request, .. } => {
                let record = &explanation.log.run.requests[request];
                let total = explanation.requests[request].running_total;
                set(entry.at, "bill".to_owned(), "usd", usd(total));
                if !explanation.requests[request].purpose.is_minimal() {
                    let name = format!("prompt of {}", agent_name(entry.agent));
                    set(entry.at, name, "tokens", record.usage().prompt().get().into());
                }
            }
            Happening::EntryWritten { entry: prefix, .. } => {
                live.insert(prefix);
                set(entry.at, "live entries".to_owned(), "entries", live.len().into());
            }
            Happening::EntryExpired { entry: prefix, .. } => {
                live.remove(&prefix);
                set(entry.at, "live entries".to_owned(), "entries", live.len().into());
            }
            Happening::ResponseBegun { .. }
            | Happening::RequestEnded { .. }
            | Happening::AttemptFailed { .. }
            | Happening::EntryRefreshed { .. }
            | Happening::ToolsStarted { .. }
            | Happening::ToolsEnded { .. }
            | Happening::LaunchAttempted { .. }
            | Happening::LaunchRefused { .. }
            | Happening::LaunchStarted { .. }
            | Happening::Resumed
            | Happening::ReportDelivered { .. }
            | Happening::AgentEnded { .. }
            | Happening::CompactionStarted { .. }
            | Happening::Compacted { .. }
            | Happening::WaitStarted { .. }
            | Happening::WaitEnded { .. } => {}
        }
    }
    values.into_values().collect()
}
