//! Means of variates that are rounded to whole numbers: what is drawn are tokens and requests.
//!
//! Rounding moves a mean, by 4 % for a geometric-like count of mean 2, and a control variate must
//! know its mean exactly. So the means here are those of what a sampler gives, line by line and
//! step by step, rounding and limits included; what numerical integration leaves is below 1e-9 of
//! the mean (checked by the tests of this module and of [`crate::workload::Sampler`]).

use crate::des::special::mean_over;

/// Whole numbers in one part of a tail up to which their probabilities are added one by one.
const STEPS_MAX: u64 = 1_024;
/// Halvings of an open tail; what is left of it is 2^-53 of the unit interval.
const HALVINGS: u32 = 41;

/// Rounds half up; a cast saturates, so nothing wraps.
#[inline]
pub(crate) fn nearest(value: f64) -> u64 {
    (value + 0.5) as u64
}

/// Mean and mean square of a variate that is rounded to the nearest whole number and then kept
/// between two limits.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WholeMoments {
    /// Mean.
    pub mean: f64,
    /// Mean of the square.
    pub square: f64,
}

/// The least and the greatest whole number.
pub type WholeLimits = (u64, u64);

impl WholeMoments {
    /// Returns those of one value.
    pub fn of_value(value: f64, (least, greatest): WholeLimits) -> WholeMoments {
        let whole = nearest(value).clamp(least, greatest) as f64;
        WholeMoments { mean: whole, square: whole * whole }
    }

    /// Returns those of equally likely values.
    pub fn of_values(values: &[f64], limits: WholeLimits) -> WholeMoments {
        let mut sum = WholeMoments::default();
        let weight = 1.0 / values.len() as f64;
        for value in values {
            sum.add(weight, &WholeMoments::of_value(*value, limits));
        }
        sum
    }

    /// Returns those of a variate that is uniform on an interval.
    pub fn of_line(low: f64, high: f64, limits: WholeLimits) -> WholeMoments {
        let (first, last) = (nearest(low), nearest(high));
        if first == last || high <= low {
            return WholeMoments::of_value(low, limits);
        }
        // The ends reach into the steps of `first` and `last`; those between are whole.
        let width = high - low;
        let (head, tail) = ((first as f64 + 0.5) - low, high - (last as f64 - 0.5));
        let mut sum = WholeMoments::default();
        sum.add(head / width, &WholeMoments::of_value(low, limits));
        sum.add(tail / width, &WholeMoments::of_value(high, limits));
        let (least, greatest) = limits;
        let (from, to) = (first + 1, last - 1);
        let inside = (from.max(least), to.min(greatest));
        let mut steps = |count: u64, value: WholeMoments| sum.add(count as f64 / width, &value);
        if inside.0 <= inside.1 {
            steps(inside.1 - inside.0 + 1, WholeMoments::of_range(inside.0, inside.1));
        }
        let limit = |value: u64| WholeMoments::of_value(value as f64, limits);
        if from < least {
            steps(least.min(to + 1) - from, limit(least));
        }
        if to > greatest {
            steps(to - greatest.max(from - 1), limit(greatest));
        }
        sum
    }

    /// Returns those of a whole number that is equally likely from `from` to `to`.
    fn of_range(from: u64, to: u64) -> WholeMoments {
        let (center, count) = (0.5 * (from as f64 + to as f64), (to - from + 1) as f64);
        WholeMoments { mean: center, square: center * center + (count * count - 1.0) / 12.0 }
    }

    /// Adds a part of the probability.
    pub(super) fn add(&mut self, weight: f64, part: &WholeMoments) {
        self.mean += weight * part.mean;
        self.square += weight * part.square;
    }

    /// Adds the part of the unit interval from `from` to an open end at 1 (`is_upper`) or down to
    /// 0, of a quantile function and its distribution function.
    ///
    /// The part is halved again and again towards its open end, where the quantile may be infinite.
    pub(super) fn add_tail(&mut self, curve: &Curve<'_>, from: f64, is_upper: bool) {
        let length = if is_upper { 1.0 - from } else { from };
        let at = |left: f64| if is_upper { 1.0 - left } else { left };
        let mut left = length;
        for _ in 0..HALVINGS {
            let half = 0.5 * left;
            let (low, high) = (at(left).min(at(half)), at(left).max(at(half)));
            self.add(half, &curve.mean_between(low, high));
            left = half;
        }
        self.add(left, &WholeMoments::of_value((curve.quantile)(at(left)), curve.limits));
    }
}

/// A law by its quantile function and its distribution function, and the limits of what is drawn.
pub(super) struct Curve<'a> {
    pub(super) quantile: &'a dyn Fn(f64) -> f64,
    pub(super) cdf: &'a dyn Fn(f64) -> f64,
    pub(super) limits: WholeLimits,
}

impl Curve<'_> {
    /// Returns the moments over a part of the unit interval.
    ///
    /// Over few whole numbers their probabilities are added. Over many the law is smooth on the
    /// scale of a whole number: rounding leaves the mean as it is and adds 1/12 to the variance
    /// (Sheppard's correction).
    fn mean_between(&self, low: f64, high: f64) -> WholeMoments {
        let (first, last) = (nearest((self.quantile)(low)), nearest((self.quantile)(high)));
        let mut sum = WholeMoments::default();
        if last.saturating_sub(first) > STEPS_MAX {
            let (least, greatest) = (self.limits.0 as f64, self.limits.1 as f64);
            let value = |u: f64| (self.quantile)(u).clamp(least, greatest);
            sum.mean = mean_over(value, low, high);
            sum.square = mean_over(|u| value(u) * value(u), low, high) + 1.0 / 12.0;
            return sum;
        }
        let mut before = low;
        for whole in first..last {
            let up_to = (self.cdf)(whole as f64 + 0.5).clamp(before, high);
            let part = (up_to - before) / (high - low);
            sum.add(part, &WholeMoments::of_value(whole as f64, self.limits));
            before = up_to;
        }
        let part = (high - before) / (high - low);
        sum.add(part, &WholeMoments::of_value(last as f64, self.limits));
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FREE: WholeLimits = (0, u64::MAX);

    fn assert_close(got: WholeMoments, mean: f64, square: f64) {
        assert!((got.mean - mean).abs() < 1e-12 * mean.max(1.0), "{got:?}, mean {mean}");
        assert!((got.square - square).abs() < 1e-12 * square.max(1.0), "{got:?}, {square}");
    }

    #[test]
    fn lines_by_hand() {
        // 0.2 to 3.1: 0 over 0.3, 1 and 2 over 1 each, 3 over 0.6, of 2.9.
        assert_close(WholeMoments::of_line(0.2, 3.1, FREE), 4.8 / 2.9, 10.4 / 2.9);
        // The same from 1 to 2 only: 1 over 1.3, 2 over 1.6.
        assert_close(WholeMoments::of_line(0.2, 3.1, (1, 2)), 4.5 / 2.9, 7.7 / 2.9);
        // Limits outside of what there is.
        assert_close(WholeMoments::of_line(0.2, 3.1, (7, 9)), 7.0, 49.0);
        assert_close(WholeMoments::of_line(10.0, 13.1, (1, 2)), 2.0, 4.0);
        assert_close(WholeMoments::of_line(2.2, 2.2, FREE), 2.0, 4.0);
        // The mean of j^2, j from 0 to 99, is 99 * 199 / 6.
        let shifted = WholeMoments::of_line(1e6 - 0.5, 1e6 + 99.5, FREE);
        assert_close(shifted, 1e6 + 49.5, 1e12 + 99e6 + 3_283.5);
    }

    #[test]
    fn values_by_hand() {
        let values = WholeMoments::of_values(&[0.2, 2.5, 8.0], (1, 5));
        assert_close(values, 3.0, (1.0 + 9.0 + 25.0) / 3.0);
    }

    /// An exponential of mean 2, rounded, is 0 below one half, then geometric: with
    /// `q = exp(-1/2)` the mean is `q^(1/2) / (1 - q)` and the mean square
    /// `q^(1/2) (1 + q) / (1 - q)^2`. Mean 1e5 is wide enough for the other way to integrate.
    #[test]
    fn tails_of_an_exponential() {
        for mean in [0.3, 2.0, 1e5] {
            let curve = Curve {
                quantile: &|u: f64| -mean * libm::log1p(-u),
                cdf: &|x: f64| -libm::expm1(-x / mean),
                limits: FREE,
            };
            let mut sum = WholeMoments::default();
            sum.add_tail(&curve, 0.5, true);
            sum.add_tail(&curve, 0.5, false);
            let (root, rest) = (libm::exp(-0.5 / mean), -libm::expm1(-1.0 / mean));
            let expected = (root / rest, root * (2.0 - rest) / (rest * rest));
            let error = (sum.mean / expected.0 - 1.0, sum.square / expected.1 - 1.0);
            assert!(error.0.abs() < 1e-9 && error.1.abs() < 1e-9, "{mean}: {sum:?} {expected:?}");
        }
    }
}
