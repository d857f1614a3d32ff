//! A distribution as it stands in a dump.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Distribution;

/// A distribution that is only read and merged, and whose buckets anyone can read.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct DistributionDump {
    /// How many figures there were.
    pub count: u64,
    /// The smallest figure; 0 when there was none.
    pub min: u64,
    /// `total / count`, for readers of the file; 0 when there was none.
    pub average: f64,
    /// The largest figure; 0 when there was none.
    pub max: u64,
    /// The sum of all figures.
    pub total: u64,
    /// The buckets that hold something: (smallest figure of the bucket, how many), in rising order.
    pub histogram: Vec<(u64, u64)>,
}

/// The members as a file has them, before it is known that they agree with each other.
#[derive(Deserialize)]
struct Unchecked {
    count: u64,
    min: u64,
    max: u64,
    total: u64,
    histogram: Vec<(u64, u64)>,
}

impl DistributionDump {
    fn new(count: u64, min: u64, max: u64, total: u64, histogram: Vec<(u64, u64)>) -> Self {
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
        let mut buckets = BTreeMap::new();
        for (figure, count) in self.histogram.iter().chain(&other.histogram) {
            let sum: &mut u64 = buckets.entry(*figure).or_default();
            *sum = sum.saturating_add(*count);
        }
        *self = Self::new(
            self.count.saturating_add(other.count),
            min,
            self.max.max(other.max),
            self.total.saturating_add(other.total),
            buckets.into_iter().collect(),
        );
    }

    /// All of `parts` merged.
    #[must_use]
    pub fn merged<'a>(parts: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut whole = Self::default();
        for part in parts {
            whole.merge(part);
        }
        whole
    }
}

impl From<&Distribution> for DistributionDump {
    fn from(live: &Distribution) -> Self {
        let buckets = live.buckets().collect();
        Self::new(live.count(), live.min(), live.max(), live.total(), buckets)
    }
}

impl TryFrom<Unchecked> for DistributionDump {
    type Error = String;

    /// `average` follows from the others, so what the file says of it is not looked at.
    fn try_from(file: Unchecked) -> Result<Self, String> {
        let Unchecked {
            count,
            min,
            max,
            total,
            histogram,
        } = file;
        let counted = histogram
            .iter()
            .try_fold(0_u64, |sum, bucket| sum.checked_add(bucket.1));
        if counted != Some(count) {
            return Err(format!(
                "a histogram does not hold the {count} figures that \"count\" says"
            ));
        }
        if !histogram.is_sorted_by(|low, high| low.0 < high.0) {
            return Err("the buckets of a histogram are not in rising order".to_owned());
        }
        if min > max || (count > 0 && total < max) {
            return Err(format!(
                "min {min}, max {max} and total {total} do not fit together"
            ));
        }
        Ok(Self::new(count, min, max, total, histogram))
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
        let wrong_count = r#"{"count":3,"min":1,"max":2,"total":3,"histogram":[[1,1],[2,1]]}"#;
        assert!(refusal(wrong_count).contains("3 figures"));
        let overflow =
            r#"{"count":1,"min":1,"max":2,"total":3,"histogram":[[1,18446744073709551615],[2,2]]}"#;
        assert!(refusal(overflow).contains("1 figures"));
        let unsorted = r#"{"count":2,"min":1,"max":2,"total":3,"histogram":[[2,1],[1,1]]}"#;
        assert!(refusal(unsorted).contains("rising order"));
        let min_above_max = r#"{"count":1,"min":5,"max":2,"total":3,"histogram":[[2,1]]}"#;
        assert!(refusal(min_above_max).contains("do not fit"));
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
}
