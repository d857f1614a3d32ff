//! How a rank that holds other locks takes the shared lock of a target, as a state machine.
//!
//! `MPI_Win_lock_all` takes the locks of its targets one by one. A rank that holds some of them
//! does not wait in the queue of the next one ([`queue_lock`](super::queue_lock)): those before it
//! there may wait for ranks that wait for the locks that it holds. It counts as a holder at once,
//! even while the lock has an owner, and waits only until that owner leaves. No one else becomes
//! the owner meanwhile. An owner need not wait for anybody in the protocol; if its program waits
//! for this rank, the deadlock detector sees two ranks that wait for each other.
//!
//! **A list of those that wait** has its first member at the target, in the word `overtakers`. Each
//! member remembers the one below it. An owner that leaves takes the whole list off and wakes the
//! first member; each member wakes the one below it. So an owner needs two operations for any
//! number of them, and leaves a lock without overtakers by one.
//!
//! ```text
//!  overtaker                              owner
//!  count as a holder; an owner is there   ...
//!  enter the list                         leave: one addition; holders have waited
//!  look: is the owner there?              take the list off; wake its first member
//!    yes: wait for the wake-up
//!    no:  take the list off, wake its first member, and wait
//! ```
//!
//! **No wake-up is lost or sent twice.** A rank enters before it looks, and an owner leaves before
//! it takes the list off, each by operations on the target's words. So a rank that still sees the
//! owner is in a list that the owner takes later, or that somebody else has taken, who wakes it. A
//! rank that sees no owner takes the list off itself, if nobody has. Each entry is taken off once,
//! and causes one wake-up, for which its rank waits: the word is free for the next use.
//!
//! **A wake-up is a hint.** A late owner may take the list off after ranks have entered it because
//! of the next owner. So a rank that was woken looks again, and enters again if it has to.

use super::queue_lock::{HOLDER, LockState, LockStep, LockWord, OverwrittenWord, other_rank};

/// A rank that takes the shared lock without the queue, because it holds other locks.
#[derive(Clone, Debug)]
pub(super) struct Overtake {
    me: u64,
    ranks: usize,
    /// The state that the next attempt expects.
    expected: u64,
    /// The member of the list below this one.
    below: Option<usize>,
    stage: OvertakeStage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OvertakeStage {
    Try,
    /// The head is about to take the lock alone.
    AwaitHead,
    // From here on it counts as a holder.
    Clear,
    Enter,
    LookForOwner,
    TakeList,
    WakeFirst(usize),
    AwaitWake {
        owner: Option<usize>,
    },
    WakeBelow(usize),
    LookAgain,
    Over,
}

impl Overtake {
    /// Begins for a rank among `ranks`.
    pub(super) fn new(me: usize, ranks: usize) -> Self {
        Self {
            me: me as u64 + 1,
            ranks,
            expected: 0,
            below: None,
            stage: OvertakeStage::Try,
        }
    }

    /// Returns the first step.
    pub(super) fn begin(&self) -> LockStep {
        self.step()
    }

    fn step(&self) -> LockStep {
        match self.stage {
            OvertakeStage::Try => LockStep::CompareAndSwap {
                word: LockWord::State,
                compare: self.expected,
                new: self.expected.wrapping_add(HOLDER),
            },
            OvertakeStage::AwaitHead => LockStep::Look(LockWord::State),
            // Before anybody can find this rank in the list.
            OvertakeStage::Clear => LockStep::Clear,
            OvertakeStage::Enter => LockStep::Swap(LockWord::Overtakers, self.me),
            OvertakeStage::LookForOwner | OvertakeStage::LookAgain => {
                LockStep::Add(LockWord::State, 0)
            }
            OvertakeStage::TakeList => LockStep::Swap(LockWord::Overtakers, 0),
            OvertakeStage::WakeFirst(rank) | OvertakeStage::WakeBelow(rank) => {
                LockStep::Store(LockWord::WokenOf(rank), 1)
            }
            OvertakeStage::AwaitWake { owner } => LockStep::Wait(LockWord::OwnWoken, owner),
            OvertakeStage::Over => LockStep::Done,
        }
    }

    /// Takes what the last step has found, and returns the next one.
    ///
    /// # Errors
    /// When a word that names a rank was overwritten.
    pub(super) fn found(&mut self, word: u64) -> Result<LockStep, OverwrittenWord> {
        let owner = LockState(word).owner();
        self.stage = match self.stage {
            OvertakeStage::Try if word == self.expected => after_look(owner),
            OvertakeStage::Try | OvertakeStage::AwaitHead => self.before_entry(word),
            OvertakeStage::Clear => OvertakeStage::Enter,
            OvertakeStage::Enter => {
                self.below = match word {
                    0 => None,
                    below => Some(self.rank(below)?),
                };
                OvertakeStage::LookForOwner
            }
            OvertakeStage::LookForOwner if owner == 0 => OvertakeStage::TakeList,
            OvertakeStage::LookForOwner => OvertakeStage::AwaitWake {
                owner: Some(self.rank(owner)?),
            },
            // Somebody else has taken the list off, and wakes this rank.
            OvertakeStage::TakeList if word == 0 => OvertakeStage::AwaitWake { owner: None },
            OvertakeStage::TakeList if word == self.me => self.wake_below(),
            OvertakeStage::TakeList => OvertakeStage::WakeFirst(self.rank(word)?),
            OvertakeStage::WakeFirst(_) => OvertakeStage::AwaitWake { owner: None },
            OvertakeStage::AwaitWake { .. } => self.wake_below(),
            OvertakeStage::WakeBelow(_) => OvertakeStage::LookAgain,
            OvertakeStage::LookAgain => after_look(owner),
            OvertakeStage::Over => OvertakeStage::Over,
        };
        Ok(self.step())
    }

    /// Returns what to do before this rank counts as a holder.
    fn before_entry(&mut self, word: u64) -> OvertakeStage {
        let state = LockState(word);
        // A head that finds the lock free, or was woken, takes it without a further look.
        let head_takes = state.head() != 0
            && !state.head_is_shared()
            && state.owner() == 0
            && state.holders() == 0;
        if head_takes {
            return OvertakeStage::AwaitHead;
        }
        self.expected = word;
        OvertakeStage::Try
    }

    fn wake_below(&mut self) -> OvertakeStage {
        let below = self.below.take();
        below.map_or(OvertakeStage::LookAgain, OvertakeStage::WakeBelow)
    }

    fn rank(&self, word: u64) -> Result<usize, OverwrittenWord> {
        other_rank(word, self.me, self.ranks)
    }
}

/// Returns what a holder does that has looked for an owner.
fn after_look(owner: u64) -> OvertakeStage {
    match owner {
        0 => OvertakeStage::Over,
        _ => OvertakeStage::Clear,
    }
}
