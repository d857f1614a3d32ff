//! Distributions as words of a recorder's memory.
//!
//! A distribution has [`HEAD`] words (among them the complement of the smallest figure, the largest
//! one, and the sum) and then a count for each bucket. So memory that reads as zero is an empty
//! distribution, and a page of buckets is touched only where there are figures. The buckets have
//! the edges of an HdrHistogram, so that dumps of both kinds can be merged.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The largest figure that has a histogram bucket of its own size: 73 minutes in nanoseconds, 4 TiB
/// in bytes. Larger ones are counted in the bucket of this one; their maximum and total stay exact.
pub const LARGEST: u64 = 1 << 42;

/// The words before the buckets.
pub const HEAD: usize = 4;
/// The word with the complement of the smallest figure.
pub const LEAST: usize = 0;
/// The word with the largest figure.
pub const MOST: usize = 1;
/// The word with the sum.
pub const TOTAL: usize = 2;

/// The width of buckets: two figures share a bucket if they agree in their leading one and the
/// `bits` bits after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BucketScale {
    bits: u32,
}

impl BucketScale {
    /// Four buckets for each power of two: for call sites, of which there are many.
    pub const COARSE: Self = Self { bits: 2 };

    /// Returns the scale for a number of significant digits. It has as many buckets for each power
    /// of two as an HdrHistogram has.
    #[must_use]
    pub const fn of_digits(digits: u8) -> Self {
        // Half of the first power of two that is at least 2 * 10^digits.
        Self {
            bits: match digits {
                0 | 1 => 4,
                2 => 7,
                _ => 10,
            },
        }
    }

    /// Returns the words of a distribution, in whole cache lines.
    #[must_use]
    #[inline(always)]
    pub const fn words(self) -> usize {
        (HEAD + self.bucket(LARGEST) + 1).next_multiple_of(8)
    }

    /// Returns the bucket of a figure.
    #[must_use]
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "at most 43 << 10")]
    pub const fn bucket(self, figure: u64) -> usize {
        let figure = if figure < LARGEST { figure } else { LARGEST };
        let top = 63 - (figure | 1 << self.bits).leading_zeros();
        let shift = top - self.bits;
        (((shift as u64) << self.bits) + (figure >> shift)) as usize
    }

    /// Returns the smallest figure of a bucket.
    #[must_use]
    pub const fn least(self, bucket: usize) -> u64 {
        let (bucket, half) = (bucket as u64, 1 << self.bits);
        if bucket < 2 * half {
            return bucket;
        }
        let shift = bucket / half - 1;
        (bucket - shift * half) << shift
    }

    /// Adds a figure to the distribution that begins at `at` in these words.
    #[inline(always)]
    pub fn record(self, words: &[AtomicU64], at: usize, figure: u64) {
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

    /// Returns whether there are figures, given the words before the buckets.
    #[must_use]
    pub fn is_used(head: [u64; HEAD]) -> bool {
        head != [0; HEAD]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bucket_begins_where_the_one_before_it_ends() {
        for scale in [
            BucketScale::COARSE,
            BucketScale::of_digits(1),
            BucketScale::of_digits(2),
            BucketScale::of_digits(3),
        ] {
            for bucket in 1..=scale.bucket(LARGEST) {
                let least = scale.least(bucket);
                assert_eq!(
                    (scale.bucket(least), scale.bucket(least - 1)),
                    (bucket, bucket - 1)
                );
            }
        }
        assert_eq!(BucketScale::of_digits(2).words(), 4_616, "36 KiB");
        assert_eq!(BucketScale::COARSE.words(), 176);
    }
}
