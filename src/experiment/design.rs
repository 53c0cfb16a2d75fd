//! How many replications an experiment makes.

use crate::stats::Estimate;

/// When an experiment has replications enough.
///
/// Where no variant is random, one replication is all there is to know, and either rule makes one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StopRule {
    /// After this many, at least 1.
    Count(u64),
    /// When the mean cost of every variant is known precisely enough.
    ///
    /// It is looked at after `count_min` replications, twice as many, and so on up to `count_max`.
    Precision {
        /// Half-width of the 95 % interval relative to the true mean, above 0
        /// ([`Estimate::is_within`]).
        relative: f64,
        /// Fewest replications; at least 50 for the interval to hold (Law 2015, section 9.4.1).
        count_min: u64,
        /// Most replications.
        count_max: u64,
    },
}

impl Default for StopRule {
    fn default() -> StopRule {
        StopRule::precision(0.01)
    }
}

impl StopRule {
    /// Returns the rule that stops at a relative half-width, or at 10,000 replications.
    pub const fn precision(relative: f64) -> StopRule {
        StopRule::Precision { relative, count_min: 64, count_max: 10_000 }
    }

    /// Returns the most replications that may be made.
    pub fn count_max(self) -> u64 {
        match self {
            StopRule::Count(count) | StopRule::Precision { count_max: count, .. } => count.max(1),
        }
    }

    /// Returns the count at which to look first.
    pub fn first(self) -> u64 {
        match self {
            StopRule::Count(_) => self.count_max(),
            StopRule::Precision { count_min, .. } => count_min.clamp(1, self.count_max()),
        }
    }

    /// Returns the count at which to look after having looked at `count`.
    pub fn after(self, count: u64) -> u64 {
        count.saturating_mul(2).min(self.count_max())
    }

    /// Returns whether `count` replications with these mean costs are enough.
    pub fn is_met(self, count: u64, costs: &[Estimate]) -> bool {
        let precise = |relative| costs.iter().all(|cost| cost.is_within(relative));
        count >= self.count_max()
            || matches!(self, StopRule::Precision { relative, .. } if precise(relative))
    }

    /// Returns the count at which the rule will likely be met, from the costs at `count`.
    ///
    /// Half-widths shrink as `1 / sqrt(n)`, so `n` must grow by the square of what is missing.
    pub fn forecast(self, count: u64, costs: &[Estimate]) -> u64 {
        let StopRule::Precision { relative, .. } = self else {
            return self.count_max();
        };
        let widest = costs.iter().filter_map(Estimate::relative).fold(0.0, f64::max);
        let missing = widest / relative * (1.0 + relative);
        let needed = count as f64 * missing * missing;
        let mut at = count;
        while (at as f64) < needed && at < self.count_max() {
            at = self.after(at);
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::CONFIDENCE;

    fn cost(half_width: f64) -> Estimate {
        Estimate { half_width: Some(half_width), ..Estimate::certain(100.0, CONFIDENCE, 64) }
    }

    #[test]
    fn precision_is_looked_at_at_fixed_counts() {
        let rule = StopRule::default();
        let counts: Vec<u64> = std::iter::successors(Some(rule.first()), |count| {
            (*count < rule.count_max()).then(|| rule.after(*count))
        })
        .collect();
        assert_eq!(counts, [64, 128, 256, 512, 1_024, 2_048, 4_096, 8_192, 10_000]);
        assert!(rule.is_met(64, &[cost(0.9), cost(0.5)]));
        assert!(!rule.is_met(64, &[cost(0.9), cost(1.5)]));
        assert!(rule.is_met(10_000, &[cost(50.0)]));
    }

    #[test]
    fn the_forecast_grows_with_the_square_of_what_is_missing() {
        // 4 % at 64: 16 times as many, and a little more for the adjusted bound: 2,048.
        assert_eq!(StopRule::default().forecast(64, &[cost(4.0)]), 2_048);
        assert_eq!(StopRule::default().forecast(64, &[cost(0.5)]), 64);
        assert_eq!(StopRule::Count(500).forecast(64, &[cost(4.0)]), 500);
    }
}
