//! The distributions in a recorder's memory, as they are read.

use ::mmds::histogram::{BucketScale, HEAD, LARGEST, LEAST, MOST, TOTAL};

use crate::dump::DistributionDump;

/// Reads a distribution from these words, and adds one more figure if there is one. The dump can be
/// read again, whatever the words are: its count is that of its buckets.
pub(super) fn dump(scale: BucketScale, words: &[u64], more: Option<u64>) -> DistributionDump {
    let mut buckets: Vec<u64> = words.get(HEAD..).unwrap_or_default().to_vec();
    buckets.resize(scale.bucket(LARGEST) + 1, 0);
    let head = |at| words.get(at).copied().unwrap_or(0);
    let (mut least, mut most, mut total) = (!head(LEAST), head(MOST), head(TOTAL));
    if let Some(figure) = more {
        let bucket = &mut buckets[scale.bucket(figure)];
        *bucket = bucket.saturating_add(1);
        (least, most) = (least.min(figure), most.max(figure));
        total = total.saturating_add(figure);
    }
    let mut count = 0_u64;
    let mut histogram = Vec::new();
    for (bucket, &figures) in buckets.iter().enumerate() {
        let figures = figures.min(u64::MAX - count);
        if figures > 0 {
            count += figures;
            histogram.push((scale.least(bucket), figures));
        }
    }
    if count == 0 {
        return DistributionDump::default();
    }
    DistributionDump::new(count, least.min(most), most, total.max(most), histogram)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Distribution;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    fn memory(scale: BucketScale) -> Vec<AtomicU64> {
        (0..scale.words()).map(|_| AtomicU64::new(0)).collect()
    }

    fn alleged(words: &[AtomicU64]) -> Vec<u64> {
        words.iter().map(|word| word.load(Relaxed)).collect()
    }

    #[test]
    fn words_are_the_distribution_that_an_hdr_histogram_is() {
        let scale = BucketScale::of_digits(2);
        let words = memory(scale);
        let mut live = Distribution::new();
        for figure in [
            0,
            1,
            255,
            256,
            257,
            511,
            512,
            123_456,
            987_654_321,
            LARGEST - 1,
            LARGEST,
        ] {
            scale.record(&words, 0, figure);
            live.record(figure);
        }
        assert_eq!(dump(scale, &alleged(&words), None), (&live).into());
        live.record(77);
        assert_eq!(dump(scale, &alleged(&words), Some(77)), (&live).into());
    }

    #[test]
    fn nothing_is_a_distribution_and_so_is_rubbish() {
        let scale = BucketScale::of_digits(1);
        assert_eq!(dump(scale, &[], None), DistributionDump::default());
        assert_eq!(
            dump(scale, &alleged(&memory(scale)), None),
            DistributionDump::default()
        );
        for rubbish in [u64::MAX, 1, 1 << 63] {
            let dump = dump(scale, &vec![rubbish; scale.words()], None);
            let counted = dump.histogram.iter().map(|bucket| bucket.1).sum::<u64>();
            assert_eq!(counted, dump.count);
            assert!(dump.histogram.is_sorted_by(|low, high| low.0 < high.0));
            assert!(dump.min <= dump.max && dump.max <= dump.total);
        }
    }

    #[test]
    fn zero_alone_is_a_figure() {
        let words = memory(BucketScale::COARSE);
        BucketScale::COARSE.record(&words, 0, 0);
        let dump = dump(BucketScale::COARSE, &alleged(&words), None);
        assert_eq!((dump.count, dump.min, dump.max, dump.total), (1, 0, 0, 0));
        let words = alleged(&words);
        assert!(BucketScale::is_used([
            words[0], words[1], words[2], words[3]
        ]));
    }
}
