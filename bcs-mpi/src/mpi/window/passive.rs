//! Passive target synchronisation: locks and flushes (MPI 5.0, 12.5.3 and 12.5.4).

use super::epoch_state::{Access, HeldLock, LockedAll};
use super::queue_lock::LockKind;
use super::state::Window;
use super::{Assertions, NOCHECK};
use crate::call_site;
use crate::mpi::Result;
use crate::mpi::error::{Operation, Peer};
use crate::recording::{CallTiming, Primitive, Site};
use bcs_core::lockstep;
use bcs_core::wake::waiting;
use std::collections::BTreeMap;
use std::sync::atomic::{Ordering, fence};
use std::sync::{Arc, Mutex};

fn at(call: &'static str, rank: i32) -> Operation {
    Operation {
        peer: Some(Peer::To(rank)),
        ..Operation::plain(call)
    }
}

impl Window {
    /// `MPI_Win_lock`: begins an access epoch at one rank.
    ///
    /// # Errors
    /// When an epoch is open that excludes it, or the rank is locked by this one already.
    #[track_caller]
    pub fn lock(&self, kind: LockKind, rank: i32, assertions: Assertions) -> Result<()> {
        let operation = at("MPI_Win_lock", rank);
        let _at = call_site::enter(Site::here());
        self.record((Primitive::WinLock, CallTiming::Waits), &operation, || {
            self.usable(operation)?;
            let Some(target) = self.target(rank, operation)? else {
                return Ok(());
            };
            let unchecked = assertions & NOCHECK != 0;
            self.reserve_lock(target, (kind, unchecked), operation)?;
            let taken = match unchecked {
                true => Ok(()),
                false => self.acquire(target, kind, operation),
            };
            self.settle_lock(target, taken.is_ok());
            taken
        })
    }

    /// Records that a lock is being taken, if that is allowed.
    fn reserve_lock(
        &self,
        target: usize,
        (kind, unchecked): (LockKind, bool),
        operation: Operation,
    ) -> Result<()> {
        let mut epochs = self.0.epochs.lock();
        let held = HeldLock {
            kind,
            unchecked,
            is_changing: true,
        };
        match &mut epochs.access {
            Access::Locks(locks) => {
                if locks.contains_key(&target) {
                    drop(epochs);
                    let what = format!("this rank has locked rank {target} already");
                    return Err(self.wrong_epoch(&what, operation));
                }
                locks.insert(target, held);
                Ok(())
            }
            _ => {
                drop(epochs);
                let locks = BTreeMap::from([(target, held)]);
                self.begin_access(Access::Locks(locks), operation)
            }
        }
    }

    /// Records that a lock was taken, or was not.
    fn settle_lock(&self, target: usize, is_held: bool) {
        let mut epochs = self.0.epochs.lock();
        if let Access::Locks(locks) = &mut epochs.access {
            match (locks.get_mut(&target), is_held) {
                (Some(held), true) => held.is_changing = false,
                (Some(_), false) => {
                    locks.remove(&target);
                }
                (None, _) => {}
            }
            if locks.is_empty() {
                epochs.access = Access::None;
            }
        }
    }

    /// `MPI_Win_unlock`: ends the epoch. All its operations are complete then, here and there.
    ///
    /// # Errors
    /// When there is no such lock, or an operation has failed.
    #[track_caller]
    pub fn unlock(&self, rank: i32) -> Result<()> {
        let operation = at("MPI_Win_unlock", rank);
        let _at = call_site::enter(Site::here());
        self.record(
            (Primitive::WinUnlock, CallTiming::Waits),
            &operation,
            || {
                self.usable(operation)?;
                let Some(target) = self.target(rank, operation)? else {
                    return Ok(());
                };
                let held = {
                    let mut epochs = self.0.epochs.lock();
                    let held = match &mut epochs.access {
                        Access::Locks(locks) => locks.get_mut(&target),
                        _ => None,
                    };
                    let held = held.filter(|held| !held.is_changing);
                    held.map(|held| {
                        held.is_changing = true;
                        *held
                    })
                };
                let Some(held) = held else {
                    let what = format!("this rank has not locked rank {target}");
                    return Err(self.wrong_epoch(&what, operation));
                };
                let ended = self.give_back(target, held, operation);
                self.settle_lock(target, false);
                ended
            },
        )
    }

    /// `MPI_Win_lock_all`: begins an access epoch at all ranks, which it shares with others. The
    /// lock of a rank is taken before the first operation there.
    ///
    /// # Errors
    /// When an epoch is open that excludes it.
    #[track_caller]
    pub fn lock_all(&self, assertions: Assertions) -> Result<()> {
        let operation = Operation::plain("MPI_Win_lock_all");
        let _at = call_site::enter(Site::here());
        self.record(
            (Primitive::WinLockAll, CallTiming::Waits),
            &operation,
            || {
                self.usable(operation)?;
                let ranks = match assertions & NOCHECK {
                    0 => self.ranks(),
                    _ => 0,
                };
                let taken = (0..ranks).map(|_| Mutex::new(false)).collect();
                let all = Arc::new(LockedAll { taken });
                self.begin_access(Access::All(all.clone()), operation)?;
                // Loads and stores of this rank's own memory need no call, so nothing would take
                // this lock later.
                let own = self.acquire_in(&all, self.me(), operation);
                if own.is_err() {
                    self.0.epochs.lock().access = Access::None;
                }
                own
            },
        )
    }

    /// `MPI_Win_unlock_all`: ends the epoch. All its operations are complete then.
    ///
    /// # Errors
    /// When there is no such epoch, or an operation has failed.
    #[track_caller]
    pub fn unlock_all(&self) -> Result<()> {
        let operation = Operation::plain("MPI_Win_unlock_all");
        let _at = call_site::enter(Site::here());
        self.record(
            (Primitive::WinUnlockAll, CallTiming::Waits),
            &operation,
            || {
                self.usable(operation)?;
                let all = {
                    let mut epochs = self.0.epochs.lock();
                    match std::mem::take(&mut epochs.access) {
                        Access::All(all) => Ok(all),
                        other => {
                            epochs.access = other;
                            Err(())
                        }
                    }
                };
                let all = all.map_err(|()| self.no_such_epoch(operation))?;
                let mut ended = self.complete_all();
                for (target, taken) in all.taken.iter().enumerate() {
                    if *lockstep::lock(taken) {
                        let released = self.release(target, LockKind::Shared, operation);
                        ended = ended.and(released);
                    }
                }
                ended
            },
        )
    }

    /// `MPI_Win_flush`: waits until all operations at a rank are complete, here and there.
    ///
    /// # Errors
    /// When there is no lock, or an operation has failed.
    #[track_caller]
    pub fn flush(&self, rank: i32) -> Result<()> {
        self.flush_at(at("MPI_Win_flush", rank), rank)
    }

    /// `MPI_Win_flush_local`: waits until the buffers of operations may be used again.
    ///
    /// # Errors
    /// As [`flush`](Self::flush), which this is.
    #[track_caller]
    pub fn flush_local(&self, rank: i32) -> Result<()> {
        self.flush_at(at("MPI_Win_flush_local", rank), rank)
    }

    #[track_caller]
    fn flush_at(&self, operation: Operation, rank: i32) -> Result<()> {
        if self.is_flushed(rank) {
            return Ok(());
        }
        let _at = call_site::enter(Site::here());
        self.record((Primitive::WinFlush, CallTiming::Waits), &operation, || {
            self.usable(operation)?;
            let Some(target) = self.target(rank, operation)? else {
                return Ok(());
            };
            self.check_passive(Some(target), operation)?;
            let ended = self.complete_at(target);
            self.make_progress();
            ended
        })
    }

    /// `MPI_Win_flush_all`: waits until all operations are complete.
    ///
    /// # Errors
    /// As [`flush`](Self::flush).
    #[track_caller]
    pub fn flush_all(&self) -> Result<()> {
        self.flush_everywhere(Operation::plain("MPI_Win_flush_all"))
    }

    /// `MPI_Win_flush_local_all`.
    ///
    /// # Errors
    /// As [`flush`](Self::flush).
    #[track_caller]
    pub fn flush_local_all(&self) -> Result<()> {
        self.flush_everywhere(Operation::plain("MPI_Win_flush_local_all"))
    }

    #[track_caller]
    fn flush_everywhere(&self, operation: Operation) -> Result<()> {
        let _at = call_site::enter(Site::here());
        self.record((Primitive::WinFlush, CallTiming::Waits), &operation, || {
            self.usable(operation)?;
            self.check_passive(None, operation)?;
            let ended = self.complete_all();
            self.make_progress();
            ended
        })
    }

    /// `MPI_Win_sync`: orders the loads and stores of this rank before and after it, and those of
    /// others that it can see. The window's memory has one copy (`MPI_WIN_UNIFIED`).
    ///
    /// # Errors
    /// When the window was freed.
    #[track_caller]
    pub fn sync(&self) -> Result<()> {
        let operation = Operation::plain("MPI_Win_sync");
        self.usable(operation)?;
        self.release_accesses();
        fence(Ordering::SeqCst);
        self.make_progress();
        // A program that waits for a store of another rank calls it again and again.
        waiting::give_way(&self.process().endpoint().page);
        Ok(())
    }

    /// Makes progress (law 5).
    pub(super) fn make_progress(&self) {
        self.process().endpoint().poll_once();
    }
}
