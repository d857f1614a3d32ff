//! The order of the accesses of ranks to windows, as far as a rank knows it by itself.
//!
//! Each rank counts the calls by which all members of a window synchronise: its *generation*. The
//! members make these calls in one order, so accesses of one generation have no such call between
//! them, and accesses of two generations do. A rank also counts its *releases*: calls after which
//! another rank may know that it has come so far. If a rank has released since an access, that
//! access may be ordered before those of others. This is not followed further, so some races are
//! not found, and nothing that is ordered is taken for one.

use bcs_core::lockstep;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

/// The calls that no member can leave before all have entered.
const ALL_WAIT: [&str; 9] = [
    "MPI_Barrier",
    "MPI_Allgather",
    "MPI_Allgatherv",
    "MPI_Alltoall",
    "MPI_Alltoallv",
    "MPI_Alltoallw",
    "MPI_Allreduce",
    "MPI_Reduce_scatter_block",
    "MPI_Win_fence",
];

/// The synchronisation that this rank has done.
#[derive(Debug, Default)]
pub(crate) struct SynchronizationOrder {
    releases: AtomicU64,
    /// Whether a group was followed: else nobody asks for the number of releases.
    is_followed: AtomicBool,
    groups: Mutex<Vec<Weak<GroupGeneration>>>,
}

/// The generation of a group of world ranks.
#[derive(Debug)]
pub(crate) struct GroupGeneration {
    /// In ascending order.
    members: Vec<u32>,
    count: AtomicU64,
}

impl GroupGeneration {
    /// Returns how often all members have synchronised.
    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }
}

impl SynchronizationOrder {
    /// Begins to count for a group.
    pub(crate) fn follow(&self, members: &[u32]) -> Arc<GroupGeneration> {
        let mut members = members.to_vec();
        members.sort_unstable();
        let group = Arc::new(GroupGeneration {
            members,
            count: AtomicU64::new(0),
        });
        let mut groups = lockstep::lock(&self.groups);
        groups.retain(|group| group.strong_count() > 0);
        groups.push(Arc::downgrade(&group));
        self.is_followed.store(true, Ordering::Relaxed);
        group
    }

    /// Counts a call after which others may know how far this rank has come.
    #[inline]
    pub(crate) fn release(&self) {
        if !self.is_followed.load(Ordering::Relaxed) {
            return;
        }
        self.releases.fetch_add(1, Ordering::Release);
    }

    /// Returns the number of releases.
    pub(crate) fn releases(&self) -> u64 {
        self.releases.load(Ordering::Acquire)
    }

    /// Returns where other ranks find it.
    pub(crate) fn address_of_releases(&self) -> u64 {
        (&raw const self.releases).expose_provenance() as u64
    }

    /// Counts a collective of these world ranks, which this rank is about to enter.
    pub(crate) fn collective(&self, call: &str, waits: bool, members: &[u32]) {
        if !waits || !ALL_WAIT.contains(&call) {
            return self.release();
        }
        let mut taking_part = members.to_vec();
        taking_part.sort_unstable();
        let (mut whole, groups) = (true, lockstep::lock(&self.groups));
        for group in groups.iter().filter_map(Weak::upgrade) {
            let takes_part = |member: &u32| taking_part.binary_search(member).is_ok();
            if group.members.iter().all(takes_part) {
                group.count.fetch_add(1, Ordering::Relaxed);
            } else {
                whole = false;
            }
        }
        drop(groups);
        // For a larger group it may be one step of several that order accesses.
        if !whole {
            self.release();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generation_counts_what_all_members_wait_in() {
        let order = SynchronizationOrder::default();
        let (pair, all) = (order.follow(&[3, 1]), order.follow(&[1, 2, 3]));
        order.collective("MPI_Barrier", true, &[3, 2, 1]);
        assert_eq!([pair.count(), all.count(), order.releases()], [1, 1, 0]);
        order.collective("MPI_Allreduce", true, &[1, 3]);
        assert_eq!([pair.count(), all.count(), order.releases()], [2, 1, 1]);
        order.collective("MPI_Bcast", true, &[1, 2, 3]);
        order.collective("MPI_Ibarrier", false, &[1, 2, 3]);
        assert_eq!([pair.count(), all.count(), order.releases()], [2, 1, 3]);
    }
}
