//! `forkcast size`: the best level of a factor.

use forkcast::experiment::{Indifference, Objective, SizeDesign, size};
use forkcast::orchestration::Plan;
use forkcast::report::size::{SizeReport, render};
use forkcast::scenario::{Factor, Level};
use forkcast::units::{parse_duration, parse_money};

use super::args::SizeOptions;
use super::decide::{Subject, factor};
use super::failure::Failure;
use super::{files, terminal};

/// Replications of a level after which the smallest mean is taken.
const COUNT_MAX: u64 = 100_000;

/// Selects and reports.
pub(super) fn run(options: &SizeOptions) -> Result<(), Failure> {
    let common = &options.decide;
    let subject = Subject::read(common)?;
    let Factor { key, levels } = factor(&options.vary)?;
    let load = |level: &Level| subject.load(&[(key.clone(), level.value.to_string())]);
    let mut plans: Vec<(String, Plan)> = Vec::new();
    let mut failures = Vec::new();
    for level in &levels {
        match load(level) {
            Ok(loaded) => plans.push((level.label.to_string(), loaded.base.plan)),
            Err(failure) => failures.push(failure),
        }
    }
    Failure::of_all(failures)?;
    let design = SizeDesign {
        objective: options.objective.1,
        probability: options.probability,
        indifference: options.indifference.1,
        dropped_max: options.max_dropped,
        count_max: common.replications.unwrap_or(COUNT_MAX),
        seed: common.execution.seed,
    };
    let bar = terminal::progress(common.quiet, "replications");
    let results = common.on_threads(|| {
        Ok(size(&plans, &design, &|progress| {
            bar.set_length(progress.planned);
            bar.set_position(progress.done);
        }))
    })?;
    bar.finish_and_clear();
    let report = SizeReport {
        key: key.clone(),
        objective: options.objective.0.clone(),
        batch: design.objective.batch(),
        probability: design.probability,
        seed: design.seed,
        results,
    };
    let loaded = load(&levels[0])?;
    let header = subject.header("size", &arguments(options), &loaded);
    files::write_out(
        common.output.out.as_deref(),
        &render(&header, &report, common.output.format()),
    )
}

fn arguments(options: &SizeOptions) -> Vec<String> {
    let named = [
        ("--vary", options.vary.clone()),
        ("--objective", options.objective.0.clone()),
        ("--probability", options.probability.to_string()),
        ("--indifference", options.indifference.0.clone()),
        ("--max-dropped", options.max_dropped.to_string()),
    ];
    named.into_iter().flat_map(|(name, value)| [name.to_owned(), value]).collect()
}

/// Reads an objective.
pub(super) fn objective(text: &str) -> Result<(String, Objective), String> {
    let text = text.trim();
    let error = || {
        format!(
            "`{text}` is no objective; write cost, cost-with-makespan<=10m, cost+30*makespan (US \
             dollars an hour), or a quantile of the cost: p95"
        )
    };
    let objective = if text == "cost" {
        Objective::Cost
    } else if let Some(bound) = text.strip_prefix("cost-with-makespan<=") {
        Objective::CostWithin(
            parse_duration(bound).map_err(|error| error.to_string())?.as_seconds(),
        )
    } else if let Some(rate) = text.strip_prefix("cost+") {
        let rate = rate.strip_suffix("*makespan").ok_or_else(error)?;
        Objective::CostAndTime(parse_money(rate).map_err(|error| error.to_string())?.as_usd())
    } else {
        let percent: f64 =
            text.strip_prefix('p').and_then(|digits| digits.parse().ok()).ok_or_else(error)?;
        if !(1.0..=99.9).contains(&percent) {
            return Err(error());
        }
        Objective::Quantile(percent / 100.0)
    };
    Ok((text.to_owned(), objective))
}

/// Reads an indifference zone: a share with `%`, else US dollars.
pub(super) fn indifference(text: &str) -> Result<(String, Indifference), String> {
    let error = || format!("`{text}` is neither a share such as 1% nor US dollars such as $0.05");
    let zone = match text.trim().strip_suffix('%') {
        Some(share) => {
            let share: f64 = share.trim().parse().map_err(|_| error())?;
            Indifference::Relative(share / 100.0)
        }
        None => Indifference::Usd(parse_money(text).map_err(|_| error())?.as_usd()),
    };
    let (Indifference::Relative(size) | Indifference::Usd(size)) = zone;
    if size > 0.0 && size.is_finite() { Ok((text.to_owned(), zone)) } else { Err(error()) }
}
