//! The lock of a window at one target, as a state machine (MPI 5.0, 12.5.3).
//!
//! The lock is fair: ranks get it in the order in which they have entered a queue, and nobody polls
//! memory of another rank. It is made of words, and each step is one operation on one word:
//!
//! ```text
//! at the target    state   holders: 16 bits │ queued: 16 │ head: 15, is it shared: 1 │ owner: 16
//!                  tail    the rank that was the last to enter the queue
//! at each origin   next    the rank behind it in the queue of that target
//!                  granted it is at the head of the queue
//!                  woken   the holders for which it has waited at the head have left
//! ```
//!
//! A rank is a number plus one, so that 0 is nobody. The *owner* holds the lock alone, and
//! *holders* share it.
//!
//! **Without a queue**, one compare-and-swap of `state` takes the lock, and one addition gives it
//! back. **Otherwise** a rank adds itself to `queued`. From then on nobody takes the lock without
//! the queue, so nobody is overtaken. It swaps itself into `tail`, links itself behind its
//! predecessor, and waits until that has made it the *head*. The head registers in `state`. If the
//! lock is held in a way that excludes it, it waits until the last one that leaves wakes it. Then
//! it takes the lock, and passes its place at the head on at once. (These queues are those of
//! Mellor-Crummey and Scott, 1991. Here they order who is the next one to take the lock, and not
//! who holds it. So holders may share it, and a rank that leaves needs one operation.)
//!
//! **No wake-up is lost or sent twice.** Registering and leaving are additions to one word, so one
//! of them comes first. A head that finds the lock free in what its addition returns waits for
//! nothing. Otherwise somebody who excludes it leaves later, finds it registered, and is the only
//! one to do so: while a head is registered, nobody else takes the lock.
//!
//! Other ranks may overwrite these words. Numbers in them are checked before they are used as
//! ranks.

/// How a lock is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockKind {
    /// `MPI_LOCK_SHARED`: others may share it.
    Shared,
    /// `MPI_LOCK_EXCLUSIVE`: nobody else has it.
    Exclusive,
}

const HOLDER: u64 = 1;
const QUEUED: u64 = 1 << 16;
const HEAD_SHIFT: u32 = 32;
const HEAD_IS_SHARED: u64 = 1 << 47;
const OWNER_SHIFT: u32 = 48;

/// The most ranks of a window: a head has 15 bits.
pub(super) const MOST_RANKS: usize = (1 << 15) - 2;

const _: () = assert!(bcs_core::limits::MAX_RANKS <= MOST_RANKS);

/// The meaning of a `state` word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LockState(u64);

impl LockState {
    fn holders(self) -> u64 {
        self.0 & 0xffff
    }

    fn queued(self) -> u64 {
        self.0 >> 16 & 0xffff
    }

    /// Returns the rank at the head, plus one.
    fn head(self) -> u64 {
        self.0 >> HEAD_SHIFT & 0x7fff
    }

    fn head_is_shared(self) -> bool {
        self.0 & HEAD_IS_SHARED != 0
    }

    /// Returns the rank that holds the lock alone, plus one.
    fn owner(self) -> u64 {
        self.0 >> OWNER_SHIFT
    }

    /// Returns whether a shared lock can be taken without the queue.
    fn is_open_for_shared(self) -> bool {
        self.owner() == 0 && self.head() == 0 && self.queued() == 0
    }
}

/// A word that a step uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LockWord {
    /// The target's state.
    State,
    /// The target's tail of the queue.
    Tail,
    /// The link of another origin to the rank behind it.
    NextOf(usize),
    /// The word that makes another origin the head.
    GrantedOf(usize),
    /// The word that wakes the head.
    WokenOf(usize),
    /// The same words of this origin.
    OwnNext,
    OwnGranted,
    OwnWoken,
}

/// The next step of a rank. The driver executes it, and passes on what it has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LockStep {
    /// Replace a word if it equals `compare`. The previous contents are wanted.
    CompareAndSwap {
        word: LockWord,
        compare: u64,
        new: u64,
    },
    /// Add to a word, modulo 2^64. The previous contents are wanted.
    Add(LockWord, u64),
    /// Replace a word. The previous contents are wanted.
    Swap(LockWord, u64),
    /// Store into a word of another origin, which waits for it.
    Store(LockWord, u64),
    /// Set the own words to 0.
    Clear,
    /// Read an own word.
    Load(LockWord),
    /// Wait until an own word is not 0, and read it. The rank is the one that is waited for, if it
    /// is known.
    Wait(LockWord, Option<usize>),
    /// The operation is over.
    Done,
}

/// A word holds a number that no rank has: some rank has overwritten it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OverwrittenWord(pub(super) u64);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LockStage {
    Try,
    Clear,
    Announce,
    Swap,
    Link { before: usize },
    AwaitGrant { before: usize },
    Register,
    AwaitWake { owner: Option<usize> },
    Take,
    LookBehind,
    LeaveQueue,
    AwaitLink,
    PassOn { to: usize },
    Over,
}

/// A rank that takes the lock.
#[derive(Clone, Debug)]
pub(super) struct Acquire {
    me: u64,
    ranks: usize,
    kind: LockKind,
    stage: LockStage,
    /// The state that the next attempt expects.
    expected: u64,
}

impl Acquire {
    /// Begins for a rank among `ranks`.
    pub(super) fn new(me: usize, ranks: usize, kind: LockKind) -> Self {
        Self {
            me: me as u64 + 1,
            ranks,
            kind,
            stage: LockStage::Try,
            expected: 0,
        }
    }

    /// Returns the first step.
    pub(super) fn begin(&self) -> LockStep {
        self.step()
    }

    /// Returns what holding the lock adds to `state`.
    fn taken(&self) -> u64 {
        taken(self.me, self.kind)
    }

    /// Returns what being the head adds to `state`.
    fn head(&self) -> u64 {
        let shared = match self.kind {
            LockKind::Shared => HEAD_IS_SHARED,
            LockKind::Exclusive => 0,
        };
        self.me << HEAD_SHIFT | shared
    }

    fn step(&self) -> LockStep {
        use LockStep::{Add, Clear, CompareAndSwap, Done, Load, Store, Swap, Wait};
        match self.stage {
            LockStage::Try => CompareAndSwap {
                word: LockWord::State,
                compare: self.expected,
                new: self.expected.wrapping_add(self.taken()),
            },
            // Before anybody can find this rank in the queue.
            LockStage::Clear => Clear,
            LockStage::Announce => Add(LockWord::State, QUEUED),
            LockStage::Swap => Swap(LockWord::Tail, self.me),
            LockStage::Link { before } => Store(LockWord::NextOf(before), self.me),
            LockStage::AwaitGrant { before } => Wait(LockWord::OwnGranted, Some(before)),
            LockStage::Register => Add(LockWord::State, self.head().wrapping_sub(QUEUED)),
            LockStage::AwaitWake { owner } => Wait(LockWord::OwnWoken, owner),
            LockStage::Take => Add(LockWord::State, self.taken().wrapping_sub(self.head())),
            LockStage::LookBehind => Load(LockWord::OwnNext),
            LockStage::LeaveQueue => CompareAndSwap {
                word: LockWord::Tail,
                compare: self.me,
                new: 0,
            },
            LockStage::AwaitLink => Wait(LockWord::OwnNext, None),
            LockStage::PassOn { to } => Store(LockWord::GrantedOf(to), 1),
            LockStage::Over => Done,
        }
    }

    /// Takes what the last step has found, and returns the next one.
    ///
    /// # Errors
    /// When a word that names a rank was overwritten.
    pub(super) fn found(&mut self, word: u64) -> Result<LockStep, OverwrittenWord> {
        let state = LockState(word);
        self.stage = match self.stage {
            LockStage::Try if word == self.expected => LockStage::Over,
            LockStage::Try if self.kind == LockKind::Shared && state.is_open_for_shared() => {
                self.expected = word;
                LockStage::Try
            }
            LockStage::Try => LockStage::Clear,
            LockStage::Clear => LockStage::Announce,
            LockStage::Announce => LockStage::Swap,
            LockStage::Swap if word == 0 => LockStage::Register,
            LockStage::Swap => LockStage::Link {
                before: self.rank(word)?,
            },
            LockStage::Link { before } => LockStage::AwaitGrant { before },
            LockStage::AwaitGrant { .. } => LockStage::Register,
            LockStage::Register if self.is_excluded(state) => LockStage::AwaitWake {
                owner: match state.owner() {
                    0 => None,
                    owner => Some(self.rank(owner)?),
                },
            },
            LockStage::Register | LockStage::AwaitWake { .. } => LockStage::Take,
            LockStage::Take => LockStage::LookBehind,
            LockStage::LookBehind if word == 0 => LockStage::LeaveQueue,
            LockStage::LeaveQueue if word == self.me => LockStage::Over,
            LockStage::LeaveQueue => LockStage::AwaitLink,
            LockStage::LookBehind | LockStage::AwaitLink => LockStage::PassOn {
                to: self.rank(word)?,
            },
            LockStage::PassOn { .. } | LockStage::Over => LockStage::Over,
        };
        Ok(self.step())
    }

    /// Returns whether the lock is held in a way that excludes this rank.
    fn is_excluded(&self, state: LockState) -> bool {
        match self.kind {
            LockKind::Shared => state.owner() != 0,
            LockKind::Exclusive => state.owner() != 0 || state.holders() != 0,
        }
    }

    /// Returns the number of another rank.
    fn rank(&self, word: u64) -> Result<usize, OverwrittenWord> {
        let rank = word
            .checked_sub(1)
            .and_then(|rank| usize::try_from(rank).ok());
        let other = rank.filter(|&rank| rank < self.ranks && word != self.me);
        other.ok_or(OverwrittenWord(word))
    }
}

fn taken(me: u64, kind: LockKind) -> u64 {
    match kind {
        LockKind::Shared => HOLDER,
        LockKind::Exclusive => me << OWNER_SHIFT,
    }
}

/// A rank that gives the lock back.
#[derive(Clone, Debug)]
pub(super) struct Release {
    me: u64,
    ranks: usize,
    kind: LockKind,
    left: bool,
}

impl Release {
    /// Begins for a rank among `ranks` that holds the lock.
    pub(super) fn new(me: usize, ranks: usize, kind: LockKind) -> Self {
        Self {
            me: me as u64 + 1,
            ranks,
            kind,
            left: false,
        }
    }

    /// Returns the first step.
    pub(super) fn begin(&self) -> LockStep {
        LockStep::Add(LockWord::State, self.left_by())
    }

    fn left_by(&self) -> u64 {
        0u64.wrapping_sub(taken(self.me, self.kind))
    }

    /// Takes what the last step has found, and returns the next one.
    ///
    /// # Errors
    /// When a word that names a rank was overwritten.
    pub(super) fn found(&mut self, word: u64) -> Result<LockStep, OverwrittenWord> {
        if std::mem::replace(&mut self.left, true) {
            return Ok(LockStep::Done);
        }
        let state = LockState(word.wrapping_add(self.left_by()));
        let is_free = state.holders() == 0 && state.owner() == 0;
        // A shared head does not wait for holders that share the lock.
        let waits = match self.kind {
            LockKind::Shared => !state.head_is_shared(),
            LockKind::Exclusive => true,
        };
        match state.head() {
            0 => Ok(LockStep::Done),
            _ if !(is_free && waits) => Ok(LockStep::Done),
            head if head <= self.ranks as u64 && head != self.me => {
                let head = usize::try_from(head - 1).map_err(|_| OverwrittenWord(word))?;
                Ok(LockStep::Store(LockWord::WokenOf(head), 1))
            }
            _ => Err(OverwrittenWord(word)),
        }
    }
}

#[cfg(test)]
#[path = "queue_lock_tests.rs"]
mod tests;
