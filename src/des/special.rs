//! Special functions on `libm`: normal and gamma distributions, and root bracketing.

use std::f64::consts::SQRT_2;

/// Returns the probability that a standard normal variate is at most `z`.
pub(crate) fn normal_cdf(z: f64) -> f64 {
    0.5 * libm::erfc(-z / SQRT_2)
}

/// Returns the standard normal quantile of `u` in (0, 1), relative error about 1e-16.
///
/// Wichura 1988, algorithm AS 241 (PPND16). Checked by `normal_quantile_inverts_the_cdf`.
pub(crate) fn normal_quantile(u: f64) -> f64 {
    let offset = u - 0.5;
    if offset.abs() <= 0.425 {
        return offset * ratio(&CENTER, 0.180_625 - offset * offset);
    }
    let depth = (-libm::log(u.min(1.0 - u))).sqrt();
    let size = if depth <= 5.0 { ratio(&TAIL, depth - 1.6) } else { ratio(&FAR_TAIL, depth - 5.0) };
    if offset < 0.0 { -size } else { size }
}

/// Coefficients of numerator and denominator of AS 241 near the median.
#[expect(clippy::unreadable_literal, clippy::excessive_precision, reason = "as published")]
const CENTER: [[f64; 8]; 2] = [
    [
        3.3871328727963666080e0,
        1.3314166789178437745e2,
        1.9715909503065514427e3,
        1.3731693765509461125e4,
        4.5921953931549871457e4,
        6.7265770927008700853e4,
        3.3430575583588128105e4,
        2.5090809287301226727e3,
    ],
    [
        1.0,
        4.2313330701600911252e1,
        6.8718700749205790830e2,
        5.3941960214247511077e3,
        2.1213794301586595867e4,
        3.9307895800092710610e4,
        2.8729085735721942674e4,
        5.2264952788528545610e3,
    ],
];

/// Tail up to u = exp(-25).
#[expect(clippy::unreadable_literal, clippy::excessive_precision, reason = "as published")]
const TAIL: [[f64; 8]; 2] = [
    [
        1.42343711074968357734e0,
        4.63033784615654529590e0,
        5.76949722146069140550e0,
        3.64784832476320460504e0,
        1.27045825245236838258e0,
        2.41780725177450611770e-1,
        2.27238449892691845833e-2,
        7.74545014278341407640e-4,
    ],
    [
        1.0,
        2.05319162663775882187e0,
        1.67638483018380384940e0,
        6.89767334985100004550e-1,
        1.48103976427480074590e-1,
        1.51986665636164571966e-2,
        5.47593808499534494600e-4,
        1.05075007164441684324e-9,
    ],
];

/// Tail beyond.
#[expect(clippy::unreadable_literal, clippy::excessive_precision, reason = "as published")]
const FAR_TAIL: [[f64; 8]; 2] = [
    [
        6.65790464350110377720e0,
        5.46378491116411436990e0,
        1.78482653991729133580e0,
        2.96560571828504891230e-1,
        2.65321895265761230930e-2,
        1.24266094738807843860e-3,
        2.71155556874348757815e-5,
        2.01033439929228813265e-7,
    ],
    [
        1.0,
        5.99832206555887937690e-1,
        1.36929880922735805310e-1,
        1.48753612908506148525e-2,
        7.86869131145613259100e-4,
        1.84631831751005468180e-5,
        1.42151175831644588870e-7,
        2.04426310338993978564e-15,
    ],
];

/// Returns the quotient of two polynomials, coefficients in rising order.
fn ratio([above, below]: &[[f64; 8]; 2], x: f64) -> f64 {
    let value = |coefficients: &[f64; 8]| coefficients.iter().rev().fold(0.0, |sum, c| sum * x + c);
    value(above) / value(below)
}

/// Returns the regularized incomplete gamma functions (P, Q) of `shape > 0` at `x`.
///
/// The series below `shape + 1`, Lentz's continued fraction above (Press et al. 2007, section 6.2).
pub(crate) fn gamma_cdf(shape: f64, x: f64) -> (f64, f64) {
    if x <= 0.0 {
        return (0.0, 1.0);
    }
    if x.is_infinite() {
        return (1.0, 0.0);
    }
    let scale = libm::exp(shape * libm::log(x) - x - libm::lgamma(shape));
    if x < shape + 1.0 {
        let lower = scale * gamma_series(shape, x);
        (lower, 1.0 - lower)
    } else {
        let upper = scale * gamma_fraction(shape, x);
        (1.0 - upper, upper)
    }
}

fn gamma_series(shape: f64, x: f64) -> f64 {
    let mut term = 1.0 / shape;
    let mut sum = term;
    let mut denominator = shape;
    while term > sum * f64::EPSILON {
        denominator += 1.0;
        term *= x / denominator;
        sum += term;
    }
    sum
}

fn gamma_fraction(shape: f64, x: f64) -> f64 {
    let mut b = x + 1.0 - shape;
    let mut c = 1.0 / f64::MIN_POSITIVE;
    let mut d = 1.0 / b;
    let mut fraction = d;
    for step in 1..10_000 {
        let factor = -f64::from(step) * (f64::from(step) - shape);
        b += 2.0;
        d = 1.0 / non_zero(factor * d + b);
        c = non_zero(b + factor / c);
        fraction *= d * c;
        if (d * c - 1.0).abs() <= f64::EPSILON {
            break;
        }
    }
    fraction
}

fn non_zero(x: f64) -> f64 {
    if x.abs() < f64::MIN_POSITIVE { f64::MIN_POSITIVE } else { x }
}

/// Returns the quantile of `u` in (0, 1) of the gamma distribution of `shape` and scale 1.
///
/// Halley's method on the smaller tail from the Wilson-Hilferty start, kept inside a bracket.
/// It converges cubically, so a step of 1e-8 is the last one.
pub(crate) fn gamma_quantile(shape: f64, u: f64) -> f64 {
    let mut x = gamma_start(shape, u);
    let (mut low, mut high) = (0.0, f64::INFINITY);
    for _ in 0..60 {
        let (below, above) = gamma_cdf(shape, x);
        let error = if u <= 0.5 { below - u } else { (1.0 - u) - above };
        if error > 0.0 {
            high = x;
        } else {
            low = x;
        }
        let density = libm::exp((shape - 1.0) * libm::log(x) - x - libm::lgamma(shape));
        let newton = error / density;
        let step = newton / (1.0 - 0.5 * (newton * ((shape - 1.0) / x - 1.0)).min(1.0));
        let mut next = x - step;
        if step.abs() <= 1e-8 * x {
            return next;
        }
        if !(next > low && next < high) {
            next = if high.is_finite() { 0.5 * (low + high) } else { 2.0 * x };
        }
        if next <= 0.0 {
            return 0.0;
        }
        x = next;
    }
    x
}

fn gamma_start(shape: f64, u: f64) -> f64 {
    if shape > 1.0 {
        let ninth = 1.0 / (9.0 * shape);
        let root = 1.0 - ninth + normal_quantile(u) * ninth.sqrt();
        return shape * (root * root * root).max(1e-3);
    }
    let split = 1.0 - shape * (0.253 + shape * 0.12);
    let start = if u < split {
        libm::pow(u / split, 1.0 / shape)
    } else {
        1.0 - libm::log(1.0 - (u - split) / (1.0 - split))
    };
    start.max(f64::MIN_POSITIVE)
}

/// Returns the lowest `x` of `[low, high]` at which the rising `function` reaches `target`.
///
/// Chandrupatla 1997: inverse quadratic steps where they are safe, bisection elsewhere, so a
/// jump of the function is found too. Ends when the bracket cannot be halved.
pub(crate) fn invert(function: impl Fn(f64) -> f64, target: f64, low: f64, high: f64) -> f64 {
    let error = |x: f64| function(x) - target;
    let (mut a, mut at_a) = (high, error(high));
    let (mut b, mut at_b) = (low, error(low));
    if at_b >= 0.0 || low >= high {
        return low;
    }
    if at_a <= 0.0 {
        return high;
    }
    let mut part = 0.5;
    for _ in 0..200 {
        let x = a + part * (b - a);
        let at_x = error(x);
        let (c, at_c);
        if (at_x >= 0.0) == (at_a >= 0.0) {
            (c, at_c) = (a, at_a);
        } else {
            (c, at_c) = (b, at_b);
            (b, at_b) = (a, at_a);
        }
        (a, at_a) = (x, at_x);
        let width = (b - a).abs();
        let tolerance = f64::EPSILON * a.abs().max(b.abs());
        if width <= 2.0 * tolerance || at_a.abs() <= f64::MIN_POSITIVE {
            break;
        }
        part = next_part([a, b, c], [at_a, at_b, at_c])
            .clamp(tolerance / width, 1.0 - tolerance / width);
    }
    if at_a >= 0.0 { a } else { b }
}

/// Where between the newest point and the opposite end to look next, as a part of the bracket.
fn next_part([a, b, c]: [f64; 3], [at_a, at_b, at_c]: [f64; 3]) -> f64 {
    let across = (a - b) / (c - b);
    let rise = (at_a - at_b) / (at_c - at_b);
    if rise * rise < across && (1.0 - rise) * (1.0 - rise) < 1.0 - across {
        let near = at_a / (at_b - at_a) * (at_c / (at_b - at_c));
        let far = (c - a) / (b - a) * (at_a / (at_c - at_a)) * (at_b / (at_c - at_b));
        near + far
    } else {
        0.5
    }
}

/// Returns the mean of a function over `[low, high]` by Gauss-Legendre quadrature, 8 nodes.
///
/// Exact for polynomials of degree 15 (Abramowitz and Stegun 1964, table 25.4).
pub(crate) fn mean_over(function: impl Fn(f64) -> f64, low: f64, high: f64) -> f64 {
    const NODES: [(f64, f64); 4] = [
        (0.183_434_642_495_649_8, 0.362_683_783_378_362),
        (0.525_532_409_916_329, 0.313_706_645_877_887_3),
        (0.796_666_477_413_626_7, 0.222_381_034_453_374_5),
        (0.960_289_856_497_536_3, 0.101_228_536_290_376_3),
    ];
    let (center, half) = (0.5 * (low + high), 0.5 * (high - low));
    let pair = |(node, weight): &(f64, f64)| {
        0.5 * weight * (function(center - half * node) + function(center + half * node))
    };
    NODES.iter().map(pair).sum()
}

#[cfg(test)]
mod tests {
    //! Inverses against the functions they invert, and both against `statrs`.

    use statrs::distribution::{ContinuousCDF, Gamma};

    use super::*;

    fn assert_close(value: f64, expected: f64, tolerance: f64, what: &str) {
        let scale = expected.abs().max(f64::MIN_POSITIVE);
        assert!((value - expected).abs() <= tolerance * scale, "{what}: {value} {expected}");
    }

    #[test]
    fn normal_quantile_inverts_the_cdf() {
        for u in [1e-300, 1e-20, 1e-9, 0.001, 0.0749, 0.0751, 0.3, 0.6, 0.9249, 0.9251, 0.999] {
            assert_close(normal_cdf(normal_quantile(u)), u, 2e-13, &format!("{u}"));
        }
        assert_close(normal_quantile(0.975), 1.959_963_984_540_054, 1e-15, "97.5 %");
        assert_close(normal_quantile(0.5), 0.0, 0.0, "median");
    }

    #[test]
    fn gamma_functions_agree_with_a_reference_and_each_other() {
        for shape in [0.05, 0.5, 1.0, 2.5, 30.0, 900.0] {
            let reference = Gamma::new(shape, 1.0).unwrap();
            for u in [1e-6, 0.01, 0.3, 0.5, 0.9, 0.999, 1.0 - 1e-9] {
                let x = gamma_quantile(shape, u);
                let (below, above) = gamma_cdf(shape, x);
                assert_close(below, u, 1e-11, &format!("P of {shape} at {u}"));
                assert_close(above, 1.0 - u, 1e-6, &format!("Q of {shape} at {u}"));
                assert_close(below, reference.cdf(x), 1e-10, &format!("cdf {shape} {u}"));
            }
        }
    }

    #[test]
    fn inversion_finds_roots_and_jumps() {
        assert_close(invert(|x| x * x * x, 8.0, 0.0, 100.0), 2.0, 1e-15, "cube");
        let step = |x: f64| if x < 3.0 { 0.2 } else { 0.8 };
        assert_close(invert(step, 0.5, 0.0, 100.0), 3.0, 1e-15, "jump");
    }

    #[test]
    fn quadrature_is_exact_for_polynomials() {
        let power = |x: f64| (0..15).fold(1.0, |product, _| product * x);
        assert_close(mean_over(power, 0.0, 2.0), 16_384.0 / 8.0, 1e-14, "x^15 over [0, 2]");
    }
}
