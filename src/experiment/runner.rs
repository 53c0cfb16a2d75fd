//! Running replications in parallel, with results that do not depend on it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use crate::experiment::StopRule;
use crate::experiment::results::Results;
use crate::experiment::tally::{Ordered, Row, Totals};
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
    if !experiment.is_random() {
        experiment.extend(1, 1, progress);
        return experiment;
    }
    let (mut count, mut planned) = (stop.first(), stop.first());
    loop {
        experiment.extend(count, planned, progress);
        let costs = experiment.cost_estimates();
        if stop.is_met(count, &costs) {
            return experiment;
        }
        planned = stop.forecast(count, &costs);
        count = stop.after(count);
    }
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
            replications: 0,
            variants: variants.iter().map(variant).collect(),
            pairs: (0..count).flat_map(pair).collect(),
        }
    }

    /// Runs each variant up to replication `count`; what has been run stays.
    ///
    /// `planned` replications are reported as the likely end.
    pub fn extend(&mut self, count: u64, planned: u64, progress: &(dyn Fn(Progress) + Sync)) {
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
    }

    /// Returns the number of replications of each variant.
    pub fn replications(&self) -> u64 {
        self.replications
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
        self.variants.iter().map(Variant::cost_estimate).collect()
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
                let rows = self.variants[(job / chunks) as usize].run(from..to, self.seed);
                report(to - from);
                rows
            })
            .collect();
        rows.chunks(chunks as usize).map(<[Vec<Row>]>::concat).collect()
    }

    /// Takes rows in the order of replications.
    fn fold(&mut self, rows: &[Vec<Row>]) {
        for (variant, rows) in self.variants.iter_mut().zip(rows) {
            for row in rows {
                variant.ordered.push(row);
            }
        }
        for (a, b, difference) in &mut self.pairs {
            let both = rows[*a].iter().zip(&rows[*b]);
            both.for_each(|(a, b)| difference.push(a.cost, b.cost));
        }
    }
}

impl Variant {
    fn run(&self, replications: std::ops::Range<u64>, seed: u64) -> Vec<Row> {
        let idle = self.lock().pop();
        let mut worker = idle.unwrap_or_else(|| Worker {
            system: System::new(self.plan.clone(), seed),
            totals: Totals::default(),
        });
        let rows = replications.map(|replication| worker.run(replication)).collect();
        self.lock().push(worker);
        rows
    }

    /// Returns the sums of all replications so far.
    pub(super) fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        self.lock().iter().for_each(|worker| totals.merge(&worker.totals));
        totals
    }

    pub(super) fn cost_estimate(&self) -> Estimate {
        let moments = &self.ordered.cost.moments;
        let cost = self.lock().iter().map(|worker| worker.totals.cost).sum();
        let mean = mean_usd(cost, moments.count());
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

impl Worker {
    fn run(&mut self, replication: u64) -> Row {
        self.system.run(replication);
        self.totals.add(&self.system);
        Row::new(&self.system)
    }
}
