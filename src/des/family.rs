//! Families of distributions: exact quantile function, distribution function and mean.

use crate::des::special::{gamma_cdf, gamma_quantile, invert, normal_cdf, normal_quantile};

/// A distribution of non-negative numbers with known parameters.
///
/// The parameters are valid by construction of the caller; see
/// [`Distribution`](crate::workload::Distribution) for the checks.
#[derive(Clone, Debug, PartialEq)]
pub enum Family {
    /// Uniform on an interval.
    Uniform {
        /// Lower end.
        low: f64,
        /// Upper end, not below the lower one.
        high: f64,
    },
    /// Exponential.
    Exponential {
        /// Mean, above 0.
        mean: f64,
    },
    /// Lognormal: the exponential of a normal variate.
    Lognormal {
        /// Mean of the logarithm, the logarithm of the median.
        location: f64,
        /// Standard deviation of the logarithm, above 0.
        sigma: f64,
    },
    /// Weibull, P(X > x) = exp(-(x / scale)^shape).
    Weibull {
        /// Shape, above 0.
        shape: f64,
        /// Scale, above 0.
        scale: f64,
    },
    /// Gamma, mean = shape * scale.
    Gamma {
        /// Shape, above 0.
        shape: f64,
        /// Scale, above 0.
        scale: f64,
    },
    /// Pareto, P(X > x) = (scale / x)^shape above the scale.
    Pareto {
        /// Shape, above 0; the mean is finite above 1.
        shape: f64,
        /// Least value, above 0.
        scale: f64,
    },
    /// Equally likely values in rising order.
    Values(Vec<f64>),
    /// Points (probability, value) of the quantile function, both in rising order.
    ///
    /// Between two points the logarithm of the value is linear in the probability when both values
    /// are above 0, else the value is. Outside the points the value is constant.
    Points(Vec<(f64, f64)>),
    /// Components with weights that sum to 1.
    Mixture(Vec<(f64, Family)>),
    /// A family, conditional on an interval.
    Truncated {
        /// The family that is cut: exponential to Pareto, or points.
        family: Box<Family>,
        /// Least and greatest value; the greatest may be infinite.
        bounds: (f64, f64),
        /// Probabilities of the family below the least and up to the greatest value.
        levels: (f64, f64),
    },
}

impl Family {
    /// Returns the least value that is exceeded with probability at most `1 - u`, `u` in (0, 1).
    pub fn quantile(&self, u: f64) -> f64 {
        match self {
            Family::Uniform { low, high } => low + u * (high - low),
            Family::Exponential { mean } => -mean * libm::log1p(-u),
            Family::Lognormal { location, sigma } => {
                libm::exp(location + sigma * normal_quantile(u))
            }
            Family::Weibull { shape, scale } => scale * libm::pow(-libm::log1p(-u), 1.0 / shape),
            Family::Gamma { shape, scale } => scale * gamma_quantile(*shape, u),
            Family::Pareto { shape, scale } => scale * libm::pow(1.0 - u, -1.0 / shape),
            Family::Values(values) => {
                let index = (u * values.len() as f64) as usize;
                values[index.min(values.len() - 1)]
            }
            Family::Points(points) => quantile_of_points(points, u),
            Family::Mixture(components) => quantile_of_mixture(components, u),
            Family::Truncated { family, bounds: (min, max), levels: (low, high) } => {
                let inside = (low + u * (high - low)).min(1.0_f64.next_down());
                if inside <= 0.0 { *min } else { family.quantile(inside).clamp(*min, *max) }
            }
        }
    }

    /// Returns the probability of a value of at most `x`.
    pub fn cdf(&self, x: f64) -> f64 {
        match self {
            Family::Uniform { low, high } if high > low => {
                ((x - low) / (high - low)).clamp(0.0, 1.0)
            }
            Family::Uniform { low, .. } => f64::from(x >= *low),
            Family::Exponential { mean } => -libm::expm1(-x.max(0.0) / mean),
            Family::Lognormal { location, sigma } if x > 0.0 => {
                normal_cdf((libm::log(x) - location) / sigma)
            }
            Family::Weibull { shape, scale } => {
                -libm::expm1(-libm::pow(x.max(0.0) / scale, *shape))
            }
            Family::Gamma { shape, scale } => gamma_cdf(*shape, x / scale).0,
            Family::Pareto { shape, scale } if x > *scale => 1.0 - libm::pow(scale / x, *shape),
            Family::Lognormal { .. } | Family::Pareto { .. } => 0.0,
            Family::Values(values) => {
                values.partition_point(|value| *value <= x) as f64 / values.len() as f64
            }
            Family::Points(points) => cdf_of_points(points, x, |value, x| value <= x),
            Family::Mixture(components) => {
                components.iter().map(|(weight, family)| weight * family.cdf(x)).sum()
            }
            Family::Truncated { family, bounds: (min, max), levels: (low, high) } => {
                ((family.cdf(x.clamp(*min, *max)) - low) / (high - low)).clamp(0.0, 1.0)
            }
        }
    }

    /// Returns the mean; infinite for a Pareto of shape at most 1.
    pub fn mean(&self) -> f64 {
        match self {
            Family::Uniform { low, high } => 0.5 * (low + high),
            Family::Values(values) => values.iter().sum::<f64>() / values.len() as f64,
            Family::Points(points) => integral_of_points(points, 0.0, 1.0),
            Family::Mixture(components) => {
                components.iter().map(|(weight, family)| weight * family.mean()).sum()
            }
            Family::Truncated { family, bounds: (min, max), levels: (low, high) } => {
                let part = if let Family::Points(points) = &**family {
                    integral_of_points(points, *low, *high)
                } else {
                    family.partial_mean(*max) - family.partial_mean(*min)
                };
                (part / (high - low)).clamp(*min, *max)
            }
            Family::Exponential { .. }
            | Family::Lognormal { .. }
            | Family::Weibull { .. }
            | Family::Gamma { .. }
            | Family::Pareto { .. } => self.partial_mean(f64::INFINITY),
        }
    }

    /// Returns below which power the mean of the variate's powers is finite; infinite for all
    /// families but an unbounded Pareto, where it is the shape.
    pub fn tail_index(&self) -> f64 {
        match self {
            Family::Pareto { shape, .. } => *shape,
            Family::Mixture(components) => {
                components.iter().map(|(_, part)| part.tail_index()).fold(f64::INFINITY, f64::min)
            }
            Family::Truncated { family, bounds: (_, max), .. } if max.is_infinite() => {
                family.tail_index()
            }
            Family::Uniform { .. }
            | Family::Exponential { .. }
            | Family::Lognormal { .. }
            | Family::Weibull { .. }
            | Family::Gamma { .. }
            | Family::Values(_)
            | Family::Points(_)
            | Family::Truncated { .. } => f64::INFINITY,
        }
    }

    /// Returns this family conditional on `[min, max]`, and the probability of that interval.
    ///
    /// `None` when the interval holds no more than 1e-9 of the probability: what is left of the
    /// family would be numerical noise.
    pub fn truncated(&self, min: f64, max: f64) -> Option<(Family, f64)> {
        const LEAST: f64 = 1e-9;
        let (family, probability) = match self {
            Family::Uniform { low, high } => {
                let (cut_low, cut_high) = (low.max(min), high.min(max));
                let probability = if high > low {
                    (cut_high - cut_low) / (high - low)
                } else {
                    f64::from(cut_high >= cut_low)
                };
                (Family::Uniform { low: cut_low, high: cut_high }, probability)
            }
            Family::Values(values) => {
                let inside = |value: &&f64| (min..=max).contains(*value);
                let kept: Vec<f64> = values.iter().filter(inside).copied().collect();
                let probability = kept.len() as f64 / values.len() as f64;
                (Family::Values(kept), probability)
            }
            Family::Points(points) => {
                let below = cdf_of_points(points, min, |value, x| value < x);
                self.cut((min, max), (below, self.cdf(max)))
            }
            Family::Mixture(components) => truncated_mixture(components, min, max)?,
            Family::Truncated { family, bounds, levels: (low, high) } => {
                let (cut, part) = family.truncated(min.max(bounds.0), max.min(bounds.1))?;
                (cut, part / (high - low))
            }
            Family::Exponential { .. }
            | Family::Lognormal { .. }
            | Family::Weibull { .. }
            | Family::Gamma { .. }
            | Family::Pareto { .. } => self.cut((min, max), (self.cdf(min), self.cdf(max))),
        };
        (probability > LEAST).then_some((family, probability))
    }

    /// Returns this family between two bounds, and the probability between their levels.
    fn cut(&self, bounds: (f64, f64), levels: (f64, f64)) -> (Family, f64) {
        let family = Box::new(self.clone());
        (Family::Truncated { family, bounds, levels }, levels.1 - levels.0)
    }

    /// Returns E[X; X <= x] of a smooth family, the mean over the part up to `x`.
    fn partial_mean(&self, x: f64) -> f64 {
        if x <= 0.0 {
            return 0.0;
        }
        match self {
            Family::Exponential { mean } => mean * gamma_cdf(2.0, x / mean).0,
            Family::Lognormal { location, sigma } => {
                let mean = libm::exp(location + 0.5 * sigma * sigma);
                mean * normal_cdf((libm::log(x) - location) / sigma - sigma)
            }
            Family::Weibull { shape, scale } => {
                let order = 1.0 + 1.0 / shape;
                let reach = libm::pow(x / scale, *shape);
                scale * libm::tgamma(order) * gamma_cdf(order, reach).0
            }
            Family::Gamma { shape, scale } => shape * scale * gamma_cdf(shape + 1.0, x / scale).0,
            Family::Pareto { shape, scale } => partial_mean_of_pareto(*shape, *scale, x),
            Family::Uniform { .. }
            | Family::Values(_)
            | Family::Points(_)
            | Family::Mixture(_)
            | Family::Truncated { .. } => unreachable!("has a mean of its own"),
        }
    }
}

fn partial_mean_of_pareto(shape: f64, scale: f64, x: f64) -> f64 {
    if x <= scale {
        return 0.0;
    }
    let excess = shape - 1.0;
    if x.is_infinite() && excess <= 0.0 {
        return f64::INFINITY;
    }
    let log = libm::log(x / scale);
    if (excess * log).abs() < 1e-9 {
        return shape * scale * log;
    }
    shape * scale * -libm::expm1(-excess * log) / excess
}

fn quantile_of_mixture(components: &[(f64, Family)], u: f64) -> f64 {
    let quantiles = components.iter().map(|(_, family)| family.quantile(u));
    let low = quantiles.clone().fold(f64::INFINITY, f64::min);
    let high = quantiles.fold(0.0, f64::max);
    let cdf = |x| components.iter().map(|(weight, family)| weight * family.cdf(x)).sum();
    invert(cdf, u, low, high)
}

/// A truncated mixture is the mixture of its truncated components, reweighted by what is left.
fn truncated_mixture(components: &[(f64, Family)], min: f64, max: f64) -> Option<(Family, f64)> {
    let cut = |(weight, family): &(f64, Family)| {
        family.truncated(min, max).map(|(kept, part)| (weight * part, kept))
    };
    let kept: Vec<(f64, Family)> = components.iter().filter_map(cut).collect();
    let total: f64 = kept.iter().map(|(weight, _)| weight).sum();
    let kept = kept.into_iter().map(|(weight, family)| (weight / total, family)).collect();
    (total > 0.0).then_some((Family::Mixture(kept), total))
}

fn quantile_of_points(points: &[(f64, f64)], u: f64) -> f64 {
    let above = points.partition_point(|(probability, _)| *probability < u);
    if above == 0 {
        return points[0].1;
    }
    if above == points.len() {
        return points[above - 1].1;
    }
    let ((from, low), (to, high)) = (points[above - 1], points[above]);
    interpolate(low, high, (u - from) / (to - from))
}

/// Returns the value at part `part` of the way from `low` to `high`.
fn interpolate(low: f64, high: f64, part: f64) -> f64 {
    if low > 0.0 && high > low {
        (low * libm::exp(part * libm::log(high / low))).clamp(low, high)
    } else {
        low + part * (high - low)
    }
}

/// Returns the probability up to `x`: of the values that `counts(value, x)` holds for.
fn cdf_of_points(points: &[(f64, f64)], x: f64, counts: impl Fn(f64, f64) -> bool) -> f64 {
    let above = points.partition_point(|(_, value)| counts(*value, x));
    if above == 0 {
        return 0.0;
    }
    if above == points.len() {
        return 1.0;
    }
    let ((from, low), (to, high)) = (points[above - 1], points[above]);
    let part = if low > 0.0 && high > low {
        libm::log(x / low) / libm::log(high / low)
    } else {
        (x - low) / (high - low)
    };
    from + part.clamp(0.0, 1.0) * (to - from)
}

/// Returns the integral of the quantile function over probabilities `from` to `to`.
fn integral_of_points(points: &[(f64, f64)], from: f64, to: f64) -> f64 {
    let (first, last) = (points[0], points[points.len() - 1]);
    let before = (first.0.min(to) - from).max(0.0) * first.1;
    let after = (to - last.0.max(from)).max(0.0) * last.1;
    let between = points.windows(2).map(|pair| {
        let ((start, low), (end, high)) = (pair[0], pair[1]);
        let value = |p: f64| interpolate(low, high, (p - start) / (end - start));
        let (cut_start, cut_end) = (start.max(from), end.min(to));
        if cut_start >= cut_end {
            return 0.0;
        }
        let (cut_low, cut_high) = (value(cut_start), value(cut_end));
        let log = if low > 0.0 { libm::log(cut_high / cut_low) } else { 0.0 };
        let middle =
            if log > 1e-6 { (cut_high - cut_low) / log } else { 0.5 * (cut_low + cut_high) };
        (cut_end - cut_start) * middle
    });
    before + between.sum::<f64>() + after
}

#[cfg(test)]
mod tests {
    //! Quantile functions against distribution functions, and means against quadrature.

    use super::*;
    use crate::des::special::mean_over;

    fn smooth() -> Vec<Family> {
        vec![
            Family::Uniform { low: 2.0, high: 5.0 },
            Family::Exponential { mean: 3.0 },
            Family::Lognormal { location: 1.0, sigma: 0.8 },
            Family::Weibull { shape: 1.7, scale: 4.0 },
            Family::Gamma { shape: 2.5, scale: 2.0 },
            Family::Gamma { shape: 900.0, scale: 0.004 },
            Family::Pareto { shape: 4.0, scale: 2.0 },
            Family::Mixture(vec![
                (0.25, Family::Exponential { mean: 3.0 }),
                (0.75, Family::Gamma { shape: 9.0, scale: 1.0 }),
            ]),
            Family::Points(vec![(0.0, 1.0), (1.0, 50.0)]),
        ]
    }

    /// The mean by quadrature over intervals that halve toward both ends.
    fn mean_by_quadrature(family: &Family) -> f64 {
        let quantile = |u: f64| family.quantile(u);
        let mut width = 0.5;
        let mut sum = 0.0;
        for _ in 1..45 {
            width *= 0.5;
            sum += width * mean_over(quantile, width, 2.0 * width);
            sum += width * mean_over(quantile, 1.0 - 2.0 * width, 1.0 - width);
        }
        sum
    }

    #[test]
    fn quantiles_invert_the_distribution_function() {
        for family in smooth() {
            for u in [1e-6, 0.01, 0.3, 0.5, 0.77, 0.99, 0.999_999] {
                let back = family.cdf(family.quantile(u));
                assert!((back - u).abs() < 1e-12, "{family:?} {u} {back}");
            }
        }
    }

    #[test]
    fn means_agree_with_quadrature_whole_and_truncated() {
        for family in smooth() {
            let (cut, part) = family.truncated(2.5, 4.5).unwrap();
            let probability = family.cdf(4.5) - family.cdf(2.5);
            assert!((part - probability).abs() < 1e-12, "{family:?}");
            for family in [family, cut] {
                let (mean, expected) = (family.mean(), mean_by_quadrature(&family));
                assert!((mean / expected - 1.0).abs() < 2e-6, "{family:?} {mean} {expected}");
            }
        }
    }

    #[test]
    fn truncation_is_conditional() {
        for family in smooth() {
            let (cut, part) = family.truncated(2.5, 4.5).unwrap();
            for u in [0.001, 0.2, 0.5, 0.9, 0.999] {
                let expected = family.quantile(family.cdf(2.5) + u * part);
                let value = cut.quantile(u);
                assert!((value / expected - 1.0).abs() < 1e-9, "{family:?} {u} {value} {expected}");
            }
        }
    }

    /// Half of the probability at 1, a tenth at 9; worked out by hand.
    #[test]
    fn points_are_constant_outside_and_keep_their_atoms() {
        let family = Family::Points(vec![(0.5, 0.0), (0.9, 8.0)]);
        assert!((family.mean() - (0.4 * 4.0 + 0.1 * 8.0)).abs() < 1e-15);
        let (cut, part) = family.truncated(2.0, 8.0).unwrap();
        assert!((part - 0.4).abs() < 1e-15);
        assert!((cut.mean() - (0.75 * 5.0 + 0.25 * 8.0)).abs() < 1e-12);
        let (cut, part) = family.truncated(0.0, 4.0).unwrap();
        assert!((part - 0.7).abs() < 1e-15);
        assert!((cut.mean() - 2.0 * 0.2 / 0.7).abs() < 1e-12);
        assert!(family.truncated(9.0, 10.0).is_none());
    }

    #[test]
    fn a_truncated_mixture_reweights_its_components() {
        let family = Family::Mixture(vec![
            (0.5, Family::Values(vec![1.0, 2.0])),
            (0.5, Family::Uniform { low: 0.0, high: 10.0 }),
        ]);
        let (cut, part) = family.truncated(1.5, 4.0).unwrap();
        assert!((part - 0.375).abs() < 1e-15);
        assert!((cut.mean() - (0.25 * 2.0 + 0.125 * 2.75) / 0.375).abs() < 1e-12);
        assert!((cut.quantile(0.5) - 2.0).abs() < 1e-12);
    }
}
