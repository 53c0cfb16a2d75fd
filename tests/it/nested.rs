//! Children that launch children: who runs, who waits, what enters whose context (semantics 6).
//!
//! Method: small trees without randomness on the recorded profile; every expected number is worked
//! out beside it from the profile's sizes.

use forkcast::ledger::RunLog;
use forkcast::orchestration::System;

use crate::support::program::expect;
use crate::support::{run, scenario, try_load};

const TREE: &str = "profile = \"claude-code@2.1.260\"\n[session]\nprompt = 10\n[fanout]\ntasks = 2\n\
                    background = false\n[nested]\ncount = 2\n[task]\niterations = 1\nreport = 100\n\
                    prompt = 20\n[latency]\nfirst_token = \"1s\"\nspeed = 1_000_000\n";

fn log(sets: &[(&str, &str)]) -> RunLog {
    System::new(scenario(TREE, sets).base.plan, 1).run_logged(1)
}

/// Uncached and written, and read tokens of an agent's requests.
fn requests(log: &RunLog, agent: u32) -> Vec<(u64, u64)> {
    let own = log.requests.iter().filter(|record| record.agent == agent);
    own.map(|record| (record.split.processed().get(), record.split.read.get())).collect()
}

#[test]
fn a_tree_of_foreground_children_is_walked_to_the_depth_limit_and_back() {
    let system = run(TREE, &[]);
    let launches = system.record().launches;
    // Two, then two each, then two each; the third layer is at the limit.
    assert_eq!((launches.attempted, launches.started, launches.completed), (14, 14, 14));
    let counts: Vec<u64> = system.agent_bills().map(|bill| bill.requests).collect();
    // Main: calls, answer. a1 to a6 (two layers): calls, report. a7 to a14: report.
    assert_eq!(counts, [vec![2; 7], vec![1; 8]].concat());
    // Each layer asks and answers once while the one above waits: 2 x 3 requests and the leaves' 1.
    assert!((system.record().makespan.as_seconds() - 7.0).abs() < 0.01);
}

#[test]
fn what_a_child_reads_follows_from_tools_and_from_who_came_before() {
    let log = log(&[]);
    // Tools 8,725, identity 22, system 859; project 170, prompt 20, listing 1,414.
    let (shared, own) = (8_725 + 22 + 859, 170 + 20 + 1_414);
    // The first layer starts together and cold; the second reads what the first wrote.
    assert_eq!(requests(&log, 1)[0], (shared + own, 0));
    assert_eq!(requests(&log, 2)[0], (shared + own, 0));
    assert_eq!(requests(&log, 3)[0], (own, shared));
    // At the limit the tool is missing (768), so nothing is shared with the layers above.
    assert_eq!(requests(&log, 7)[0], (shared - 768 + own, 0));
    assert_eq!(requests(&log, 14)[0], (shared - 768 + own, 0));
    // Two calls of 53, two results of 78 + 100, and the first note with the listing of agents.
    let grown = 2 * 53 + 2 * 178 + 19 + 379;
    assert_eq!(requests(&log, 1)[1], (grown, shared + own));
    assert_eq!(requests(&log, 3)[1], (grown, shared + own));
}

#[test]
fn the_product_limits_children_of_all_layers_together() {
    // One child runs and asks for three; two more may run.
    let sets = [
        ("fanout.tasks", "1"),
        ("nested.count", "3"),
        ("limits.concurrency", "3"),
        ("limits.depth", "2"),
    ];
    let launches = run(TREE, &sets).record().launches;
    assert_eq!((launches.attempted, launches.started), (4, 3));
    assert_eq!((launches.refused_concurrency, launches.completed), (1, 3));
    // Three calls of 53, two results of 178, one text of 71, the note.
    assert_eq!(requests(&log(&sets), 1)[1].0, 3 * 53 + 2 * 178 + 71 + 398);
}

#[test]
fn calls_of_a_fork_are_refused() {
    for (depth, refused) in [("3", (0, 2)), ("1", (2, 0))] {
        let sets = [("fanout.agent", "fork"), ("fanout.tasks", "1"), ("limits.depth", depth)];
        let launches = run(TREE, &sets).record().launches;
        assert_eq!((launches.attempted, launches.started), (3, 1));
        assert_eq!((launches.refused_depth, launches.refused_other), refused);
        // Two calls of 53, two texts of 71, a note of 19.
        assert_eq!(requests(&log(&sets), 1)[1].0, 2 * 53 + 2 * 71 + 19);
    }
}

#[test]
fn a_child_reports_when_its_background_children_have_reported() {
    let base = [("fanout.tasks", "1"), ("nested.background", "true"), ("limits.depth", "2")];
    // a1: calls; receipts, where its task is done before its children; then each notice on its own,
    // or both together. The last of these responses is the report.
    for (notices, expected) in [("one_by_one", 4), ("batched", 3)] {
        let sets = [&base[..], &[("fanout.notices", notices)]].concat();
        let log = log(&sets);
        assert_eq!(requests(&log, 1).len(), expected, "{notices}");
        let launches = run(TREE, &sets).record().launches;
        assert_eq!((launches.started, launches.completed), (3, 3), "{notices}");
        let end = |agent| log.requests.iter().filter(|r| r.agent == agent).map(|r| r.end).max();
        assert!(end(1) > end(2) && end(1) > end(3), "{notices}");
        assert!(end(0) > end(1), "{notices}: main waits for the report");
    }
}

#[test]
fn a_child_may_work_before_it_delegates_and_its_own_work_is_the_same() {
    let count = |after: &str| {
        let sets = [
            ("task.iterations", "3"),
            ("nested.after", after),
            ("nested.count", "1"),
            ("fanout.tasks", "1"),
            ("limits.depth", "2"),
            ("task.output", "{ sequence = [40, 50] }"),
        ];
        let log = log(&sets);
        let own = log.requests.iter().filter(|record| record.agent == 1);
        own.map(|record| record.output.get()).collect::<Vec<_>>()
    };
    assert_eq!(count("0"), [53, 40, 50, 100]);
    assert_eq!(count("1"), [40, 53, 50, 100]);
    assert_eq!(count("2"), [40, 50, 53, 100]);
    // The report comes last in any case.
    assert_eq!(count("9"), [40, 50, 53, 100]);
}

#[test]
fn the_size_of_a_random_tree_is_that_of_a_branching_process() {
    // Each child has 0, 1, 2 or 3 children, alike, with probability 0.6: 0.9 on average; 3 layers
    // below 4 tasks. Goal: |z| < 4 of the mean number of children, 4 (1 + 0.9 + 0.81).
    let sets = [
        ("fanout.tasks", "4"),
        ("nested.count", "{ empirical = [0, 1, 2, 3] }"),
        ("nested.probability", "0.6"),
    ];
    let mut system = System::new(scenario(TREE, &sets).base.plan, 1);
    let sizes: Vec<f64> = (1..=4_000)
        .map(|replication| {
            system.run(replication);
            f64::from(system.record().launches.started)
        })
        .collect();
    let mean = sizes.iter().sum::<f64>() / 4_000.0;
    let variance = sizes.iter().map(|size| (size - mean).powi(2)).sum::<f64>() / 3_999.0;
    let z = (mean - 4.0 * (1.0 + 0.9 + 0.81)) / (variance / 4_000.0).sqrt();
    assert!(z.abs() < 4.0, "mean {mean}, z = {z:.2}");
}

#[test]
fn trees_without_an_end_are_refused_and_the_largest_is_told() {
    let refused = |sets: &[(&str, &str)]| match try_load(TREE, sets) {
        Ok(_) => panic!("{sets:?} loads"),
        Err(problems) => problems.render(false),
    };
    let text = refused(&[("nested.count", "{ exponential = { mean = 2 } }")]);
    assert!(text.contains("nested.count: has no greatest value"), "{text}");
    let text = refused(&[("profile", "plain")]);
    assert!(text.contains("set limits.depth"), "{text}");
    let text = refused(&[("nested.count", "100"), ("limits.depth", "4")]);
    assert!(text.contains("up to 2020202 children in 4 layers"), "{text}");
    let text = refused(&[("nested.agent", "fork")]);
    assert!(text.contains("expected fresh, explore or plan"), "{text}");
    let (stdout, _) = expect(0, &["check", "scenarios/recorded/2.1.260/nested.toml"]);
    assert!(stdout.contains("1 task, up to 3 children in 3 layers, fresh"), "{stdout}");
}
