//! Means and covariances of several numbers that are observed together.

/// Count, means and sums of products of deviations, in one pass.
///
/// Welford (1962), for pairs of numbers too. Floating-point results depend on the order of
/// observations, so it must be a fixed one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JointMoments {
    count: u64,
    means: Vec<f64>,
    /// Row by row up to the diagonal.
    products: Vec<f64>,
    /// Kept for its memory.
    deltas: Vec<f64>,
}

impl JointMoments {
    /// Returns those of no observations of `width` numbers.
    pub fn new(width: usize) -> JointMoments {
        JointMoments {
            count: 0,
            means: vec![0.0; width],
            products: vec![0.0; width * (width + 1) / 2],
            deltas: vec![0.0; width],
        }
    }

    /// Takes one observation, as many numbers as always.
    pub fn push(&mut self, values: &[f64]) {
        assert_eq!(values.len(), self.means.len(), "as many numbers as always");
        self.count += 1;
        let count = self.count as f64;
        for (at, value) in values.iter().enumerate() {
            self.deltas[at] = value - self.means[at];
            self.means[at] += self.deltas[at] / count;
        }
        let mut products = self.products.iter_mut();
        for (row, value) in values.iter().enumerate() {
            let after = value - self.means[row];
            for (delta, product) in self.deltas[..=row].iter().zip(&mut products) {
                *product += delta * after;
            }
        }
    }

    /// Takes all observations of another set, as if they came after those of this one.
    ///
    /// Chan, Golub and LeVeque (1983), for pairs of numbers too.
    pub fn merge(&mut self, other: &JointMoments) {
        if other.count == 0 {
            return;
        }
        let (own, others) = (self.count as f64, other.count as f64);
        let (share, factor) = (others / (own + others), own * others / (own + others));
        for (delta, (theirs, ours)) in
            self.deltas.iter_mut().zip(other.means.iter().zip(&self.means))
        {
            *delta = theirs - ours;
        }
        let mut products = self.products.iter_mut().zip(&other.products);
        for (row, after) in self.deltas.iter().enumerate() {
            for (delta, (product, theirs)) in self.deltas[..=row].iter().zip(&mut products) {
                *product += theirs + delta * after * factor;
            }
        }
        for (mean, delta) in self.means.iter_mut().zip(&self.deltas) {
            *mean += delta * share;
        }
        self.count += other.count;
    }

    /// Returns the number of observations.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns how many numbers are observed together.
    pub fn width(&self) -> usize {
        self.means.len()
    }

    /// Returns the mean of a number.
    pub fn mean(&self, at: usize) -> f64 {
        self.means[at]
    }

    /// Returns the sum of products of the deviations of two numbers from their means.
    pub fn product(&self, a: usize, b: usize) -> f64 {
        let (row, column) = (a.max(b), a.min(b));
        self.products[row * (row + 1) / 2 + column]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_by_hand() {
        // 1, 2, 6 with 4, 1, 1: means 3 and 2; deviations -2, -1, 3 and 2, -1, -1.
        let mut moments = JointMoments::new(2);
        for values in [[1.0, 4.0], [2.0, 1.0], [6.0, 1.0]] {
            moments.push(&values);
        }
        assert_eq!((moments.count(), moments.mean(0), moments.mean(1)), (3, 3.0, 2.0));
        let products = [(0, 0, 14.0), (1, 1, 6.0), (0, 1, -6.0), (1, 0, -6.0)];
        for (a, b, expected) in products {
            assert!((moments.product(a, b) - expected).abs() < 1e-14);
        }
        let (mut first, mut rest) = (JointMoments::new(2), JointMoments::new(2));
        first.push(&[1.0, 4.0]);
        rest.push(&[2.0, 1.0]);
        rest.push(&[6.0, 1.0]);
        first.merge(&rest);
        first.merge(&JointMoments::new(2));
        assert_eq!((first.count(), first.mean(0), first.mean(1)), (3, 3.0, 2.0));
        for (a, b, expected) in products {
            assert!((first.product(a, b) - expected).abs() < 1e-14);
        }
    }
}
