//! The control words of a window: one block in the memory of each rank, which the other ranks
//! change by one-sided operations.
//!
//! ```text
//! word  0      1     2          8 + 4 r
//!       state  tail  completed  next, granted, woken, posted   of each rank r
//!       └ lock ┘     by origins └ this rank in r's queue ┘ by r as a target
//! ```
//!
//! Both transports carry these operations, so one protocol synchronises ranks wherever they are.
#![expect(unsafe_code, reason = "operands and results are named by address")]

use super::queue_lock::LockWord;
use super::state::Window;
use crate::bcs::{Blocking, DataView};
use crate::mpi::error::{ErrorClass, Operation, Result};
use crate::transport::one_sided::{OneSided, OneSidedKind};
use bcs_core::one_sided::{Update, UpdateKind};
use bcs_core::reduction::{Datatype, Op};
use std::sync::atomic::{AtomicU64, Ordering};

const STATE: usize = 0;
const TAIL: usize = 1;
const COMPLETED: usize = 2;
/// The words of each rank begin on a cache line of their own.
const FIRST_OF_RANKS: usize = 8;
const WORDS_PER_RANK: usize = 4;
const NEXT: usize = 0;
const GRANTED: usize = 1;
const WOKEN: usize = 2;
const POSTED: usize = 3;

const WORD_BYTES: u64 = size_of::<u64>() as u64;

/// The control words of this rank.
#[derive(Debug, Default)]
pub(super) struct ControlBlock(Box<[AtomicU64]>);

impl ControlBlock {
    /// Makes the block of a rank among `ranks`.
    pub(super) fn new(ranks: usize) -> Self {
        let words = FIRST_OF_RANKS + WORDS_PER_RANK * ranks;
        Self((0..words).map(|_| AtomicU64::new(0)).collect())
    }

    /// Returns the address that the other ranks are told.
    pub(super) fn address(&self) -> u64 {
        self.0.as_ptr().expose_provenance() as u64
    }

    fn of_rank(&self, rank: usize, word: usize) -> &AtomicU64 {
        &self.0[of_rank(rank, word)]
    }

    /// Returns how often a target has posted an epoch for this origin.
    pub(super) fn posted(&self, target: usize) -> u64 {
        self.of_rank(target, POSTED).load(Ordering::Acquire)
    }

    /// Returns how often origins have completed their epochs at this target.
    pub(super) fn completed(&self) -> u64 {
        self.0[COMPLETED].load(Ordering::Acquire)
    }

    /// Clears this origin's words in the queue of a target, before it enters it.
    pub(super) fn clear_queue(&self, target: usize) {
        for word in [NEXT, GRANTED, WOKEN] {
            self.of_rank(target, word).store(0, Ordering::Relaxed);
        }
    }

    /// Reads an own word of this origin in the queue of a target.
    pub(super) fn own(&self, target: usize, word: LockWord) -> u64 {
        let word = match word {
            LockWord::OwnNext => NEXT,
            LockWord::OwnGranted => GRANTED,
            _ => WOKEN,
        };
        self.of_rank(target, word).load(Ordering::Acquire)
    }
}

fn of_rank(rank: usize, word: usize) -> usize {
    FIRST_OF_RANKS + WORDS_PER_RANK * rank + word
}

/// A change of a control word.
#[derive(Clone, Copy, Debug)]
pub(super) enum Change {
    Store(u64),
    Swap(u64),
    Add(u64),
    CompareAndSwap { compare: u64, new: u64 },
}

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
