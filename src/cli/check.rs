//! `forkcast check`: all problems of a scenario at once.

use std::fmt::Write;

use super::args::CheckOptions;
use super::failure::Failure;
use super::{files, scenarios, terminal};

/// Loads the scenario and says what it would run.
pub(super) fn run(options: &CheckOptions) -> Result<(), Failure> {
    let opened = scenarios::open(&options.scenario)?;
    let mut text = format!("{}: no problems\n", options.scenario.scenario.display());
    for variant in &opened.loaded.variants {
        let plan = &variant.plan;
        let children = match plan.tasks() {
            1 => "1 task".to_owned(),
            tasks => format!("{tasks} tasks"),
        };
        let children = match plan.most_children() {
            (most, layers) if layers > 1 => {
                format!("{children}, up to {most} children in {layers} layers")
            }
            _ => children,
        };
        let [main, child] = plan.models();
        let models = if main.name == child.name {
            main.name.clone()
        } else {
            format!("{}, children {}", main.name, child.name)
        };
        let randomness = if plan.is_random() { "random" } else { "without randomness" };
        let kind = plan.kind().name();
        let name = terminal::printable(&variant.name);
        let _ = writeln!(text, "  {name}: {children}, {kind}, {models}, {randomness}");
        for warning in &variant.warnings {
            let message = terminal::printable(&warning.message());
            let _ = writeln!(text, "    warning: {message}");
        }
    }
    files::write_out(None, &text)
}
