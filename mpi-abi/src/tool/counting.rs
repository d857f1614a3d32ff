//! A count of something that only grows, while its handle is started.

/// The count until the last stop, and the value of the source at the start, if the count is
/// started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counting {
    before: u64,
    since: Option<u64>,
}

impl Counting {
    /// Returns the count when the source has the value `now`.
    pub fn value(self, now: u64) -> u64 {
        let since = self.since.map_or(0, |since| now.saturating_sub(since));
        self.before.wrapping_add(since)
    }

    /// Starts to count, unless it counts already.
    pub fn start(&mut self, now: u64) {
        self.since.get_or_insert(now);
    }

    /// Stops counting.
    pub fn stop(&mut self, now: u64) {
        self.before = self.value(now);
        self.since = None;
    }

    /// Sets the count. A started count continues.
    pub fn set(&mut self, value: u64, now: u64) {
        self.before = value;
        if let Some(since) = &mut self.since {
            *since = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_counts_while_it_is_started() {
        let mut counting = Counting::default();
        assert_eq!(counting.value(100), 0, "the starting value");
        counting.start(100);
        counting.start(103);
        assert_eq!(counting.value(105), 5);
        counting.stop(107);
        counting.stop(200);
        assert_eq!(counting.value(300), 7);
        counting.start(300);
        assert_eq!(counting.value(301), 8, "it goes on from there");
    }

    #[test]
    fn it_is_reset_whether_it_is_started_or_not() {
        let mut counting = Counting::default();
        counting.start(10);
        counting.set(0, 20);
        assert_eq!(counting.value(21), 1);
        counting.stop(21);
        counting.set(5, 30);
        assert_eq!(counting.value(40), 5);
    }

    #[test]
    fn a_source_that_seems_to_go_back_counts_nothing() {
        let mut counting = Counting::default();
        counting.start(10);
        assert_eq!(counting.value(9), 0);
        counting.set(u64::MAX, 10);
        assert_eq!(counting.value(12), 1, "a counter may overflow");
    }
}
