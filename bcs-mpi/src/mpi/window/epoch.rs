//! Which epochs of a window are open at this rank (MPI 5.0, 12.5).
//!
//! An access epoch allows operations: to all ranks (fence, lock of all), or to those of a group
//! (start) or with a lock. An exposure epoch allows those of others. Calls of the wrong kind are
//! errors, and change nothing.

use super::queue_lock::LockKind;
use super::state::Window;
use crate::mpi::error::{Error, ErrorClass, Operation, Result};
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
    fn name(&self) -> &'static str {
        match self {
            Self::None => "no access epoch",
            Self::Fence { .. } => "an epoch of MPI_Win_fence",
            Self::Started(_) => "an epoch of MPI_Win_start",
            Self::Locks(_) => "an epoch of MPI_Win_lock",
            Self::All(_) => "an epoch of MPI_Win_lock_all",
        }
    }

    /// Returns whether an epoch of another kind may begin.
    fn is_free(&self) -> bool {
        match self {
            Self::None | Self::Fence { used: false } => true,
            Self::Locks(locks) => locks.is_empty(),
            Self::Fence { used: true } | Self::Started(_) | Self::All(_) => false,
        }
    }
}

/// What an operation has to do before it may touch its target.
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

impl Window {
    /// Returns the error for a call in the wrong epoch.
    #[cold]
    pub(super) fn wrong_epoch(&self, what: &str, operation: Operation) -> Box<Error> {
        let reason = format!("{what} in {}", self.title());
        operation.error(ErrorClass::RmaSync, reason)
    }

    /// Checks that an operation may access a target now.
    #[inline]
    pub(super) fn permit(&self, target: usize, operation: Operation) -> Result<Permission> {
        let mut epochs = self.0.epochs.look();
        match &mut epochs.access {
            Access::Fence { used } => {
                *used = true;
                Ok(Permission::Granted { is_passive: false })
            }
            Access::Started(targets) if targets.binary_search(&target).is_ok() => {
                Ok(Permission::Granted { is_passive: false })
            }
            Access::Locks(locks) if locks.get(&target).is_some_and(|it| !it.is_changing) => {
                Ok(Permission::Granted { is_passive: true })
            }
            Access::All(all) if all.taken.is_empty() => {
                Ok(Permission::Granted { is_passive: true })
            }
            Access::All(all) => Ok(Permission::TakeLock(all.clone())),
            other => {
                let name = other.name();
                drop(epochs);
                let what = match name {
                    "no access epoch" => format!("there is no epoch for accesses to rank {target}"),
                    name => format!("there is {name}, but not for rank {target},"),
                };
                Err(self.wrong_epoch(&what, operation))
            }
        }
    }

    /// Checks that an access epoch may begin, and begins it. Returns the one before.
    pub(super) fn begin_access(&self, access: Access, operation: Operation) -> Result<()> {
        let mut epochs = self.0.epochs.lock();
        if epochs.access.is_free() {
            epochs.access = access;
            return Ok(());
        }
        let what = format!("there is {} already", epochs.access.name());
        drop(epochs);
        Err(self.wrong_epoch(&what, operation))
    }

    /// Returns the error for the end of an epoch that was not begun.
    #[cold]
    pub(super) fn no_such_epoch(&self, operation: Operation) -> Box<Error> {
        let name = self.0.epochs.look().access.name();
        self.wrong_epoch(&format!("there is {name}"), operation)
    }

    /// Checks that a passive-target epoch is open: flushes are for those (12.5.4).
    pub(super) fn check_passive(&self, target: Option<usize>, operation: Operation) -> Result<()> {
        let epochs = self.0.epochs.look();
        let is_open = match (&epochs.access, target) {
            (Access::All(_), _) => true,
            (Access::Locks(locks), Some(target)) => locks.contains_key(&target),
            (Access::Locks(locks), None) => !locks.is_empty(),
            _ => false,
        };
        let name = epochs.access.name();
        drop(epochs);
        match (is_open, target) {
            (true, _) => Ok(()),
            (false, Some(target)) => {
                let what = format!("there is {name} and no lock of rank {target}");
                Err(self.wrong_epoch(&what, operation))
            }
            (false, None) => {
                let what = format!("there is {name} and no lock");
                Err(self.wrong_epoch(&what, operation))
            }
        }
    }

    /// Checks that no epoch is open, before the window is freed.
    pub(super) fn check_at_rest(&self, operation: Operation) -> Result<()> {
        let epochs = self.0.epochs.look();
        let access = match &epochs.access {
            Access::Fence { .. } => true,
            access => access.is_free(),
        };
        let (name, exposed) = (epochs.access.name(), epochs.exposed_to.is_some());
        drop(epochs);
        if !access {
            return Err(self.wrong_epoch(&format!("there is still {name}"), operation));
        }
        if exposed {
            let what = "there is still an exposure epoch of MPI_Win_post";
            return Err(self.wrong_epoch(what, operation));
        }
        Ok(())
    }
}
