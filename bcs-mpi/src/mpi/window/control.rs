//! How a rank changes the control words of others, and waits for its own.
#![expect(unsafe_code, reason = "operands and results are named by address")]

use super::control_block::{
    COMPLETED, Change, FIRST_OF_RANKS, GRANTED, NEXT, POSTED, STATE, TAIL, WOKEN, WORD_BYTES,
    of_rank,
};
use super::queue_lock::LockWord;
use super::state::Window;
use crate::bcs::{Blocking, DataView};
use crate::mpi::error::{ErrorClass, Operation, Result};
use crate::transport::one_sided::{OneSided, OneSidedKind};
use bcs_core::one_sided::{Update, UpdateKind};
use bcs_core::reduction::{Datatype, Op};

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
        let (kind, operand, operands) = match change {
            Change::Store(value) | Change::Swap(value) => (UpdateKind::Replace, [value, 0], 1),
            Change::Add(value) => (UpdateKind::Reduce(Op::Sum), [value, 0], 1),
            Change::CompareAndSwap { compare, new } => {
                (UpdateKind::CompareAndSwap, [compare, new], 2)
            }
        };
        let fetches = !matches!(change, Change::Store(_));
        let mut found = [0u64];
        let bytes = |address: usize, count: usize| {
            // SAFETY: the words stay until the operation is done, at the end of this function, and
            // are not used before.
            unsafe { DataView::new(address as u64, count * size_of::<u64>(), None) }
        };
        let update = Update {
            kind,
            datatype: Datatype::Uint64,
            fetches,
        };
        let one_sided = OneSided {
            target: self.world_rank(rank),
            address: self.part(rank).control + WORD_BYTES * word as u64,
            len: WORD_BYTES,
            kind: OneSidedKind::Update(update),
            origin: bytes(operand.as_ptr().expose_provenance(), operands),
            result: bytes(found.as_mut_ptr().expose_provenance(), usize::from(fetches)),
            wakes_target,
        };
        let endpoint = self.process().endpoint();
        let posted = endpoint.bcs_one_sided(self.direct(), &one_sided);
        let posted = posted.map_err(|why| self.refusal(why, rank, operation))?;
        if !posted.is_complete() {
            let outcome = endpoint.bcs_test(Blocking::Yes, posted);
            let outcome = outcome.expect("it was waited for");
            self.check_outcome(&outcome, rank, operation)?;
        }
        Ok(found[0])
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
