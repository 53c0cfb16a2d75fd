//! `forkcast sensitivity`: which single setting matters.

use forkcast::experiment::{Change, sensitivity};
use forkcast::orchestration::Plan;
use forkcast::report::sensitivity::{SensitivityReport, render};
use forkcast::scenario::{Factor, Loaded, UNCONFIRMED_RULES, stated_numbers};

use super::args::SensitivityOptions;
use super::decide::{Subject, factor, pair};
use super::failure::Failure;
use super::{files, terminal};

/// Replications of each change where the options say nothing: effects are paired, so few show them.
const COUNT: u64 = 256;

/// Measures the effects and reports.
pub(super) fn run(options: &SensitivityOptions) -> Result<(), Failure> {
    let common = &options.decide;
    let subject = Subject::read(common)?;
    let loaded = subject.load(&[])?;
    let variants =
        options.between.as_deref().map(|names| pair(&loaded, Some(names))).transpose()?;
    let plans = |loaded: &Loaded| -> Vec<Plan> {
        match variants {
            None => vec![loaded.base.plan.clone()],
            Some(pair) => pair.map(|one| loaded.variants[one].plan.clone()).to_vec(),
        }
    };
    let (mut changes, mut skipped, mut failures) = (Vec::new(), Vec::new(), Vec::new());
    for (key, low, high) in wanted(options, &subject.text)? {
        let at = |value: &str| subject.load(&[(key.clone(), value.to_owned())]);
        match (at(&low), at(&high)) {
            (Ok(at_low), Ok(at_high)) => {
                let (low_plans, high_plans) = (plans(&at_low), plans(&at_high));
                changes.push(Change { key, low, high, low_plans, high_plans });
            }
            _ if options.vary.is_empty() => skipped.push(key),
            (at_low, at_high) => {
                failures.extend([at_low.err(), at_high.err()].into_iter().flatten());
            }
        }
    }
    Failure::of_all(failures)?;
    let bar = terminal::progress(common.quiet, "replications");
    let design = (common.execution.seed, common.replications.unwrap_or(COUNT));
    let results = common.on_threads(|| {
        Ok(sensitivity(&plans(&loaded), &changes, design, &|progress| {
            bar.set_length(progress.planned);
            bar.set_position(progress.done);
        }))
    })?;
    bar.finish_and_clear();
    let name = |variant: usize| loaded.variants[variant].name.clone();
    let between = variants.map(|pair| pair.map(name));
    let report = SensitivityReport { between, skipped, seed: common.execution.seed, results };
    let header = subject.header("sensitivity", &arguments(options), &loaded);
    let text = render(&header, &report, common.output.format());
    files::write_out(common.output.out.as_deref(), &text)
}

/// The changes asked for, or all numbers that the scenario states; then the unconfirmed rules.
fn wanted(
    options: &SensitivityOptions,
    text: &str,
) -> Result<Vec<(String, String, String)>, Failure> {
    let mut wanted = Vec::new();
    for one in &options.vary {
        let Factor { key, levels } = factor(one)?;
        let [low, high] = &levels[..] else {
            let message = format!("`{one}` does not give two values");
            return Err(Failure::usage(message, "write --vary KEY=LOW,HIGH"));
        };
        wanted.push((key, low.value.to_string(), high.value.to_string()));
    }
    if options.vary.is_empty() {
        wanted = stated_numbers(text, options.change);
    }
    for (key, low, high) in UNCONFIRMED_RULES {
        if wanted.iter().all(|(known, ..)| known != key) {
            wanted.push((key.to_owned(), low.to_owned(), high.to_owned()));
        }
    }
    Ok(wanted)
}

fn arguments(options: &SensitivityOptions) -> Vec<String> {
    let mut arguments = Vec::new();
    for one in &options.vary {
        arguments.extend(["--vary".to_owned(), one.clone()]);
    }
    if options.vary.is_empty() {
        arguments.extend(["--change".to_owned(), options.change.to_string()]);
    }
    if let Some(between) = &options.between {
        arguments.extend(["--between".to_owned(), between.clone()]);
    }
    arguments
}
