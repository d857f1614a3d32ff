//! The length of slices with `--strobe auto`.
//!
//! A slice has two costs: the NICs work for it, and blocked ranks wait for its strobe. Where
//! strobes follow each other, half the length has twice the work and half the waiting. So the best
//! length is the one at which both are equal, and their ratio at one length tells the direction of
//! a better one.
//!
//! - **Work** is the time from strobe to end of the slices that were struck. Below a hundredth of
//!   the time fewer slices gain nothing, and the length stays.
//! - **Waiting** is a length of a slice for each core of this machine that idles at a strobe while
//!   a rank is blocked. A core that computes for another rank has lost nothing. A rank may also
//!   wait for another rank that still computes. That is not known here and counts as well: then
//!   slices are shorter than necessary, which costs less than the contrary.
//!
//! Lengths are 50 µs and its doubles, up to the value of `--time-slice`. The first is the shortest:
//! waiting ranks lose time at once, while the cost of slices adds up slowly. The budget of a slice
//! is that of the longest, whatever length is chosen: a slice that moves as much lasts that long,
//! and the strobes that fall into it are left out.

use bcs_core::limits::MIN_TIME_SLICE_NS;
use bcs_core::wake::machine_page::SliceLengths;

/// Struck slices from one choice to the next: some ms, in which a program goes through its loop a
/// few times.
const SLICES_PER_CHOICE: u32 = 16;

/// The factor by which work must exceed waiting, or the reverse. One step changes their ratio by
/// four, so the step back would need as much.
const IMBALANCE_FACTOR: u64 = 2;

/// The divisor of all time below which work is not worth saving.
const NEGLIGIBLE_WORK_DIVISOR: u64 = 100;

/// The Strobe Sender's observations of the slices since its last choice.
#[derive(Debug)]
pub(super) struct LengthChooser {
    longest_ns: u64,
    /// Ranks on this machine.
    ranks: u64,
    /// Cores that they have.
    cores: u64,
    /// How often the shortest length is doubled.
    doubles: u32,
    slices: u32,
    since_ns: u64,
    worked_ns: u64,
    waited_ns: u64,
    chosen: SliceLengths,
}

impl LengthChooser {
    pub(super) fn new(longest_ns: u64, ranks: usize, cores: u32, now_ns: u64) -> Self {
        let mut first = Self {
            longest_ns,
            ranks: ranks as u64,
            cores: cores.into(),
            doubles: 0,
            slices: 0,
            since_ns: now_ns,
            worked_ns: 0,
            waited_ns: 0,
            chosen: SliceLengths::default(),
        };
        let length_ns = first.length_ns();
        first.chosen = SliceLengths {
            now_ns: length_ns,
            shortest_ns: length_ns,
            longest_ns: length_ns,
            changes: 0,
        };
        first
    }

    /// Returns all lengths so far.
    pub(super) fn chosen(&self) -> &SliceLengths {
        &self.chosen
    }

    fn length_ns(&self) -> u64 {
        (MIN_TIME_SLICE_NS << self.doubles).min(self.longest_ns)
    }

    /// Records a slice that is over and was struck while `blocked` ranks reported that they were
    /// blocked. Returns whether another length was chosen.
    pub(super) fn add_slice(&mut self, blocked: u32, struck_ns: u64, over_ns: u64) -> bool {
        let blocked = u64::from(blocked).min(self.ranks);
        let idle = self.cores.saturating_sub(self.ranks - blocked);
        self.waited_ns += self.length_ns() * blocked.min(idle);
        self.worked_ns += over_ns.saturating_sub(struck_ns);
        self.slices += 1;
        if self.slices < SLICES_PER_CHOICE {
            return false;
        }
        self.choose(over_ns);
        self.slices = 0;
        self.since_ns = over_ns;
        (self.worked_ns, self.waited_ns) = (0, 0);
        let length_ns = self.length_ns();
        if length_ns == self.chosen.now_ns {
            return false;
        }
        self.chosen = SliceLengths {
            now_ns: length_ns,
            shortest_ns: self.chosen.shortest_ns.min(length_ns),
            longest_ns: self.chosen.longest_ns.max(length_ns),
            changes: self.chosen.changes + 1,
        };
        true
    }

    fn choose(&mut self, now_ns: u64) {
        let little_ns = now_ns.saturating_sub(self.since_ns) / NEGLIGIBLE_WORK_DIVISOR;
        let (mut worked_ns, mut waited_ns) = (self.worked_ns, self.waited_ns);
        while waited_ns > IMBALANCE_FACTOR * worked_ns && self.doubles > 0 {
            self.doubles -= 1;
            waited_ns /= 2;
            worked_ns *= 2;
        }
        while worked_ns > (IMBALANCE_FACTOR * waited_ns).max(little_ns)
            && self.length_ns() < self.longest_ns
        {
            self.doubles += 1;
            waited_ns *= 2;
            worked_ns /= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Two ranks on two cores, with slices of 20 us that follow each other.
    struct ModelJob {
        choice: LengthChooser,
        now_ns: u64,
    }

    impl ModelJob {
        fn new(longest_ns: u64, ranks: usize) -> Self {
            Self {
                choice: LengthChooser::new(longest_ns, ranks, 2, 0),
                now_ns: 0,
            }
        }

        /// Returns the length in us after this number of slices; `blocked` gives the blocked ranks
        /// at each.
        fn length_us(&mut self, slices: u32, blocked: impl Fn(u32) -> u32) -> u64 {
            for slice in 0..slices {
                self.now_ns += self.choice.chosen().now_ns;
                let over_ns = self.now_ns + 20_000;
                self.choice.add_slice(blocked(slice), self.now_ns, over_ns);
            }
            self.choice.chosen().now_ns / 1_000
        }
    }

    #[test]
    fn slices_stay_short_while_ranks_wait_for_them() {
        assert_eq!(ModelJob::new(MS, 2).length_us(1_000, |_| 1), 50);
    }

    #[test]
    fn they_get_longer_while_nobody_waits_as_long_as_there_is_something_to_gain() {
        // 20 us are 2.5 % of 800 us, and half of that would still be more than a hundredth.
        assert_eq!(ModelJob::new(800_000, 2).length_us(100, |_| 0), 800);
        let mut job = ModelJob::new(100 * MS, 2);
        assert_eq!(job.length_us(1_000, |_| 0), 3_200, "0.6 %");
        assert_eq!(job.choice.chosen().shortest_ns, 50_000);
    }

    #[test]
    fn the_longest_need_not_be_a_double_of_the_shortest() {
        let mut job = ModelJob::new(500_000, 2);
        assert_eq!(job.length_us(100, |_| 0), 500);
        assert_eq!(job.length_us(100, |_| 2), 50);
    }

    #[test]
    fn it_comes_to_rest_where_both_cost_the_same() {
        // One rank in ten slices waits: a tenth of the length against 20 us.
        let mut job = ModelJob::new(10 * MS, 2);
        let length_us = job.length_us(1_600, |slice| u32::from(slice % 10 == 0));
        assert!((100..=400).contains(&length_us), "{length_us} us");
        let changes = job.choice.chosen().changes;
        job.length_us(1_600, |slice| u32::from(slice % 10 == 0));
        assert!(job.choice.chosen().changes <= changes + 2, "it swings");
    }

    #[test]
    fn who_waits_while_others_use_the_cores_does_not_count() {
        assert_eq!(ModelJob::new(800_000, 8).length_us(100, |_| 6), 800);
        assert_eq!(ModelJob::new(800_000, 8).length_us(100, |_| 7), 50);
        // The number that ranks report is limited to what is possible.
        assert_eq!(ModelJob::new(800_000, 8).length_us(100, |_| u32::MAX), 50);
    }
}
