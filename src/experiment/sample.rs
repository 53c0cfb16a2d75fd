//! A small world for tests: a parent that delegates three tasks.

use crate::cache::CachePolicy;
use crate::orchestration::{
    Fanout, Fork, Limits, Machine, Nested, Plan, PlanInput, Provider, Resume, Session, Texts,
    Workflow, Wrappers,
};
use crate::pricing::{PriceBook, RateOptions};
use crate::units::Date;
use crate::workload::{Compaction, Latency, Startups, TaskSettings};

/// A task that always takes the same.
pub(crate) const CONSTANT: &str =
    "iterations = 4\noutput = 500\ntool_result = 2000\ntool_time = 3\nreport = 900\nprompt = 300";

/// A task that varies by a factor of a few.
pub(crate) const RANDOM: &str = "iterations = { lognormal = { median = 6, mean = 8 } }\n\
     output = { lognormal = { median = 383, p90 = 1658 } }\n\
     tool_result = { lognormal = { median = 324, p90 = 2200 } }\n\
     tool_time = { exponential = { mean = \"20s\" } }\nreport = 900\nprompt = 300";

/// Returns a plan of three tasks done by agents of a kind.
pub(crate) fn plan(agent: &str, task: &str) -> Plan {
    let book: PriceBook =
        toml::from_str(include_str!("../../scenarios/prices/anthropic-2026-11.toml")).unwrap();
    let date = Date::new(2026, 11, 30).unwrap();
    let rates = book.rates("claude-opus-5", date, RateOptions::default()).unwrap();
    let session: Session = toml::from_str("context = \"60k\"\nanswer = 400").unwrap();
    let fanout: Fanout = toml::from_str(&format!("tasks = 3\nagent = \"{agent}\"")).unwrap();
    let task: TaskSettings = toml::from_str(task).unwrap();
    let startup: Startups = toml::from_str(
        "main = { tools = \"6k\", identity = 20, system = \"2k\" }\n\
         fresh = { tools = \"6k\", identity = 20, system = \"2k\" }",
    )
    .unwrap();
    Plan::new(&PlanInput {
        session: &session,
        fanout: &fanout,
        wrappers: &Wrappers::default(),
        fork: &Fork::default(),
        texts: &Texts::default(),
        nested: &Nested::default(),
        workflow: &Workflow::default(),
        resume: &Resume::default(),
        limits: &Limits::default(),
        provider: &Provider::default(),
        machine: &Machine::default(),
        task: &task,
        startup: &startup,
        cache: &CachePolicy::default(),
        compaction: &Compaction::default(),
        latency: &Latency::default(),
        main_model: ("claude-opus-5", &rates),
        child_model: ("claude-opus-5", &rates),
    })
}

/// Returns variants of a task, named by their kind of agent.
pub(crate) fn variants(task: &str) -> Vec<(String, Plan)> {
    ["fresh", "fork", "inline"].map(|agent| (agent.to_owned(), plan(agent, task))).into()
}
