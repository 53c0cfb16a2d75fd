//! The log of a replication agrees with the replication, and with itself.
//!
//! Method: the random orchestrations of `orchestration` are run once with a log and once without;
//! what the log says is added up and compared with what the engine counts on its own. Exact texts
//! and single happenings are checked on small scenarios by hand.

use std::collections::BTreeMap;

use forkcast::cache::{Cause, PrefixId};
use forkcast::ledger::Bill;
use forkcast::orchestration::{
    EventLog, Happening, LogEntry, Outcome, RefusalReason, SpanActivity, System, WaitReason,
};
use forkcast::pricing::Usage;
use forkcast::units::{Money, SimDuration, SimTime};

use crate::orchestration::world;
use crate::support::random::SplitMix;
use crate::support::scenario;

fn count(log: &EventLog, is: impl Fn(&Happening) -> bool) -> usize {
    log.happenings.iter().filter(|entry| is(&entry.happening)).count()
}

/// Adds requests up as the bill does, from the log alone.
fn assert_requests_sum_to_the_bill(log: &EventLog, system: &System, text: &str) {
    let bill: &Bill = system.bill();
    let (mut total, mut causes) = (Money::ZERO, [Money::ZERO; Cause::COUNT]);
    let mut tokens = Usage::default();
    for record in log.run.requests.iter().filter(|record| !record.is_paid) {
        let rates = &system.plan().models()[record.model].rates;
        let of_segments = record.segment_costs(rates).map(|(_, cost)| cost).sum::<Money>();
        let processed: u64 = record.segments.iter().map(|segment| segment.tokens).sum();
        assert_eq!(processed, record.split.processed().get(), "{text}");
        for (segment, cost) in record.segment_costs(rates) {
            causes[segment.cause as usize] += cost;
        }
        assert!(of_segments <= record.cost, "{text}");
        total += record.cost;
        tokens += record.usage();
    }
    assert_eq!((total, tokens), (bill.total, bill.tokens), "{text}");
    for cause in Cause::ALL {
        if !matches!(cause, Cause::Output | Cause::Read | Cause::Fees) {
            assert_eq!(causes[cause as usize], bill.causes[cause as usize], "{text}");
        }
    }
}

/// Every request begins, is answered and ends once, at its recorded times.
fn assert_requests_end(log: &EventLog, text: &str) {
    let mut times: Vec<Vec<SimTime>> = vec![Vec::new(); log.run.requests.len()];
    for entry in &log.happenings {
        match entry.happening {
            Happening::RequestStarted { request, .. }
            | Happening::ResponseBegun { request }
            | Happening::RequestEnded { request } => times[request].push(entry.at),
            _ => {}
        }
    }
    for (record, times) in log.run.requests.iter().zip(times) {
        assert_eq!(times, [record.start, record.first_token, record.end], "{text}");
    }
}

/// An agent does one thing at a time, and what it waits for sums to what the engine counts.
fn assert_spans_add_up(log: &EventLog, system: &System, text: &str) {
    let (mut free, mut wait) = (BTreeMap::new(), SimDuration::ZERO);
    let mut minimal = Vec::new();
    for entry in &log.happenings {
        match entry.happening {
            Happening::RequestStarted { request, purpose } if purpose.is_minimal() => {
                minimal.push(request);
            }
            Happening::ToolsEnded { late } => wait += late,
            _ => {}
        }
    }
    for span in log.spans() {
        assert!(span.start <= span.end, "{text}");
        match span.activity {
            SpanActivity::Request(request) if minimal.contains(&request) => continue,
            SpanActivity::Wait(WaitReason::Slot | WaitReason::Retry) => {
                wait += span.end.since(span.start);
            }
            SpanActivity::Request(_) | SpanActivity::Tools | SpanActivity::Wait(_) => {}
        }
        let before = free.insert(span.agent, span.end).unwrap_or(SimTime::BEGINNING);
        assert!(
            before <= span.start,
            "agent {} does two things at {}\n{text}",
            span.agent,
            span.start
        );
    }
    assert_eq!(wait, system.record().wait, "{text}");
    for pair in log.happenings.windows(2) {
        assert!(pair[0].at <= pair[1].at, "{text}");
    }
}

fn assert_launches_agree(log: &EventLog, system: &System, text: &str) {
    let launches = system.record().launches;
    let attempted = count(log, |what| matches!(what, Happening::LaunchAttempted { .. }));
    let started = count(log, |what| matches!(what, Happening::LaunchStarted { .. }));
    assert_eq!(attempted, launches.attempted as usize, "{text}");
    assert_eq!(started, launches.started as usize, "{text}");
    for (reason, refused) in [
        (RefusalReason::Depth, launches.refused_depth),
        (RefusalReason::Concurrency, launches.refused_concurrency),
        (RefusalReason::Fork, launches.refused_other),
    ] {
        let found = count(
            log,
            |what| matches!(what, Happening::LaunchRefused { reason: found, .. } if *found == reason),
        );
        assert_eq!(found, refused as usize, "{text}");
    }
    let ended = |wanted: &dyn Fn(Outcome) -> bool| {
        let is = |entry: &&LogEntry| matches!(entry.happening, Happening::AgentEnded { outcome } if wanted(outcome));
        log.happenings.iter().filter(|entry| entry.agent > 0).filter(is).count()
    };
    // A child that is resumed ends once more, and only its last end is counted.
    let resumed = count(log, |what| matches!(what, Happening::Resumed));
    let completed = ended(&|outcome| outcome == Outcome::Completed);
    let (least, counted) = (launches.completed as usize, launches.completed + launches.failed);
    assert!((least..=least + resumed).contains(&completed), "{text}");
    assert_eq!(ended(&|_| true), counted as usize + resumed, "{text}");
    let delivered = count(log, |what| matches!(what, Happening::ReportDelivered { .. }));
    assert!(delivered <= ended(&|_| true), "{text}");
    let failed = count(log, |what| matches!(what, Happening::AttemptFailed { .. }));
    let counted = system.record().rate_limited + system.record().overloaded;
    assert_eq!((failed, log.run.attempts.len()), (counted as usize, failed), "{text}");
}

/// Each end of an entry was announced by the last write or refresh of it, and none is left out.
fn assert_entries_expire_when_they_said(log: &EventLog, text: &str) {
    let mut lives: BTreeMap<PrefixId, SimTime> = BTreeMap::new();
    for entry in &log.happenings {
        match entry.happening {
            Happening::EntryWritten { entry: prefix, expires, .. } => {
                let before = lives.insert(prefix, expires);
                assert!(before.is_none_or(|before| entry.at < before), "{text}");
            }
            Happening::EntryRefreshed { entry: prefix, expires, .. } => {
                let before = lives.insert(prefix, expires).expect("only what lives is refreshed");
                assert!(entry.at < before && before < expires, "{text}");
            }
            Happening::EntryExpired { entry: prefix, .. } => {
                assert_eq!(lives.remove(&prefix), Some(entry.at), "{text}");
            }
            _ => {}
        }
    }
    assert!(lives.values().all(|expires| *expires > log.end), "{text}");
}

#[test]
fn logs_of_random_orchestrations_are_consistent() {
    let mut random = SplitMix(23);
    for _ in 0..400 {
        let text = world(&mut random);
        let plan = scenario(&text, &[]).base.plan;
        let mut system = System::new(plan.clone(), 7);
        let log = system.run_told(1);
        assert_requests_sum_to_the_bill(&log, &system, &text);
        assert_requests_end(&log, &text);
        assert_spans_add_up(&log, &system, &text);
        assert_launches_agree(&log, &system, &text);
        assert_entries_expire_when_they_said(&log, &text);
        let mut silent = System::new(plan, 7);
        silent.run(1);
        assert_eq!((silent.bill(), silent.record()), (system.bill(), system.record()), "{text}");
    }
}

const SMALL: &str = "profile = \"claude-code@2.1.260\"\n[session]\ncontext = \"40k\"\n[task]\n\
                     iterations = 2\noutput = 100\nreport = 900\ntool_time = \"10s\"\n";

#[test]
fn a_refused_call_is_logged_with_the_words_of_the_client() {
    let sets = [("fanout.tasks", "5"), ("limits.concurrency", "2")];
    let mut system = System::new(scenario(SMALL, &sets).base.plan, 1);
    let log = system.run_told(1);
    let refused: Vec<(u32, Option<&str>)> = log
        .happenings
        .iter()
        .filter_map(|entry| match entry.happening {
            Happening::LaunchRefused { task, reason } => {
                Some((task, system.plan().texts().refusal(reason)))
            }
            _ => None,
        })
        .collect();
    let words = Some("Concurrent subagent limit reached");
    assert_eq!(refused, [(2, words), (3, words), (4, words)]);
}

/// The parent's three entries are written at 0 and the child's too, all for five minutes; the
/// child's tool of six minutes outlasts them.
#[test]
fn entries_expire_while_a_tool_runs() {
    let sets = [("fanout.background", "false"), ("task.tool_time", "6m")];
    let log = System::new(scenario(SMALL, &sets).base.plan, 1).run_told(1);
    let mut expired: Vec<(u32, SimTime)> = log
        .happenings
        .iter()
        .filter(|entry| matches!(entry.happening, Happening::EntryExpired { .. }))
        .map(|entry| (entry.agent, entry.at))
        .collect();
    expired.sort_unstable();
    let five = SimTime::from_micros(300_000_000);
    assert_eq!(expired, [(0, five), (0, five), (0, five), (1, five), (1, five), (1, five)]);
    let tools: Vec<_> =
        log.spans().into_iter().filter(|span| span.activity == SpanActivity::Tools).collect();
    assert_eq!(tools.len(), 1);
    assert_eq!(tools[0].end.since(tools[0].start), SimDuration::from_seconds(360));
}
