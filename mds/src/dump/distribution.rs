//! A distribution as a dump holds it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Distribution;

/// A distribution that is only read and merged. The JSON file of its rank or node holds its
/// summary, and the log beside that holds its histogram. Without the log the histogram is empty,
/// whatever the count.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(try_from = "RawDistribution")]
pub struct DistributionDump {
    /// The number of figures.
    pub count: u64,
    /// The smallest figure; 0 if there was none.
    pub min: u64,
    /// `total / count`, for readers of the file; 0 if there was no figure.
    pub average: f64,
    /// The largest figure; 0 if there was none.
    pub max: u64,
    /// The sum of all figures.
    pub total: u64,
    /// The buckets that are not empty: (smallest figure of the bucket, count), in rising order.
    #[serde(skip)]
    pub histogram: Vec<(u64, u64)>,
}

/// The members of the file, not yet checked for consistency.
#[derive(Deserialize)]
struct RawDistribution {
    count: u64,
    min: u64,
    max: u64,
    total: u64,
}

impl DistributionDump {
    pub(crate) fn new(
        count: u64,
        min: u64,
        max: u64,
        total: u64,
        histogram: Vec<(u64, u64)>,
    ) -> Self {
        let average = if count == 0 {
            0.0
        } else {
            total as f64 / count as f64
        };
        Self {
            count,
            min,
            average,
            max,
            total,
            histogram,
        }
    }

    /// Makes the distribution of these figures, each in a bucket of its own.
    #[must_use]
    pub fn of(figures: impl IntoIterator<Item = u64>) -> Self {
        let mut buckets = BTreeMap::new();
        let (mut count, mut min, mut max, mut total) = (0_u64, u64::MAX, 0, 0_u64);
        for figure in figures {
            let sum: &mut u64 = buckets.entry(figure).or_default();
            *sum += 1;
            count += 1;
            min = min.min(figure);
            max = max.max(figure);
            total = total.saturating_add(figure);
        }
        let min = if count == 0 { 0 } else { min };
        Self::new(count, min, max, total, buckets.into_iter().collect())
    }

    /// Makes the distribution of these figures in the buckets of recorders. So its percentiles
    /// agree with those of a recorder that saw the same figures.
    #[must_use]
    pub fn as_recorded(figures: impl IntoIterator<Item = u64>) -> Self {
        let mut live = Distribution::new();
        for figure in figures {
            live.record(figure);
        }
        Self::from(&live)
    }

    /// Adds all figures of `other`, as if both had been recorded together.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        let min = if self.count == 0 {
            other.min
        } else {
            self.min.min(other.min)
        };
        let buckets = together(&self.histogram, &other.histogram);
        *self = Self::new(
            self.count.saturating_add(other.count),
            min,
            self.max.max(other.max),
            self.total.saturating_add(other.total),
            buckets,
        );
    }

    /// Merges all of `parts`.
    #[must_use]
    pub fn merged<'a>(parts: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut whole = Self::default();
        for part in parts {
            whole.merge(part);
        }
        whole
    }

    /// Takes the buckets from the log beside the summary.
    ///
    /// # Errors
    ///
    /// An explanation, if the two contradict each other.
    pub(super) fn take_histogram(&mut self, histogram: Vec<(u64, u64)>) -> Result<(), String> {
        let counted = histogram
            .iter()
            .try_fold(0_u64, |sum, bucket| sum.checked_add(bucket.1));
        if counted != Some(self.count) {
            return Err(format!(
                "it does not hold the {} figures that the summary counts",
                self.count
            ));
        }
        if !histogram.is_sorted_by(|low, high| low.0 < high.0) {
            return Err("its buckets are not in rising order".to_owned());
        }
        if histogram.first().is_some_and(|first| first.0 > self.min) {
            return Err(format!("it has no bucket for the minimum {}", self.min));
        }
        self.histogram = histogram;
        Ok(())
    }

    /// Returns the figure that a share of `quantile` of all figures does not exceed, to the
    /// precision of the buckets. Returns `None` if there is no figure, or no histogram.
    #[must_use]
    pub fn quantile(&self, quantile: f64) -> Option<u64> {
        let counted: f64 = self.histogram.iter().map(|bucket| bucket.1 as f64).sum();
        let mut left = (counted * quantile).ceil().max(1.0);
        let mut buckets = self.histogram.iter();
        let bucket = buckets.find(|(_, count)| {
            left -= *count as f64;
            left <= 0.0
        });
        let bucket = bucket.or(self.histogram.last())?;
        Some(bucket.0.clamp(self.min, self.max))
    }

    /// Returns the share of figures from `low` to `high`, to the precision of the buckets, or
    /// `None` without a histogram.
    #[must_use]
    pub fn share_within(&self, low: u64, high: u64) -> Option<f64> {
        let counted = |wanted: &dyn Fn(u64) -> bool| {
            let buckets = self.histogram.iter().filter(|bucket| wanted(bucket.0));
            buckets.map(|bucket| bucket.1 as f64).sum::<f64>()
        };
        let all = counted(&|_| true);
        let within = counted(&|figure| (low..=high).contains(&figure));
        (all > 0.0).then(|| within / all)
    }

    /// Returns the coefficient of variation: the standard deviation of the figures divided by their
    /// average. Returns `None` if there is no histogram, or all figures are 0.
    #[must_use]
    pub fn variation(&self) -> Option<f64> {
        let mut sums = (0.0, 0.0, 0.0);
        for (figure, count) in &self.histogram {
            let (figure, count) = (*figure as f64, *count as f64);
            sums.0 += count;
            sums.1 += count * figure;
            sums.2 += count * figure * figure;
        }
        let (count, sum, squares) = sums;
        let average = sum / count;
        let deviation = (squares / count - average * average).max(0.0).sqrt();
        (sum > 0.0).then(|| deviation / average)
    }
}

/// Merges two lists of buckets, each in rising order.
fn together(ones: &[(u64, u64)], others: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut all = Vec::with_capacity(ones.len().max(others.len()));
    let (mut ones, mut others) = (ones.iter().peekable(), others.iter().peekable());
    while let Some(low) = [ones.peek(), others.peek()]
        .into_iter()
        .flatten()
        .map(|at| at.0)
        .min()
    {
        let one = ones.next_if(|at| at.0 == low).map_or(0, |at| at.1);
        let other = others.next_if(|at| at.0 == low).map_or(0, |at| at.1);
        all.push((low, one.saturating_add(other)));
    }
    all
}

impl From<&Distribution> for DistributionDump {
    fn from(live: &Distribution) -> Self {
        let buckets = live.buckets().collect();
        Self::new(live.count(), live.min(), live.max(), live.total(), buckets)
    }
}

impl TryFrom<RawDistribution> for DistributionDump {
    type Error = String;

    /// `average` follows from the others, so the file's value is ignored.
    fn try_from(file: RawDistribution) -> Result<Self, String> {
        let RawDistribution {
            count,
            min,
            max,
            total,
        } = file;
        let nothing = count == 0 && (min, max, total) != (0, 0, 0);
        if nothing || min > max || (count > 0 && total < max) {
            return Err(format!(
                "count {count}, min {min}, max {max} and total {total} do not fit together"
            ));
        }
        Ok(Self::new(count, min, max, total, Vec::new()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(json: &str) -> String {
        serde_json::from_str::<DistributionDump>(json)
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn members_that_contradict_each_other_are_refused() {
        let min_above_max = r#"{"count":1,"min":5,"max":2,"total":3}"#;
        assert!(refusal(min_above_max).contains("do not fit"));
        let total_below_max = r#"{"count":1,"min":1,"max":2,"total":1}"#;
        assert!(refusal(total_below_max).contains("do not fit"));
        let figures_of_nothing = r#"{"count":0,"min":0,"max":2,"total":2}"#;
        assert!(refusal(figures_of_nothing).contains("do not fit"));
    }

    #[test]
    fn a_histogram_that_contradicts_its_summary_is_refused() {
        let summary = r#"{"count":3,"min":1,"max":2,"total":4}"#;
        let mut dump: DistributionDump = serde_json::from_str(summary).unwrap();
        let mut refusal = |buckets: &[(u64, u64)]| dump.take_histogram(buckets.to_vec());
        assert!(
            refusal(&[(1, 1), (2, 1)])
                .unwrap_err()
                .contains("3 figures")
        );
        assert!(refusal(&[(1, u64::MAX), (2, 4)]).is_err());
        assert!(
            refusal(&[(2, 2), (1, 1)])
                .unwrap_err()
                .contains("rising order")
        );
        assert!(refusal(&[(2, 3)]).unwrap_err().contains("the minimum 1"));
        assert!(refusal(&[(1, 2), (2, 1)]).is_ok());
        assert_eq!(dump.histogram, [(1, 2), (2, 1)]);
    }

    #[test]
    fn merging_nothing_changes_nothing() {
        let mut live = Distribution::new();
        live.record(12);
        let some = DistributionDump::from(&live);
        let mut left = some.clone();
        left.merge(&DistributionDump::default());
        let mut right = DistributionDump::default();
        right.merge(&some);
        assert_eq!((&left, &right), (&some, &some));
    }

    #[test]
    fn quantiles_shares_and_variation_of_four_figures() {
        let dump = DistributionDump::of([10, 20, 30, 40]);
        let quantiles = [0.0, 0.25, 0.5, 0.75, 0.76, 1.0].map(|share| dump.quantile(share));
        assert_eq!(quantiles, [10, 10, 20, 30, 40, 40].map(Some));
        assert_eq!(dump.share_within(15, 30), Some(0.5));
        // Average 25, variance (225 + 25 + 25 + 225) / 4 = 125.
        assert!((dump.variation().unwrap() - 125_f64.sqrt() / 25.0).abs() < 1e-12);
        let nothing = DistributionDump::default();
        assert_eq!(nothing.quantile(0.5), None);
        assert_eq!(nothing.share_within(0, 1), None);
        assert_eq!(nothing.variation(), None);
        assert_eq!(DistributionDump::of([0, 0]).variation(), None);
    }
}
