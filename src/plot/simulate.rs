//! Running what a figure shows: every panel, series and level, on common random numbers.

use rayon::prelude::*;

use crate::experiment::{StopRule, VariantResults, run};
use crate::orchestration::Plan;
use crate::plot::Plot;
use crate::scenario::{Factor, LoadedVariant, Problems, Study};
use crate::stats::{CONFIDENCE, Estimate, Moments};

/// Reads a file that a scenario names, from any thread.
pub type ReadFile<'a> = &'a (dyn Fn(&str) -> Result<String, String> + Sync);

/// Told after each point how many of how many are done.
pub type Progress<'a> = &'a (dyn Fn(usize, usize) + Sync);

/// Replications of a point where a figure says nothing.
const REPLICATIONS: u64 = 256;

/// One variant at one point.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    pub(super) results: VariantResults,
    /// Cost, makespan and wait of each run.
    pub(super) observations: [Vec<f64>; 3],
    pub(super) is_random: bool,
    pub(super) replications: u64,
}

/// All points of a figure: by panel, series and level of `x`; at each, one cell for each variant.
#[derive(Debug)]
pub(super) struct Points {
    counts: [usize; 3],
    cells: Vec<Vec<Cell>>,
}

impl Points {
    pub(super) fn at(&self, panel: usize, series: usize, x: usize) -> &[Cell] {
        let [_, all_series, all_x] = self.counts;
        &self.cells[(panel * all_series + series) * all_x + x]
    }

    /// Returns the fewest and the most replications of a cell that is random; 1 where none is.
    pub(super) fn replications(&self) -> (u64, u64) {
        let random = self.cells.iter().flatten().filter(|cell| cell.is_random);
        let counts = random.map(|cell| cell.replications);
        counts.clone().min().zip(counts.max()).unwrap_or((1, 1))
    }

    pub(super) fn is_random(&self) -> bool {
        self.cells.iter().flatten().any(|cell| cell.is_random)
    }
}

impl Plot {
    fn stop_rule(&self) -> StopRule {
        match (self.file.replications, self.file.precision) {
            (Some(count), _) => StopRule::Count(count),
            (None, Some(precision)) => StopRule::precision(precision),
            (None, None) => StopRule::Count(REPLICATIONS),
        }
    }

    /// Loads every point, then runs them.
    ///
    /// # Errors
    /// The problems of each point that has any.
    pub(super) fn simulate(
        &self,
        study: &Study,
        read: ReadFile<'_>,
        progress: Progress<'_>,
    ) -> Result<Points, Vec<Problems>> {
        let factors = [self.facet_factor(), self.series.as_ref(), self.x.as_ref()];
        let counts = factors.map(Plot::levels);
        let load = |point: usize| {
            study.load(&settings(&factors, counts, point), &mut |name: &str| read(name))
        };
        let total = counts.iter().product();
        let loaded: Vec<Result<Vec<LoadedVariant>, Problems>> =
            (0..total).into_par_iter().map(load).collect();
        let (mut points, mut problems) = (Vec::new(), Vec::new());
        for outcome in loaded {
            match outcome {
                Ok(variants) => points.push(variants),
                Err(found) => problems.push(found),
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let done = std::sync::atomic::AtomicUsize::new(0);
        let work = |variants: Vec<LoadedVariant>| {
            let cells = self.cells(variants);
            progress(done.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1, total);
            cells
        };
        Ok(Points { counts, cells: points.into_par_iter().map(work).collect() })
    }

    fn cells(&self, variants: Vec<LoadedVariant>) -> Vec<Cell> {
        let plans: Vec<(String, Plan)> =
            variants.into_iter().map(|variant| (variant.name, variant.plan)).collect();
        let experiment = run(&plans, self.file.seed, self.stop_rule(), &|_| ());
        let results = experiment.results();
        let cell = |(at, results): (usize, VariantResults)| Cell {
            results,
            observations: experiment
                .observations(at)
                .map_or_else(Default::default, |all| all.map(<[f64]>::to_vec)),
            is_random: plans[at].1.is_random(),
            replications: experiment.replications(),
        };
        results.variants.into_iter().enumerate().map(cell).collect()
    }
}

/// Returns the settings of a point, by key.
fn settings<'a>(
    factors: &[Option<&'a Factor>; 3],
    counts: [usize; 3],
    point: usize,
) -> Vec<(&'a str, &'a str)> {
    let levels =
        [point / (counts[1] * counts[2]), point / counts[2] % counts[1], point % counts[2]];
    let set = |(factor, level): (Option<&'a Factor>, usize)| {
        factor.map(|factor| (factor.key.as_str(), &*factor.levels[level].value))
    };
    factors.iter().copied().zip(levels).filter_map(set).collect()
}

/// Returns an observed response of `b` minus that of `a`, run by run.
pub(super) fn difference(a: &Cell, b: &Cell, observed: usize) -> Estimate {
    let pairs = a.observations[observed].iter().zip(&b.observations[observed]);
    // Costs are whole picodollars and so are their differences: what is equal varies by nothing.
    let moments: Moments = pairs.map(|(a, b)| ((b - a) * 1e12).round() / 1e12).collect();
    if a.is_random || b.is_random {
        Estimate::new(moments.mean(), &moments, CONFIDENCE)
    } else {
        Estimate::certain(moments.mean(), CONFIDENCE, moments.count())
    }
}
