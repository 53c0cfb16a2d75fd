//! The program: stdout, stderr and exit codes.
//!
//! The console blocks of the README and of `tests/cli/` run as they stand; what needs more than a
//! transcript is here.

use crate::support::program::{expect, forkcast, read, root, shipped_scenarios};

#[test]
fn console_blocks_are_true() {
    trycmd::TestCases::new()
        .env("NO_COLOR", "1")
        .env("COLUMNS", "100")
        .case("README.md")
        .case("tests/cli/*.md");
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    for scenario in ["scenarios/fork-or-fresh.toml", "scenarios/siblings-cold-start.toml"] {
        let with = |threads: &str| {
            let count = ["--replications", "300", "--threads", threads];
            let mut all = vec!["compare", scenario, "--json", "--quiet"];
            all.extend(count);
            expect(0, &all).0
        };
        let one = with("1");
        assert_eq!(one, with("2"), "{scenario}, 2 threads");
        assert_eq!(one, with("8"), "{scenario}, 8 threads");
    }
}

#[test]
fn the_reproduce_line_reproduces() {
    let scenario = "scenarios/fork-or-fresh.toml";
    let command = ["compare", scenario, "--set", "fanout.tasks=2", "--precision", "5%"];
    for method in ["none", "antithetic", "control", "both"] {
        let more = ["--variance-reduction", method, "--json", "--quiet"];
        let first = expect(0, &[&command[..], &more].concat()).0;
        let value: serde_json::Value = serde_json::from_str(&first).expect("stdout is JSON");
        let line = value["reproduce"].as_str().expect("a line");
        assert!(!line.contains("thread"), "{line}");
        assert_eq!(line.contains("--variance-reduction"), method != "none", "{line}");
        let mut words: Vec<&str> = line.split(' ').skip(1).collect();
        words.extend(["--json", "--quiet"]);
        assert_eq!(expect(0, &words).0, first);
    }
}

#[test]
fn every_shipped_scenario_is_priced_the_same_when_read_back_as_a_trace() {
    let folder = tempfile::tempdir().expect("a folder for traces");
    let file = folder.path().join("run.jsonl");
    let path = file.to_str().expect("a UTF-8 path");
    for scenario in shipped_scenarios() {
        let text = read(root().join(&scenario));
        let settings: toml::Table = toml::from_str(&text).expect("valid TOML");
        let book = settings["prices"].as_str().expect("a named price book");
        let run = ["run", &scenario, "--replications", "1", "--trace", path, "--json", "--quiet"];
        let run: serde_json::Value =
            serde_json::from_str(&expect(0, &run).0).expect("stdout is JSON");
        let trace = expect(0, &["trace", path, "--prices", book, "--json"]).0;
        let trace: serde_json::Value = serde_json::from_str(&trace).expect("stdout is JSON");
        let variant = &run["variants"][0];
        assert_eq!(trace["agrees"], true, "{scenario}");
        assert_eq!(trace["cost_usd"], variant["cost_usd"]["mean"], "{scenario}");
        for (cause, cost) in trace["cost_by_cause_usd"].as_object().expect("an object") {
            let simulated = variant["cost_by_cause_usd"][cause]["mean"].as_f64();
            let difference = simulated.expect("a number") - cost.as_f64().expect("a number");
            assert!(difference.abs() < 1e-9, "{scenario}: {cause}");
        }
    }
}

#[test]
fn a_cap_below_the_95th_percentile_exits_with_3_after_the_results() {
    let scenario = "scenarios/five-minute-pause.toml";
    let (stdout, stderr) = expect(3, &["run", scenario, "--budget-cap", "0.5"]);
    assert!(stdout.contains("$1.167"), "{stdout}");
    assert!(stderr.contains("exceeds the cap of $0.5000"), "{stderr}");
    expect(0, &["run", scenario, "--budget-cap", "$2"]);
}

#[test]
fn an_output_file_appears_whole_and_stdout_stays_empty() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("out.json");
    let path = file.to_str().expect("a UTF-8 path");
    let scenario = "scenarios/fork-guide.toml";
    let (stdout, _) = expect(0, &["run", scenario, "--json", "-o", path]);
    assert_eq!(stdout, "");
    let written = read(&file);
    let printed = expect(0, &["run", scenario, "--json"]).0;
    assert_eq!(written, printed);
    let (_, stderr) = expect(1, &["run", scenario, "--json", "-o", "no/such/folder/out.json"]);
    assert!(stderr.starts_with("error: cannot write `no/such/folder/out.json`"), "{stderr}");
}

#[test]
fn a_closed_pipe_is_no_error() {
    use std::process::{Command, Stdio};
    let mut child = Command::new(env!("CARGO_BIN_EXE_forkcast"))
        .args(["schema"])
        .current_dir(root())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("the program ends");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn wrong_usage_exits_with_2() {
    for arguments in [
        &["run"][..],
        &["frobnicate"],
        &["run", "x.toml", "--replications", "0"],
        &["run", "x.toml", "--precision", "200%"],
        &["compare", "x.toml", "--replications", "9", "--precision", "1%"],
        &["run", "x.toml", "--set", "no-equals-sign"],
        &["run", "x.toml", "--variance-reduction", "magic"],
        &["size", "x.toml", "--vary", "fanout.tasks=1..2", "--variance-reduction", "control"],
    ] {
        let output = forkcast(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
}

#[test]
fn the_starter_is_a_scenario_that_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("mine.toml");
    let path = file.to_str().expect("a UTF-8 path");
    expect(0, &["init", path]);
    let (_, stderr) = expect(1, &["init", path]);
    assert!(stderr.contains("exists already"), "{stderr}");
    expect(0, &["compare", path, "--replications", "50"]);
}

/// Data alone in CSV; tables with rules in Markdown.
#[test]
fn what_is_shown_can_be_had_as_csv_and_markdown() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("run.jsonl");
    let path = file.to_str().expect("a UTF-8 path");
    let scenario = "scenarios/five-minute-pause.toml";
    expect(0, &["run", scenario, "--replications", "1", "--trace", path, "--quiet"]);
    let cases: [(&[&str], &str); 5] = [
        (&["trace", path], "agent,start_s,uncached,"),
        (&["prices", "show"], "model,input,write 5m,"),
        (&["prices", "show", "--model", "claude-opus-5"], "model,note,part,usd_per_mtok,source\n"),
        (&["profiles", "show", "claude-code@2.1.260"], "key,value,source\n"),
        (&["profiles", "diff", "plain", "claude-code@2.1.260"], "key,plain,claude-code@2.1.260\n"),
    ];
    for (command, heading) in cases {
        let csv = expect(0, &[command, &["--csv"]].concat()).0;
        assert!(csv.starts_with(heading), "{command:?}: {csv}");
        assert!(csv.lines().count() > 1, "{command:?}");
        let markdown = expect(0, &[command, &["--markdown"]].concat()).0;
        assert!(markdown.contains("|---"), "{command:?}: {markdown}");
        expect(2, &[command, &["--csv", "--markdown"]].concat());
    }
}
