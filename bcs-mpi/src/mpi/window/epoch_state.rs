//! The epochs of a rank, as a window keeps them.

use super::queue_lock::LockKind;
use bcs_core::lockstep;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// The epochs of a rank.
#[derive(Debug, Default)]
pub(super) struct Epochs {
    state: Mutex<EpochState>,
    /// How often the state may have changed: targets are open in the epoch of one number.
    changes: AtomicU64,
}

#[derive(Debug, Default)]
pub(super) struct EpochState {
    pub(super) access: Access,
    /// The origins of the exposure epoch that `MPI_Win_post` has opened.
    pub(super) exposed_to: Option<Vec<usize>>,
    /// Whether locks were taken since a fence after which operations may follow.
    pub(super) locks_follow_fence: bool,
    /// Whether an operation was begun under such a lock. Only checked jobs know.
    pub(super) operates_between_fences: bool,
    /// How often origins have completed epochs that this rank has waited for.
    pub(super) completed: u64,
    /// How many of the epochs that each target has posted were started.
    pub(super) started: BTreeMap<usize, u64>,
}

/// The access epoch of a rank.
#[derive(Clone, Debug, Default)]
pub(super) enum Access {
    #[default]
    None,
    /// A fence has opened it. It counts only if operations follow, and so does not prevent the
    /// epochs of another kind.
    Fence { used: bool },
    /// `MPI_Win_start`, with the targets in order.
    Started(Vec<usize>),
    /// Locks of single targets.
    Locks(BTreeMap<usize, HeldLock>),
    /// `MPI_Win_lock_all`.
    All(Arc<LockedAll>),
}

/// A lock of one target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HeldLock {
    pub(super) kind: LockKind,
    /// Whether nothing was taken (`MPI_MODE_NOCHECK`).
    pub(super) unchecked: bool,
    /// Whether it is being taken or given back at this moment.
    pub(super) is_changing: bool,
}

/// The locks of all targets, which are taken when they are first needed.
#[derive(Debug)]
pub(super) struct LockedAll {
    /// Whether the lock of each target was taken; empty if nothing is taken (`MPI_MODE_NOCHECK`).
    /// A thread holds the word of a target while it takes that lock.
    pub(super) taken: Vec<Mutex<bool>>,
}

impl Access {
    /// Returns what it is, in words.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::None => "no access epoch",
            Self::Fence { .. } => "an epoch of MPI_Win_fence",
            Self::Started(_) => "an epoch of MPI_Win_start",
            Self::Locks(_) => "an epoch of MPI_Win_lock",
            Self::All(_) => "an epoch of MPI_Win_lock_all",
        }
    }

    /// Returns whether an epoch of another kind may begin.
    pub(super) fn is_free(&self) -> bool {
        match self {
            Self::None | Self::Fence { used: false } => true,
            Self::Locks(locks) => locks.is_empty(),
            Self::Fence { used: true } | Self::Started(_) | Self::All(_) => false,
        }
    }
}

/// The step of an operation before it may touch its target.
#[derive(Clone, Debug)]
pub(super) enum Permission {
    /// In an epoch that allows flushes, or another one.
    Granted { is_passive: bool },
    /// The lock of the target is to be taken, if that was not done yet.
    TakeLock(Arc<LockedAll>),
}

impl Epochs {
    /// Returns the state, to change it.
    pub(super) fn lock(&self) -> MutexGuard<'_, EpochState> {
        let state = lockstep::lock(&self.state);
        self.changes.fetch_add(1, Ordering::AcqRel);
        state
    }

    /// Returns the state, for a caller that changes nothing that ends an epoch.
    pub(super) fn look(&self) -> MutexGuard<'_, EpochState> {
        lockstep::lock(&self.state)
    }

    /// Returns the number of the epoch.
    #[inline(always)]
    pub(super) fn number(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }
}
