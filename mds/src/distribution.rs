//! A distribution of figures, in memory that does not grow.

use std::fmt;

use ::mmds::histogram::LARGEST;
use hdrhistogram::Histogram;

/// Buckets are less than 1 % wide. One more digit would take eight times the memory (296 KiB a
/// distribution), and a rank keeps about a hundred of them.
const SIGNIFICANT_DIGITS: u8 = 2;

/// A distribution of figures (nanoseconds, bytes, retries): exact count, minimum, maximum and
/// total, and a histogram whose buckets are less than 1 % wide.
///
/// All distributions have the same buckets, whatever they count, so that any two of the same kind
/// can be merged. A distribution allocates 37 KiB when it is made, and nothing later.
pub struct Distribution {
    histogram: Histogram<u64>,
    min: u64,
    max: u64,
    total: u64,
}

impl Distribution {
    /// Makes an empty distribution.
    #[must_use]
    pub fn new() -> Self {
        let histogram = Histogram::new_with_bounds(1, LARGEST, SIGNIFICANT_DIGITS)
            .expect("the bounds are constants that hdrhistogram accepts");
        Self {
            histogram,
            min: u64::MAX,
            max: 0,
            total: 0,
        }
    }

    /// Adds one figure. Never allocates and never fails.
    pub fn record(&mut self, figure: u64) {
        self.record_many(figure, 1);
    }

    /// Adds the same figure `times` times.
    pub fn record_many(&mut self, figure: u64, times: u64) {
        if times == 0 {
            return;
        }
        self.histogram.saturating_record_n(figure, times);
        self.min = self.min.min(figure);
        self.max = self.max.max(figure);
        self.total = self.total.saturating_add(figure.saturating_mul(times));
    }

    /// Returns how many figures were added.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// Returns the sum of all figures.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Returns the smallest figure; 0 if there is none.
    #[must_use]
    pub fn min(&self) -> u64 {
        if self.count() == 0 { 0 } else { self.min }
    }

    /// Returns the largest figure; 0 if there is none.
    #[must_use]
    pub fn max(&self) -> u64 {
        self.max
    }

    /// Returns the buckets that are not empty: (smallest figure of the bucket, count), in rising
    /// order.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.histogram.iter_recorded().map(|step| {
            let bucket = self.histogram.lowest_equivalent(step.value_iterated_to());
            (bucket, step.count_at_value())
        })
    }
}

impl Default for Distribution {
    fn default() -> Self {
        Self::new()
    }
}

/// Shows the figures without the thousands of buckets.
impl fmt::Debug for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Distribution")
            .field("count", &self.count())
            .field("min", &self.min())
            .field("max", &self.max)
            .field("total", &self.total)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_beyond_the_largest_bucket_saturate_but_their_maximum_and_total_are_exact() {
        let mut distribution = Distribution::new();
        distribution.record(LARGEST * 16);
        distribution.record(u64::MAX / 2);
        assert_eq!(distribution.count(), 2);
        assert_eq!(distribution.max(), u64::MAX / 2);
        assert_eq!(distribution.total(), LARGEST * 16 + u64::MAX / 2);
        let buckets: Vec<_> = distribution.buckets().collect();
        assert_eq!(buckets.len(), 1);
        assert_eq!(buckets[0].1, 2);
    }

    #[test]
    fn buckets_are_less_than_one_percent_wide() {
        for figure in [1_u64, 100, 999, 123_456, 987_654_321, LARGEST] {
            let mut distribution = Distribution::new();
            distribution.record(figure);
            let (bucket, count) = distribution.buckets().next().unwrap();
            assert_eq!(count, 1);
            assert!(
                bucket <= figure && (figure - bucket) * 100 < figure,
                "{figure} in {bucket}"
            );
        }
    }

    #[test]
    fn a_distribution_takes_37_kib() {
        let histogram = Distribution::new().histogram;
        assert_eq!(histogram.distinct_values() * size_of::<u64>(), 37 * 1024);
    }

    #[test]
    fn zero_is_a_figure_and_nothing_is_none() {
        let mut distribution = Distribution::new();
        assert_eq!(
            (distribution.min(), distribution.max(), distribution.count()),
            (0, 0, 0)
        );
        distribution.record(0);
        distribution.record(7);
        assert_eq!(
            (distribution.min(), distribution.max(), distribution.count()),
            (0, 7, 2)
        );
        assert_eq!(distribution.buckets().collect::<Vec<_>>(), [(0, 1), (7, 1)]);
    }
}
