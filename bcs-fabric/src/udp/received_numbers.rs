//! The numbers of a peer's datagrams that have come: none is taken twice, whoever repeats it.

use std::ops::RangeInclusive;

use rangemap::RangeInclusiveSet;

/// The most ranges that are stored. Numbers below the lowest range count as seen. Such a datagram
/// is late by more than a window, and its content is in flight again.
const MAX_RANGES: usize = 64;

/// The numbers of datagrams that have come.
#[derive(Clone, Debug, Default)]
pub struct ReceivedNumbers {
    numbers: RangeInclusiveSet<u64>,
    ranges: usize,
    /// The number below which all count as seen.
    floor: u64,
}

impl ReceivedNumbers {
    /// Returns whether any of these has come, or may have.
    #[must_use]
    pub fn has_any(&self, numbers: RangeInclusive<u64>) -> bool {
        *numbers.start() < self.floor || self.numbers.overlaps(&numbers)
    }

    /// Records that these have come.
    pub fn add(&mut self, numbers: RangeInclusive<u64>) {
        self.numbers.insert(numbers);
        // The count takes time in the number of ranges, which is one without losses.
        self.ranges = self.numbers.iter().count();
        while self.ranges > MAX_RANGES {
            let Some(lowest) = self.numbers.first().cloned() else {
                return;
            };
            self.floor = lowest.end() + 1;
            self.numbers.remove(lowest);
            self.ranges -= 1;
        }
    }

    /// Returns the ranges that have come, the newest first.
    pub fn ranges(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let numbers = self.numbers.iter().rev();
        numbers.map(|range| (*range.start(), *range.end()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_told_newest_first() {
        let mut seen = ReceivedNumbers::default();
        for number in [5, 1, 2, 9, 8, 4] {
            assert!(!seen.has_any(number..=number));
            seen.add(number..=number);
            assert!(seen.has_any(number..=number));
        }
        assert!(seen.has_any(6..=8) && !seen.has_any(6..=7) && !seen.has_any(10..=99));
        assert_eq!(seen.ranges().collect::<Vec<_>>(), [(8, 9), (4, 5), (1, 2)]);
    }

    #[test]
    fn what_is_far_below_counts_as_seen() {
        let mut seen = ReceivedNumbers::default();
        (1..200).for_each(|n| seen.add(2 * n..=2 * n));
        assert_eq!(seen.ranges().count(), MAX_RANGES);
        assert!(seen.has_any(3..=3) && !seen.has_any(397..=397));
    }
}
