//! A mean with its confidence interval.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use crate::stats::Moments;

/// Confidence of the intervals of results.
pub const CONFIDENCE: f64 = 0.95;

/// The mean of a response, and how far the true mean may be from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Mean of the observations.
    pub mean: f64,
    /// Half-width of the confidence interval of the mean; 0 where nothing is random; `None` where
    /// one observation of a random quantity says nothing about it.
    pub half_width: Option<f64>,
    /// Probability with which an interval made this way holds the true mean.
    pub confidence: f64,
    /// Number of observations.
    pub count: u64,
}

impl Estimate {
    /// Returns the estimate from independent observations, whose mean was summed more exactly
    /// than [`Moments`] can.
    ///
    /// Half-width: `t(1 - a/2, n - 1) * s / sqrt(n)` with `a = 1 - confidence`. Assumes roughly
    /// normal means (Law 2015, section 4.5); the tests of this module check how often the interval
    /// holds the true mean.
    pub fn new(mean: f64, moments: &Moments, confidence: f64) -> Estimate {
        let count = moments.count();
        let half_width = moments
            .standard_error()
            .map(|error| if error > 0.0 { student_t(confidence, count - 1) * error } else { 0.0 });
        Estimate { mean, half_width, confidence, count }
    }

    /// Returns the estimate of what is not random: `count` observations, all equal.
    pub fn certain(mean: f64, confidence: f64, count: u64) -> Estimate {
        Estimate { mean, half_width: Some(0.0), confidence, count }
    }

    /// Returns whether the half-width is at most `relative / (1 + relative)` of the estimated mean,
    /// so that the estimate is within `relative` of the true mean with the stated confidence (Law
    /// 2015, section 9.4.1).
    pub fn is_within(&self, relative: f64) -> bool {
        self.half_width.is_some_and(|half| half <= relative / (1.0 + relative) * self.mean.abs())
    }

    /// Returns the half-width as a fraction of the mean, where there is one.
    pub fn relative(&self) -> Option<f64> {
        match self.half_width {
            Some(half) if half > 0.0 => {
                let fraction = half / self.mean.abs();
                fraction.is_finite().then_some(fraction)
            }
            half => half,
        }
    }

    /// Returns whether the interval leaves open on which side of zero the true mean lies.
    pub fn crosses_zero(&self) -> bool {
        self.half_width.is_none_or(|half| self.mean.abs() <= half)
    }
}

/// Degrees of freedom beyond which Student's t is close to normal.
const NEARLY_NORMAL: u64 = 10_000;

/// Returns the two-sided quantile of Student's t: the factor on the standard error.
///
/// Rounded to nine decimals, so that the last bits of a platform's logarithm do not show. Beyond
/// 10,000 degrees by the expansion in the normal quantile (Abramowitz and Stegun 1964, 26.7.5),
/// whose next term is below 1e-11 there; a numeric inverse loses its digits.
pub fn student_t(confidence: f64, degrees_of_freedom: u64) -> f64 {
    let upper = 0.5 + 0.5 * confidence;
    let degrees = degrees_of_freedom.max(1) as f64;
    let quantile = if degrees_of_freedom > NEARLY_NORMAL {
        let z = Normal::standard().inverse_cdf(upper);
        let square = z * z;
        let first = z * (square + 1.0) / 4.0;
        let second = z * ((5.0 * square + 16.0) * square + 3.0) / 96.0;
        z + (first + second / degrees) / degrees
    } else {
        let law = StudentsT::new(0.0, 1.0, degrees);
        law.map_or(f64::INFINITY, |law| law.inverse_cdf(upper))
    };
    (quantile * 1e9).round() / 1e9
}

#[cfg(test)]
mod tests {
    //! Tables of Student's t, then how often the interval holds the true mean.

    use super::*;
    use crate::des::StreamKey;

    const REPETITIONS: u64 = 1_000;

    #[test]
    fn quantiles_of_student_t_are_those_of_the_tables() {
        // Abramowitz and Stegun, table 26.10; R, qt(0.975, df) to nine decimals.
        let cases = [
            (1, 12.706_204_736),
            (9, 2.262_157_163),
            (63, 1.998_340_543),
            (9_999, 1.960_201_264),
            (100_000, 1.959_987_708),
            (10_000_000, 1.959_964_222),
            (u64::MAX, 1.959_963_985),
        ];
        for (degrees, expected) in cases {
            let got = student_t(0.95, degrees);
            assert!((got - expected).abs() < 1e-6, "{degrees} degrees: {got}");
        }
        // Where one way of computing it ends and the other begins it goes on falling by
        // `(z^3 + z) / (4 n^2)`, 4.92e-8 a degree at z = 2.5758.
        let step = student_t(0.99, 10_000) - student_t(0.99, 10_001);
        assert!((step - 4.92e-8).abs() < 2e-9, "{step}");
    }

    #[test]
    fn precision_compares_with_the_adjusted_bound() {
        // 1 % of the true mean: 0.01 / 1.01 = 0.00990099 of the estimated one.
        let estimate =
            |half| Estimate { half_width: half, ..Estimate::certain(100.0, CONFIDENCE, 64) };
        assert!(estimate(Some(0.990_0)).is_within(0.01));
        assert!(!estimate(Some(0.990_2)).is_within(0.01));
        assert!(!estimate(None).is_within(0.01));
        assert!(Estimate::certain(0.0, CONFIDENCE, 1).is_within(0.01));
    }

    /// Share of repetitions of `size` observations whose 95 % interval holds the true mean 1.
    fn coverage(size: u64, draw: fn(f64, f64) -> f64) -> f64 {
        let uniform = |bits: u64| ((bits >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
        let holds = (0..REPETITIONS).filter(|repetition| {
            let stream = StreamKey::new(7, *repetition, 0, 0).stream();
            let moments: Moments = (0..size)
                .map(|at| draw(uniform(stream.at(2 * at)), uniform(stream.at(2 * at + 1))))
                .collect();
            let estimate = Estimate::new(moments.mean(), &moments, CONFIDENCE);
            (estimate.mean - 1.0).abs() <= estimate.half_width.unwrap()
        });
        holds.count() as f64 / REPETITIONS as f64
    }

    /// Goal: the interval of the mean keeps its promise. Method: 1,000 seeded repetitions; the
    /// share that holds the true mean is binomial with standard error
    /// `sqrt(0.95 * 0.05 / 1000) = 0.0069`, so 93 % to 97 % is 2.9 of them on either side.
    /// Normal (Box and Muller): the coverage is exact at any size, here 20. Exponential: the
    /// interval is asymptotic; at 200 observations the error of coverage, of order
    /// `skewness^2 / n = 4 / 200`, times about 0.2, is 0.4 %, within the rest of the bound.
    #[test]
    fn the_interval_of_the_mean_holds_it_as_often_as_it_says() {
        let normal = |a: f64, b: f64| {
            1.0 + 0.5 * (-2.0 * libm::log(a)).sqrt() * libm::cos(std::f64::consts::TAU * b)
        };
        let exponential = |a: f64, _: f64| -libm::log(a);
        for share in [coverage(20, normal), coverage(200, exponential)] {
            assert!((0.93..=0.97).contains(&share), "coverage {share}");
        }
    }
}
