//! A rank's home: the core to which it returns from time to time where ranks share cores.
//!
//! The kernel puts a thread that wakes near the one that woke it. It does not move threads that ran
//! a moment ago, and ranks that take turns always have just run. So all ranks of a node may share
//! one core while another is idle, for tenths of a second (8 ranks on 2 cores: in a quarter of all
//! jobs, with barriers of 9.1 us instead of 5.2). A rank that waits where cores are short checks
//! every 10 ms whether it is at home, and goes there if it is not. It is not bound to its home: the
//! kernel may move it as before, and a rank that computes is never moved by this.
//!
//! Only nodes with more ranks than cores give homes to their ranks. Ranks of small nodes that share
//! a machine do better where the kernel has put them together (four nodes of 2 ranks on 2 cores:
//! collectives take 1.07 x the time with homes).
//!
//! Ranks get homes round-robin, out of the cores that each of them may use. Only the thread that
//! starts MPI has one, because other threads of a rank may all be computing.
//!
//! OS threads of NICs that share cores with ranks have homes, too, if there is a core for each
//! node. Otherwise those of one node would wait in a slice for those of another that wait for their
//! core (beside two ranks that compute, a slice of two nodes then took 150 us of processor time
//! instead of 70).

use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};
use std::cell::Cell;

/// The time between two checks, so long that their cost (a microsecond, and tens of them for a
/// move) does not count.
const EVERY_NS: u64 = 10_000_000;

#[derive(Clone, Copy)]
struct Home {
    /// The index of the home among the cores that this thread may use.
    number: usize,
    /// The time of the last check.
    looked_ns: u64,
    /// The number of ranks that share a core.
    sharers: usize,
}

thread_local! {
    static HOME: Cell<Option<Home>> = const { Cell::new(None) };
}

/// Gives this thread a home: the core with this number among those that it may use, modulo their
/// number. `sharers` is the number of ranks that share a core.
pub fn set_home_core(number: usize, sharers: usize) {
    let looked_ns = 0;
    HOME.set(Some(Home {
        number,
        looked_ns,
        sharers,
    }));
}

/// Returns how many ranks share a core, where they have homes.
pub(crate) fn sharers() -> usize {
    HOME.get().map_or(1, |home| home.sharers)
}

/// Moves this thread home, if the next check is due. It is called where cores are short, before the
/// thread yields its core or waits for a thread that has another one.
#[inline]
pub fn return_home_if_due(now_ns: u64) {
    if let Some(home) = HOME.get()
        && now_ns.wrapping_sub(home.looked_ns) > EVERY_NS
    {
        HOME.set(Some(Home {
            looked_ns: now_ns,
            ..home
        }));
        move_to_core(home.number);
    }
}

#[cold]
pub(super) fn move_to_core(number: usize) {
    let Ok(allowed) = sched_getaffinity(None) else {
        return;
    };
    let is_allowed = |&core: &usize| allowed.is_set(core);
    let cores = || (0..CpuSet::MAX_CPU).filter(is_allowed);
    let Some(home) = number
        .checked_rem(cores().count())
        .and_then(|turn| cores().nth(turn))
    else {
        return;
    };
    if sched_getcpu() == home {
        return;
    }
    let mut only = CpuSet::new();
    only.set(home);
    // The kernel moves the thread at once, and then leaves it there. If the thread may not be
    // moved, it stays.
    if sched_setaffinity(None, &only).is_ok() {
        let released = sched_setaffinity(None, &allowed);
        debug_assert!(released.is_ok(), "it was allowed a moment ago");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bind(cores: &[usize]) {
        let mut set = CpuSet::new();
        cores.iter().for_each(|&core| set.set(core));
        sched_setaffinity(None, &set).unwrap();
    }

    fn allowed() -> Vec<usize> {
        let set = sched_getaffinity(None).unwrap();
        (0..CpuSet::MAX_CPU)
            .filter(|&core| set.is_set(core))
            .collect()
    }

    #[test]
    fn a_thread_goes_home_and_stays_free() {
        let cores = allowed();
        for number in 0..2 * cores.len() {
            let home = cores[number % cores.len()];
            // The kernel may move it away again before the check, but hardly each time.
            let at_home = (0..100).any(|_| {
                bind(&[cores[(number + 1) % cores.len()]]);
                bind(&cores);
                move_to_core(number);
                sched_getcpu() == home
            });
            assert!(at_home, "core {home}, the {number}th of {cores:?}");
            assert_eq!(allowed(), cores);
        }
    }

    #[test]
    fn who_is_bound_stays() {
        let cores = allowed();
        bind(&cores[..1]);
        move_to_core(1);
        assert_eq!(allowed(), cores[..1]);
        bind(&cores);
    }

    #[test]
    fn it_looks_now_and_then() {
        let looked = || HOME.get().map(|home| home.looked_ns);
        return_home_if_due(EVERY_NS + 1);
        assert_eq!(looked(), None, "no home");
        set_home_core(0, 2);
        for (now, last) in [(1, 0), (EVERY_NS, 0), (EVERY_NS + 1, EVERY_NS + 1)] {
            return_home_if_due(now);
            assert_eq!(looked(), Some(last));
        }
    }
}
