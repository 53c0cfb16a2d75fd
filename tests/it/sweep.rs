//! Sweeps: the same files however they are run.
//!
//! Method: a small sweep is run on several numbers of threads, killed and resumed, in shards; the
//! folders must be identical to that of one uninterrupted run. `FORKCAST_LONG` in the environment
//! asks for more kills and shards.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::support::program::{expect, forkcast, read, root};

const FILES: [&str; 3] = ["manifest.json", "results.csv", "results.jsonl"];
const SCENARIO: &str = "scenarios/fork-or-fresh.toml";

/// Twelve points of two variants that differ in their numbers of agents.
const SMALL: [&str; 9] = [
    "sweep",
    SCENARIO,
    "--vary",
    "fanout.tasks=1..3",
    "--vary",
    "session.context=40k..100k#4",
    "--vary=variant=fork,fresh",
    "--replications=20",
    "--quiet",
];

/// A sweep that takes some seconds when the program is not optimized.
const LONGER: [&str; 7] = [
    "sweep",
    SCENARIO,
    "--vary",
    "fanout.tasks=1..8",
    "--vary=session.context=40k..100k#8",
    "--replications=40",
    "--quiet",
];

#[expect(clippy::disallowed_methods, reason = "a switch of the tests")]
fn is_long() -> bool {
    std::env::var("FORKCAST_LONG").is_ok()
}

fn sweep(base: &[&str], more: &[&str], folder: &Path) {
    let out = folder.to_str().expect("a UTF-8 path");
    expect(0, &[base, more, &["-o", out]].concat());
}

fn files(folder: &Path, names: &[&str]) -> Vec<String> {
    names.iter().map(|name| read(folder.join(name))).collect()
}

fn temporary() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

#[test]
fn folders_are_the_same_at_any_number_of_threads() {
    let folder = temporary();
    let names = ["manifest.json", "results.csv", "results.jsonl", "raw.csv"];
    let with = |threads: &str| {
        let out = folder.path().join(threads);
        sweep(&SMALL, &["--raw", "--threads", threads], &out);
        let mut there: Vec<_> = out
            .read_dir()
            .expect("a folder")
            .map(|entry| entry.expect("an entry").file_name())
            .collect();
        there.sort();
        assert_eq!(there, ["manifest.json", "raw.csv", "results.csv", "results.jsonl"]);
        files(&out, &names)
    };
    let one = with("1");
    assert_eq!(one[1].lines().count(), 1 + 12 * 2);
    assert_eq!(one[2].lines().count(), 12 * 2);
    assert_eq!(one[3].lines().count(), 1 + 12 * 2 * 20);
    let heading = one[1].lines().next().expect("a heading");
    let begin = "fanout.tasks,session.context,variant,replications,cost_usd_mean,";
    assert!(heading.starts_with(begin), "{heading}");
    assert!(heading.contains("cost_by_agent_usd_a2_mean,cost_by_agent_usd_a3_mean,"), "{heading}");
    let first: serde_json::Value =
        serde_json::from_str(one[2].lines().next().expect("a row")).expect("JSON");
    assert_eq!((&first["fanout.tasks"], &first["session.context"]), (&1.into(), &"40k".into()));
    assert_eq!(one, with("2"));
    assert_eq!(one, with("8"));
    let printed = expect(0, &SMALL).0;
    assert_eq!(printed, one[1], "stdout");
}

/// A point of a sweep is what `compare` says of the same settings.
#[test]
fn a_point_is_what_compare_says_of_it() {
    let rows = expect(0, &[&SMALL[..], &["--json"]].concat()).0;
    let row = |line: &str| -> serde_json::Value { serde_json::from_str(line).expect("JSON") };
    let row = row(rows.lines().nth(2 * 5).expect("a row of point 5"));
    let sets = ["--set", "fanout.tasks=2", "--set", "session.context=60k"];
    let compared = crate::support::program::json(
        &[&["compare", SCENARIO, "--replications=20"][..], &sets].concat(),
    );
    let variants = compared["variants"].as_array().expect("variants");
    let same = variants.iter().find(|variant| variant["name"] == row["variant"]).expect("it");
    assert_eq!(row["cost_usd_mean"], same["cost_usd"]["mean"]);
    assert_eq!(row["wait_s_max"], same["wait_s"]["max"]);
}

fn spawn(folder: &Path, more: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_forkcast"))
        .args(LONGER)
        .args(more)
        .arg("-o")
        .arg(folder)
        .current_dir(root())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts")
}

/// Kills a sweep as soon as its part file has so many bytes.
fn kill_at(folder: &Path, bytes: u64, more: &[&str]) {
    let mut child = spawn(folder, more);
    let part = folder.join("rows.part.jsonl");
    while child.try_wait().expect("a child").is_none() {
        if part.metadata().is_ok_and(|found| found.len() >= bytes) {
            child.kill().expect("it can be killed");
        }
        std::thread::yield_now();
    }
    child.wait().expect("it has ended");
}

#[test]
fn a_killed_sweep_goes_on_to_the_same_files() {
    let folder = temporary();
    let (whole, killed) = (folder.path().join("whole"), folder.path().join("killed"));
    sweep(&LONGER, &[], &whole);
    let size: u64 = files(&whole, &["results.jsonl"])[0].len() as u64;
    let kills = if is_long() { 20 } else { 3 };
    for kill in 0..kills {
        let more = if kill == 0 { &[][..] } else { &["--resume"] };
        kill_at(&killed, 1 + size * kill / kills, more);
        assert!(!killed.join("results.jsonl").exists(), "kill {kill} came too late");
    }
    let out = killed.to_str().expect("a UTF-8 path");
    let (_, stderr) = expect(1, &[&LONGER[..], &["-o", out]].concat());
    assert!(stderr.contains("holds an unfinished sweep already"), "{stderr}");
    let (_, stderr) = expect(1, &[&LONGER[..], &["-o", out, "--resume", "--seed=2"]].concat());
    assert!(stderr.contains("seed: 1 there, 2 now"), "{stderr}");
    tear_last_line(&killed.join("rows.part.jsonl"));
    sweep(&LONGER, &["--resume"], &killed);
    assert_eq!(files(&whole, &FILES), files(&killed, &FILES));
    sweep(&LONGER, &["--resume"], &killed);
    assert!(!killed.join("rows.part.jsonl").exists());
}

fn tear_last_line(part: &Path) {
    let file = std::fs::OpenOptions::new().write(true).open(part).expect("a part file");
    let length = file.metadata().expect("its length").len();
    file.set_len(length - 5).expect("it can be cut");
}

#[test]
fn shards_merge_to_the_same_files() {
    let folder = temporary();
    let whole = folder.path().join("whole");
    sweep(&SMALL, &["--raw"], &whole);
    let count = if is_long() { 8 } else { 4 };
    let mut shards = Vec::new();
    for index in 1..=count {
        let shard = folder.path().join(index.to_string());
        sweep(&SMALL, &["--raw", "--shard", &format!("{index}/{count}")], &shard);
        shards.push(shard.to_str().expect("a UTF-8 path").to_owned());
    }
    let merged = folder.path().join("merged");
    let out = merged.to_str().expect("a UTF-8 path");
    let names: Vec<&str> = shards.iter().map(String::as_str).collect();
    let (_, stderr) = expect(1, &["merge", names[0], names[2], "-o", out]);
    assert!(stderr.contains(&format!("shards are missing: 2/{count}, 4/{count}")), "{stderr}");
    let (_, stderr) = expect(1, &["merge", names[0], whole.to_str().expect("UTF-8"), "-o", out]);
    assert!(stderr.contains("is of another sweep"), "{stderr}");
    let mut reversed = names.clone();
    reversed.reverse();
    expect(0, &[&["merge"], &reversed[..], &["-o", out]].concat());
    let all = [&FILES[..], &["raw.csv"]].concat();
    assert_eq!(files(&whole, &all), files(&merged, &all));
}

#[test]
fn a_batch_system_tells_the_shard() {
    let folder = temporary();
    let run = |name: &str, variables: &[(&str, &str)], more: &[&str]| {
        let out = folder.path().join(name);
        let mut command = Command::new(env!("CARGO_BIN_EXE_forkcast"));
        command.args(SMALL).args(["--shard", "auto", "-o"]).arg(&out).args(more);
        command.current_dir(root()).envs(variables.iter().copied());
        let output = command.output().expect("the program starts");
        let shard = |text: &str| {
            let manifest: serde_json::Value = serde_json::from_str(text).expect("JSON");
            (manifest["shard"]["index"].as_u64(), manifest["shard"]["count"].as_u64())
        };
        (output.status.success()).then(|| shard(&read(out.join("manifest.json"))))
    };
    let slurm = [
        ("SLURM_ARRAY_TASK_ID", "5"),
        ("SLURM_ARRAY_TASK_COUNT", "6"),
        ("SLURM_ARRAY_TASK_MIN", "0"),
    ];
    assert_eq!(run("slurm", &slurm, &[]), Some((Some(6), Some(6))));
    let kubernetes = [("JOB_COMPLETION_INDEX", "0")];
    assert_eq!(run("kubernetes", &kubernetes, &["--shards", "6"]), Some((Some(1), Some(6))));
    assert_eq!(run("no count", &kubernetes, &[]), None);
    assert_eq!(run("nothing", &[], &[]), None);
}

#[test]
fn a_locked_folder_is_refused_and_a_stale_lock_is_not() {
    let folder = temporary();
    let out = folder.path().to_str().expect("a UTF-8 path");
    let lock = folder.path().join(".lock");
    let held = |id: &str| {
        use std::io::Write;
        let mut open = std::fs::OpenOptions::new();
        let mut file = open.write(true).create(true).truncate(true).open(&lock).expect("a lock");
        file.write_all(id.as_bytes()).expect("it is written");
    };
    let own = std::process::id().to_string();
    held(&own);
    let (_, stderr) = expect(1, &[&SMALL[..], &["-o", out]].concat());
    assert!(stderr.contains(&format!("process {own} is sweeping into")), "{stderr}");
    held("999999999");
    sweep(&SMALL, &[], folder.path());
    let (_, stderr) = expect(1, &[&SMALL[..], &["-o", out]].concat());
    assert!(stderr.contains("holds a sweep already"), "{stderr}");
    sweep(&SMALL, &["--force"], folder.path());
}

/// A factor that changes nothing shows that all points have the same random numbers.
#[test]
fn points_share_their_random_numbers() {
    let rows =
        expect(0, &["sweep", SCENARIO, "--vary", "title=a,b", "--replications=30", "--quiet"]).0;
    let of = |title: &str| -> Vec<&str> {
        rows.lines().filter_map(|line| line.strip_prefix(title)).collect()
    };
    assert_eq!(of("a,").len(), 3);
    assert_eq!(of("a,"), of("b,"));
}

#[test]
fn a_latin_hypercube_has_each_level_once() {
    let rows = expect(
        0,
        &[
            "sweep",
            SCENARIO,
            "--vary=session.context=40k..110k#8",
            "--vary=fanout.tasks=1..2",
            "--lhs=8",
            "--replications=2",
            "--vary=variant=fork",
            "--quiet",
        ],
    )
    .0;
    let cells: Vec<Vec<&str>> = rows.lines().skip(1).map(|row| row.split(',').collect()).collect();
    let mut contexts: Vec<&str> = cells.iter().map(|row| row[0]).collect();
    contexts.sort_unstable();
    contexts.dedup();
    assert_eq!(contexts.len(), 8);
    assert_eq!(cells.iter().filter(|row| row[1] == "1").count(), 4);
}

#[test]
fn every_invalid_point_is_told_before_anything_runs() {
    let vary = ["--vary=fanout.tasks=0,1", "--vary=session.context=1,100k"];
    let (stdout, stderr) = expect(1, &[&["sweep", SCENARIO][..], &vary].concat());
    assert_eq!(stdout, "");
    assert!(stderr.contains("--vary fanout.tasks=0"), "{stderr}");
    assert!(stderr.contains("at point 2 (fanout.tasks=1 session.context=1)"), "{stderr}");
    assert!(stderr.contains("3 of 4 points are invalid"), "{stderr}");
    let unknown = ["sweep", SCENARIO, "--vary", "fanout.taks=1,2", "--vary=variant=nobody"];
    let (_, stderr) = expect(1, &unknown);
    assert!(stderr.contains("no variant is named `nobody`"), "{stderr}");
    let (_, stderr) = expect(1, &unknown[..4]);
    assert!(stderr.contains("did you mean `tasks`"), "{stderr}");
}

#[test]
fn wrong_usage_of_sweeps_exits_with_2() {
    let many = ["--vary=a=1..1001", "--vary=b=1..1000"];
    let cases: [&[&str]; 7] = [
        &[],
        &["--vary", "fanout.tasks=5..1"],
        &["--vary", "fanout.tasks"],
        &many,
        &["--vary=title=a", "--resume"],
        &["--vary=title=a", "--shard=3/2"],
        &["--vary=title=a", "--shard=1/2", "--shards=2"],
    ];
    for more in cases {
        let output = forkcast(&[&["sweep", SCENARIO], more].concat());
        assert_eq!(output.status.code(), Some(2), "{more:?}");
    }
    let (_, stderr) = expect(2, &[&["sweep", SCENARIO], &many[..]].concat());
    assert!(stderr.contains("1001000 points; a sweep has at most 1000000"), "{stderr}");
}

#[test]
fn a_markdown_table_shows_levels_and_main_results() {
    let (table, _) = expect(0, &[&SMALL[..], &["--markdown"]].concat());
    let (csv, _) = expect(0, &[&SMALL[..], &["--csv"]].concat());
    let (head, _) = table.split_once('\n').expect("lines");
    assert!(head.starts_with("| fanout.tasks | session.context |"), "{head}");
    assert!(head.contains("| cost_usd_mean | cost_usd_half_width | cost_usd_p95 |"), "{head}");
    // A heading, the line under it, and one for each row.
    assert_eq!(table.lines().count(), csv.lines().count() + 1);
    let columns = |line: &str| line.matches(" |").count();
    assert!(table.lines().all(|line| columns(line) == columns(head)), "{table}");
}

#[test]
fn completions_are_printed_for_a_shell() {
    let (stdout, _) = expect(0, &["completions", "bash"]);
    assert!(stdout.contains("forkcast__sweep") || stdout.contains("sweep"), "{stdout}");
    expect(2, &["completions", "cmd"]);
}
