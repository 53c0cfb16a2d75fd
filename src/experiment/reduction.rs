//! Variance reduction besides common random numbers: narrower intervals from as many replications.
//!
//! **Antithetic pairs**: replication 2k runs on the mirror image of the random numbers of 2k - 1.
//! Where a cost rises with what is drawn, one of a pair is dear when the other is cheap. A pair is
//! one observation, its mean; pairs are independent, so the interval is that of `n / 2` means.
//! Means stay unbiased and quantiles are those of all replications. It helps as far as the cost is
//! monotone in its draws and not too skewed, for dear runs are much further from the mean than
//! their cheap mirror images; where the two of a pair are alike, it harms.
//!
//! **Control variates**: the mean cost is corrected by regression on what the work amounts to
//! ([`Controls`], [`Regression`]). Breakdowns of the cost stay means of the sample.

use crate::experiment::runner::{Experiment, Variant};
use crate::orchestration::{Control, ControlValues, Controls, Draws, Plan};
use crate::stats::{CONFIDENCE, Estimate, GroupedMoments, LeftOut, Moments, Regression, student_t};

/// Smallest share of the variance that is told to be left.
const ROUNDING: f64 = 1e-12;

/// How to make intervals narrower.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VarianceReduction {
    /// Common random numbers alone.
    #[default]
    None,
    /// Antithetic pairs.
    Antithetic,
    /// Control variates.
    Control,
    /// Antithetic pairs with control variates.
    Both,
}

impl VarianceReduction {
    /// Returns the name used in options and results.
    pub const fn name(self) -> &'static str {
        match self {
            VarianceReduction::None => "none",
            VarianceReduction::Antithetic => "antithetic",
            VarianceReduction::Control => "control",
            VarianceReduction::Both => "both",
        }
    }

    /// Returns how many replications are one observation.
    pub const fn unit(self) -> u64 {
        match self {
            VarianceReduction::None | VarianceReduction::Control => 1,
            VarianceReduction::Antithetic | VarianceReduction::Both => 2,
        }
    }

    /// Returns whether means are corrected by controls.
    pub const fn has_controls(self) -> bool {
        matches!(self, VarianceReduction::Control | VarianceReduction::Both)
    }

    /// Returns the random numbers of a replication, counted from 1.
    pub(super) const fn draws(self, seed: u64, replication: u64) -> Draws {
        if self.unit() == 2 && replication.is_multiple_of(2) {
            return Draws::new(seed, replication - 1).mirrored();
        }
        Draws::new(seed, replication)
    }
}

/// What variance reduction came to for one mean.
#[derive(Clone, Debug, PartialEq)]
pub struct Reduced {
    /// The controls that were used.
    pub controls: Vec<Control>,
    /// Mean of the sample, without correction.
    pub sample_mean_usd: f64,
    /// Variance of the cost of one replication, in squared US dollars.
    pub variance_without: f64,
    /// Variance of the mean times the number of replications: what the variance of one would have
    /// to be for the same interval.
    pub variance_with: f64,
    /// The first by the second: below 1 it harms.
    pub factor: f64,
    /// Replications that would have the same half-width without it.
    pub replications_without: u64,
    /// How many that are more than were made; negative where it harms.
    pub replications_saved: i64,
}

impl Reduced {
    /// Compares an interval with that of the same replications without variance reduction; `None`
    /// where they do not vary.
    fn new(estimate: &Estimate, standard_error: f64, each: &Moments) -> Option<Reduced> {
        let without = each.variance().filter(|variance| *variance > 0.0)?;
        let count = each.count() as f64;
        // Where pairs cancel out, nothing is left but what rounding would leave.
        let with = (standard_error * standard_error * count).max(ROUNDING * without);
        let least = student_t(CONFIDENCE, u64::MAX) * (with / count).sqrt();
        let half_width = estimate.half_width?.max(least);
        let needed = replications_for(half_width, without);
        Some(Reduced {
            controls: Vec::new(),
            sample_mean_usd: estimate.mean,
            variance_without: without,
            variance_with: with,
            factor: without / with,
            replications_without: needed,
            replications_saved: needed as i64 - each.count() as i64,
        })
    }
}

/// Returns the least number of replications of such a variance whose interval is no wider.
fn replications_for(half_width: f64, variance: f64) -> u64 {
    let needed = |degrees: u64| {
        let ratio = student_t(CONFIDENCE, degrees) / half_width;
        (ratio * ratio * variance).ceil().clamp(2.0, 1e18) as u64
    };
    // The quantile falls with the degrees, so what is needed does, and there is one count from
    // which on it is enough.
    let (mut enough, mut too_few) = (needed(1), needed(u64::MAX) - 1);
    while enough - too_few > 1 {
        let middle = u64::midpoint(enough, too_few);
        if needed(middle - 1) <= middle { enough = middle } else { too_few = middle }
    }
    enough
}

/// An estimate, and what is to be known of it.
#[derive(Clone, Debug)]
pub(super) struct Reduction {
    pub(super) estimate: Estimate,
    /// Skewness of the independent observations that the interval rests on, and their number.
    pub(super) skewness: (f64, u64),
    pub(super) reduced: Option<Reduced>,
}

/// A control that is of no use.
#[derive(Clone, Debug, PartialEq)]
pub struct UnusedControl {
    /// Name of the variant.
    pub variant: String,
    /// The control.
    pub control: Control,
    /// Why, as a clause.
    pub reason: String,
}

/// Costs and controls of all variants, observed together.
#[derive(Debug)]
pub(super) struct Observed {
    controls: Vec<Controls>,
    moments: GroupedMoments,
    /// The moments as they were when the last replications had been taken.
    left_out: LeftOut,
}

impl Observed {
    pub(super) fn new<'a>(plans: impl Iterator<Item = &'a Plan>) -> Observed {
        let controls: Vec<Controls> = plans.map(Controls::new).collect();
        let width = controls.len() * (1 + Control::ALL.len());
        let moments = GroupedMoments::new(width);
        Observed { controls, left_out: moments.leave_out(), moments }
    }

    pub(super) fn controls(&self, variant: usize) -> &Controls {
        &self.controls[variant]
    }

    /// Takes one observation: of each variant its cost, and its controls.
    pub(super) fn push(&mut self, costs: &[f64], controls: &[ControlValues]) {
        let values: Vec<f64> = costs.iter().chain(controls.iter().flatten()).copied().collect();
        self.moments.push(&values);
    }

    /// Takes stock after observations.
    pub(super) fn settle(&mut self) {
        self.left_out = self.moments.leave_out();
    }

    /// Corrects the mean of a sum of costs, weighted by variant.
    fn corrected(&self, response: &[(usize, f64)]) -> Option<(Regression, Vec<Control>)> {
        let mut offered = Vec::new();
        // Of several variants first all bills: they tell variants apart.
        for control in Control::ALL {
            let known =
                |(variant, _): &&(usize, f64)| self.controls[*variant].unknown(control).is_none();
            offered.extend(response.iter().filter(known).map(|(variant, _)| (*variant, control)));
        }
        let number = |(variant, control): &(usize, Control)| {
            let at = self.controls.len() + variant * Control::ALL.len() + *control as usize;
            (at, self.controls[*variant].means()[*control as usize])
        };
        let numbers: Vec<(usize, f64)> = offered.iter().map(number).collect();
        let regression = Regression::new(&self.left_out, response, &numbers)?;
        let mut used: Vec<Control> = regression.used.iter().map(|at| offered[*at].1).collect();
        used.dedup();
        Some((regression, used))
    }
}

impl Experiment {
    /// Returns the controls that are of no use, by variant.
    pub(super) fn unused_controls(&self) -> Vec<UnusedControl> {
        let Some(observed) = &self.observed else {
            return Vec::new();
        };
        let of = |(variant, controls): (&Variant, &Controls)| {
            let unused = |control: Control| {
                let (variant, reason) = (variant.name.clone(), controls.unknown(control)?);
                Some(UnusedControl { variant, control, reason: reason.to_owned() })
            };
            Control::ALL.into_iter().filter_map(unused).collect::<Vec<_>>()
        };
        self.variants.iter().zip(&observed.controls).flat_map(of).collect()
    }

    /// Returns the estimate of a mean that is a weighted sum of mean costs, from what `plain`
    /// makes of the sample, and what variance reduction gave.
    pub(super) fn reduce(
        &self,
        response: &[(usize, f64)],
        plain: Estimate,
        (observations, each): (&Moments, &Moments),
    ) -> Reduction {
        let skewness = (observations.skewness(), observations.count());
        if self.reduction == VarianceReduction::None || plain.half_width.is_none() {
            return Reduction { estimate: plain, skewness, reduced: None };
        }
        let corrected = self.observed.as_ref().and_then(|observed| observed.corrected(response));
        let Some((regression, controls)) = corrected else {
            let error = observations.standard_error().unwrap_or(0.0);
            let reduced = Reduced::new(&plain, error, each);
            return Reduction { estimate: plain, skewness, reduced };
        };
        let estimate = regression.estimate(plain.mean, plain.confidence);
        let reduced = Reduced::new(&estimate, regression.standard_error, each);
        let sample_mean_usd = plain.mean;
        // What the controls leave may be even where the cost is not, and uneven where its groups
        // are too large to show it; the worse of the two counts.
        let left = (regression.skewness, regression.degrees_of_freedom + 1);
        let weight = |(skewness, count): (f64, u64)| skewness * skewness / count as f64;
        Reduction {
            estimate,
            skewness: if weight(left) > weight(skewness) { left } else { skewness },
            reduced: reduced.map(|reduced| Reduced { controls, sample_mean_usd, ..reduced }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_replications_as_the_interval_needs() {
        // Variance 4, half-width 0.4: (1.96 * 2 / 0.4)^2 = 96.04 and a few for the wider quantile:
        // t(0.975, 98) = 1.98447 and (1.98447 * 5)^2 = 98.45.
        assert_eq!(replications_for(0.4, 4.0), 99);
        for count in [10_u64, 64, 5_000] {
            let half = student_t(CONFIDENCE, count - 1) * 3.0 / (count as f64).sqrt();
            assert_eq!(replications_for(half * (1.0 + 1e-9), 9.0), count);
        }
    }

    #[test]
    fn the_second_of_a_pair_is_the_mirror_image_of_the_first() {
        let draws = VarianceReduction::Both.draws(5, 8);
        assert_eq!(draws, VarianceReduction::Both.draws(5, 7).mirrored());
        assert_eq!(VarianceReduction::Control.draws(5, 8), Draws::new(5, 8));
    }
}
