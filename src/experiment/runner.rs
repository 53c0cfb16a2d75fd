//! Running replications in parallel, with results that do not depend on it.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use crate::experiment::reduction::{Observed, Reduction};
use crate::experiment::results::Results;
use crate::experiment::tally::{Ordered, Row, Totals};
use crate::experiment::{StopRule, VarianceReduction};
use crate::orchestration::{Plan, System};
use crate::stats::{CONFIDENCE, Estimate, PairedDifference, mean_usd};

/// Replications of one variant that a thread makes at a time: some milliseconds of work.
const CHUNK: u64 = 16;

/// Replications between two foldings; bounds what waits in memory.
const BATCH: u64 = 16_384;

/// How far an experiment has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Replications made, over all variants.
    pub done: u64,
    /// Replications that will likely have been made at the end, over all variants.
    pub planned: u64,
}

/// Runs variants until the rule is met and returns the experiment.
///
/// Works in the current rayon thread pool. `progress` is called now and then, from any thread.
pub fn run(
    variants: &[(String, Plan)],
    seed: u64,
    stop: StopRule,
    progress: &(dyn Fn(Progress) + Sync),
) -> Experiment {
    let mut experiment = Experiment::new(variants, seed, stop);
    experiment.run(progress);
    experiment
}

/// A variant, what it came to so far, and the workers that run it.
#[derive(Debug)]
pub(super) struct Variant {
    pub(super) name: String,
    pub(super) plan: Plan,
    pub(super) ordered: Ordered,
    workers: Mutex<Vec<Worker>>,
}

/// A system that is used again and again, and the exact sums of what it ran.
#[derive(Debug)]
struct Worker {
    system: System,
    totals: Totals,
}

/// Variants and what their replications came to so far.
///
/// Replications are numbered from 1. Memory stays flat but for cost, makespan and wait, which are
/// kept up to a million replications ([`crate::stats::Quantiles`]).
#[derive(Debug)]
pub struct Experiment {
    seed: u64,
    stop: StopRule,
    pub(super) reduction: VarianceReduction,
    pub(super) observed: Option<Observed>,
    replications: u64,
    pub(super) variants: Vec<Variant>,
    /// One for each pair of variants `a` before `b`: (0, 1), (0, 2), ... (1, 2), ...
    pub(super) pairs: Vec<(usize, usize, PairedDifference)>,
}

impl Experiment {
    /// Returns an experiment that has not run yet.
    pub fn new(variants: &[(String, Plan)], seed: u64, stop: StopRule) -> Experiment {
        let count = variants.len();
        let pair = |a: usize| (a + 1..count).map(move |b| (a, b, PairedDifference::default()));
        let variant = |(name, plan): &(String, Plan)| Variant {
            name: name.clone(),
            plan: plan.clone(),
            ordered: Ordered::default(),
            workers: Mutex::default(),
        };
        Experiment {
            seed,
            stop,
            reduction: VarianceReduction::None,
            observed: None,
            replications: 0,
            variants: variants.iter().map(variant).collect(),
            pairs: (0..count).flat_map(pair).collect(),
        }
    }

    /// Sets the variance reduction of an experiment that has not run yet.
    ///
    /// Where nothing is random there is nothing to reduce, and none is set.
    #[must_use]
    pub fn with_reduction(mut self, reduction: VarianceReduction) -> Experiment {
        assert_eq!(self.replications, 0, "variance reduction is set before anything runs");
        if self.is_random() {
            self.reduction = reduction;
            let plans = self.variants.iter().map(|variant| &variant.plan);
            self.observed = reduction.has_controls().then(|| Observed::new(plans));
        }
        self
    }

    /// Runs replications until the stop rule is met.
    ///
    /// With antithetic pairs the rule counts pairs where it looks first, and looks at whole ones.
    pub fn run(&mut self, progress: &(dyn Fn(Progress) + Sync)) {
        if !self.is_random() {
            self.extend(1, 1, progress);
            return;
        }
        let (stop, unit) = (self.stop, self.reduction.unit());
        let mut count = (stop.first() * unit).min(stop.count_max());
        let mut planned = count;
        loop {
            self.extend(count, planned, progress);
            let costs = self.cost_estimates();
            if stop.is_met(count, &costs) {
                return;
            }
            planned = stop.forecast(count, &costs);
            count = stop.after(count);
        }
    }

    /// Runs each variant up to replication `count`, the second of a pair included; what has been
    /// run stays.
    ///
    /// `planned` replications are reported as the likely end.
    pub fn extend(&mut self, count: u64, planned: u64, progress: &(dyn Fn(Progress) + Sync)) {
        let count = count.next_multiple_of(self.reduction.unit());
        let variants = self.variants.len() as u64;
        let done = AtomicU64::new(self.replications * variants);
        let report = |more: u64| {
            let done = done.fetch_add(more, Ordering::Relaxed) + more;
            progress(Progress { done, planned: planned.max(count) * variants });
        };
        while self.replications < count {
            let end = count.min(self.replications + BATCH);
            let rows = self.run_batch(end, &report);
            self.fold(&rows);
            self.replications = end;
        }
        if let Some(observed) = &mut self.observed {
            observed.settle();
        }
    }

    /// Returns the number of replications of each variant.
    pub fn replications(&self) -> u64 {
        self.replications
    }

    /// Returns its variance reduction.
    pub fn reduction(&self) -> VarianceReduction {
        self.reduction
    }

    /// Returns the number of independent observations: replications, or pairs of them.
    pub fn observation_count(&self) -> u64 {
        self.replications / self.reduction.unit()
    }

    /// Returns the seed of its random streams.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Returns the rule by which it stops.
    pub fn stop_rule(&self) -> StopRule {
        self.stop
    }

    /// Returns whether replications of any variant can differ.
    pub fn is_random(&self) -> bool {
        self.variants.iter().any(|variant| variant.plan.is_random())
    }

    /// Returns the mean cost of each variant so far, in US dollars.
    pub fn cost_estimates(&self) -> Vec<Estimate> {
        (0..self.variants.len()).map(|variant| self.cost(variant).estimate).collect()
    }

    /// Returns the mean cost of a variant in US dollars.
    pub(super) fn cost(&self, variant: usize) -> Reduction {
        let of = &self.variants[variant];
        let (cost, plain) = (&of.ordered.cost, of.cost_estimate());
        if !of.plan.is_random() {
            return Reduction { estimate: plain, skewness: (0.0, 1), reduced: None };
        }
        self.reduce(&[(variant, 1.0)], plain, (&cost.moments, &cost.each))
    }

    /// Returns the mean cost of the second of a pair minus that of the first in US dollars.
    pub(super) fn difference(
        &self,
        (a, b, paired): &(usize, usize, PairedDifference),
    ) -> Reduction {
        let is_random = [*a, *b].iter().any(|variant| self.variants[*variant].plan.is_random());
        let plain = paired.estimate(CONFIDENCE, is_random);
        if !is_random {
            return Reduction { estimate: plain, skewness: (0.0, 1), reduced: None };
        }
        self.reduce(&[(*b, 1.0), (*a, -1.0)], plain, paired.moments())
    }

    /// Returns cost in US dollars, makespan and wait in seconds of each replication of a variant,
    /// in order, while they are kept: up to a million.
    pub fn observations(&self, variant: usize) -> Option<[&[f64]; 3]> {
        let Ordered { cost, makespan, wait, .. } = &self.variants[variant].ordered;
        Some([cost.quantiles.values()?, makespan.quantiles.values()?, wait.quantiles.values()?])
    }

    /// Returns what the replications came to.
    pub fn results(&self) -> Results {
        Results::new(self)
    }

    /// Runs all variants up to replication `end`; returns rows by variant and replication.
    fn run_batch(&self, end: u64, report: &(dyn Fn(u64) + Sync)) -> Vec<Vec<Row>> {
        let first = self.replications + 1;
        let chunks = (end + 1 - first).div_ceil(CHUNK);
        let jobs = self.variants.len() as u64 * chunks;
        let rows: Vec<Vec<Row>> = (0..jobs)
            .into_par_iter()
            .map(|job| {
                let from = first + job % chunks * CHUNK;
                let to = (from + CHUNK).min(end + 1);
                let rows = self.run_chunk((job / chunks) as usize, from..to);
                report(to - from);
                rows
            })
            .collect();
        rows.chunks(chunks as usize).map(<[Vec<Row>]>::concat).collect()
    }

    fn run_chunk(&self, variant: usize, replications: Range<u64>) -> Vec<Row> {
        let controls = self.observed.as_ref().map(|observed| observed.controls(variant));
        let of = &self.variants[variant];
        let mut worker = of.worker(self.seed);
        let row = |replication| {
            let draws = self.reduction.draws(self.seed, replication);
            worker.system.run_on(draws);
            worker.totals.add(&worker.system);
            let controls = controls.map_or_else(Default::default, |of| of.values(&draws));
            Row::new(&worker.system, controls)
        };
        let rows = replications.map(row).collect();
        of.lock().push(worker);
        rows
    }

    /// Takes rows in the order of replications.
    fn fold(&mut self, rows: &[Vec<Row>]) {
        let unit = self.reduction.unit() as usize;
        for (variant, rows) in self.variants.iter_mut().zip(rows) {
            rows.chunks(unit).for_each(|rows| variant.ordered.push(rows));
        }
        for (a, b, difference) in &mut self.pairs {
            let costs = |variant: usize| rows[variant].iter().map(|row| row.cost);
            let both: Vec<_> = costs(*a).zip(costs(*b)).collect();
            both.chunks(unit).for_each(|both| difference.push(both));
        }
        if let Some(observed) = &mut self.observed {
            let count = rows.first().map_or(0, Vec::len);
            for first in (0..count).step_by(unit) {
                let of_all: Vec<&[Row]> =
                    rows.iter().map(|rows| &rows[first..first + unit]).collect();
                let costs: Vec<f64> = of_all.iter().map(|rows| Row::mean_cost(rows)).collect();
                let controls: Vec<_> = of_all.iter().map(|rows| Row::mean_controls(rows)).collect();
                observed.push(&costs, &controls);
            }
        }
    }
}

impl Variant {
    /// Returns a worker that is idle, or a new one.
    fn worker(&self, seed: u64) -> Worker {
        let idle = self.lock().pop();
        idle.unwrap_or_else(|| Worker {
            system: System::new(self.plan.clone(), seed),
            totals: Totals::default(),
        })
    }

    /// Returns the sums of all replications so far.
    pub(super) fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        self.lock().iter().for_each(|worker| totals.merge(&worker.totals));
        totals
    }

    /// Returns the mean of the sample with its interval.
    fn cost_estimate(&self) -> Estimate {
        let moments = &self.ordered.cost.moments;
        let cost = self.lock().iter().map(|worker| worker.totals.cost).sum();
        let mean = mean_usd(cost, self.ordered.cost.each.count());
        if self.plan.is_random() {
            Estimate::new(mean, moments, CONFIDENCE)
        } else {
            Estimate::certain(mean, CONFIDENCE, moments.count())
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Worker>> {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
