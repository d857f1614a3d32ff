//! Active target synchronisation: fences, and epochs with groups (MPI 5.0, 12.5.1 and 12.5.2).

use super::epoch_state::Access;
use super::state::Window;
use super::{Assertions, NOCHECK, NOPRECEDE, NOSUCCEED};
use crate::bcs::Blocking;
use crate::call_site;
use crate::mpi::error::{ErrorClass, Operation, Result};
use crate::mpi::{Group, UNDEFINED};
use crate::recording::{CallTiming, Primitive, Site};
use bcs_core::wait_state::WaitReason;
use bcs_core::wake::waiting;

impl Window {
    /// `MPI_Win_fence`: ends an epoch of all ranks, and begins the next one.
    ///
    /// # Errors
    /// When an epoch of another kind is open, or an operation has failed.
    #[track_caller]
    pub fn fence(&self, assertions: Assertions) -> Result<()> {
        let operation = Operation::plain("MPI_Win_fence");
        let site = Site::here();
        let _at = call_site::enter(site);
        self.record((Primitive::WinFence, CallTiming::Waits), &operation, || {
            self.usable(operation)?;
            {
                let epochs = self.0.epochs.look();
                let is_free = match &epochs.access {
                    Access::None | Access::Fence { .. } => true,
                    Access::Locks(locks) => locks.is_empty(),
                    Access::Started(_) | Access::All(_) => false,
                };
                drop(epochs);
                if !is_free {
                    return Err(self.no_such_epoch(operation));
                }
            }
            self.check_between_fences(assertions, operation)?;
            let ended = self.complete_all();
            // A rank that says that no operation precedes has nothing to wait for (12.5.5). It
            // still has to know that the others are ready for the operations that follow.
            let both = NOPRECEDE | NOSUCCEED;
            let entered = match assertions & both {
                ends if ends == both => Ok(()),
                _ => self.0.comm.barrier_of_window(operation.call, site),
            };
            self.0.epochs.lock().access = match assertions & NOSUCCEED {
                0 => Access::Fence { used: false },
                _ => Access::None,
            };
            ended.and(entered)
        })
    }

    /// Checks that no operation under a lock lies between two fences: the fences make an epoch of
    /// such operations, which then overlaps that of the lock (12.5.1).
    fn check_between_fences(&self, assertions: Assertions, operation: Operation) -> Result<()> {
        let mut epochs = self.0.epochs.lock();
        let operates = std::mem::take(&mut epochs.operates_between_fences);
        epochs.locks_follow_fence = false;
        drop(epochs);
        if operates && assertions & NOPRECEDE == 0 {
            let what = "since the last fence this rank has accessed others under locks: that fence is \
                        MPI_MODE_NOSUCCEED, or this one is MPI_MODE_NOPRECEDE";
            return Err(self.wrong_epoch(what, operation));
        }
        Ok(())
    }

    /// `MPI_Win_post`: lets the ranks of a group access this rank's memory. It does not wait.
    ///
    /// # Errors
    /// When such an epoch is open, or the group has members outside of the window.
    #[track_caller]
    pub fn post(&self, group: &Group, assertions: Assertions) -> Result<()> {
        let operation = Operation::plain("MPI_Win_post");
        self.record((Primitive::WinPost, CallTiming::Asks), &operation, || {
            self.usable(operation)?;
            let origins = self.members(group, operation)?;
            {
                let mut epochs = self.0.epochs.lock();
                if epochs.exposed_to.is_some() {
                    drop(epochs);
                    let what = "this rank has posted an epoch, and not waited for its end,";
                    return Err(self.wrong_epoch(what, operation));
                }
                epochs.exposed_to = Some(origins.clone());
            }
            self.expose_accesses();
            // With MPI_MODE_NOCHECK origins do not look, but their counts go on.
            let _unchecked = assertions & NOCHECK;
            for origin in origins {
                self.tell_posted(origin, operation)?;
            }
            Ok(())
        })
    }

    /// `MPI_Win_start`: begins an access epoch at the ranks of a group. It waits until all of them
    /// have posted it.
    ///
    /// # Errors
    /// When an epoch is open that excludes it, or the group has members outside of the window.
    #[track_caller]
    pub fn start(&self, group: &Group, assertions: Assertions) -> Result<()> {
        let operation = Operation::plain("MPI_Win_start");
        let _at = call_site::enter(Site::here());
        self.record((Primitive::WinStart, CallTiming::Waits), &operation, || {
            self.usable(operation)?;
            let targets = self.members(group, operation)?;
            self.begin_access(Access::Started(targets.clone()), operation)?;
            let counts: Vec<(usize, u64)> = {
                let mut epochs = self.0.epochs.lock();
                let count = |target: usize| {
                    let started = epochs.started.entry(target).or_insert(0);
                    *started += 1;
                    (target, *started)
                };
                targets.into_iter().map(count).collect()
            };
            if assertions & NOCHECK != 0 {
                return Ok(()); // The program knows that they have posted.
            }
            for (target, count) in counts {
                let reason = WaitReason::WindowPost(self.peer(Some(target), None));
                let control = &self.0.control;
                let posted = || (control.posted(target) >= count).then_some(());
                self.process().endpoint().wait_for_word(reason, posted);
            }
            Ok(())
        })
    }

    /// `MPI_Win_complete`: ends the access epoch. Its operations are complete then.
    ///
    /// # Errors
    /// When there is no such epoch, or an operation has failed.
    #[track_caller]
    pub fn complete(&self) -> Result<()> {
        let operation = Operation::plain("MPI_Win_complete");
        let _at = call_site::enter(Site::here());
        self.record(
            (Primitive::WinComplete, CallTiming::Waits),
            &operation,
            || {
                self.usable(operation)?;
                let targets = {
                    let mut epochs = self.0.epochs.lock();
                    match std::mem::take(&mut epochs.access) {
                        Access::Started(targets) => Ok(targets),
                        other => {
                            epochs.access = other;
                            Err(())
                        }
                    }
                };
                let targets = targets.map_err(|()| self.no_such_epoch(operation))?;
                self.release_accesses();
                let mut ended = Ok(());
                for target in targets {
                    let complete = self.complete_at(target);
                    // The target waits for this rank, whether or not an operation has failed.
                    let told = self.tell_completed(target, operation);
                    ended = ended.and(complete).and(told);
                }
                ended
            },
        )
    }

    /// `MPI_Win_wait`: waits until all origins have completed their epochs at this rank.
    ///
    /// # Errors
    /// When there is no exposure epoch.
    #[track_caller]
    pub fn wait(&self) -> Result<()> {
        let operation = Operation::plain("MPI_Win_wait");
        let _at = call_site::enter(Site::here());
        self.record((Primitive::WinWait, CallTiming::Waits), &operation, || {
            self.wait_or_test(Blocking::Yes, operation).map(|_| ())
        })
    }

    /// `MPI_Win_test`: returns whether all origins have completed their epochs. The exposure epoch
    /// has ended then.
    ///
    /// # Errors
    /// When there is no exposure epoch.
    #[track_caller]
    pub fn test(&self) -> Result<bool> {
        let operation = Operation::plain("MPI_Win_test");
        self.record((Primitive::WinTest, CallTiming::Asks), &operation, || {
            self.wait_or_test(Blocking::No, operation)
        })
    }

    fn wait_or_test(&self, blocking: Blocking, operation: Operation) -> Result<bool> {
        self.usable(operation)?;
        let (origins, expected) = {
            let epochs = self.0.epochs.look();
            let Some(origins) = epochs.exposed_to.clone() else {
                drop(epochs);
                let what = "this rank has posted no epoch";
                return Err(self.wrong_epoch(what, operation));
            };
            let expected = epochs.completed + origins.len() as u64;
            (origins, expected)
        };
        let is_over = || self.0.control.completed() >= expected;
        if blocking == Blocking::Yes {
            let from = match origins[..] {
                [origin] => Some(origin),
                _ => None,
            };
            let reason = WaitReason::WindowComplete(self.peer(from, None));
            let over = || is_over().then_some(());
            self.process().endpoint().wait_for_word(reason, over);
        } else if !is_over() {
            self.make_progress();
            waiting::give_way(&self.process().endpoint().page);
            return Ok(false);
        }
        let mut epochs = self.0.epochs.lock();
        epochs.exposed_to = None;
        epochs.completed = expected;
        Ok(true)
    }

    /// Returns the ranks in the window of the members of a group, in order.
    fn members(&self, group: &Group, operation: Operation) -> Result<Vec<usize>> {
        let ranks = group.translate_all(&self.group());
        let mut members = Vec::with_capacity(ranks.len());
        for (nth, rank) in ranks.into_iter().enumerate() {
            if rank == UNDEFINED {
                let reason = format!("member {nth} of the group is no rank of {}", self.title());
                return Err(operation.error(ErrorClass::Group, reason));
            }
            members.push(usize::try_from(rank).expect("it is a rank"));
        }
        members.sort_unstable();
        Ok(members)
    }
}
