//! The control words of a window: one block in the memory of each rank, which the other ranks
//! change by one-sided operations.
//!
//! ```text
//! word  0      1     2           3           8 + 4 r
//!       state  tail  overtakers  completed   next, granted, woken, posted   of each rank r
//!       └──────── lock ───────┘  by origins  └ this rank in r's queue ┘ by r as a target
//! ```
//!
//! Both transports carry these operations, so one protocol synchronises ranks wherever they are.

use super::queue_lock::LockWord;
use std::sync::atomic::{AtomicU64, Ordering};

pub(super) const STATE: usize = 0;
pub(super) const TAIL: usize = 1;
pub(super) const OVERTAKERS: usize = 2;
pub(super) const COMPLETED: usize = 3;
/// The words of each rank begin on a cache line of their own.
pub(super) const FIRST_OF_RANKS: usize = 8;
pub(super) const WORDS_PER_RANK: usize = 4;
pub(super) const NEXT: usize = 0;
pub(super) const GRANTED: usize = 1;
pub(super) const WOKEN: usize = 2;
pub(super) const POSTED: usize = 3;

pub(super) const WORD_BYTES: u64 = size_of::<u64>() as u64;

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

/// Returns the index of a word of a rank.
pub(super) fn of_rank(rank: usize, word: usize) -> usize {
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
