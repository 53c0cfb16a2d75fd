//! The best level of a factor: ranking and selection on common random numbers.
//!
//! Levels are dropped one after the other as soon as the procedure of Kim and Nelson allows it
//! ([`Selection`]), so most replications go to the levels that are hard to tell apart. What is
//! minimized is an [`Objective`]. A level that drops tasks, or breaks a bound on the makespan,
//! takes no part. A bound is decided first, from intervals that share half of the allowed error;
//! the selection has the other half. A makespan that its interval does not tell from the bound
//! after 4,096 replications is decided by its mean.

use crate::experiment::{Experiment, Progress, StopRule, VariantResults};
use crate::orchestration::Plan;
use crate::stats::{CONFIDENCE, Estimate, Moments, Quantiles, Selection};

/// Observations of each level before the first is dropped.
const FIRST: u64 = 32;
/// Observations between two looks; the replications of a chunk.
const STEP: u64 = 16;
/// Most replications of a level while a bound is decided.
const BOUND_COUNT_MAX: u64 = 4_096;
/// Tail observations that a batch must have for its quantile: a p95 takes batches of 200.
const TAIL: f64 = 10.0;

/// What is to be as small as possible.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Objective {
    /// The mean cost.
    Cost,
    /// The mean cost of levels whose mean makespan is at most this many seconds.
    CostWithin(f64),
    /// The mean cost with each hour of makespan at this many US dollars.
    CostAndTime(f64),
    /// A quantile of the cost, by its share of runs, such as 0.95.
    ///
    /// An observation is the quantile of a batch of replications, ten of them beyond it. What is
    /// selected is the level with the smallest mean of these, which for finite batches is close to
    /// the quantile, not the same.
    Quantile(f64),
}

impl Objective {
    /// Returns how many replications make one observation.
    pub fn batch(self) -> u64 {
        match self {
            Objective::Quantile(share) => (TAIL / share.min(1.0 - share) - 1e-9).ceil() as u64,
            Objective::Cost | Objective::CostWithin(_) | Objective::CostAndTime(_) => 1,
        }
    }

    fn observation(self, costs: &[f64], makespans: &[f64]) -> f64 {
        match self {
            Objective::Cost | Objective::CostWithin(_) => costs[0],
            Objective::CostAndTime(rate) => costs[0] + rate * makespans[0] / 3_600.0,
            Objective::Quantile(share) => {
                let mut quantiles = Quantiles::default();
                for cost in costs {
                    quantiles.push(*cost);
                }
                quantiles.ascending().quantile((share * 1e3).round() as u64)
            }
        }
    }
}

/// The smallest difference worth finding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Indifference {
    /// As a share of the smallest mean of the first observations.
    Relative(f64),
    /// In US dollars.
    Usd(f64),
}

/// How to select.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SizeDesign {
    /// What is to be small.
    pub objective: Objective,
    /// Probability of selecting the best level, or one within the indifference zone of it.
    pub probability: f64,
    /// The indifference zone.
    pub indifference: Indifference,
    /// Largest share of tasks or runs that a level may leave undone.
    pub dropped_max: f64,
    /// Most replications of a level; beyond, the smallest mean is taken without a guarantee.
    pub count_max: u64,
    /// Seed of the random streams.
    pub seed: u64,
}

/// What became of a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LevelState {
    /// It was selected.
    Chosen,
    /// Another one is better.
    Beaten,
    /// It leaves too many tasks or runs undone.
    Drops,
    /// It takes too long.
    TooSlow,
}

/// One level.
#[derive(Clone, Debug, PartialEq)]
pub struct LevelResult {
    /// Its value, as it would stand in a file.
    pub level: String,
    /// What became of it.
    pub state: LevelState,
    /// Replications.
    pub replications: u64,
    /// The objective over its own replications, in US dollars.
    pub objective: Estimate,
    /// The objective minus that of the selected level, paired; `None` where none is selected.
    pub above_choice: Option<Estimate>,
    /// Mean cost in US dollars: that of the selected level and the paired difference to it, so that
    /// levels with few replications can be compared with those that have many.
    pub cost_usd: f64,
    /// Mean makespan in seconds, estimated likewise.
    pub makespan_s: f64,
    /// All results, over its own replications.
    pub results: VariantResults,
    /// Whether no other level that takes part is both cheaper and faster.
    pub is_on_frontier: bool,
}

/// What a selection came to.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeResults {
    /// Levels, in the order given.
    pub levels: Vec<LevelResult>,
    /// Number of the selected level; `None` where none takes part.
    pub chosen: Option<usize>,
    /// The next best and its objective minus that of the selected level, paired.
    pub runner_up: Option<(usize, Estimate)>,
    /// Replications of all levels.
    pub replications: u64,
    /// What all levels would have taken with as many as the last one that was dropped.
    pub equal_allocation: u64,
    /// The indifference zone in US dollars.
    pub indifference_usd: f64,
    /// Whether the selection ended before `count_max`, so that its guarantee holds.
    pub is_guaranteed: bool,
}

/// Selects the best of levels.
///
/// Works in the current rayon thread pool.
pub fn size(
    levels: &[(String, Plan)],
    design: &SizeDesign,
    progress: &(dyn Fn(Progress) + Sync),
) -> SizeResults {
    let mut race = Race::new(levels, design, progress);
    let is_random = race.runs.iter().any(Experiment::is_random);
    let first = if is_random { FIRST } else { 1 };
    race.extend_all(first);
    race.exclude_dropping();
    if let Objective::CostWithin(seconds) = design.objective {
        race.exclude_slow(seconds, is_random);
    }
    race.select(first, is_random)
}

struct Race<'a> {
    names: Vec<String>,
    design: &'a SizeDesign,
    progress: &'a (dyn Fn(Progress) + Sync),
    runs: Vec<Experiment>,
    states: Vec<LevelState>,
}

impl<'a> Race<'a> {
    fn new(
        levels: &[(String, Plan)],
        design: &'a SizeDesign,
        progress: &'a (dyn Fn(Progress) + Sync),
    ) -> Race<'a> {
        let stop = StopRule::Count(design.count_max);
        let run = |level: &(String, Plan)| {
            Experiment::new(std::slice::from_ref(level), design.seed, stop)
        };
        Race {
            names: levels.iter().map(|(name, _)| name.clone()).collect(),
            design,
            progress,
            runs: levels.iter().map(run).collect(),
            states: vec![LevelState::Beaten; levels.len()],
        }
    }

    /// Runs a level until it has so many observations.
    fn extend(&mut self, level: usize, observations: u64) {
        let count = observations * self.design.objective.batch();
        self.runs[level].extend(count, count, &|_| ());
        let done = self.runs.iter().map(Experiment::replications).sum();
        (self.progress)(Progress { done, planned: done });
    }

    fn extend_all(&mut self, observations: u64) {
        (0..self.runs.len()).for_each(|level| self.extend(level, observations));
    }

    fn exclude_dropping(&mut self) {
        for (state, run) in self.states.iter_mut().zip(&self.runs) {
            let results = &run.results().variants[0];
            let (dropped, attempted) = results.dropped_tasks();
            let undone = 1.0 - results.outcome("completed");
            let share = if attempted > 0.0 { dropped / attempted } else { 0.0 };
            if share.max(undone) > self.design.dropped_max + 1e-12 {
                *state = LevelState::Drops;
            }
        }
    }

    /// Decides for each level whether its mean makespan is within a bound.
    fn exclude_slow(&mut self, seconds: f64, is_random: bool) {
        let error = 0.5 * (1.0 - self.design.probability) / self.runs.len() as f64;
        for level in 0..self.runs.len() {
            let mut count = self.runs[level].replications();
            loop {
                let moments: Moments = self.series(level, 1).iter().copied().collect();
                let estimate = Estimate::new(moments.mean(), &moments, 1.0 - error);
                let half = if is_random { estimate.half_width.unwrap_or(0.0) } else { 0.0 };
                let is_decided = (estimate.mean - seconds).abs() > half || half == 0.0;
                if is_decided || count >= BOUND_COUNT_MAX.min(self.design.count_max) {
                    if estimate.mean > seconds && self.states[level] == LevelState::Beaten {
                        self.states[level] = LevelState::TooSlow;
                    }
                    break;
                }
                count *= 2;
                self.extend(level, count);
            }
        }
    }

    /// Costs (0) or makespans (1) of a level, in the order of replications.
    fn series(&self, level: usize, which: usize) -> &[f64] {
        self.runs[level].observations(0).map_or(&[], |series| series[which])
    }

    /// All observations of a level.
    fn observations(&self, level: usize) -> Vec<f64> {
        let batch = self.design.objective.batch() as usize;
        let (costs, makespans) = (self.series(level, 0), self.series(level, 1));
        let pairs = costs.chunks_exact(batch).zip(makespans.chunks_exact(batch));
        pairs.map(|(cost, span)| self.design.objective.observation(cost, span)).collect()
    }

    fn select(mut self, first: u64, is_random: bool) -> SizeResults {
        let eligible: Vec<bool> =
            self.states.iter().map(|state| *state == LevelState::Beaten).collect();
        let observations: Vec<Vec<f64>> = (0..self.runs.len())
            .map(|level| self.observations(level)[..first as usize].to_vec())
            .collect();
        let means: Vec<f64> = observations.iter().map(|values| mean(values)).collect();
        let smallest = means.iter().zip(&eligible).filter(|(_, is)| **is).map(|(mean, _)| *mean);
        let indifference = match self.design.indifference {
            Indifference::Usd(usd) => usd,
            Indifference::Relative(share) => share * smallest.fold(f64::INFINITY, f64::min),
        };
        let probability = match self.design.objective {
            Objective::CostWithin(_) => 0.5 + 0.5 * self.design.probability,
            _ => self.design.probability,
        };
        let slices: Vec<&[f64]> = observations.iter().map(Vec::as_slice).collect();
        let zone = indifference.max(f64::MIN_POSITIVE);
        let mut selection = Selection::new(&slices, &eligible, probability, zone);
        let (count, is_guaranteed) = self.eliminate(&mut selection, means, first, is_random);
        let left = selection.left();
        let mean_of = |level: &usize| mean(&self.observations(*level)[..count as usize]);
        let chosen = left.into_iter().min_by(|a, b| mean_of(a).total_cmp(&mean_of(b)));
        self.finish(chosen, indifference, is_guaranteed)
    }

    /// Looks, and lets those that are left go on, until one is.
    fn eliminate(
        &mut self,
        selection: &mut Selection,
        mut means: Vec<f64>,
        first: u64,
        is_random: bool,
    ) -> (u64, bool) {
        let count_max = self.design.count_max / self.design.objective.batch();
        let mut count = first;
        loop {
            selection.look(&means, count);
            if !is_random || selection.is_done(count) {
                return (count, true);
            }
            if count >= count_max {
                return (count, false);
            }
            count = (count + STEP).min(count_max.max(first));
            for level in selection.left() {
                self.extend(level, count);
                means[level] = mean(&self.observations(level)[..count as usize]);
            }
        }
    }

    fn finish(
        mut self,
        chosen: Option<usize>,
        indifference_usd: f64,
        is_guaranteed: bool,
    ) -> SizeResults {
        if let Some(chosen) = chosen {
            self.states[chosen] = LevelState::Chosen;
        }
        let takes_part =
            |state: &LevelState| matches!(state, LevelState::Chosen | LevelState::Beaten);
        let results: Vec<VariantResults> =
            self.runs.iter().map(|run| run.results().variants.remove(0)).collect();
        let points: Vec<(f64, f64)> =
            (0..results.len()).map(|at| self.point(at, chosen.unwrap_or(at))).collect();
        let dominates = |a: usize, b: usize| {
            let ((cost, span), (other_cost, other_span)) = (points[a], points[b]);
            cost <= other_cost && span <= other_span && (cost < other_cost || span < other_span)
        };
        let rivals: Vec<usize> =
            (0..results.len()).filter(|at| takes_part(&self.states[*at])).collect();
        let best = |at: &usize| rivals.contains(at) && !rivals.iter().any(|l| dominates(*l, *at));
        let frontier: Vec<bool> = (0..results.len()).map(|at| best(&at)).collect();
        let runner_up = chosen.and_then(|chosen| self.runner_up(chosen, &rivals));
        let counts: Vec<u64> = self.runs.iter().map(Experiment::replications).collect();
        let levels = results.into_iter().enumerate().map(|(at, results)| LevelResult {
            level: self.names[at].clone(),
            state: self.states[at],
            replications: counts[at],
            objective: estimate(&self.observations(at), self.runs[at].is_random()),
            above_choice: chosen.map(|chosen| self.difference(at, chosen)),
            cost_usd: points[at].0,
            makespan_s: points[at].1,
            results,
            is_on_frontier: frontier[at],
        });
        SizeResults {
            levels: levels.collect(),
            chosen,
            runner_up,
            replications: counts.iter().sum(),
            equal_allocation: counts.iter().max().unwrap_or(&0) * counts.len() as u64,
            indifference_usd,
            is_guaranteed,
        }
    }

    /// The level whose paired difference to the selected one is the smallest.
    fn runner_up(&self, chosen: usize, rivals: &[usize]) -> Option<(usize, Estimate)> {
        let others = rivals.iter().filter(|level| **level != chosen);
        let differences = others.map(|level| (*level, self.difference(*level, chosen)));
        differences.min_by(|(_, a), (_, b)| a.mean.total_cmp(&b.mean))
    }

    /// The objective of a level minus that of another, replication by replication.
    fn difference(&self, level: usize, other: usize) -> Estimate {
        let pairs = differences(&self.observations(level), &self.observations(other));
        let is_random = self.runs[level].is_random() || self.runs[other].is_random();
        estimate(&pairs, is_random)
    }

    /// Mean cost and makespan of a level, by way of another that has more replications.
    fn point(&self, level: usize, other: usize) -> (f64, f64) {
        let by_way = |series: usize| {
            let (own, others) = (self.series(level, series), self.series(other, series));
            mean(others) + mean(&differences(own, others))
        };
        (by_way(0), by_way(1))
    }
}

fn differences(own: &[f64], others: &[f64]) -> Vec<f64> {
    own.iter().zip(others).map(|(a, b)| a - b).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().copied().collect::<Moments>().mean()
}

fn estimate(values: &[f64], is_random: bool) -> Estimate {
    let moments: Moments = values.iter().copied().collect();
    if is_random {
        Estimate::new(moments.mean(), &moments, CONFIDENCE)
    } else {
        Estimate::certain(moments.mean(), CONFIDENCE, moments.count())
    }
}
