//! `forkcast run` and `forkcast compare`: simulate, report, hold against the cap.

use std::fmt::Write as _;
use std::path::Path;

use forkcast::experiment::{Experiment, Progress, Results, StopRule, VarianceReduction, Warning};
use forkcast::ledger::AttemptRecord;
use forkcast::orchestration::{Plan, System};
use forkcast::report::{self, Header, PriceHeader, View};
use forkcast::scenario::{ClosedForm, LoadedVariant, closed_form};
use forkcast::trace::{simulated_attempt, simulated_line, write_attempt, write_line};
use rayon::ThreadPool;
use sha2::{Digest, Sha256};

use super::args::{EffortOptions, OutputOptions, Reduction, RunOptions, SimulateOptions};
use super::failure::Failure;
use super::scenarios::{self, Opened};
use super::{files, terminal};

/// Simulates the base variant.
pub(super) fn run(options: &RunOptions) -> Result<(), Failure> {
    refuse_half_a_pair(&options.simulate)?;
    let mut paths = vec![options.simulate.scenario.scenario.as_path()];
    paths.extend(options.trace.as_deref());
    paths.extend(options.simulate.output.out.as_deref());
    files::refuse_same(&paths)?;
    let opened = scenarios::open(&options.simulate.scenario)?;
    if let Some(path) = &options.trace {
        write_trace(path, &opened.loaded.base, options.simulate.effort.execution.seed, 1)?;
    }
    let base = vec![opened.loaded.base.clone()];
    let command = Command { name: "run", view: View::Run };
    command.execute(&options.simulate, &opened, &base)
}

/// Simulates all variants on common random numbers.
pub(super) fn compare(options: &SimulateOptions) -> Result<(), Failure> {
    refuse_half_a_pair(options)?;
    let mut paths = vec![options.scenario.scenario.as_path()];
    paths.extend(options.output.out.as_deref());
    files::refuse_same(&paths)?;
    let opened = scenarios::open(&options.scenario)?;
    let command = Command { name: "compare", view: View::Compare };
    command.execute(options, &opened, &opened.loaded.variants)
}

/// What the two commands do not share.
struct Command {
    name: &'static str,
    view: View,
}

impl Command {
    fn execute(
        &self,
        options: &SimulateOptions,
        opened: &Opened,
        variants: &[LoadedVariant],
    ) -> Result<(), Failure> {
        let mut results = simulate(options, variants)?;
        for variant in variants {
            for warning in &variant.warnings {
                if !results.warnings.contains(warning) {
                    results.warnings.push(warning.clone());
                }
            }
        }
        let header = self.header(options, opened, &results, &variants[0]);
        let form = match self.view {
            View::Run => None,
            View::Compare => closed_form_of(variants),
        };
        let notes = self.notes(variants);
        let text = self.render(&options.output, &header, &results, (form.as_ref(), notes));
        files::write_out(options.output.out.as_deref(), &text)?;
        if !options.quiet && (options.output.json || options.output.csv) {
            results.warnings.iter().for_each(warn);
        }
        hold_against_cap(options, &results)
    }

    /// What a comparison takes for granted.
    fn notes(&self, variants: &[LoadedVariant]) -> Vec<String> {
        let models = variants.iter().map(|variant| &variant.plan.models()[1].name);
        let is_mixed = models.clone().any(|name| Some(name) != models.clone().next());
        match self.view {
            View::Compare if is_mixed => {
                vec!["The same requests are assumed on every model.".to_owned()]
            }
            View::Compare | View::Run => Vec::new(),
        }
    }

    fn header(
        &self,
        options: &SimulateOptions,
        opened: &Opened,
        results: &Results,
        variant: &LoadedVariant,
    ) -> Header {
        let title = &variant.scenario.title;
        Header {
            program: format!("forkcast {}", env!("CARGO_PKG_VERSION")),
            title: (!title.is_empty()).then(|| title.clone()),
            scenario: options.scenario.scenario.display().to_string(),
            scenario_sha256: hash(&opened.text),
            reproduce: self.reproduce(options, results),
            prices: PriceHeader { book: variant.book.clone(), as_of: variant.as_of },
            profile: Some(variant.scenario.profile.clone()),
        }
    }

    /// The command that gives the same results; the thread count does not matter.
    fn reproduce(&self, options: &SimulateOptions, results: &Results) -> String {
        let scenario = options.scenario.scenario.display().to_string();
        let mut text = format!("forkcast {} {}", self.name, quoted(&scenario));
        for (key, value) in &options.scenario.set.sets {
            let _ = write!(text, " --set {}", quoted(&format!("{key}={value}")));
        }
        let _ = write!(text, " --replications {} --seed {}", results.replications, results.seed);
        if results.reduction != VarianceReduction::None {
            let _ = write!(text, " --variance-reduction {}", results.reduction.name());
        }
        text
    }

    fn render(
        &self,
        output: &OutputOptions,
        header: &Header,
        results: &Results,
        (form, notes): (Option<&ClosedForm>, Vec<String>),
    ) -> String {
        if output.json {
            let mut value = report::json::value(header, results);
            if let (Some(form), Some(object)) = (form, value.as_object_mut()) {
                object.insert("closed_form".to_owned(), report::closed_form::value(form));
            }
            return format!("{value:#}\n");
        }
        if output.csv {
            return report::csv::render(results);
        }
        let mut tail = form.map(report::closed_form::sentences).unwrap_or_default();
        tail.extend(notes);
        if output.markdown {
            return report::markdown::render(header, results, self.view, &tail);
        }
        report::text::render(header, results, self.view, &tail)
    }
}

/// Refuses half a pair.
fn refuse_half_a_pair(options: &SimulateOptions) -> Result<(), Failure> {
    let unit = reduction(options.variance_reduction).unit();
    match options.effort.replications {
        Some(count) if !count.is_multiple_of(unit) => Err(Failure::usage(
            format!("antithetic pairs take an even number of replications, not {count}"),
            "give one more, or --precision",
        )),
        Some(_) | None => Ok(()),
    }
}

fn reduction(option: Reduction) -> VarianceReduction {
    match option {
        Reduction::None => VarianceReduction::None,
        Reduction::Antithetic => VarianceReduction::Antithetic,
        Reduction::Control => VarianceReduction::Control,
        Reduction::Both => VarianceReduction::Both,
    }
}

fn simulate(options: &SimulateOptions, variants: &[LoadedVariant]) -> Result<Results, Failure> {
    let stop = stop_rule(&options.effort);
    let reduction = reduction(options.variance_reduction);
    let plans: Vec<(String, Plan)> =
        variants.iter().map(|one| (one.name.clone(), one.plan.clone())).collect();
    let bar = terminal::progress(options.quiet, "replications");
    let pool = pool(&options.effort)?;
    let experiment = Experiment::new(&plans, options.effort.execution.seed, stop);
    let mut experiment = experiment.with_reduction(reduction);
    pool.install(|| {
        experiment.run(&|progress: Progress| {
            bar.set_length(progress.planned);
            bar.set_position(progress.done);
        });
    });
    bar.finish_and_clear();
    Ok(experiment.results())
}

/// Returns when to stop.
pub(super) fn stop_rule(effort: &EffortOptions) -> StopRule {
    match (effort.replications, effort.precision) {
        (Some(count), _) => StopRule::Count(count),
        (None, precision) => StopRule::precision(precision.unwrap_or(0.01)),
    }
}

/// Starts the threads.
pub(super) fn pool(effort: &EffortOptions) -> Result<ThreadPool, Failure> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(effort.execution.threads.map_or(0, usize::from))
        .build()
        .map_err(|error| Failure::message(format!("cannot start threads: {error}")))
}

/// The first pair of a fork and a fresh variant.
fn closed_form_of(variants: &[LoadedVariant]) -> Option<ClosedForm> {
    variants.iter().find_map(|fork| variants.iter().find_map(|fresh| closed_form(fork, fresh)))
}

/// Most blocks of a trace: some gigabytes of text.
const TRACE_BLOCKS_MAX: usize = 20_000_000;

/// Writes a replication as a request trace, line by line.
pub(super) fn write_trace(
    path: &Path,
    variant: &LoadedVariant,
    seed: u64,
    replication: u64,
) -> Result<(), Failure> {
    let mut system = System::new(variant.plan.clone(), seed);
    let log = system.run_logged(replication);
    let tree = system.cache().tree();
    let blocks: usize = log.requests.iter().map(|record| tree.depth(record.prompt)).sum();
    if blocks > TRACE_BLOCKS_MAX {
        return Err(Failure::Message {
            message: format!(
                "the trace would have {blocks} blocks; at most {TRACE_BLOCKS_MAX} are written"
            ),
            hint: Some("lower fanout.tasks or task.iterations for the trace".to_owned()),
        });
    }
    let models: Vec<&str> = variant.plan.models().iter().map(|model| model.name.as_str()).collect();
    let mut attempts = log.attempts.iter().peekable();
    let mut records = log.requests.iter().peekable();
    let lines = std::iter::from_fn(|| {
        let is_next = |attempt: &&AttemptRecord| {
            records.peek().is_none_or(|record| attempt.start <= record.start)
        };
        match attempts.next_if(is_next) {
            Some(attempt) => Some(write_attempt(&simulated_attempt(attempt))),
            None => records.next().map(|record| write_line(&simulated_line(record, tree, &models))),
        }
    });
    files::write_lines(path, lines)
}

fn hold_against_cap(options: &SimulateOptions, results: &Results) -> Result<(), Failure> {
    let Some(cap) = options.budget_cap else {
        return Ok(());
    };
    let over: Vec<String> = results
        .variants
        .iter()
        .filter(|variant| variant.cost_usd.p95 > cap)
        .map(|variant| {
            let p95 = report::number::usd(variant.cost_usd.p95);
            format!("`{}` ({p95})", terminal::printable(&variant.name))
        })
        .collect();
    if over.is_empty() {
        return Ok(());
    }
    let cap = report::number::usd(cap);
    Err(Failure::Check(format!(
        "the 95th percentile of the cost exceeds the cap of {cap}: {}",
        over.join(", ")
    )))
}

pub(super) fn warn(warning: &Warning) {
    let message = terminal::printable(&warning.message());
    terminal::talk(&format!("warning: {}: {message}", warning.code()));
}

/// Returns the hash of a text in hexadecimal digits.
pub(super) fn hash(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// Quotes an argument for a shell where it needs it.
pub(super) fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=@:,+%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}
