//! The counters of a rank, for tools to read at any time (MPI 5.0, 15.3.7).
//!
//! The rank maintains each counter anyway, so reading one costs at most the endpoint's lock, and
//! not reading costs nothing. A thread that has not called MPI before counts, from then on, as one
//! that does. The recorder's counters are available if the job records the rank (`bcs run --mds`).

use super::Process;
use crate::bcs::{LeakCounts, TableUsage};
use crate::forked;
use mmds::{RankTimes, RankTraffic};

/// The counters of a rank.
#[derive(Clone, Copy, Debug)]
pub struct RankStatistics<'a>(&'a Process);

impl Process {
    /// Returns the counters of this rank, from its beginning on, and after it has finalized, too;
    /// `None` in a forked child, which is not a rank.
    #[must_use]
    pub fn statistics(&self) -> Option<RankStatistics<'_>> {
        (!forked::is_child()).then_some(RankStatistics(self))
    }

    /// Returns whether the job records this rank (`bcs run --mds`).
    #[must_use]
    pub fn has_recorder(&self) -> bool {
        self.recording.has_recorder()
    }
}

impl RankStatistics<'_> {
    /// Returns the number of the last slice that began.
    #[must_use]
    pub fn slices(self) -> u64 {
        self.0.endpoint.page.slice()
    }

    /// Returns the present length of a slice in nanoseconds; 0 if there are no strobes.
    #[must_use]
    pub fn slice_ns(self) -> u64 {
        self.0.endpoint.page.slice_lengths().now_ns
    }

    /// Returns how often the length of slices has changed.
    #[must_use]
    pub fn slice_changes(self) -> u64 {
        self.0.endpoint.page.slice_lengths().changes
    }

    /// Returns the number of ranks of this machine that report to be blocked in a call.
    #[must_use]
    pub fn blocked_ranks(self) -> u64 {
        self.0.endpoint.page.blocked().into()
    }

    /// Returns the number of ranks and OS threads of NICs of this machine that do not sleep.
    #[must_use]
    pub fn awake_threads(self) -> u64 {
        self.0.endpoint.page.core_load().awake.into()
    }

    /// Returns the number of cores of this machine that the job may use.
    #[must_use]
    pub fn cores(self) -> u64 {
        self.0.endpoint.page.core_load().cores.into()
    }

    /// Returns how many requests the rank's NIC has completed.
    #[must_use]
    pub fn completions(self) -> u64 {
        self.0.endpoint.completions()
    }

    /// Returns the number of open requests, and of messages that have not been received.
    #[must_use]
    pub fn left(self) -> LeakCounts {
        self.0.endpoint.bcs_leak_counts()
    }

    /// Returns the other counts of the rank's tables.
    #[must_use]
    pub fn held(self) -> TableUsage {
        self.0.endpoint.bcs_table_usage()
    }

    /// Returns the bytes of buffered sends that take space in a buffer of the program.
    #[must_use]
    pub fn buffered_bytes(self) -> usize {
        let used = self.0.buffers().into_iter().map(|buffer| buffer.used());
        used.sum()
    }

    /// Returns whether calls are recorded now.
    #[must_use]
    pub fn records(self) -> bool {
        self.0.recording.is_on()
    }

    /// Returns the number of calls that have returned, if they are recorded.
    #[must_use]
    pub fn calls(self) -> Option<u64> {
        self.0.recording.calls()
    }

    /// Returns how the rank has spent its time, if that is recorded.
    #[must_use]
    pub fn times(self) -> Option<RankTimes> {
        self.0.recording.times()
    }

    /// Returns the messages of point-to-point calls, if they are recorded.
    #[must_use]
    pub fn traffic(self) -> Option<RankTraffic> {
        self.0.recording.traffic()
    }
}
