//! Where a paired difference crosses zero along a factor.

use crate::stats::student_t;

/// Paired differences at levels of a factor, in the same replications at each level, and linear
/// between neighboring levels.
///
/// The interval of a root is the set of levels around it at which a t-test does not reject that
/// the mean difference is zero (Fieller 1954). Between two levels the difference of a replication
/// is `(1 - f) L + f R`, so its mean and variance are known from those of `L` and `R` and their
/// covariance, and the bounds are roots of a quadratic. The interval holds as far as the difference
/// is linear between the levels; whoever searches puts levels close to the root. Checked by
/// `tests/it/decisions.rs`.
#[derive(Clone, Debug)]
pub struct Band {
    levels: Vec<f64>,
    means: Vec<f64>,
    /// By segment: `a f^2 + b f + c` is positive where the difference at the fraction `f` of the
    /// segment differs from zero.
    segments: Vec<[f64; 3]>,
    /// Squared half-widths of the intervals of the means.
    squares: Vec<f64>,
}

/// A crossing of zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Root {
    /// Where the mean difference is zero.
    pub at: f64,
    /// Lower bound of its interval; `None` where the levels do not reach it.
    pub low: Option<f64>,
    /// Upper bound.
    pub high: Option<f64>,
    /// Whether the difference goes from below zero to above.
    pub is_rising: bool,
}

impl Band {
    /// Returns the band of differences by ascending level, each with the same replications.
    pub fn new(levels: &[(f64, Vec<f64>)], confidence: f64) -> Band {
        let count = levels.first().map_or(0, |(_, differences)| differences.len());
        let means: Vec<f64> = levels.iter().map(|(_, values)| mean(values)).collect();
        // Half-width squared of a mean with this variance or covariance.
        let factor = if count > 1 {
            let t = student_t(confidence, count as u64 - 1);
            t * t / count as f64 / (count - 1) as f64
        } else {
            0.0
        };
        let product = |a: usize, b: usize| {
            let pairs = levels[a].1.iter().zip(&levels[b].1);
            factor * pairs.map(|(x, y)| (x - means[a]) * (y - means[b])).sum::<f64>()
        };
        let squares: Vec<f64> = (0..levels.len()).map(|at| product(at, at)).collect();
        let segment = |left: usize| {
            let right = left + 1;
            let (start, slope) = (means[left], means[right] - means[left]);
            let (ll, rr, lr) = (squares[left], squares[right], product(left, right));
            [
                slope * slope - (ll + rr - 2.0 * lr),
                2.0 * (start * slope - (lr - ll)),
                start * start - ll,
            ]
        };
        let segments = (1..levels.len()).map(|right| segment(right - 1)).collect();
        Band { levels: levels.iter().map(|(level, _)| *level).collect(), means, segments, squares }
    }

    /// Returns the sign of the difference at a level, by its number, where the interval of the mean
    /// excludes zero; else 0.
    pub fn sign(&self, level: usize) -> i8 {
        let mean = self.means[level];
        match mean * mean > self.squares[level] {
            false => 0,
            true if mean > 0.0 => 1,
            true => -1,
        }
    }

    /// Returns the crossings of the mean difference with their intervals, in ascending order.
    pub fn roots(&self) -> Vec<Root> {
        let nonzero: Vec<usize> =
            (0..self.means.len()).filter(|at| self.means[*at] != 0.0).collect();
        let crosses = |pair: &&[usize]| (self.means[pair[0]] > 0.0) != (self.means[pair[1]] > 0.0);
        nonzero.windows(2).filter(crosses).map(|pair| self.root(pair[0], pair[1])).collect()
    }

    /// The root between two levels with means of opposite sign; what is between has mean zero.
    fn root(&self, left: usize, right: usize) -> Root {
        let is_rising = self.means[left] < 0.0;
        let (segment, fraction) = if right == left + 1 {
            (left, self.means[left] / (self.means[left] - self.means[right]))
        } else {
            (usize::midpoint(left, right), 0.0)
        };
        let at = self.level(segment, fraction);
        if self.squares.iter().all(|square| *square == 0.0) {
            return Root { at, low: Some(at), high: Some(at), is_rising };
        }
        let (low, high) = (self.leave_down(segment, fraction), self.leave_up(segment, fraction));
        Root { at, low, high, is_rising }
    }

    /// The nearest level below at which the difference begins to differ from zero.
    fn leave_down(&self, segment: usize, fraction: f64) -> Option<f64> {
        (0..=segment).rev().find_map(|at| {
            let end = if at == segment { fraction } else { 1.0 };
            let bounds = zeros(self.segments[at]).into_iter().rev();
            let bound = bounds.flatten().find(|bound| (0.0..=end).contains(bound));
            bound.map(|bound| self.level(at, bound))
        })
    }

    fn leave_up(&self, segment: usize, fraction: f64) -> Option<f64> {
        (segment..self.segments.len()).find_map(|at| {
            let start = if at == segment { fraction } else { 0.0 };
            let bounds = zeros(self.segments[at]).into_iter();
            let bound = bounds.flatten().find(|bound| (start..=1.0).contains(bound));
            bound.map(|bound| self.level(at, bound))
        })
    }

    fn level(&self, segment: usize, fraction: f64) -> f64 {
        let left = self.levels[segment];
        match self.levels.get(segment + 1) {
            Some(right) => left + fraction * (right - left),
            None => left,
        }
    }
}

fn mean(values: &[f64]) -> f64 {
    let moments: crate::stats::Moments = values.iter().copied().collect();
    moments.mean()
}

/// Real zeros of `a x^2 + b x + c` in ascending order, by the form that does not cancel.
fn zeros([a, b, c]: [f64; 3]) -> [Option<f64>; 2] {
    let discriminant = b * b - 4.0 * a * c;
    if discriminant < 0.0 {
        return [None, None];
    }
    let q = -0.5 * (b + discriminant.sqrt().copysign(b));
    let (first, second) = (q / a, c / q);
    let known = |zero: f64| zero.is_finite().then_some(zero);
    if first <= second { [known(first), known(second)] } else { [known(second), known(first)] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_straight_line_crosses_where_it_must() {
        let band = Band::new(&[(0.0, vec![-3.0]), (10.0, vec![1.0]), (20.0, vec![5.0])], 0.95);
        let root = Root { at: 7.5, low: Some(7.5), high: Some(7.5), is_rising: true };
        assert_eq!(band.roots(), [root]);
        assert_eq!([band.sign(0), band.sign(2)], [-1, 1]);
        let touching = Band::new(&[(0.0, vec![2.0]), (1.0, vec![0.0]), (2.0, vec![-2.0])], 0.95);
        assert_eq!(touching.roots()[0].at.to_bits(), 1.0_f64.to_bits());
        assert!(Band::new(&[(0.0, vec![2.0]), (1.0, vec![0.0])], 0.95).roots().is_empty());
    }

    /// Differences `x - 5 + e` with e = -1, 0, 1: half-width `t(0.975, 2) / sqrt(3) = 2.484` at
    /// every level, so the interval is 5 -+ 2.484, wherever the levels are.
    #[test]
    fn the_interval_is_where_the_test_does_not_reject() {
        let at = |x: f64| (x, vec![x - 6.0, x - 5.0, x - 4.0]);
        for levels in [&[0.0, 10.0][..], &[0.0, 4.0, 5.0, 6.0, 10.0], &[0.0, 3.0, 4.9, 9.0]] {
            let all: Vec<_> = levels.iter().map(|x| at(*x)).collect();
            let root = Band::new(&all, 0.95).roots()[0];
            let [low, high] = [root.low, root.high].map(Option::unwrap);
            assert!((root.at - 5.0).abs() < 1e-12, "{root:?}");
            assert!((low - 2.515_862).abs() < 1e-5 && (high - 7.484_138).abs() < 1e-5, "{root:?}");
        }
        let near = Band::new(&[at(4.0), at(6.0)], 0.95).roots()[0];
        assert_eq!((near.low, near.high), (None, None));
    }
}
