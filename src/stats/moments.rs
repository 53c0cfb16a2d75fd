//! Mean and variance in one pass.

/// Count, mean, and sums of squared and cubed deviations of observations.
///
/// Welford (1962) for one observation, Chan, Golub and LeVeque (1983) for the union of two sets;
/// the cubes alike.
/// Floating-point results depend on the order of observations, so it must be a fixed one. Equal
/// observations have a variance of exactly zero.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    count: u64,
    mean: f64,
    squares: f64,
    cubes: f64,
}

impl Moments {
    /// Takes one observation.
    pub fn push(&mut self, value: f64) {
        self.count += 1;
        let delta = value - self.mean;
        let count = self.count as f64;
        self.mean += delta / count;
        let square = delta * (value - self.mean);
        self.cubes += (square * (count - 2.0) - 3.0 * self.squares) * (delta / count);
        self.squares += square;
    }

    /// Takes all observations of another set, as if they came after those of this one.
    pub fn merge(&mut self, other: &Moments) {
        if other.count == 0 {
            return;
        }
        let (own, others) = (self.count as f64, other.count as f64);
        let total = own + others;
        let delta = other.mean - self.mean;
        self.mean += delta * (others / total);
        let square = delta * delta * (own * others / total);
        self.cubes += other.cubes
            + delta * square * ((own - others) / total)
            + 3.0 * delta * (own * other.squares - others * self.squares) / total;
        self.squares += other.squares + square;
        self.count += other.count;
    }

    /// Returns the number of observations.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the mean; 0 of no observations.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// Returns the unbiased sample variance, or `None` below two observations.
    pub fn variance(&self) -> Option<f64> {
        (self.count > 1).then(|| self.squares / (self.count - 1) as f64)
    }

    /// Returns the skewness of the sample: the mean cubed deviation by the standard deviation
    /// cubed; 0 where nothing varies.
    pub fn skewness(&self) -> f64 {
        let (count, variance) = (self.count as f64, self.squares / self.count as f64);
        if variance > 0.0 { self.cubes / count / (variance * variance.sqrt()) } else { 0.0 }
    }

    /// Returns the standard error of the mean, or `None` below two observations.
    pub fn standard_error(&self) -> Option<f64> {
        self.variance().map(|variance| (variance / self.count as f64).sqrt())
    }
}

impl FromIterator<f64> for Moments {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Moments {
        let mut moments = Moments::default();
        values.into_iter().for_each(|value| moments.push(value));
        moments
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_set_by_hand() {
        // 2, 4, 4, 4, 5, 5, 7, 9: mean 5, squared deviations 9 + 1 + 1 + 1 + 0 + 0 + 4 + 16 = 32.
        let values = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
        let whole: Moments = values.into_iter().collect();
        assert_eq!((whole.count(), whole.mean()), (8, 5.0));
        assert!((whole.variance().unwrap() - 32.0 / 7.0).abs() < 1e-14);
        // Cubed deviations -27 - 1 - 1 - 1 + 0 + 0 + 8 + 64 = 42, standard deviation 2.
        assert!((whole.skewness() - 42.0 / 8.0 / 8.0).abs() < 1e-14);
        for at in 0..=values.len() {
            let mut parts: Moments = values[..at].iter().copied().collect();
            parts.merge(&values[at..].iter().copied().collect());
            assert_eq!(parts.count(), 8);
            assert!((parts.mean() - 5.0).abs() < 1e-14);
            assert!((parts.variance().unwrap() - 32.0 / 7.0).abs() < 1e-14);
            assert!((parts.skewness() - 42.0 / 64.0).abs() < 1e-14);
        }
    }

    #[test]
    fn equal_observations_do_not_vary_at_all() {
        let moments: Moments = [0.1; 1_000].into_iter().collect();
        assert_eq!((moments.mean(), moments.variance()), (0.1, Some(0.0)));
        assert!(moments.skewness() == 0.0);
        assert_eq!([0.1].into_iter().collect::<Moments>().variance(), None);
    }
}
