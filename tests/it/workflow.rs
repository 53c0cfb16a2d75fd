//! Workflow fan-outs, messages to children, and the fate of refused tasks (S6, C15, D5).
//!
//! Method: small runs without randomness on the recorded profiles; every expected number is worked
//! out beside it from the profile's sizes.

use forkcast::ledger::RunLog;
use forkcast::orchestration::System;

use crate::support::{run, scenario, try_load};

fn log(text: &str, sets: &[(&str, &str)]) -> RunLog {
    System::new(scenario(text, sets).base.plan, 1).run_logged(1)
}

/// Uncached and written, and read tokens of an agent's requests.
fn requests(log: &RunLog, agent: u32) -> Vec<(u64, u64)> {
    let own = log.requests.iter().filter(|record| record.agent == agent);
    own.map(|record| (record.split.processed().get(), record.split.read.get())).collect()
}

/// Starts of an agent's first request in seconds, rounded to tenths.
fn starts(log: &RunLog, agents: std::ops::RangeInclusive<u32>) -> Vec<f64> {
    let start = |agent| {
        let first = log.requests.iter().find(|record| record.agent == agent).expect("an agent");
        (first.start.as_micros() as f64 / 1e5).round() / 10.0
    };
    agents.map(start).collect()
}

fn refused(text: &str, sets: &[(&str, &str)]) -> String {
    match try_load(text, sets) {
        Ok(_) => panic!("{sets:?} loads"),
        Err(problems) => problems.render(false),
    }
}

const WORKFLOW: &str = "profile = \"claude-code@2.1.260\"\n[session]\nprompt = 10\n[fanout]\n\
                        agent = \"workflow\"\ntasks = 5\n[task]\nreport = 100\nprompt = 20\n\
                        [latency]\nfirst_token = \"1s\"\nspeed = 1_000_000\n";
/// Tools, identity and system prompt of a workflow's agent, and the rest of its prompt.
const SHARED: u64 = 7_957 + 22 + 647;
const OWN: u64 = 170 + 20 + 1_414;

#[test]
fn a_workflow_holds_its_agents_until_the_first_response_begins() {
    let log = log(WORKFLOW, &[]);
    assert_eq!(starts(&log, 1..=5), [1.0, 2.0, 2.0, 2.0, 2.0]);
    assert_eq!(requests(&log, 1), [(SHARED + OWN, 0)]);
    for agent in 2..=5 {
        assert_eq!(requests(&log, agent), [(OWN, SHARED)], "a{agent}");
    }
    // One call of 110, one receipt of 313, a note of 19; then the answer of 9 and one notice of 450
    // with five reports of 100.
    let main = requests(&log, 0);
    assert_eq!(main.len(), 3);
    assert_eq!((main[1].0, main[2].0), (110 + 313 + 19, 9 + 450 + 5 * 100));
}

#[test]
fn the_hold_ends_after_five_seconds_and_pays_then() {
    let slow = [("latency.first_token", "7s")];
    assert_eq!(starts(&log(WORKFLOW, &slow), 1..=2), [7.0, 12.0]);
    assert_eq!(requests(&log(WORKFLOW, &slow), 2), [(SHARED + OWN, 0)]);
    for off in [("workflow.hold", "0s"), ("cache.enabled", "false")] {
        let log = log(WORKFLOW, &[off]);
        assert_eq!(starts(&log, 1..=2), [1.0, 1.0], "{off:?}");
        assert_eq!(requests(&log, 2), [(SHARED + OWN, 0)], "{off:?}");
    }
}

#[test]
fn a_workflow_queues_above_its_concurrency_and_ends_at_its_total() {
    // The product's limit of children does not hold for it.
    let sets = [("workflow.concurrency", "2"), ("limits.concurrency", "1")];
    let queued = log(WORKFLOW, &sets);
    // a1 ends at 2, when a2 begins; each takes a second.
    assert_eq!(starts(&queued, 1..=5), [1.0, 2.0, 2.0, 3.0, 3.0]);
    let system = run(WORKFLOW, &[("workflow.total", "3")]);
    let launches = system.record().launches;
    assert_eq!((launches.attempted, launches.started, launches.refused_other), (5, 3, 2));
    assert_eq!(launches.dropped, 2);
    let main = requests(&log(WORKFLOW, &[("workflow.total", "3")]), 0);
    assert_eq!(main[2].0, 9 + 450 + 3 * 100);
}

#[test]
fn what_does_not_fit_a_workflow_is_refused() {
    let cases = [
        (("fanout.background", "false"), "always runs in the background"),
        (("fanout.queue", "parent"), "queues its agents itself"),
        (("fanout.launch", "{ hold_first = \"8s\" }"), "set workflow.hold"),
        (("workflow.concurrency", "0"), "expected at least 1"),
        (("resume.messages", "1"), "`workflow` cannot be resumed"),
    ];
    for (set, expected) in cases {
        let text = refused(WORKFLOW, &[set]);
        assert!(text.contains(expected), "{text}");
    }
}

const RESUME: &str = "profile = \"claude-code@2.1.260\"\n[session]\nprompt = 10\n[fanout]\ntasks = 2\n\
                      background = false\n[resume]\nmessages = 2\niterations = 2\n[task]\n\
                      iterations = 2\noutput = 30\ntool_result = 40\nreport = 100\nprompt = 20\n\
                      [latency]\nfirst_token = \"1s\"\nspeed = 1_000_000\n";

#[test]
fn a_resumed_child_rewrites_its_context_where_its_tools_change() {
    // Tools 8,725, identity 22, system 859, project 170, prompt 20, listing 1,414.
    let first = 8_725 + 22 + 859 + 170 + 20 + 1_414;
    let step = 30 + 40;
    let history = first + step + 398;
    let rewritten = log(RESUME, &[]);
    // Two requests, then two for each of two messages; the report of 100 and a message of 39.
    let expected = [
        (first, 0),
        (step + 398, first),
        (history - 2_069 + 139, 0),
        (step + 19, history - 2_069 + 139),
        // It is in the background already.
        (139, history - 2_069 + 139 + step + 19),
        (step + 19, history - 2_069 + 2 * 139 + step + 19),
    ];
    assert_eq!(requests(&rewritten, 1), expected);
    let kept = log(RESUME, &[("resume.tools", "kept")]);
    assert_eq!(requests(&kept, 1)[2], (139, history));
    // A child that was in the background comes back with what it had.
    let background = log(RESUME, &[("fanout.background", "true")]);
    assert_eq!(requests(&background, 1)[2], (139, history - 2_069));
}

#[test]
fn messages_and_their_reports_take_turns_of_the_parent() {
    let system = run(RESUME, &[]);
    let log = log(RESUME, &[]);
    let main: Vec<u64> = requests(&log, 0).iter().map(|(processed, _)| *processed).collect();
    // Prompt; results (two of 178) whose answer is two messages; receipts; then a notice each, with
    // one more message and its receipt between; and the last two notices.
    let notice = 9 + 306 + 100;
    assert_eq!(main[1], 2 * 53 + 2 * 178 + 19);
    assert_eq!(main[2], 2 * (46 + 74) + 19);
    assert_eq!(main[3], notice);
    assert_eq!(main[4], 46 + 74 + 19);
    assert_eq!(main.len(), 3 + 4 + 2);
    let launches = system.record().launches;
    assert_eq!((launches.attempted, launches.started, launches.completed), (2, 2, 2));
    assert_eq!(launches.failed, 0);
}

#[test]
fn what_cannot_be_resumed_is_refused() {
    let cases = [
        (("fanout.agent", "explore"), "`explore` cannot be resumed"),
        (("fanout.queue", "parent"), "do not mix"),
        (("fanout.refused", "relaunch"), "do not mix"),
        (("resume.messages", "1001"), "at most 1000"),
    ];
    for (set, expected) in cases {
        let text = refused(RESUME, &[set]);
        assert!(text.contains(expected), "{text}");
    }
}

const LIMITED: &str = "profile = \"claude-code@2.1.260\"\n[session]\nprompt = 10\n[fanout]\ntasks = 5\n\
                       [limits]\nconcurrency = 2\n[task]\niterations = 2\noutput = 30\n\
                       tool_result = 40\nreport = 100\nprompt = 20\n[latency]\n\
                       first_token = \"1s\"\nspeed = 1_000_000\n";

#[test]
fn refused_tasks_are_dropped_unless_something_becomes_of_them() {
    for background in ["true", "false"] {
        let launches = |fate| {
            let sets = [("fanout.refused", fate), ("fanout.background", background)];
            run(LIMITED, &sets).record().launches
        };
        let dropped = launches("dropped");
        assert_eq!((dropped.attempted, dropped.started, dropped.dropped), (5, 2, 3));
        let inline = launches("inline");
        assert_eq!((inline.attempted, inline.started, inline.dropped), (5, 2, 0));
        // Each of the three comes back to its call, since by then a child has ended.
        let again = launches("relaunch");
        assert_eq!((again.attempted, again.started, again.completed), (8, 5, 5), "{background}");
        assert_eq!((again.refused_concurrency, again.dropped), (3, 0));
    }
}

#[test]
fn a_parent_that_does_refused_tasks_itself_keeps_what_they_need() {
    let sets = [("fanout.refused", "inline"), ("fanout.background", "false")];
    let log = log(LIMITED, &sets);
    let main = requests(&log, 0);
    // Prompt; then three tasks of two requests, the first of which brings the two results of 178
    // and three texts of 71; each step adds 30, 40 and a note of 19, each report stays.
    assert_eq!(main.len(), 1 + 3 * 2);
    assert_eq!(main[1].0, 5 * 53 + 2 * 178 + 3 * 71 + 19);
    assert_eq!(main[2].0, 30 + 40 + 19);
    assert_eq!(main[3].0, 100);
    // The work is the same as a child's: the last output of a task is its report.
    let outputs = log.requests.iter().filter(|record| record.agent == 0);
    let outputs: Vec<u64> = outputs.map(|record| record.output.get()).collect();
    assert_eq!(outputs, [5 * 53, 30, 100, 30, 100, 30, 100]);
}

#[test]
fn relaunches_follow_completions_one_by_one() {
    let sets = [("fanout.refused", "relaunch"), ("fanout.notices", "one_by_one")];
    let log = log(LIMITED, &sets);
    // a1 and a2 end together; each notice launches one of the three, the next completion the last.
    let outputs = log.requests.iter().filter(|record| record.agent == 0);
    let outputs: Vec<u64> = outputs.map(|record| record.output.get()).collect();
    // Calls; after receipts 9; notice: a call, its receipt 9; notice: a call, its receipt 9; a
    // notice with the last call, its receipt; two notices.
    assert_eq!(outputs, [5 * 53, 9, 53, 9, 53, 9, 53, 9, 9, 9]);
}
