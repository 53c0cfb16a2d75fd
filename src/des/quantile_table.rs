//! Sampling any distribution by its quantile function, from a table of straight cells.
//!
//! The unit interval is cut into 4096 cells of equal probability; inside a cell the quantile
//! function is replaced by a line that keeps the mean of the cell. One draw is one `u64`, one load
//! and one multiplication, monotone in the bits, so common random numbers and antithetic pairs stay
//! paired. The outermost cells, where a tail may be unbounded, are evaluated exactly.

use std::fmt;

use crate::des::Family;
use crate::des::special::mean_over;
use crate::des::whole::{Curve, WholeLimits, WholeMoments};

const CELLS: usize = 4096;
const CELL_BITS: u32 = 12;
/// Bits that are left for the position inside a cell.
const POSITION_BITS: u32 = u64::BITS - CELL_BITS;
const LAST: usize = CELLS - 1;

/// A line over one cell: the value at its start and the rise to its end.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cell {
    start: f64,
    rise: f64,
}

/// A table of the quantile function of a [`Family`]; 64 KiB.
///
/// Means are preserved: the mean of each inner cell equals that of the exact quantile function up
/// to quadrature error (relative 1e-12 for smooth families; a jump inside a cell, as in a mixture
/// of constants, is smoothed over that cell).
#[derive(Clone, PartialEq)]
pub struct QuantileTable {
    cells: Box<[Cell; CELLS]>,
    family: Family,
}

impl QuantileTable {
    /// Builds the table of a family.
    pub fn new(family: Family) -> QuantileTable {
        let edge = |index: usize| index as f64 / CELLS as f64;
        let quantile = |u: f64| family.quantile(u);
        let mut edges: Vec<f64> = (1..CELLS).map(|index| quantile(edge(index))).collect();
        // Rounding may turn neighbors of a jump or of a numeric inverse around.
        for index in 1..edges.len() {
            edges[index] = edges[index].max(edges[index - 1]);
        }
        let mut cells = vec![Cell { start: 0.0, rise: 0.0 }; CELLS];
        for index in 1..LAST {
            let mean = mean_over(quantile, edge(index), edge(index + 1));
            cells[index] = Cell::with_mean(mean, edges[index - 1], edges[index]);
        }
        // The exact cells remember the edge that they must not cross.
        cells[0].start = edges[0];
        cells[LAST].start = edges[LAST - 1];
        let cells = cells.into_boxed_slice().try_into().expect("as many cells as were made");
        QuantileTable { cells, family }
    }

    /// Returns the variate of 64 uniform bits; it never falls when the bits rise.
    ///
    /// In the outer cells this holds up to the rounding of the quantile function, relative 1e-12.
    /// The top 12 bits choose the cell, the others the position, at the middle of its 2^-52 grid,
    /// so that the probability lies strictly inside (0, 1).
    #[inline]
    pub fn sample(&self, bits: u64) -> f64 {
        let index = (bits >> POSITION_BITS) as usize;
        let position = ((bits & ((1 << POSITION_BITS) - 1)) as f64 + 0.5) * GRID;
        if index == 0 || index == LAST {
            return self.sample_exactly(index, position);
        }
        let cell = &self.cells[index];
        cell.start + cell.rise * position
    }

    /// Returns the family of the table.
    pub fn family(&self) -> &Family {
        &self.family
    }

    /// Returns mean and mean square of its variates, rounded to whole numbers and kept in limits.
    ///
    /// Those of the table itself: exactly over the lines of its inner cells.
    pub fn whole_moments(&self, limits: WholeLimits) -> WholeMoments {
        let (low, high) = (self.cells[0].start, self.cells[LAST].start);
        let quantile = |u: f64| self.family.quantile(u.min(1.0_f64.next_down()));
        let below = |u: f64| quantile(u).min(low);
        let above = |u: f64| quantile(u).max(high);
        let cdf = |x: f64| self.family.cdf(x);
        let mut sum = WholeMoments::default();
        let edge = 1.0 / CELLS as f64;
        sum.add_tail(&Curve { quantile: &below, cdf: &cdf, limits }, edge, false);
        for cell in &self.cells[1..LAST] {
            let line = WholeMoments::of_line(cell.start, cell.start + cell.rise, limits);
            sum.add(edge, &line);
        }
        sum.add_tail(&Curve { quantile: &above, cdf: &cdf, limits }, 1.0 - edge, true);
        sum
    }

    #[cold]
    fn sample_exactly(&self, index: usize, position: f64) -> f64 {
        let largest = 1.0_f64.next_down();
        let u = ((index as f64 + position) / CELLS as f64).min(largest);
        let value = self.family.quantile(u);
        let edge = self.cells[index].start;
        if index == 0 { value.min(edge) } else { value.max(edge) }
    }
}

/// 2^-52, the spacing of positions inside a cell.
const GRID: f64 = 1.0 / (1_u64 << POSITION_BITS) as f64;

impl fmt::Debug for QuantileTable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("QuantileTable")
            .field("family", &self.family)
            .finish_non_exhaustive()
    }
}

impl Cell {
    /// Returns the line inside `[low, high]` that has the given mean and touches one end.
    fn with_mean(mean: f64, low: f64, high: f64) -> Cell {
        let mean = mean.clamp(low, high);
        let (start, end) = if mean < 0.5 * (low + high) {
            (low, (2.0 * mean - low).clamp(low, high))
        } else {
            ((2.0 * mean - high).clamp(low, high), high)
        };
        let mut rise = end - start;
        while start + rise > high {
            rise = rise.next_down();
        }
        Cell { start, rise }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn families() -> Vec<Family> {
        vec![
            Family::Uniform { low: 2.0, high: 5.0 },
            Family::Exponential { mean: 3.0 },
            Family::Lognormal { location: 3.0, sigma: 1.5 },
            Family::Weibull { shape: 0.7, scale: 4.0 },
            Family::Gamma { shape: 0.6, scale: 2.0 },
            Family::Gamma { shape: 900.0, scale: 2.0 },
            Family::Pareto { shape: 1.8, scale: 2.0 },
            Family::Mixture(vec![
                (0.75, Family::Lognormal { location: 3.2, sigma: 0.9 }),
                (0.25, Family::Gamma { shape: 2.0, scale: 15.0 }),
            ]),
        ]
    }

    /// The line's mean is the value at half the cell; the reference splits the cell in 16 parts.
    #[test]
    fn every_inner_cell_keeps_its_mean() {
        for family in families() {
            let table = QuantileTable::new(family.clone());
            for index in 1..LAST {
                let part = |k: usize| (index as f64 + k as f64 / 16.0) / CELLS as f64;
                let exact = (0..16)
                    .map(|k| mean_over(|u| family.quantile(u), part(k), part(k + 1)))
                    .sum::<f64>()
                    / 16.0;
                let cell = table.cells[index];
                let mean = cell.start + 0.5 * cell.rise;
                assert!((mean - exact).abs() <= 1e-9 * exact, "{family:?} {index} {mean} {exact}");
            }
        }
    }

    #[test]
    fn samples_rise_with_the_bits() {
        let values = Family::Values(vec![5.0]);
        let jumps =
            Family::Mixture(vec![(0.75, values), (0.25, Family::Exponential { mean: 9.0 })]);
        for family in families().into_iter().chain([jumps]) {
            let table = QuantileTable::new(family.clone());
            let mut before = f64::NEG_INFINITY;
            for index in 0..CELLS as u64 {
                let base = index << POSITION_BITS;
                for offset in [0, 1, 1 << 30, 1 << 51, (1 << 52) - 2, (1 << 52) - 1] {
                    let value = table.sample(base + offset);
                    let slack = if index == 0 || index == LAST as u64 { 1e-12 } else { 0.0 };
                    let least = before - slack * value.abs();
                    assert!(value >= least, "{family:?} cell {index} offset {offset}");
                    before = value;
                }
            }
            assert!(before.is_finite());
        }
    }

    /// The grid is fine enough that the extreme bits give the extreme quantiles, never 0 or 1.
    #[test]
    fn outer_cells_are_exact() {
        let family = Family::Exponential { mean: 1.0 };
        let table = QuantileTable::new(family);
        assert!((table.sample(0) / 2.0_f64.powi(-65) - 1.0).abs() < 1e-12);
        assert!((table.sample(u64::MAX) - 53.0 * std::f64::consts::LN_2).abs() < 1e-12);
    }
}
