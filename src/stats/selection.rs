//! Selecting the best of several systems with a stated probability.

/// The fully sequential procedure of Kim and Nelson (2001) for the smallest mean.
///
/// After `n0` first observations of each system, the sample variance `S2(i, l)` of the paired
/// difference of each two is fixed. With `r` observations of those that are left, system `i` is
/// dropped when its mean is above that of another one `l` by more than
/// `W(i, l) = max(0, d / (2 r) (h2 S2(i, l) / d^2 - r))`, where `h2 = 2 eta (n0 - 1)`,
/// `eta = ((2 a / (k - 1))^(-2 / (n0 - 1)) - 1) / 2` and `a = 1 - probability`.
///
/// If observations are normal, the one with the smallest mean is left with at least the stated
/// probability whenever it is better than each other by the indifference zone `d`; otherwise one
/// within `d` of it is. Common random numbers are allowed. Checked by `tests/it/decisions.rs`.
#[derive(Clone, Debug)]
pub struct Selection {
    indifference: f64,
    h_squared: f64,
    variances: Vec<Vec<f64>>,
    is_left: Vec<bool>,
}

impl Selection {
    /// Starts from the first observations of each system, at least two of each and all equally
    /// many; those that are not `eligible` take no part.
    pub fn new(
        first: &[&[f64]],
        eligible: &[bool],
        probability: f64,
        indifference: f64,
    ) -> Selection {
        let count = first.first().map_or(2, |values| values.len()).max(2) as f64;
        let rivals = eligible.iter().filter(|is| **is).count().saturating_sub(1).max(1) as f64;
        let base = (2.0 * (1.0 - probability) / rivals).min(1.0);
        let eta = 0.5 * (libm::pow(base, -2.0 / (count - 1.0)) - 1.0);
        let variance = |a: &[f64], b: &[f64]| {
            let moments: crate::stats::Moments = a.iter().zip(b).map(|(a, b)| a - b).collect();
            moments.variance().unwrap_or(0.0)
        };
        let row = |a: &&[f64]| first.iter().map(|b| variance(a, b)).collect();
        Selection {
            indifference,
            h_squared: 2.0 * eta * (count - 1.0),
            variances: first.iter().map(row).collect(),
            is_left: eligible.to_vec(),
        }
    }

    /// Drops what the means after `count` observations of each system that is left allow to drop.
    pub fn look(&mut self, means: &[f64], count: u64) {
        let left = self.left();
        let loses = |i: usize| {
            let beats = |l: &usize| *l != i && means[i] > means[*l] + self.margin(i, *l, count);
            left.iter().any(beats)
        };
        let losers: Vec<usize> = left.iter().copied().filter(|i| loses(*i)).collect();
        for loser in losers {
            self.is_left[loser] = false;
        }
    }

    /// Returns the numbers of the systems that are left.
    pub fn left(&self) -> Vec<usize> {
        (0..self.is_left.len()).filter(|system| self.is_left[*system]).collect()
    }

    /// Returns whether one is left, or nothing that the indifference zone would tell apart.
    pub fn is_done(&self, count: u64) -> bool {
        let left = self.left();
        let is_settled = |i: &usize| left.iter().all(|l| self.margin(*i, *l, count) <= 0.0);
        left.len() <= 1 || left.iter().all(is_settled)
    }

    /// How far a mean may be above another one.
    fn margin(&self, i: usize, l: usize, count: u64) -> f64 {
        let (zone, count) = (self.indifference, count as f64);
        let variance = self.variances[i][l];
        (zone / (2.0 * count) * (self.h_squared * variance / (zone * zone) - count)).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two systems, n0 = 3, a = 0.05: eta = ((0.1)^-1 - 1) / 2 = 4.5, h2 = 18. Differences -1, 0, 1
    /// have variance 1; with d = 1 the margin at r is (18 - r) / (2 r): 2.5 at 3, 0.5 at 9, 0 at
    /// 18.
    #[test]
    fn margins_shrink_as_the_formula_says() {
        let (a, b) = ([0.0, 0.0, 0.0], [-1.0, 0.0, 1.0]);
        let new = || Selection::new(&[&a, &b], &[true, true], 0.95, 1.0);
        for (count, mean, left) in [(3, 2.4, 2), (3, 2.6, 1), (9, 0.49, 2), (9, 0.51, 1)] {
            let mut selection = new();
            selection.look(&[0.0, mean], count);
            assert_eq!(selection.left().len(), left, "{mean} at {count}");
        }
        assert!(!new().is_done(17) && new().is_done(18));
        let excluded = Selection::new(&[&a, &b], &[false, true], 0.95, 1.0);
        assert_eq!((excluded.left(), excluded.is_done(3)), (vec![1], true));
    }
}
