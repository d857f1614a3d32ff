//! Which epochs of a window are open at this rank (MPI 5.0, 12.5).
//!
//! An access epoch allows operations: to all ranks (fence, lock of all), or to those of a group
//! (start) or with a lock. An exposure epoch allows those of others. Calls of the wrong kind are
//! errors, and change nothing.

use super::epoch_state::{Access, Permission};
use super::state::Window;
use crate::mpi::error::{Error, ErrorClass, Operation, Result};

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
            epochs.locks_follow_fence |= matches!(epochs.access, Access::Fence { .. })
                && matches!(access, Access::Locks(_) | Access::All(_));
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
            // Freeing completes the operations. Only a checked job insists on the closing fence.
            Access::Fence { .. } if !self.process().is_checked() => true,
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
