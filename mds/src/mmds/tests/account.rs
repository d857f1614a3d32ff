//! The kernel's account of a rank's thread.

use ::mmds::ThreadUsage;

use super::{Primitive, Rank, Site, blocking};
use crate::dump::UsageDump;

const MS: u64 = 1_000_000;

/// A rank computes for 10 ms before each of two barriers, on a core for 4 ms of each time.
fn accounted(sleeps: u64, preemptions: u64, thread: u64) -> Option<UsageDump> {
    let mut rank = Rank::new(0);
    let account = |thread, cpu_ns, sleeps, preemptions| ThreadUsage {
        thread,
        cpu_ns,
        sleeps,
        preemptions,
    };
    rank.recorder.take_usage(account(1, 0, 0, 0), 0, false);
    let called = blocking(Primitive::Barrier, 0);
    for step in 0..2 {
        let enters_ns = step * 15 * MS + 10 * MS;
        let begun = rank.recorder.enter(Site::here(), &called, enters_ns, 0);
        assert!(rank.recorder.is_usage_due(enters_ns));
        let switches = (step + 1) * sleeps;
        let usage = account(
            thread,
            (2 * step + 1) * 4 * MS,
            switches,
            (step + 1) * preemptions,
        );
        rank.recorder.take_usage(usage, enters_ns, true);
        rank.recorder.leave(&begun, &called, enters_ns + 5 * MS);
        let usage = ThreadUsage {
            cpu_ns: usage.cpu_ns + 4 * MS,
            ..usage
        };
        rank.recorder.take_usage(usage, enters_ns + 5 * MS, false);
        assert!(!rank.recorder.is_usage_due(enters_ns + 5 * MS + 999_999));
    }
    rank.recorder.surroundings(7, 9);
    rank.finished(30 * MS).usage
}

#[test]
fn computation_is_divided_by_the_account_of_the_kernel() {
    let expected = UsageDump {
        computation_ns: 20 * MS,
        cpu_ns: 8 * MS,
        preempted_ns: 12 * MS,
        blocked_ns: 0,
        preemptions: 6,
        file_bytes: 7,
        core_loop_ns: 9,
    };
    assert_eq!(accounted(0, 3, 1), Some(expected));
    let slept = UsageDump {
        preempted_ns: 0,
        blocked_ns: 12 * MS,
        ..expected
    };
    assert_eq!(accounted(1, 3, 1), Some(slept));
    // The first computation was another thread's.
    let half = UsageDump {
        computation_ns: 10 * MS,
        cpu_ns: 4 * MS,
        preempted_ns: 6 * MS,
        preemptions: 3,
        ..expected
    };
    assert_eq!(accounted(0, 3, 2), Some(half));
    assert_eq!(Rank::new(0).finished(10).usage, None);
}
