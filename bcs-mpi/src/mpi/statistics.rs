//! What a rank can say of itself at any time, in numbers: what tools ask for (MPI 5.0, 15.3.7).
//!
//! Each figure is one that the rank keeps anyway, so to ask costs the lock of the endpoint at most, and not to ask costs
//! nothing. A thread that has not called MPI before is, from then on, one of the threads that do. What the recorder
//! counts is there if the job records it (`bcs run --mds`).

use super::Process;
use crate::bcs::{LeakCounts, TableUsage};
use crate::forked;
use mmds::{RankTimes, RankTraffic};

/// What a rank can say of itself.
#[derive(Clone, Copy, Debug)]
pub struct RankStatistics<'a>(&'a Process);

impl Process {
    /// What this rank can say of itself, from its beginning on, and after it has finalized, too; nothing in a forked
    /// child, which is no rank.
    #[must_use]
    pub fn statistics(&self) -> Option<RankStatistics<'_>> {
        (!forked::is_child()).then_some(RankStatistics(self))
    }

    /// Whether the job records this rank (`bcs run --mds`).
    #[must_use]
    pub fn has_recorder(&self) -> bool {
        self.recording.has_recorder()
    }
}

impl RankStatistics<'_> {
    /// The number of the slice that was last struck.
    #[must_use]
    pub fn slices(self) -> u64 {
        self.0.endpoint.page.slice()
    }

    /// How long a slice is now, in nanoseconds; 0 where nobody strikes any.
    #[must_use]
    pub fn slice_ns(self) -> u64 {
        self.0.endpoint.page.slice_lengths().now_ns
    }

    /// How often slices have got another length.
    #[must_use]
    pub fn slice_changes(self) -> u64 {
        self.0.endpoint.page.slice_lengths().changes
    }

    /// Ranks of this machine that say that they are blocked in a call.
    #[must_use]
    pub fn blocked_ranks(self) -> u64 {
        self.0.endpoint.page.blocked().into()
    }

    /// Ranks and OS threads of NICs of this machine that do not sleep.
    #[must_use]
    pub fn awake_threads(self) -> u64 {
        self.0.endpoint.page.core_load().awake.into()
    }

    /// Cores of this machine that the job may use.
    #[must_use]
    pub fn cores(self) -> u64 {
        self.0.endpoint.page.core_load().cores.into()
    }

    /// How many requests the rank's NIC has completed.
    #[must_use]
    pub fn completions(self) -> u64 {
        self.0.endpoint.completions()
    }

    /// Requests that are open, and messages that nobody has received.
    #[must_use]
    pub fn left(self) -> LeakCounts {
        self.0.endpoint.bcs_leak_counts()
    }

    /// What else is in the rank's tables.
    #[must_use]
    pub fn held(self) -> TableUsage {
        self.0.endpoint.bcs_table_usage()
    }

    /// Bytes of buffered sends that take room in a buffer of the program's.
    #[must_use]
    pub fn buffered_bytes(self) -> usize {
        let used = self.0.buffers().into_iter().map(|buffer| buffer.used());
        used.sum()
    }

    /// Whether calls are recorded now.
    #[must_use]
    pub fn records(self) -> bool {
        self.0.recording.is_on()
    }

    /// Calls that have returned, if they are recorded.
    #[must_use]
    pub fn calls(self) -> Option<u64> {
        self.0.recording.calls()
    }

    /// Where the rank's time has gone, if that is recorded.
    #[must_use]
    pub fn times(self) -> Option<RankTimes> {
        self.0.recording.times()
    }

    /// Messages of point-to-point calls, if they are recorded.
    #[must_use]
    pub fn traffic(self) -> Option<RankTraffic> {
        self.0.recording.traffic()
    }
}
