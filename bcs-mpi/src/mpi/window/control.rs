//! How a rank changes the control words of others, and waits for its own.

use super::control_block::{
    COMPLETED, Change, FIRST_OF_RANKS, GRANTED, NEXT, OVERTAKERS, POSTED, STATE, TAIL, WOKEN,
    WORD_BYTES, of_rank,
};
use super::queue_lock::LockWord;
use super::state::Window;
use crate::mpi::error::{ErrorClass, Operation, Result};

impl Window {
    /// Changes a word that belongs to the lock of a target. Returns its previous contents.
    pub(super) fn change_lock_word(
        &self,
        target: usize,
        word: LockWord,
        change: Change,
        operation: Operation,
    ) -> Result<u64> {
        let (rank, word) = match word {
            LockWord::State => (target, STATE),
            LockWord::Tail => (target, TAIL),
            LockWord::Overtakers => (target, OVERTAKERS),
            LockWord::NextOf(rank) => (rank, of_rank(target, NEXT)),
            LockWord::GrantedOf(rank) => (rank, of_rank(target, GRANTED)),
            LockWord::WokenOf(rank) => (rank, of_rank(target, WOKEN)),
            LockWord::OwnNext | LockWord::OwnGranted | LockWord::OwnWoken => {
                unreachable!("own words are changed by others")
            }
        };
        let wakes = rank != target || word >= FIRST_OF_RANKS;
        self.change_word((rank, word), change, wakes, operation)
    }

    /// Tells an origin that this rank has posted an epoch for it.
    pub(super) fn tell_posted(&self, origin: usize, operation: Operation) -> Result<()> {
        let word = of_rank(self.me(), POSTED);
        let change = Change::Add(1);
        self.change_word((origin, word), change, true, operation)?;
        Ok(())
    }

    /// Tells a target that this rank has completed its epoch there.
    pub(super) fn tell_completed(&self, target: usize, operation: Operation) -> Result<()> {
        self.change_word((target, COMPLETED), Change::Add(1), true, operation)?;
        Ok(())
    }

    /// Changes a control word of a rank, and waits until that is done.
    fn change_word(
        &self,
        (rank, word): (usize, usize),
        change: Change,
        wakes_target: bool,
        operation: Operation,
    ) -> Result<u64> {
        let address = self.part(rank).control + WORD_BYTES * word as u64;
        self.change_word_at((rank, address), change, wakes_target, operation)
    }

    /// Returns the error for control words that were overwritten.
    pub(super) fn overwritten(&self, rank: usize, operation: Operation) -> Box<crate::mpi::Error> {
        let reason = format!(
            "the control words of rank {rank} in {} were overwritten: some rank writes where it has \
             no memory",
            self.title()
        );
        operation.error(ErrorClass::Intern, reason)
    }
}
