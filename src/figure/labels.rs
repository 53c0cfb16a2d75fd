//! Places of labels that do not touch.

/// A label that would like to be centered at a place and takes up a length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Wish {
    pub(super) center: f64,
    pub(super) length: f64,
}

/// Returns centers of labels on a line between two bounds: in the order of the wishes, none over
/// another, each cluster of those that touch centered on what its labels wish.
///
/// Where they do not fit between the bounds, they begin at the lower one and pass the upper one.
pub(super) fn spread(wishes: &[Wish], low: f64, high: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wishes.len()).collect();
    order.sort_by(|a, b| wishes[*a].center.total_cmp(&wishes[*b].center));
    let mut clusters: Vec<Cluster> = Vec::new();
    for at in order {
        let mut cluster = Cluster::of(at, wishes[at], (low, high));
        while let Some(last) = clusters.last()
            && last.start + last.length > cluster.start
        {
            let last = clusters.pop().unwrap_or_default();
            cluster = last.joined(&cluster, (low, high));
        }
        clusters.push(cluster);
    }
    let mut centers = vec![0.0; wishes.len()];
    for cluster in clusters {
        let mut start = cluster.start;
        for at in cluster.labels {
            centers[at] = start + wishes[at].length / 2.0;
            start += wishes[at].length;
        }
    }
    centers
}

/// Labels that touch.
#[derive(Debug, Default)]
struct Cluster {
    labels: Vec<usize>,
    start: f64,
    length: f64,
    /// Sum over labels of where the cluster would start if that label had its wish.
    starts: f64,
}

impl Cluster {
    fn of(at: usize, wish: Wish, bounds: (f64, f64)) -> Cluster {
        let starts = wish.center - wish.length / 2.0;
        Cluster { labels: vec![at], start: starts, length: wish.length, starts }.within(bounds)
    }

    fn joined(mut self, next: &Cluster, bounds: (f64, f64)) -> Cluster {
        self.starts += next.starts - self.length * next.labels.len() as f64;
        self.length += next.length;
        self.labels.extend(&next.labels);
        self.start = self.starts / self.labels.len() as f64;
        self.within(bounds)
    }

    fn within(mut self, (low, high): (f64, f64)) -> Cluster {
        self.start = self.start.min(high - self.length).max(low);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn centers(wishes: &[(f64, f64)], low: f64, high: f64) -> Vec<f64> {
        let wishes: Vec<Wish> = wishes
            .iter()
            .map(|(center, length)| Wish { center: *center, length: *length })
            .collect();
        spread(&wishes, low, high)
    }

    fn assert_close(got: &[f64], expected: &[f64]) {
        let is_close = got.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9);
        assert!(is_close && got.len() == expected.len(), "{got:?} and {expected:?}");
    }

    #[test]
    fn labels_that_are_apart_have_their_wish() {
        assert_close(&centers(&[(50.0, 10.0), (20.0, 10.0)], 0.0, 100.0), &[50.0, 20.0]);
    }

    #[test]
    fn labels_that_touch_share_the_shift() {
        // Both wish 50: they end up on either side of it.
        assert_close(&centers(&[(50.0, 10.0), (50.0, 10.0)], 0.0, 100.0), &[45.0, 55.0]);
        // The pair at 50 pushes the third, and all share: starts 45, 35, 28 less the offsets.
        let got = centers(&[(50.0, 10.0), (50.0, 10.0), (53.0, 10.0)], 0.0, 100.0);
        assert_close(&got, &[41.0, 51.0, 61.0]);
    }

    #[test]
    fn labels_stay_between_the_bounds() {
        assert_close(&centers(&[(1.0, 10.0), (99.0, 10.0)], 0.0, 100.0), &[5.0, 95.0]);
        assert_close(&centers(&[(98.0, 10.0), (99.0, 10.0)], 0.0, 100.0), &[85.0, 95.0]);
        assert_close(&centers(&[(5.0, 10.0), (5.0, 10.0)], 0.0, 15.0), &[5.0, 15.0]);
    }
}
