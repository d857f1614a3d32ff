//! Distributions as words of a recorder's memory.
//!
//! A distribution is [`HEAD`] words (the complement of the smallest figure, the largest one, the sum) and then a
//! count for each bucket, so memory that reads as zero is a distribution of nothing, and a page of buckets is touched
//! only where figures are. The buckets have the edges of an HdrHistogram, so that dumps of both kinds can be merged.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::distribution::LARGEST;
use crate::dump::DistributionDump;

/// The words before the buckets.
pub(super) const HEAD: usize = 4;
const LEAST: usize = 0;
const MOST: usize = 1;
pub(super) const TOTAL: usize = 2;

/// How wide buckets are: figures that agree in so many leading bits and one share a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Scale {
    bits: u32,
}

impl Scale {
    /// Four buckets for each power of two: for call sites, of which there are many.
    pub(super) const COARSE: Self = Self { bits: 2 };

    /// Of so many significant digits: as many buckets for each power of two as an HdrHistogram has.
    pub(super) const fn of_digits(digits: u8) -> Self {
        // The power of two from 2 * 10^digits on, halved.
        Self {
            bits: match digits {
                0 | 1 => 4,
                2 => 7,
                _ => 10,
            },
        }
    }

    /// The words of a distribution, in whole lines.
    #[inline(always)]
    pub(super) const fn words(self) -> usize {
        (HEAD + self.bucket(LARGEST) + 1).next_multiple_of(8)
    }

    /// The bucket of a figure.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "at most 43 << 10")]
    const fn bucket(self, figure: u64) -> usize {
        let figure = if figure < LARGEST { figure } else { LARGEST };
        let top = 63 - (figure | 1 << self.bits).leading_zeros();
        let shift = top - self.bits;
        (((shift as u64) << self.bits) + (figure >> shift)) as usize
    }

    /// The smallest figure of a bucket.
    fn least(self, bucket: usize) -> u64 {
        let (bucket, half) = (bucket as u64, 1 << self.bits);
        if bucket < 2 * half {
            return bucket;
        }
        let shift = bucket / half - 1;
        (bucket - shift * half) << shift
    }

    /// Adds a figure to the distribution that is at this place in these words.
    #[inline(always)]
    pub(super) fn record(self, words: &[AtomicU64], at: usize, figure: u64) {
        let head = words
            .get(at..)
            .and_then(|words| words.first_chunk::<HEAD>());
        let bucket = words.get(at + HEAD + self.bucket(figure));
        let (Some(head), Some(bucket)) = (head, bucket) else {
            return;
        };
        bucket.store(bucket.load(Relaxed).wrapping_add(1), Relaxed);
        if head[LEAST].load(Relaxed) < !figure {
            head[LEAST].store(!figure, Relaxed);
        }
        if head[MOST].load(Relaxed) < figure {
            head[MOST].store(figure, Relaxed);
        }
        let total = head[TOTAL].load(Relaxed).wrapping_add(figure);
        head[TOTAL].store(total, Relaxed);
    }

    /// Whether there are figures, by the words before the buckets.
    pub(super) fn is_used(head: [u64; HEAD]) -> bool {
        head != [0; HEAD]
    }

    /// What these words allege, and one more figure if there is one. Whatever they are, the dump is one that can be
    /// read again: its count is that of its buckets.
    pub(super) fn dump(self, words: &[u64], more: Option<u64>) -> DistributionDump {
        let mut buckets: Vec<u64> = words.get(HEAD..).unwrap_or_default().to_vec();
        buckets.resize(self.bucket(LARGEST) + 1, 0);
        let head = |at| words.get(at).copied().unwrap_or(0);
        let (mut least, mut most, mut total) = (!head(LEAST), head(MOST), head(TOTAL));
        if let Some(figure) = more {
            let bucket = &mut buckets[self.bucket(figure)];
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
                histogram.push((self.least(bucket), figures));
            }
        }
        if count == 0 {
            return DistributionDump::default();
        }
        DistributionDump::new(count, least.min(most), most, total.max(most), histogram)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Distribution;

    fn memory(scale: Scale) -> Vec<AtomicU64> {
        (0..scale.words()).map(|_| AtomicU64::new(0)).collect()
    }

    fn alleged(words: &[AtomicU64]) -> Vec<u64> {
        words.iter().map(|word| word.load(Relaxed)).collect()
    }

    #[test]
    fn words_are_the_distribution_that_an_hdr_histogram_is() {
        let scale = Scale::of_digits(2);
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
        assert_eq!(scale.dump(&alleged(&words), None), (&live).into());
        live.record(77);
        assert_eq!(scale.dump(&alleged(&words), Some(77)), (&live).into());
    }

    #[test]
    fn each_bucket_begins_where_the_one_before_it_ends() {
        for scale in [
            Scale::COARSE,
            Scale::of_digits(1),
            Scale::of_digits(2),
            Scale::of_digits(3),
        ] {
            for bucket in 1..=scale.bucket(LARGEST) {
                let least = scale.least(bucket);
                assert_eq!(
                    (scale.bucket(least), scale.bucket(least - 1)),
                    (bucket, bucket - 1)
                );
            }
        }
        assert_eq!(Scale::of_digits(2).words(), 4_616, "36 KiB");
        assert_eq!(Scale::COARSE.words(), 176);
    }

    #[test]
    fn nothing_is_a_distribution_and_so_is_rubbish() {
        let scale = Scale::of_digits(1);
        assert_eq!(scale.dump(&[], None), DistributionDump::default());
        assert_eq!(
            scale.dump(&alleged(&memory(scale)), None),
            DistributionDump::default()
        );
        for rubbish in [u64::MAX, 1, 1 << 63] {
            let dump = scale.dump(&vec![rubbish; scale.words()], None);
            let counted = dump.histogram.iter().map(|bucket| bucket.1).sum::<u64>();
            assert_eq!(counted, dump.count);
            assert!(dump.histogram.is_sorted_by(|low, high| low.0 < high.0));
            assert!(dump.min <= dump.max && dump.max <= dump.total);
        }
    }

    #[test]
    fn zero_alone_is_a_figure() {
        let words = memory(Scale::COARSE);
        Scale::COARSE.record(&words, 0, 0);
        let dump = Scale::COARSE.dump(&alleged(&words), None);
        assert_eq!((dump.count, dump.min, dump.max, dump.total), (1, 0, 0, 0));
        let words = alleged(&words);
        assert!(Scale::is_used([words[0], words[1], words[2], words[3]]));
    }
}
