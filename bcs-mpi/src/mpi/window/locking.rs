//! How a rank takes and gives back the lock of a target: it executes the steps of
//! [`queue_lock`](super::queue_lock).

use super::control_block::Change;
use super::epoch_state::{HeldLock, LockedAll};
use super::overtake::Overtake;
use super::queue_lock::{Acquire, LockKind, LockStep, LockWord, OverwrittenWord, Release};
use super::state::Window;
use crate::bcs::Blocking;
use crate::endpoint::WaitTarget;
use crate::mpi::error::{Operation, Result};
use bcs_core::lockstep;
use bcs_core::wait_state::WaitReason;

impl Window {
    /// Takes the lock of a target, or waits until this rank has it.
    pub(super) fn acquire(
        &self,
        target: usize,
        kind: LockKind,
        operation: Operation,
    ) -> Result<()> {
        let mut acquire = Acquire::new(self.me(), self.ranks(), kind);
        let first = acquire.begin();
        self.execute(target, first, operation, |found| acquire.found(found))
    }

    /// Gives back the lock of a target.
    pub(super) fn release(
        &self,
        target: usize,
        kind: LockKind,
        operation: Operation,
    ) -> Result<()> {
        let mut release = Release::new(self.me(), self.ranks(), kind);
        let first = release.begin();
        self.execute(target, first, operation, |found| release.found(found))
    }

    /// Executes steps until the operation is over.
    fn execute(
        &self,
        target: usize,
        first: LockStep,
        operation: Operation,
        mut next: impl FnMut(u64) -> std::result::Result<LockStep, OverwrittenWord>,
    ) -> Result<()> {
        let mut step = first;
        loop {
            let change = |word, change| self.change_lock_word(target, word, change, operation);
            let found = match step {
                LockStep::CompareAndSwap { word, compare, new } => {
                    change(word, Change::CompareAndSwap { compare, new })?
                }
                LockStep::Add(word, value) => change(word, Change::Add(value))?,
                LockStep::Swap(word, value) => change(word, Change::Swap(value))?,
                LockStep::Store(word, value) => change(word, Change::Store(value))?,
                LockStep::Clear => {
                    self.0.control.clear_queue(target);
                    0
                }
                LockStep::Load(word) => self.0.control.own(target, word),
                LockStep::Look(word) => {
                    self.poll_for_lock(target);
                    change(word, Change::Add(0))?
                }
                LockStep::Wait(word, whom) => self.wait_in_queue(target, word, whom),
                LockStep::Done => return Ok(()),
            };
            step = next(found).map_err(|_| self.overwritten(target, operation))?;
        }
    }

    /// Makes progress and gives the core away, as a test in vain does. A rank polls only while the
    /// head of the queue takes the lock, which waits for nobody then.
    fn poll_for_lock(&self, target: usize) {
        let reason = WaitReason::WindowLock(self.peer(None, Some(target)));
        let endpoint = self.process().endpoint();
        endpoint.poll_or_wait(Blocking::No, WaitTarget::Wait(reason), |_| None::<()>);
    }

    /// Waits until a word of this rank is set by those before it, or by the owner.
    fn wait_in_queue(&self, target: usize, word: LockWord, whom: Option<usize>) -> u64 {
        let reason = WaitReason::WindowLock(self.peer(whom, Some(target)));
        let endpoint = self.process().endpoint();
        endpoint.wait_for_word(reason, || {
            let found = self.0.control.own(target, word);
            (found != 0).then_some(found)
        })
    }

    /// Takes the shared lock of a target in an epoch of all locks, unless that was done.
    pub(super) fn acquire_in(
        &self,
        all: &LockedAll,
        target: usize,
        operation: Operation,
    ) -> Result<()> {
        let Some(taken) = all.taken.get(target) else {
            return Ok(());
        };
        let mut taken = lockstep::lock(taken);
        if *taken {
            return Ok(());
        }
        // The own lock comes first. From then on this rank holds one while it takes the next.
        if target == self.me() {
            self.acquire(target, LockKind::Shared, operation)?;
        } else {
            let mut overtake = Overtake::new(self.me(), self.ranks());
            let first = overtake.begin();
            self.execute(target, first, operation, |found| overtake.found(found))?;
        }
        *taken = true;
        Ok(())
    }

    /// Gives back a lock, after all operations at its target are complete.
    pub(super) fn give_back(
        &self,
        target: usize,
        held: HeldLock,
        operation: Operation,
    ) -> Result<()> {
        let ended = self.complete_at(target);
        if held.kind == LockKind::Exclusive {
            // The next one who locks the target knows that this rank has come so far.
            self.release_accesses();
        }
        if !held.unchecked {
            self.release(target, held.kind, operation)?;
        }
        ended
    }
}
