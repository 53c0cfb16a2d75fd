//! A sweep held against its engine: 10,000 points of two variants, 100 replications each of a
//! fan-out of five children, on two threads.
//!
//! The engine's time is that of `System::run` over replications of the same plans, points spread
//! over the grid; times two variants, 100 replications and the points, it is what a sweep cannot
//! go below. The program then makes the sweep, and once a tenth of it, whose peak memory must not
//! be much less. Times are user time of the processor, so that other work on the machine counts
//! little, and the least of some passes. Reads `/proc`, as Linux has it.
#![expect(clippy::disallowed_methods, reason = "a bench reads clocks")]
#![expect(clippy::print_stdout, reason = "a bench prints what it measured")]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use forkcast::orchestration::System;
use forkcast::scenario::{LoadInput, load};

const SCENARIO: &str = "scenarios/fork-or-fresh.toml";
const TEXT: &str = include_str!("../scenarios/fork-or-fresh.toml");
const REPLICATIONS: u64 = 100;
/// Levels of the first factor; the second has as many in the whole sweep, a tenth in the part.
const LEVELS: u64 = 100;
const PASSES: usize = 3;
/// How much more than the engine a sweep may take.
const OVERHEAD_MAX: f64 = 1.25;

/// What one sweep took.
struct Taken {
    cpu_seconds: f64,
    peak_kib: u64,
}

fn main() {
    if !Path::new("/proc/self/stat").exists() {
        println!("not run: no /proc/self/stat on this system");
        return;
    }
    let engine = (0..PASSES).map(|_| engine()).fold(f64::INFINITY, f64::min);
    let part = sweep(LEVELS / 10);
    let points = (LEVELS * LEVELS) as f64;
    let whole = (0..PASSES).map(|_| sweep(LEVELS));
    let whole = whole.min_by(|a, b| a.cpu_seconds.total_cmp(&b.cpu_seconds)).expect("passes");
    let predicted = engine * 2.0 * REPLICATIONS as f64 * points;
    let ratio = whole.cpu_seconds / predicted;
    println!("one replication       {:9.2} us", engine * 1e6);
    println!("predicted             {predicted:9.2} s");
    println!("sweep                 {:9.2} s", whole.cpu_seconds);
    println!("points a second       {:9.0}   a core", points / whole.cpu_seconds);
    println!("of what was predicted {:9.1} %", 100.0 * ratio);
    println!("peak memory           {:9} KiB at 1,000 points", part.peak_kib);
    println!("                      {:9} KiB at 10,000 points", whole.peak_kib);
    assert!(ratio <= OVERHEAD_MAX, "a sweep takes more than {OVERHEAD_MAX} times its engine");
    assert!(whole.peak_kib < part.peak_kib + 2_048, "memory grows with the points");
}

/// Returns the time of one replication in seconds, on average over the grid and both variants.
fn engine() -> f64 {
    let mut systems: Vec<System> = Vec::new();
    for context in ["50k", "90k", "130k", "170k", "200k"] {
        for tokens in ["1k", "14k", "27k", "40k"] {
            let sets = [("session.context", context), ("task.rediscovery.tokens", tokens)]
                .map(|(key, value)| (key.to_owned(), value.to_owned()));
            let input = LoadInput { name: SCENARIO, text: TEXT, sets: &sets, levels: &[] };
            let loaded = load(&input, &mut |name| Err(format!("{name} is not read here")));
            let variants = loaded.expect("a shipped scenario loads").variants;
            systems.extend(variants.into_iter().take(2).map(|one| System::new(one.plan, 1)));
        }
    }
    let start = thread_seconds();
    for system in &mut systems {
        (1..=REPLICATIONS).for_each(|replication| system.run(replication));
    }
    (thread_seconds() - start) / (systems.len() as u64 * REPLICATIONS) as f64
}

fn sweep(levels: u64) -> Taken {
    let folder = tempfile::tempdir().expect("a folder");
    let before = children_seconds();
    let mut child = Command::new(env!("CARGO_BIN_EXE_forkcast"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["sweep", SCENARIO, "--threads=2", "--quiet", "--vary=variant=fork,fresh"])
        .arg(format!("--replications={REPLICATIONS}"))
        .arg(format!("--vary=session.context=40k..200k#{LEVELS}"))
        .arg(format!("--vary=task.rediscovery.tokens=1k..40k#{levels}"))
        .arg("-o")
        .arg(folder.path())
        .stdout(Stdio::null())
        .spawn()
        .expect("the program starts");
    let status = format!("/proc/{}/status", child.id());
    let mut peak_kib = 0;
    while child.try_wait().expect("a child").is_none() {
        peak_kib = peak_kib.max(peak_of(&status).unwrap_or(0));
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(child.wait().expect("a child").success(), "the sweep failed");
    Taken { cpu_seconds: children_seconds() - before, peak_kib }
}

fn peak_of(status: &str) -> Option<u64> {
    let text = fs::read_to_string(status).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

/// Time of the processor that this thread has had.
fn thread_seconds() -> f64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").expect("a thread has it");
    let nanoseconds = text.split(' ').next().and_then(|first| first.parse::<u64>().ok());
    nanoseconds.expect("a number") as f64 * 1e-9
}

/// User time of the processor that ended children have had; the kernel counts in hundredths.
fn children_seconds() -> f64 {
    let text = fs::read_to_string("/proc/self/stat").expect("a process has it");
    let (_, fields) = text.rsplit_once(") ").expect("a name in brackets");
    let ticks = fields.split(' ').nth(13).and_then(|field| field.parse::<u64>().ok());
    ticks.expect("a number") as f64 / 100.0
}
