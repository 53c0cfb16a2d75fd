//! The difference of two bills, replication by replication.

use crate::stats::{Estimate, Moments};
use crate::units::Money;

/// Which of two variants costs less.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The first.
    A,
    /// The second.
    B,
    /// The interval of the difference holds zero.
    Undecided,
}

/// The cost of `b` minus that of `a` in each replication, under common random numbers.
///
/// Both variants draw the same work in a replication, so what is common cancels:
/// `Var(B - A) = Var(A) + Var(B) - 2 Cov(A, B)` (Law 2015, section 11.2). The sum is exact.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PairedDifference {
    sum: Money,
    moments: Moments,
    each: Moments,
    b_cheaper: u64,
    ties: u64,
}

impl PairedDifference {
    /// Takes the costs of `a` and `b` in the replications of one independent observation: one, or
    /// an antithetic pair.
    pub fn push(&mut self, replications: &[(Money, Money)]) {
        let mut sum = Money::ZERO;
        for (a, b) in replications {
            sum += *b - *a;
            self.each.push((*b - *a).as_usd());
            self.b_cheaper += u64::from(b < a);
            self.ties += u64::from(a == b);
        }
        self.sum += sum;
        self.moments.push(mean_usd(sum, replications.len() as u64));
    }

    /// Returns the moments of independent observations, and those of replications.
    pub fn moments(&self) -> (&Moments, &Moments) {
        (&self.moments, &self.each)
    }

    /// Returns the mean difference `b - a` in US dollars: negative where `b` costs less.
    ///
    /// `is_random` says whether either variant is; if not, one replication is all there is to know.
    pub fn estimate(&self, confidence: f64, is_random: bool) -> Estimate {
        let mean = mean_usd(self.sum, self.each.count());
        if is_random {
            Estimate::new(mean, &self.moments, confidence)
        } else {
            Estimate::certain(mean, confidence, self.each.count())
        }
    }

    /// Returns the share of replications in which `b` costs less, ties counted half.
    pub fn probability_b_cheaper(&self) -> f64 {
        let count = self.each.count().max(1);
        (2 * self.b_cheaper + self.ties) as f64 / (2 * count) as f64
    }
}

impl Verdict {
    /// Returns the sign of a difference `b - a` where its interval excludes zero.
    pub fn of(difference: &Estimate) -> Verdict {
        if difference.crosses_zero() {
            Verdict::Undecided
        } else if difference.mean < 0.0 {
            Verdict::B
        } else {
            Verdict::A
        }
    }
}

/// Returns the mean of an exact sum in US dollars, converted once; 0 of no observations.
pub(crate) fn mean_usd(sum: Money, count: u64) -> f64 {
    sum.as_usd() / count.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::CONFIDENCE;

    fn usd(cents: i128) -> Money {
        Money::from_picodollars(cents * 10_000_000_000)
    }

    fn paired(costs: &[(i128, i128)]) -> PairedDifference {
        let mut paired = PairedDifference::default();
        for (a, b) in costs {
            paired.push(&[(usd(*a), usd(*b))]);
        }
        paired
    }

    fn verdict(paired: &PairedDifference, is_random: bool) -> Verdict {
        Verdict::of(&paired.estimate(CONFIDENCE, is_random))
    }

    /// A pair of replications is one observation: pairs -1 and 3, -3 and 5 cents have the mean 1.
    #[test]
    fn pairs_are_observed_by_their_mean() {
        let mut paired = PairedDifference::default();
        for pair in [[(2, 1), (2, 5)], [(4, 1), (2, 7)]] {
            paired.push(&pair.map(|(a, b)| (usd(a), usd(b))));
        }
        let estimate = paired.estimate(CONFIDENCE, true);
        assert_eq!((estimate.count, estimate.half_width), (2, Some(0.0)));
        assert!((estimate.mean - 0.01).abs() < 1e-18);
        assert_eq!(paired.moments().1.count(), 4);
        assert_eq!(paired.probability_b_cheaper().to_bits(), 0.5_f64.to_bits());
    }

    #[test]
    fn what_both_have_in_common_cancels_exactly() {
        // The bills differ tenfold between replications; b is always 25 cents cheaper.
        let paired = paired(&[(100, 75), (1_000, 975), (10_000, 9_975)]);
        let estimate = paired.estimate(CONFIDENCE, true);
        assert_eq!((estimate.mean, estimate.half_width), (-0.25, Some(0.0)));
        assert_eq!(paired.probability_b_cheaper().to_bits(), 1.0_f64.to_bits());
        assert_eq!(Verdict::of(&estimate), Verdict::B);
    }

    #[test]
    fn ties_count_half_and_open_intervals_decide_nothing() {
        // Differences -1, 0, +1, +2 cents: mean 0.5, b cheaper once, one tie.
        let paired = paired(&[(2, 1), (2, 2), (2, 3), (2, 4)]);
        assert!((paired.estimate(CONFIDENCE, true).mean - 0.005).abs() < 1e-18);
        assert_eq!(paired.probability_b_cheaper().to_bits(), 0.375_f64.to_bits());
        assert_eq!(verdict(&paired, true), Verdict::Undecided);
    }

    #[test]
    fn one_replication_decides_only_where_nothing_is_random() {
        let cases = [(2, 1, Verdict::B), (1, 2, Verdict::A), (2, 2, Verdict::Undecided)];
        for (a, b, expected) in cases {
            assert_eq!(verdict(&paired(&[(a, b)]), false), expected);
            assert_eq!(verdict(&paired(&[(a, b)]), true), Verdict::Undecided);
        }
        assert_eq!(verdict(&paired(&[(2, 2), (5, 5)]), true), Verdict::Undecided);
    }
}
