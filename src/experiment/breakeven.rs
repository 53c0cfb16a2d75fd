//! Where the paired difference of two variants crosses zero along a numeric key.
//!
//! The range is scanned on a grid with few replications. Where the sign of the difference changes,
//! the search puts levels next to the root and next to the ends of its interval, and doubles the
//! replications until the interval is narrow enough. All levels draw common random numbers, so the
//! difference moves smoothly along the key and the order of levels is known early.
//!
//! Guarantee: a crossing is found if it separates two levels of the grid. The interval holds the
//! root with the stated confidence, as far as mean differences are normal and linear between the
//! levels next to it; stopping as soon as it is narrow costs up to a few per cent of confidence at
//! the first look, and nothing that a test of 1,000 repetitions shows.

use crate::experiment::{Experiment, Progress, StopRule};
use crate::orchestration::Plan;
use crate::stats::{Band, CONFIDENCE, Root, Verdict};

/// Confidence with which a level of the grid must show its sign to bound a crossing.
const SCAN_CONFIDENCE: f64 = 0.999;
/// Levels of the grid where no step is given.
const GRID: f64 = 16.0;
/// Levels are put apart by at least this share of the interval of the root.
const APART: f64 = 0.1;
/// Most rounds of a refinement; bisection alone takes 60 from any range to its last bit.
const ROUNDS_MAX: u32 = 200;

/// What to search.
#[derive(Clone, Debug, PartialEq)]
pub struct RootSearch {
    /// Lower bound of the key.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
    /// Distance of levels of the grid; a sixteenth of the range where it is not given.
    pub step: Option<f64>,
    /// Distance of the nearest two values that the key can take, such as 1 of a count.
    pub resolution: f64,
    /// Seed of the random streams.
    pub seed: u64,
    /// When to stop: `relative` is the half-width of the interval as a share of the root.
    pub stop: StopRule,
}

/// Two variants at a level of the key: `a`, then `b`.
pub type PlansAt<'a, E> = &'a mut (dyn FnMut(f64) -> Result<[Plan; 2], E> + Send);

/// What a search came to.
#[derive(Clone, Debug, PartialEq)]
pub struct BreakEven {
    /// Crossings in ascending order.
    pub crossings: Vec<Crossing>,
    /// Who is cheaper at the lower bound of the range.
    pub below: Verdict,
    /// Who is cheaper at the upper bound.
    pub above: Verdict,
    /// Confidence of each interval.
    pub confidence: f64,
    /// Most replications of a level.
    pub replications: u64,
    /// Simulated runs in all: levels, replications and both variants.
    pub runs: u64,
}

/// A crossing of zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crossing {
    /// Where, and with which interval.
    pub root: Root,
    /// Replications of the levels next to it.
    pub replications: u64,
}

impl Crossing {
    /// Returns who is cheaper just below.
    pub fn below(&self) -> Verdict {
        if self.root.is_rising { Verdict::B } else { Verdict::A }
    }

    /// Returns who is cheaper just above.
    pub fn above(&self) -> Verdict {
        if self.root.is_rising { Verdict::A } else { Verdict::B }
    }
}

/// Searches a range for crossings of the paired difference.
///
/// Works in the current rayon thread pool.
///
/// # Errors
/// Those of `plans_at`.
pub fn breakeven<E>(
    search: &RootSearch,
    plans_at: PlansAt<'_, E>,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<BreakEven, E> {
    let mut curve = Curve { search, plans_at, progress, levels: Vec::new(), runs: 0 };
    let last = ((search.high - search.low) / curve.step()).ceil() as u64;
    for index in 0..=last {
        curve.add(search.low + index as f64 * curve.step())?;
    }
    let is_random = curve.levels.iter().any(|level| level.experiment.is_random());
    let first = if is_random { search.stop.first() } else { 1 };
    curve.extend(0, curve.levels.len() - 1, first);
    let mut crossings: Vec<Crossing> = Vec::new();
    for window in curve.windows() {
        if let Some(crossing) = curve.refine(window, first, is_random)? {
            crossings.push(crossing);
        }
    }
    let sides = curve.band(0, curve.levels.len() - 1, CONFIDENCE);
    let cheaper = |sign: i8| match sign {
        1 => Verdict::A,
        -1 => Verdict::B,
        _ => Verdict::Undecided,
    };
    let counts = curve.levels.iter().map(|level| level.experiment.replications());
    Ok(BreakEven {
        below: cheaper(sides.sign(0)),
        above: cheaper(sides.sign(curve.levels.len() - 1)),
        confidence: CONFIDENCE,
        replications: counts.max().unwrap_or(0),
        runs: curve.runs,
        crossings,
    })
}

/// A level of the key, and both variants there.
struct Level {
    at: f64,
    experiment: Experiment,
}

/// A part of the range in which the difference may cross zero.
struct Window {
    low: f64,
    high: f64,
    /// Whether its ends showed opposite signs.
    is_bracketed: bool,
}

/// The difference along the key, as far as it is known.
struct Curve<'a, 'b, E> {
    search: &'a RootSearch,
    plans_at: PlansAt<'b, E>,
    progress: &'a (dyn Fn(Progress) + Sync),
    /// In ascending order.
    levels: Vec<Level>,
    runs: u64,
}

impl<E> Curve<'_, '_, E> {
    fn step(&self) -> f64 {
        let RootSearch { low, high, step, resolution, .. } = *self.search;
        step.unwrap_or((high - low) / GRID).max(resolution)
    }

    /// Adds the level next to a value, unless it is there.
    fn add(&mut self, value: f64) -> Result<bool, E> {
        let RootSearch { low, high, resolution, .. } = *self.search;
        let at = (low + ((value - low) / resolution).round() * resolution).clamp(low, high);
        let near = |level: &Level| (level.at - at).abs() < 0.5 * resolution;
        if self.levels.iter().any(near) {
            return Ok(false);
        }
        let [a, b] = (self.plans_at)(at)?;
        let variants = [("a".to_owned(), a), ("b".to_owned(), b)];
        let experiment = Experiment::new(&variants, self.search.seed, self.search.stop);
        let place = self.levels.partition_point(|level| level.at < at);
        self.levels.insert(place, Level { at, experiment });
        Ok(true)
    }

    /// Runs levels by their numbers up to replication `count`.
    fn extend(&mut self, from: usize, to: usize, count: u64) {
        let progress = self.progress;
        for level in &mut self.levels[from..=to] {
            let missing = count.saturating_sub(level.experiment.replications());
            let before = self.runs;
            self.runs += 2 * missing;
            level.experiment.extend(count, count, &|_| ());
            progress(Progress { done: self.runs, planned: self.runs.max(before) });
        }
    }

    /// The differences at levels by their numbers, over the replications that all of them have.
    fn band(&self, from: usize, to: usize, confidence: f64) -> Band {
        let levels = &self.levels[from..=to];
        let counts = levels.iter().map(|level| level.experiment.replications());
        let count = counts.min().unwrap_or(0) as usize;
        let differences = |level: &Level| {
            let costs = [0, 1].map(|variant| level.experiment.observations(variant));
            let [Some([a, ..]), Some([b, ..])] = costs else { return (level.at, Vec::new()) };
            let pairs = a.iter().zip(b).take(count);
            (level.at, pairs.map(|(a, b)| b - a).collect())
        };
        Band::new(&levels.iter().map(differences).collect::<Vec<_>>(), confidence)
    }

    /// Returns the parts of the grid in which the difference may cross zero, as levels between
    /// which no sign is known. Signs at a part's ends differ or are not known.
    fn windows(&self) -> Vec<Window> {
        let last = self.levels.len() - 1;
        let band = self.band(0, last, SCAN_CONFIDENCE);
        let (mut windows, mut start, mut sign) = (Vec::new(), 0, band.sign(0));
        for at in 1..=last {
            let next = band.sign(at);
            if next == 0 && at < last {
                continue;
            }
            if next != sign || sign == 0 {
                let (low, high) = (self.levels[start].at, self.levels[at].at);
                windows.push(Window { low, high, is_bracketed: sign * next < 0 });
            }
            (start, sign) = (at, next);
        }
        windows
    }

    /// Narrows one crossing down; `None` where the difference does not cross zero.
    fn refine(
        &mut self,
        mut window: Window,
        first: u64,
        is_random: bool,
    ) -> Result<Option<Crossing>, E> {
        let Window { mut low, mut high, .. } = window;
        let (mut count, mut width, mut found) = (first, f64::INFINITY, None);
        for _ in 0..ROUNDS_MAX {
            let (from, to) = (self.number(low), self.number(high));
            self.extend(from, to, count);
            let band = self.band(from, to, CONFIDENCE);
            let roots = band.roots();
            found = roots.get(roots.len() / 2).copied();
            let may_grow = is_random && count < self.search.stop.count_max();
            let Some(root) = found else {
                if (low, high) != (window.low, window.high) || self.widen(&mut window) {
                    // More replications have moved the root out of the part looked at.
                    (low, high) = (window.low, window.high);
                    continue;
                }
                let ends = [band.sign(0), band.sign(to - from)];
                if may_grow && ends.contains(&0) {
                    count = self.search.stop.after(count);
                    continue;
                }
                break;
            };
            let segment = self.segment(root.at);
            let is_slow = segment.1 - segment.0 > 0.5 * width;
            width = segment.1 - segment.0;
            if self.add_near(&root, segment, is_slow)? {
                continue;
            }
            if !may_grow || self.is_precise(&root) {
                break;
            }
            count = self.search.stop.after(count);
            (low, high) = self.around(&root, low, high);
        }
        Ok(found.map(|root| Crossing { root, replications: count }))
    }

    /// Widens a part that must hold a crossing by a level on either side; returns whether it could.
    fn widen(&self, window: &mut Window) -> bool {
        let (from, to) = (self.number(window.low), self.number(window.high));
        let last = self.levels.len() - 1;
        if !window.is_bracketed || (from, to) == (0, last) {
            return false;
        }
        window.low = self.levels[from.saturating_sub(1)].at;
        window.high = self.levels[(to + 1).min(last)].at;
        true
    }

    /// The number of a level that exists.
    fn number(&self, at: f64) -> usize {
        self.levels.partition_point(|level| level.at < at)
    }

    /// The neighboring levels around a value.
    fn segment(&self, value: f64) -> (f64, f64) {
        let right = self.levels.partition_point(|level| level.at < value);
        let right = right.clamp(1, self.levels.len() - 1);
        (self.levels[right - 1].at, self.levels[right].at)
    }

    /// Adds levels next to a root and next to the ends of its interval; returns whether there is a
    /// new one. Where false position converges slowly, the middle of its segment helps.
    fn add_near(&mut self, root: &Root, segment: (f64, f64), is_slow: bool) -> Result<bool, E> {
        let RootSearch { low, resolution, .. } = *self.search;
        let length = root.high.zip(root.low).map_or(0.0, |(high, low)| high - low);
        let apart = (APART * length).max(0.75 * resolution);
        let down = |value: f64| low + ((value - low) / resolution).floor() * resolution;
        let up = |value: f64| low + ((value - low) / resolution).ceil() * resolution;
        let is_wide = segment.1 - segment.0 > 1.5 * resolution.max(apart);
        let middle = (is_slow && is_wide).then(|| f64::midpoint(segment.0, segment.1));
        let ends = [root.low.map(down), root.high.map(up), middle];
        let wanted = ends.into_iter().flatten().chain([down(root.at), up(root.at)]);
        let mut is_new = false;
        for value in wanted {
            let (left, right) = self.segment(value);
            let is_inside = value - left >= apart && right - value >= apart;
            is_new |= is_inside && self.add(value)?;
        }
        Ok(is_new)
    }

    fn is_precise(&self, root: &Root) -> bool {
        let StopRule::Precision { relative, .. } = self.search.stop else { return false };
        let range = self.search.high - self.search.low;
        let scale = root.at.abs().max(relative * range);
        let bounds = root.low.zip(root.high);
        bounds.is_some_and(|(low, high)| 0.5 * (high - low) <= relative * scale)
    }

    /// The levels just outside twice the interval of a root, within what was searched before.
    fn around(&self, root: &Root, low: f64, high: f64) -> (f64, f64) {
        let Some((bottom, top)) = root.low.zip(root.high) else { return (low, high) };
        let margin = 0.5 * (top - bottom);
        let below = self.levels.iter().rev().find(|level| level.at < bottom - margin);
        let above = self.levels.iter().find(|level| level.at > top + margin);
        (
            below.map_or(low, |level| level.at).max(low),
            above.map_or(high, |level| level.at).min(high),
        )
    }
}
