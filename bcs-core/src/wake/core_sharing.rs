//! Two ranks that share a core while another core is idle.
//!
//! The kernel does not move a thread that ran a moment ago, and ranks that yield to each other
//! always have just run. So a job whose ranks have started on one core may stay there for tenths of
//! a second, and each message takes two switches of the core (2 of 500 runs of an allreduce of 64
//! B: 7.7 us instead of 0.16).
//!
//! A rank that has shared its core for [`LASTS_NS`] while the job has a core for each of its
//! threads asks the kernel how many threads can run (`/proc/loadavg`). If the machine has a core
//! for each of them, one core is idle, and the rank goes to its *seat*: the core with the number of
//! the rank, modulo the number of cores. It is not bound to this core. Ranks of a node that has a
//! core for each have different seats, so two of them part wherever they were. If the rank shares
//! its core again, it waits twice as long each time before it tries again: the thread on its seat
//! may stay there.

use super::home_core;
use std::cell::Cell;
use std::fs::File;
use std::io::Read;

/// The time for which yields go on before a rank moves: longer than the turns of threads that wake
/// and sleep again.
const LASTS_NS: u64 = 1_000_000;

/// The shortest and the longest time that a rank waits before it tries again.
const SHORTEST_PAUSE_NS: u64 = 10_000_000;
const LONGEST_PAUSE_NS: u64 = 1_000_000_000;

thread_local! {
    static SEAT: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Gives this thread a seat: the core with this number among those that it may use, modulo their
/// number.
pub fn take_seat(number: usize) {
    SEAT.set(Some(number));
}

/// A thread's knowledge of the threads that share its core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CoreSharing {
    /// Whether another thread had the core when this one last yielded.
    pub(super) is_shared: bool,
    /// The time since when that has been so at each yield.
    since_ns: u64,
    /// The earliest time of the next move.
    next_ns: u64,
    pause_ns: u64,
}

impl CoreSharing {
    pub(super) const NONE: Self = Self {
        is_shared: false,
        since_ns: 0,
        next_ns: 0,
        pause_ns: SHORTEST_PAUSE_NS,
    };

    /// Records that a yield has ended now, and whether another thread had the core meanwhile.
    /// Returns whether it is time to move.
    pub(super) fn yielded(&mut self, is_shared: bool, now_ns: u64) -> bool {
        if !is_shared || !self.is_shared {
            self.since_ns = now_ns;
        }
        self.is_shared = is_shared;
        // The clocks of two cores may differ slightly.
        let lasted_ns = now_ns.saturating_sub(self.since_ns);
        let moves = is_shared && lasted_ns >= LASTS_NS && now_ns >= self.next_ns;
        if moves {
            // A thread that had its core alone for several times as long starts with the shortest
            // pause again.
            let is_first = now_ns - self.next_ns > 4 * self.pause_ns;
            self.pause_ns = match is_first {
                true => SHORTEST_PAUSE_NS,
                false => (2 * self.pause_ns).min(LONGEST_PAUSE_NS),
            };
            self.next_ns = now_ns + self.pause_ns;
            self.since_ns = now_ns;
        }
        moves
    }
}

/// Moves this thread to its seat, if it has one and a core is idle.
#[cold]
pub(super) fn move_to_seat() {
    let Some(seat) = SEAT.get() else {
        return;
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    if runnable().is_some_and(|threads| threads <= cores) {
        home_core::move_to_core(seat);
    }
}

/// Returns how many threads of the machine run or wait for a core, this one among them.
fn runnable() -> Option<usize> {
    let mut text = [0; 64];
    let len = File::open("/proc/loadavg").ok()?.read(&mut text).ok()?;
    runnable_of(std::str::from_utf8(&text[..len]).ok()?)
}

/// Parses the number before the slash in `0.20 0.18 0.12 1/80 11206`.
fn runnable_of(text: &str) -> Option<usize> {
    let (runnable, _) = text.split(' ').nth(3)?.split_once('/')?;
    runnable.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_shares_its_core_for_long_moves_ever_more_rarely() {
        let mut sharing = CoreSharing::NONE;
        let start = 5_000_000_000;
        assert!(!sharing.yielded(true, start));
        assert!(!sharing.yielded(true, start - 1), "by another core's clock");
        assert!(!sharing.yielded(true, start + LASTS_NS - 1));
        assert!(!sharing.yielded(false, start + LASTS_NS), "it was alone");
        assert!(!sharing.yielded(true, start + LASTS_NS));
        let mut moved = start + 2 * LASTS_NS;
        assert!(sharing.yielded(true, moved));
        for pause_ms in [10, 20, 40, 80, 160, 320, 640, 1_000, 1_000] {
            let next = moved + pause_ms * 1_000_000;
            assert!(!sharing.yielded(true, next - 1));
            assert!(sharing.yielded(true, next), "{pause_ms}");
            moved = next;
        }
        let later = moved + 6 * LONGEST_PAUSE_NS;
        assert!(sharing.yielded(true, later));
        assert_eq!(sharing.pause_ns, SHORTEST_PAUSE_NS);
    }

    #[test]
    fn the_kernel_says_how_many_threads_can_run() {
        assert_eq!(runnable_of("0.20 0.18 0.12 3/80 11206\n"), Some(3));
        assert_eq!(runnable_of("0.20 0.18 0.12"), None);
        assert!(runnable().is_none_or(|threads| threads >= 1));
    }
}
