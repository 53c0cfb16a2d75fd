//! `forkcast sweep`: a scenario at many points, resumable and in shards.

use std::collections::BTreeMap;
use std::env;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::sync::{Mutex, PoisonError};

use forkcast::experiment::{Experiment, Points, StopRule, in_order, run as experiment};
use forkcast::orchestration::Plan;
use forkcast::report::csv::{self, Row};
use forkcast::scenario::{
    Factor, LoadInput, POINTS_MAX, Problems, Sources, Study, VARIANT_KEY, parse_factors, too_many,
};
use rayon::ThreadPool;
use rayon::prelude::*;
use serde_json::Value;
use serde_json::value::RawValue;

use super::args::{ShardChoice, SweepOptions};
use super::failure::Failure;
use super::manifest::{self, Input, Manifest, ShardOf};
use super::simulate::{hash, pool, quoted, stop_rule};
use super::sweep_dir::{
    Each, Folder, Line, Mode, columns, each_line, write_markdown, write_rows, write_table,
};
use super::{files, terminal};

/// Most invalid points that are told one by one.
const SHOWN_MAX: usize = 50;

/// Most replications of a point whose observations are all kept.
const RAW_MAX: u64 = 1_000_000;

/// Sweeps.
pub(super) fn run(options: &SweepOptions) -> Result<(), Failure> {
    let shard = shard(options)?;
    let sweep = Sweep::open(options)?;
    let pool = pool(&options.effort)?;
    pool.install(|| sweep.check())?;
    let manifest = sweep.manifest(shard);
    match &options.out {
        None => {
            let part = tempfile::tempfile()?;
            sweep.work(&pool, (&part, 0), shard)?;
            print(options, &part)
        }
        Some(path) => {
            let folder = Folder::lock(path)?;
            let mode = match (options.resume, options.force) {
                (true, _) => Mode::Resume,
                (_, true) => Mode::Replace,
                (false, false) => Mode::Refuse,
            };
            let begun = folder.begin(&manifest, mode, &mut |job| shard.point(job))?;
            let Some((part, done)) = begun else {
                terminal::talk("the sweep is finished already");
                return Ok(());
            };
            sweep.work(&pool, (&part, done), shard)?;
            let raw: Each<'_> = &|take| each_line(&part, &mut |line| take(&line.raw));
            folder.finish(&|take| each_row(&part, take), options.raw.then_some(raw))
        }
    }
}

fn each_row(part: &File, take: &mut dyn FnMut(&str) -> Result<(), Failure>) -> Result<(), Failure> {
    each_line(part, &mut |line| line.rows.iter().try_for_each(|row| take(row.get())))
}

/// Prints rows to stdout.
fn print(options: &SweepOptions, part: &File) -> Result<(), Failure> {
    let rows: Each<'_> = &|take| each_row(part, take);
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    if options.json {
        write_rows(rows, &mut |row| writeln!(out, "{row}"))?;
    } else if options.markdown {
        write_markdown(&mut out, rows)?;
    } else {
        write_table(&mut out, &columns(rows)?, rows)?;
    }
    Ok(out.flush()?)
}

/// The points of one process: every `count`-th, from `index` on, which counts from 0.
#[derive(Clone, Copy, Debug)]
struct Shard {
    index: usize,
    count: usize,
}

impl Shard {
    fn point(self, job: usize) -> usize {
        self.index + job * self.count
    }

    fn jobs(self, points: usize) -> usize {
        points.saturating_sub(self.index).div_ceil(self.count)
    }
}

fn shard(options: &SweepOptions) -> Result<Shard, Failure> {
    let hint = "give --shard I/N, or --shard auto in a Slurm array or, with --shards N, in a \
                Kubernetes job with completion indexes";
    match (options.shard, options.shards) {
        (None, _) => Ok(Shard { index: 0, count: 1 }),
        (Some(ShardChoice::One(index, count)), None) => {
            Ok(Shard { index: index as usize - 1, count: count as usize })
        }
        (Some(ShardChoice::One(..)), Some(_)) => {
            Err(Failure::usage("--shards goes with --shard auto only".to_owned(), hint))
        }
        (Some(ShardChoice::Auto), shards) => {
            let number = |name: &str| env::var(name).ok()?.trim().parse::<usize>().ok();
            let (index, count) = if let Some(task) = number("SLURM_ARRAY_TASK_ID") {
                let first = number("SLURM_ARRAY_TASK_MIN").unwrap_or(1);
                (task.checked_sub(first), number("SLURM_ARRAY_TASK_COUNT"))
            } else {
                (number("JOB_COMPLETION_INDEX"), None)
            };
            let count = shards.map(|shards| shards as usize).or(count);
            match (index, count) {
                (Some(index), Some(count)) if index < count => Ok(Shard { index, count }),
                _ => Err(Failure::usage(
                    "no variable of a batch system tells which shard this is".to_owned(),
                    hint,
                )),
            }
        }
    }
}

/// Files that were read, by name, so that each is read once and its hash is known.
#[derive(Debug, Default)]
struct FilesRead(Mutex<BTreeMap<String, Result<String, String>>>);

/// A sweep made ready.
struct Sweep<'a> {
    options: &'a SweepOptions,
    stop: StopRule,
    text: String,
    study: Study,
    factors: Vec<Factor>,
    points: Points,
    files: FilesRead,
}

impl<'a> Sweep<'a> {
    fn open(options: &'a SweepOptions) -> Result<Sweep<'a>, Failure> {
        let mut factors = parse_factors(&options.vary).map_err(|problems| {
            let problems = Problems::new(problems, &Sources::new());
            Failure::Options(problems.render(terminal::stderr_has_color()))
        })?;
        let stop = stop_rule(&options.effort);
        if options.raw && stop.count_max() > RAW_MAX {
            let hint = "take fewer replications, or leave out --raw";
            return Err(Failure::usage(format!("--raw keeps at most {RAW_MAX} each"), hint));
        }
        let path = &options.scenario.scenario;
        let text = files::read_settings(path)?;
        let name = path.display().to_string();
        let input =
            LoadInput { name: &name, text: &text, sets: &options.scenario.set.sets, levels: &[] };
        let files = FilesRead::default();
        let mut study = Study::open(&input, &mut |name| files.read(options, name))
            .map_err(|problems| Failure::problems(&problems))?;
        if let Some(at) = factors.iter().position(|factor| factor.key == VARIANT_KEY) {
            let Factor { levels, .. } = factors.remove(at);
            let names: Vec<&str> = levels.iter().map(|level| &*level.label).collect();
            let option = options.vary[at].as_str();
            study.keep_variants(&names, option).map_err(|problems| Failure::problems(&problems))?;
        }
        let points = design(options, &factors)?;
        Ok(Sweep { options, stop, text, study, factors, points, files })
    }

    /// Returns the settings of a point, by key.
    fn settings(&self, point: usize) -> Vec<(&str, &str)> {
        let levels = self.points.at(point);
        self.factors
            .iter()
            .zip(levels)
            .map(|(factor, level)| (factor.key.as_str(), &*factor.levels[level].value))
            .collect()
    }

    /// Returns the levels of a point as results call them.
    fn labels(&self, point: usize) -> Vec<(String, String)> {
        let levels = self.points.at(point);
        let label = |(factor, level): (&Factor, usize)| {
            (factor.key.clone(), factor.levels[level].label.to_string())
        };
        self.factors.iter().zip(levels).map(label).collect()
    }

    /// Refuses invalid points, all of them, before anything runs.
    fn check(&self) -> Result<(), Failure> {
        let color = terminal::stderr_has_color();
        let check = |point: usize| {
            let mut read = |name: &str| self.files.read(self.options, name);
            let problems = self.study.check(&self.settings(point), &mut read).err()?;
            Some((point, problems.render(color)))
        };
        let mut wrong: Vec<(usize, String)> =
            (0..self.points.count()).into_par_iter().filter_map(check).collect();
        if wrong.is_empty() {
            return Ok(());
        }
        let count = wrong.len();
        let mut seen = std::collections::BTreeSet::new();
        wrong.retain(|(_, text)| seen.insert(text.clone()));
        let mut text = String::new();
        for (point, problems) in wrong.iter().take(SHOWN_MAX) {
            let labels: Vec<String> =
                self.labels(*point).iter().map(|(key, level)| format!("{key}={level}")).collect();
            let place = terminal::printable(&labels.join(" "));
            let _ = writeln!(text, "at point {point} ({place}):\n{problems}\n");
        }
        let _ = write!(text, "{count} of {} points are invalid", self.points.count());
        if wrong.len() > SHOWN_MAX {
            let _ = write!(text, "; {} more problems are not shown", wrong.len() - SHOWN_MAX);
        }
        Err(Failure::Input(text))
    }

    /// Works on the points of a shard from job `done` on, and appends their lines.
    fn work(
        &self,
        pool: &ThreadPool,
        (part, done): (&File, usize),
        shard: Shard,
    ) -> Result<(), Failure> {
        let jobs = shard.jobs(self.points.count());
        let bar = terminal::progress(self.options.quiet, "points");
        bar.set_length(jobs as u64);
        bar.set_position(done as u64);
        bar.reset_eta();
        let work = |job: usize| self.line(shard.point(job));
        let mut part = part;
        let outcome = in_order(pool, done..jobs, &work, |_, line| {
            // One call, so that a kill tears the last line at most.
            part.write_all(line?.as_bytes())?;
            bar.inc(1);
            Ok(())
        });
        bar.finish_and_clear();
        outcome
    }

    /// Simulates a point and returns its line of the part file.
    fn line(&self, point: usize) -> Result<String, Failure> {
        let mut read = |name: &str| self.files.read(self.options, name);
        let variants = self
            .study
            .load(&self.settings(point), &mut read)
            .map_err(|problems| Failure::problems(&problems))?;
        let plans: Vec<(String, Plan)> =
            variants.into_iter().map(|variant| (variant.name, variant.plan)).collect();
        let experiment = experiment(&plans, self.options.effort.execution.seed, self.stop, &|_| {});
        let results = experiment.results();
        let factors = self.labels(point);
        let row = |variant| {
            let replications = results.replications;
            RawValue::from_string(csv::flat(&Row {
                factors: factors.clone(),
                replications,
                variant,
            }))
        };
        let rows: Result<Vec<_>, _> = results.variants.iter().map(row).collect();
        let raw = if self.options.raw { raw(point, &plans, &experiment) } else { String::new() };
        let line = rows.and_then(|rows| serde_json::to_string(&Line { point, rows, raw }));
        line.map(|line| line + "\n").map_err(|error| Failure::message(error.to_string()))
    }

    /// Everything that the results depend on, and nothing else.
    fn manifest(&self, shard: Shard) -> Manifest<'_> {
        let variants = &self.study.loaded().variants;
        let sets = self.options.scenario.set.sets.iter();
        let is_whole = shard.count == 1;
        Manifest {
            format_version: 1,
            program: format!("forkcast {}", env!("CARGO_PKG_VERSION")),
            scenario: self.options.scenario.scenario.display().to_string(),
            scenario_sha256: hash(&self.text),
            inputs: self.inputs(),
            set: sets.map(|(key, value)| format!("{key}={value}")).collect(),
            seed: self.options.effort.execution.seed,
            stop: manifest::stop(self.stop),
            factors: &self.factors,
            design: if self.options.lhs.is_some() { "latin_hypercube" } else { "grid" },
            points: self.points.count(),
            variants: variants.iter().map(|variant| variant.name.as_str()).collect(),
            raw: self.options.raw,
            shard: (!is_whole).then(|| ShardOf { index: shard.index + 1, count: shard.count }),
            reproduce: self.reproduce(),
        }
    }

    /// Returns the hashes of the texts besides the scenario: profiles, price books, data files.
    fn inputs(&self) -> Vec<Input> {
        let sources = self.study.sources().iter().skip(1);
        let mut hashes: BTreeMap<String, String> =
            sources.map(|(name, text)| (name.to_owned(), hash(text))).collect();
        let files = self.files.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (name, text) in files.iter() {
            if let Ok(text) = text {
                hashes.insert(name.clone(), hash(text));
            }
        }
        hashes.into_iter().map(|(name, sha256)| Input { name, sha256 }).collect()
    }

    /// The command that gives the same results; threads, shards and folders do not matter.
    fn reproduce(&self) -> String {
        let SweepOptions { scenario, vary, lhs, effort, raw, .. } = self.options;
        let path = scenario.scenario.display().to_string();
        let mut text = format!("forkcast sweep {}", quoted(&path));
        for (key, value) in &scenario.set.sets {
            let _ = write!(text, " --set {}", quoted(&format!("{key}={value}")));
        }
        for option in vary {
            let _ = write!(text, " --vary {}", quoted(option));
        }
        if let Some(count) = lhs {
            let _ = write!(text, " --lhs {count}");
        }
        let _ = match self.stop {
            StopRule::Count(count) => write!(text, " --replications {count}"),
            StopRule::Precision { relative, .. } => write!(text, " --precision {relative}"),
        };
        let _ = write!(text, " --seed {}", effort.execution.seed);
        text + if *raw { " --raw -o DIR" } else { "" }
    }
}

impl FilesRead {
    /// Reads a file that the scenario or a level names, once.
    fn read(&self, options: &SweepOptions, name: &str) -> Result<String, String> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let read = || files::reader_beside(&options.scenario.scenario)(name);
        known.entry(name.to_owned()).or_insert_with(read).clone()
    }
}

fn design(options: &SweepOptions, factors: &[Factor]) -> Result<Points, Failure> {
    let levels: Vec<usize> = factors.iter().map(|factor| factor.levels.len()).collect();
    if let Some(count) = options.lhs {
        return Ok(Points::latin_hypercube(&levels, count as usize, options.effort.execution.seed));
    }
    let count = levels.iter().fold(1_u128, |count, levels| count.saturating_mul(*levels as u128));
    if count > POINTS_MAX as u128 {
        return Err(Failure::usage(too_many(count), "see `forkcast sweep --help`"));
    }
    Ok(Points::grid(&levels))
}

/// Returns the lines of `raw.csv` of a point.
fn raw(point: usize, plans: &[(String, Plan)], experiment: &Experiment) -> String {
    let mut text = String::new();
    for (variant, (name, _)) in plans.iter().enumerate() {
        let Some([cost, makespan, wait]) = experiment.observations(variant) else { continue };
        for (index, cost) in cost.iter().enumerate() {
            let [cost, makespan, wait] =
                [*cost, makespan[index], wait[index]].map(|value| Value::from(value).to_string());
            let (point, number) = (point.to_string(), (index + 1).to_string());
            text += &csv::line([&point, name, &number, &cost, &makespan, &wait]);
        }
    }
    text
}
