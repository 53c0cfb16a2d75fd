//! Control variates: a mean corrected by what else was observed.

use crate::stats::{Estimate, JointMoments, Moments, student_t};

/// Observations for each control that is used: fewer would cost more than controls give.
const OBSERVATIONS_MIN: u64 = 20;
/// Share of a control's variance that must not be in those before it, for it to count as new.
const NEW_MIN: f64 = 1e-9;
/// Share of the variance that rounding leaves where controls explain all of it.
const ROUNDING: f64 = 1e-12;
/// Groups of observations that the jackknife leaves out one by one.
const GROUPS: usize = 64;

/// Observations of responses and controls, spread over groups in turn.
#[derive(Clone, Debug)]
pub struct GroupedMoments {
    groups: Vec<JointMoments>,
    next: usize,
}

/// Moments of all observations, and of all but each group.
#[derive(Clone, Debug)]
pub struct LeftOut {
    all: JointMoments,
    /// For each group that has some, how many it has, and the moments of all others.
    others: Vec<(u64, JointMoments)>,
}

/// The mean of a response, corrected by regression on controls with known means.
///
/// With controls `c` of means `m` the estimate is `mean(y) - b' (mean(c) - m)`, `b` the least
/// squares coefficients (Lavenberg and Welch 1981). Its interval is theirs where response and
/// controls are jointly normal, which costs are not: dear runs have more work and vary more around
/// what the work explains, so the residual variance is too small for the mean. The interval is that
/// of the jackknife instead (Nelson 1990): each of 64 groups of observations is left out once, and
/// the estimates without it vary as they do. That takes the bias of order `1 / n` away too, which
/// comes from coefficients out of the same sample. Groups may differ by one observation (Busing et
/// al. 1999). Measured by `tests/it/coverage.rs`.
#[derive(Clone, Debug, PartialEq)]
pub struct Regression {
    /// What to add to the mean of the sample.
    pub correction: f64,
    /// Standard error of the corrected mean.
    pub standard_error: f64,
    /// Its degrees of freedom.
    pub degrees_of_freedom: u64,
    /// Skewness of the estimates without each group, on which the interval rests.
    pub skewness: f64,
    /// Numbers of the controls that are used, of those offered.
    pub used: Vec<usize>,
    count: u64,
}

impl GroupedMoments {
    /// Returns those of no observations of `width` numbers.
    pub fn new(width: usize) -> GroupedMoments {
        GroupedMoments { groups: vec![JointMoments::new(width); GROUPS], next: 0 }
    }

    /// Takes one observation, as many numbers as always.
    pub fn push(&mut self, values: &[f64]) {
        self.groups[self.next].push(values);
        self.next = (self.next + 1) % GROUPS;
    }

    /// Returns the moments of all observations, and of all but each group.
    pub fn leave_out(&self) -> LeftOut {
        let filled = self.groups.iter().filter(|group| group.count() > 0);
        let groups: Vec<&JointMoments> = filled.collect();
        let width = self.groups[0].width();
        let mut after = vec![JointMoments::new(width)];
        for group in groups.iter().rev() {
            let mut sum = (*group).clone();
            sum.merge(&after[after.len() - 1]);
            after.push(sum);
        }
        let mut before = JointMoments::new(width);
        let mut others = Vec::with_capacity(groups.len());
        for (number, group) in groups.iter().enumerate() {
            let mut rest = before.clone();
            rest.merge(&after[groups.len() - 1 - number]);
            others.push((group.count(), rest));
            before.merge(group);
        }
        LeftOut { all: before, others }
    }
}

impl Regression {
    /// Returns the regression of a weighted sum of numbers on controls, numbers too, each with its
    /// known mean; `None` below two observations.
    ///
    /// Controls are used in the order given, as many as the observations allow. One that does not
    /// vary, or follows from those before it, is not used.
    pub fn new(
        LeftOut { all, others }: &LeftOut,
        response: &[(usize, f64)],
        controls: &[(usize, f64)],
    ) -> Option<Regression> {
        let count = all.count();
        if count < 2 {
            return None;
        }
        let limit = (count / OBSERVATIONS_MIN) as usize;
        let whole = Fit::new(all, response, controls, limit);
        let kept: Vec<(usize, f64)> = whole.used.iter().map(|at| controls[*at]).collect();
        let mean = |moments: &JointMoments| -> f64 {
            response.iter().map(|(number, weight)| weight * moments.mean(*number)).sum()
        };
        let estimate = mean(all) + whole.correction;
        // Of group j of `m_j`, with `h_j = n / m_j`, the pseudo-value is
        // `h_j estimate - (h_j - 1) estimate without j`.
        let pseudo_values = others.iter().map(|(size, rest)| {
            let ratio = count as f64 / *size as f64;
            let without = mean(rest) + Fit::new(rest, response, &kept, kept.len()).correction;
            (ratio, ratio * estimate - (ratio - 1.0) * without)
        });
        let pseudo_values: Vec<(f64, f64)> = pseudo_values.collect();
        let groups = pseudo_values.len() as f64;
        let jackknife: f64 = pseudo_values.iter().map(|(ratio, value)| value / ratio).sum();
        let squares = pseudo_values
            .iter()
            .map(|(ratio, value)| (value - jackknife) * (value - jackknife) / (ratio - 1.0));
        let least = ROUNDING * whole.total / (count - 1) as f64 / count as f64;
        let variance = (squares.sum::<f64>() / groups).max(least);
        let values: Moments = pseudo_values.iter().map(|(_, value)| *value).collect();
        Some(Regression {
            correction: jackknife - mean(all),
            standard_error: variance.sqrt(),
            degrees_of_freedom: others.len() as u64 - 1,
            skewness: values.skewness(),
            used: whole.used,
            count,
        })
    }

    /// Returns the estimate of the mean, from the mean of the sample.
    pub fn estimate(&self, sample_mean: f64, confidence: f64) -> Estimate {
        let half_width = student_t(confidence, self.degrees_of_freedom) * self.standard_error;
        Estimate {
            mean: sample_mean + self.correction,
            half_width: Some(half_width),
            confidence,
            count: self.count,
        }
    }
}

/// The least squares fit of one set of observations.
struct Fit {
    correction: f64,
    /// Sum of squared deviations of the response.
    total: f64,
    used: Vec<usize>,
}

impl Fit {
    /// Fits by the Cholesky factor of the products of the controls, row by row.
    fn new(
        moments: &JointMoments,
        response: &[(usize, f64)],
        controls: &[(usize, f64)],
        limit: usize,
    ) -> Fit {
        let with =
            |at: usize| -> f64 { response.iter().map(|(y, w)| w * moments.product(*y, at)).sum() };
        let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
        let mut rows: Vec<(usize, Vec<f64>)> = Vec::new();
        // The response and the distances from the means in the coordinates of the factor.
        let (mut used, mut slopes, mut distances) = (Vec::new(), Vec::new(), Vec::new());
        for (offered, (control, mean)) in controls.iter().enumerate() {
            if used.len() == limit {
                break;
            }
            let mut row: Vec<f64> = Vec::with_capacity(rows.len() + 1);
            for (other, before) in &rows {
                let known = dot(&row, before);
                row.push((moments.product(*control, *other) - known) / before[row.len()]);
            }
            let own = moments.product(*control, *control);
            let new = own - dot(&row, &row);
            if new <= NEW_MIN * own {
                continue;
            }
            let root = new.sqrt();
            slopes.push((with(*control) - dot(&row, &slopes)) / root);
            distances.push((moments.mean(*control) - mean - dot(&row, &distances)) / root);
            row.push(root);
            rows.push((*control, row));
            used.push(offered);
        }
        let total = response.iter().map(|(y, weight)| weight * with(*y)).sum();
        Fit { correction: -dot(&slopes, &distances), total, used }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::des::StreamKey;
    use crate::stats::CONFIDENCE;

    fn uniform(stream: u64, counter: u64) -> f64 {
        let bits = StreamKey::new(3, 1, 0, stream).stream().at(counter);
        ((bits >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    fn grouped(count: u64, row: impl Fn(u64) -> Vec<f64>) -> GroupedMoments {
        let mut moments = GroupedMoments::new(row(0).len());
        (0..count).for_each(|at| moments.push(&row(at)));
        moments
    }

    /// `y = 3 + 2 (c - 1/2) - (d - 1/2)` without a rest: the mean is 3, however unlike the sample.
    /// The third control follows from the others, the fourth does not vary; neither is used.
    #[test]
    fn controls_that_explain_all_leave_nothing_to_chance() {
        let row = |at: u64| {
            let (c, d) = (uniform(1, at), uniform(2, at));
            vec![3.0 + 2.0 * (c - 0.5) - (d - 0.5), c, d, 4.0 * c + d, 7.0]
        };
        let moments = grouped(90, row).leave_out();
        let controls = [(1, 0.5), (4, 7.0), (2, 0.5), (3, 2.5)];
        let regression = Regression::new(&moments, &[(0, 1.0)], &controls).unwrap();
        let estimate = regression.estimate(moments.all.mean(0), CONFIDENCE);
        assert!((estimate.mean - 3.0).abs() < 1e-12, "{estimate:?}");
        assert!(estimate.half_width.unwrap() < 1e-6 && estimate.count == 90);
        assert_eq!((regression.used, regression.degrees_of_freedom), (vec![0, 2], 63));
        // Too few for any control.
        let few = grouped(19, row).leave_out();
        assert!(Regression::new(&few, &[(0, 1.0)], &controls).unwrap().used.is_empty());
        assert!(Regression::new(&grouped(1, row).leave_out(), &[(0, 1.0)], &controls).is_none());
    }

    /// Without controls the jackknife is the plain interval: exactly so in groups of one.
    #[test]
    fn without_controls_it_is_the_plain_interval() {
        for count in [2, 50, 64] {
            let moments = grouped(count, |at| vec![uniform(1, at), uniform(2, at)]);
            let response = [(0, 1.0), (1, -1.0)];
            let got = Regression::new(&moments.leave_out(), &response, &[]).unwrap();
            let plain: Moments = (0..count).map(|at| uniform(1, at) - uniform(2, at)).collect();
            let (error, expected) = (got.standard_error, plain.standard_error().unwrap());
            assert!((error / expected - 1.0).abs() < 1e-9, "{count}: {error} {expected}");
            assert!(got.correction.abs() < 1e-12 && got.degrees_of_freedom == count - 1);
            assert!((got.skewness - plain.skewness()).abs() < 1e-6);
        }
    }
}
