//! Order statistics of many observations in bounded memory.

use std::collections::BTreeMap;

/// Number of observations up to which quantiles are exact.
pub const EXACT_MAX: usize = 1_000_000;

/// Ratio of the bounds of a bin.
const BIN_RATIO: f64 = 1.001;

/// Collects observations that are at least 0, and returns quantiles of them.
///
/// A quantile at `p` is the order statistic of rank `ceil(p * n)` (nearest rank, type 1 of Hyndman
/// and Fan 1996): always a value that was observed. Up to [`EXACT_MAX`] observations it is exact.
/// Beyond, observations are counted in fixed logarithmic bins 0.1 % wide, and a quantile is the
/// geometric middle of its bin, within 0.05 % of the order statistic; zero has a bin of its own,
/// and the largest observation stays exact.
#[derive(Clone, Debug)]
pub struct Quantiles {
    exact_max: usize,
    /// In the order of observation; empty once there are bins.
    values: Vec<f64>,
    /// By the number of the bin.
    bins: BTreeMap<i32, u64>,
    zeros: u64,
    count: u64,
    min: f64,
    max: f64,
}

impl Default for Quantiles {
    fn default() -> Quantiles {
        Quantiles::with_exact_max(EXACT_MAX)
    }
}

impl Quantiles {
    /// Returns an empty collector that bins above another number of observations.
    pub fn with_exact_max(exact_max: usize) -> Quantiles {
        Quantiles {
            exact_max,
            values: Vec::new(),
            bins: BTreeMap::new(),
            zeros: 0,
            count: 0,
            min: f64::INFINITY,
            max: 0.0,
        }
    }

    /// Takes one observation, which must be finite and at least 0.
    pub fn push(&mut self, value: f64) {
        assert!(value.is_finite() && value >= 0.0, "observations are finite and at least 0");
        self.count += 1;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        if self.count as usize <= self.exact_max {
            self.values.push(value);
            return;
        }
        for value in std::mem::take(&mut self.values) {
            self.count_in_bin(value);
        }
        self.count_in_bin(value);
    }

    /// Returns the number of observations.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the observations in the order in which they came, while they are kept.
    pub fn values(&self) -> Option<&[f64]> {
        (self.count as usize <= self.exact_max).then_some(&self.values)
    }

    /// Returns the observations in ascending order with how often each stands there.
    pub fn ascending(&self) -> Ascending {
        let mut groups: Vec<(f64, u64)>;
        if self.values().is_some() {
            groups = self.values.iter().map(|value| (*value, 1)).collect();
            groups.sort_unstable_by(|(a, _), (b, _)| a.total_cmp(b));
        } else {
            groups = vec![(0.0, self.zeros)];
            groups.extend(self.bins.iter().map(|(bin, count)| {
                let middle = libm::exp((f64::from(*bin) + 0.5) * libm::log(BIN_RATIO));
                (middle.clamp(self.min, self.max), *count)
            }));
        }
        Ascending { groups, count: self.count, max: self.max }
    }

    fn count_in_bin(&mut self, value: f64) {
        if value > 0.0 {
            let bin = (libm::log(value) / libm::log(BIN_RATIO)).floor() as i32;
            *self.bins.entry(bin).or_default() += 1;
        } else {
            self.zeros += 1;
        }
    }
}

/// Observations in ascending order, each with how often it stands there.
#[derive(Clone, Debug)]
pub struct Ascending {
    groups: Vec<(f64, u64)>,
    count: u64,
    max: f64,
}

impl Ascending {
    /// Returns the order statistic of rank `ceil(n * permille / 1000)`, at least 1; 0 of no
    /// observations.
    pub fn quantile(&self, permille: u64) -> f64 {
        let rank = (self.count * permille).div_ceil(1_000).max(1);
        if rank >= self.count {
            return self.max;
        }
        let mut below = 0;
        let holds_rank = |(_, count): &&(f64, u64)| {
            below += count;
            below >= rank
        };
        self.groups.iter().find(holds_rank).map_or(self.max, |(value, _)| *value)
    }

    /// Returns the largest observation; 0 of none.
    pub fn max(&self) -> f64 {
        self.max
    }

    /// Returns which part of the sum the largest `permille` of the observations hold; 0 of nothing.
    pub fn share_of_largest(&self, permille: u64) -> f64 {
        let sum: f64 = self.groups.iter().map(|(value, count)| value * *count as f64).sum();
        let mut left = self.count * permille / 1_000;
        let mut largest = 0.0;
        for (value, count) in self.groups.iter().rev() {
            let taken = left.min(*count);
            largest += value * taken as f64;
            left -= taken;
        }
        if sum > 0.0 { largest / sum } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_order_statistics() {
        let mut quantiles = Quantiles::default();
        for value in [50.0, 15.0, 40.0, 20.0, 35.0] {
            quantiles.push(value);
        }
        // Ranks ceil(5p): 5 % -> 1, 50 % -> 3, 60 % -> 3, 61 % -> 4, 95 % -> 5.
        let ascending = quantiles.ascending();
        let cases: [(u64, f64); 6] =
            [(0, 15.0), (50, 15.0), (500, 35.0), (600, 35.0), (610, 40.0), (950, 50.0)];
        for (permille, expected) in cases {
            let quantile = ascending.quantile(permille);
            assert_eq!(
                quantile.to_bits(),
                expected.to_bits(),
                "{quantile} at {permille} per mille"
            );
        }
        assert_eq!(ascending.share_of_largest(200).to_bits(), 0.312_5_f64.to_bits(), "50 of 160");
        assert_eq!(quantiles.values(), Some(&[50.0, 15.0, 40.0, 20.0, 35.0][..]));
        assert_eq!(Quantiles::default().ascending().quantile(500).to_bits(), 0.0_f64.to_bits());
    }

    #[test]
    fn beyond_a_million_quantiles_are_within_a_tenth_of_a_percent() {
        // Values (i / n)^3 for i = 1..=n in scattered order: 7,919 is prime and divides no power of
        // ten, so i -> 7919 i mod n visits each once. The order statistic of rank r is (r / n)^3.
        let count = 1_200_000u64;
        let value = |rank: u64| libm::pow(rank as f64 / count as f64, 3.0);
        let mut quantiles = Quantiles::default();
        (1..=count).for_each(|index| quantiles.push(value(index * 7_919 % count + 1)));
        assert_eq!(quantiles.values(), None);
        let ascending = quantiles.ascending();
        for permille in [10, 50, 500, 950, 990] {
            let exact = value(count * permille / 1_000);
            let error = ascending.quantile(permille) / exact - 1.0;
            assert!(error.abs() < 1e-3, "{error} at {permille} per mille");
        }
        assert_eq!((ascending.max(), ascending.quantile(1_000)), (1.0, 1.0));
    }

    #[test]
    fn zeros_have_a_bin_of_their_own() {
        let mut quantiles = Quantiles::with_exact_max(2);
        for value in [0.0, 0.0, 0.0, 8.0] {
            quantiles.push(value);
        }
        let ascending = quantiles.ascending();
        assert_eq!((ascending.quantile(750), ascending.quantile(760)), (0.0, 8.0));
    }
}
