//! Strobes by the clock: when they are due, and how their slices are numbered.

/// A clock whose strobes are multiples of a length from an origin. Slices are numbered
/// consecutively, struck or not, even when the length changes.
#[derive(Debug)]
pub(super) struct StrobeClock {
    /// The time of a regular strobe.
    origin_ns: u64,
    /// The number of the slice that it begins.
    origin: u64,
    /// The length of that slice and of all that follow.
    length_ns: u64,
}

impl StrobeClock {
    pub(super) fn new(origin_ns: u64, length_ns: u64) -> Self {
        Self {
            origin_ns,
            origin: 0,
            length_ns,
        }
    }

    /// Returns the length of a slice.
    pub(super) fn length_ns(&self) -> u64 {
        self.length_ns
    }

    /// Returns the first strobe after this time.
    pub(super) fn next_strobe_ns(&self, now_ns: u64) -> u64 {
        let passed = now_ns.saturating_sub(self.origin_ns);
        self.origin_ns + (passed / self.length_ns + 1) * self.length_ns
    }

    /// Returns the number of the slice that the strobe of this time begins.
    pub(super) fn slice(&self, due_ns: u64) -> u64 {
        self.origin + due_ns.saturating_sub(self.origin_ns) / self.length_ns
    }

    /// Changes the length of slices from the strobe of this time on.
    pub(super) fn change_length(&mut self, due_ns: u64, length_ns: u64) {
        self.origin = self.slice(due_ns);
        self.origin_ns = due_ns;
        self.length_ns = length_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strobes_are_multiples_and_numbers_follow_time() {
        let beat = StrobeClock::new(1_000, 500);
        assert_eq!(
            [0, 1_000, 1_499, 1_500, 9_001].map(|now| beat.next_strobe_ns(now)),
            [1_500, 1_500, 1_500, 2_000, 9_500]
        );
        assert_eq!([1_500, 2_000, 9_500].map(|due| beat.slice(due)), [1, 2, 17]);
    }

    #[test]
    fn numbers_go_on_where_the_length_changes() {
        let mut beat = StrobeClock::new(0, 500);
        assert_eq!(beat.slice(1_500), 3);
        beat.change_length(1_500, 100);
        assert_eq!((beat.next_strobe_ns(1_500), beat.slice(1_600)), (1_600, 4));
        assert_eq!((beat.next_strobe_ns(1_999), beat.slice(2_000)), (2_000, 8));
        beat.change_length(2_000, 800);
        assert_eq!((beat.next_strobe_ns(2_000), beat.slice(2_800)), (2_800, 9));
    }
}
