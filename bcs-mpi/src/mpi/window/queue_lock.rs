//! The lock of a window at one target, as a state machine (MPI 5.0, 12.5.3).
//!
//! The lock is fair: ranks get it in the order in which they have entered a queue, and nobody polls
//! memory of another rank. It is made of words, and each step is one operation on one word:
//!
//! ```text
//! at the target    state   holders: 16 bits │ queued: 16 │ head: 15, is it shared: 1 │ owner: 16
//!                  tail    the rank that was the last to enter the queue
//!                  overtakers  the rank that was the last to begin to wait for an owner to leave
//! at each origin   next    the rank behind it in the queue of that target
//!                  granted it is at the head of the queue
//!                  woken   the holders for which it has waited at the head have left, or the
//!                          owner for which it has waited as an overtaker
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
//! **A rank that holds shared locks of other targets** does not wait in the queue
//! ([`overtake`](super::overtake)). It counts as a holder at once, even while the lock has an
//! owner. So an owner that leaves knows by the holders that ranks wait for it, and wakes them.
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

pub(super) const HOLDER: u64 = 1;
const QUEUED: u64 = 1 << 16;
const HEAD_SHIFT: u32 = 32;
const HEAD_IS_SHARED: u64 = 1 << 47;
const OWNER_SHIFT: u32 = 48;

/// The most ranks of a window: a head has 15 bits.
pub(super) const MOST_RANKS: usize = (1 << 15) - 2;

const _: () = assert!(bcs_core::limits::MAX_RANKS <= MOST_RANKS);

/// The meaning of a `state` word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LockState(pub(super) u64);

impl LockState {
    pub(super) fn holders(self) -> u64 {
        self.0 & 0xffff
    }

    fn queued(self) -> u64 {
        self.0 >> 16 & 0xffff
    }

    /// Returns the rank at the head, plus one.
    pub(super) fn head(self) -> u64 {
        self.0 >> HEAD_SHIFT & 0x7fff
    }

    pub(super) fn head_is_shared(self) -> bool {
        self.0 & HEAD_IS_SHARED != 0
    }

    /// Returns the rank that holds the lock alone, plus one.
    pub(super) fn owner(self) -> u64 {
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
    /// The target's list of ranks that have overtaken the queue and wait for its owner.
    Overtakers,
    /// The link of another origin to the rank behind it.
    NextOf(usize),
    /// The word that makes another origin the head.
    GrantedOf(usize),
    /// The word that wakes the head, or an overtaker.
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
    /// Give the others time, and read a word.
    Look(LockWord),
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

    fn rank(&self, word: u64) -> Result<usize, OverwrittenWord> {
        other_rank(word, self.me, self.ranks)
    }
}

/// Returns the number of a rank that is not this one. (A word and `me` are numbers plus one.)
///
/// # Errors
/// When there is no such rank.
pub(super) fn other_rank(word: u64, me: u64, ranks: usize) -> Result<usize, OverwrittenWord> {
    let rank = word
        .checked_sub(1)
        .and_then(|rank| usize::try_from(rank).ok());
    let other = rank.filter(|&rank| rank < ranks && word != me);
    other.ok_or(OverwrittenWord(word))
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
    stage: ReleaseStage,
    /// The head that waits for this rank, once that is known.
    head: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReleaseStage {
    Leave,
    /// Ranks that have overtaken the queue may wait for this owner.
    TakeOvertakers,
    WakeOvertaker(usize),
    WakeHead(usize),
    Over,
}

impl Release {
    /// Begins for a rank among `ranks` that holds the lock.
    pub(super) fn new(me: usize, ranks: usize, kind: LockKind) -> Self {
        Self {
            me: me as u64 + 1,
            ranks,
            kind,
            stage: ReleaseStage::Leave,
            head: None,
        }
    }

    /// Returns the first step.
    pub(super) fn begin(&self) -> LockStep {
        self.step()
    }

    fn step(&self) -> LockStep {
        match self.stage {
            ReleaseStage::Leave => LockStep::Add(LockWord::State, self.left_by()),
            ReleaseStage::TakeOvertakers => LockStep::Swap(LockWord::Overtakers, 0),
            ReleaseStage::WakeOvertaker(rank) | ReleaseStage::WakeHead(rank) => {
                LockStep::Store(LockWord::WokenOf(rank), 1)
            }
            ReleaseStage::Over => LockStep::Done,
        }
    }

    fn left_by(&self) -> u64 {
        0u64.wrapping_sub(taken(self.me, self.kind))
    }

    /// Takes what the last step has found, and returns the next one.
    ///
    /// # Errors
    /// When a word that names a rank was overwritten.
    pub(super) fn found(&mut self, word: u64) -> Result<LockStep, OverwrittenWord> {
        self.stage = match self.stage {
            ReleaseStage::Leave => {
                let state = LockState(word.wrapping_add(self.left_by()));
                self.head = self.waiting_head(state)?;
                match self.kind {
                    // All that count as holders beside an owner wait for it.
                    LockKind::Exclusive if state.holders() != 0 => ReleaseStage::TakeOvertakers,
                    _ => self.last_stage(),
                }
            }
            ReleaseStage::TakeOvertakers if word != 0 => {
                ReleaseStage::WakeOvertaker(other_rank(word, self.me, self.ranks)?)
            }
            ReleaseStage::TakeOvertakers | ReleaseStage::WakeOvertaker(_) => self.last_stage(),
            ReleaseStage::WakeHead(_) | ReleaseStage::Over => ReleaseStage::Over,
        };
        Ok(self.step())
    }

    fn last_stage(&self) -> ReleaseStage {
        self.head.map_or(ReleaseStage::Over, ReleaseStage::WakeHead)
    }

    /// Returns the head that this rank has to wake, given the state that it has left behind.
    fn waiting_head(&self, state: LockState) -> Result<Option<usize>, OverwrittenWord> {
        // Holders that have overtaken the queue do not stop a head that shares the lock.
        let is_free = state.owner() == 0 && (state.head_is_shared() || state.holders() == 0);
        // A shared head does not wait for holders that share the lock.
        let waits = match self.kind {
            LockKind::Shared => !state.head_is_shared(),
            LockKind::Exclusive => true,
        };
        match state.head() {
            0 => Ok(None),
            _ if !(is_free && waits) => Ok(None),
            head => other_rank(head, self.me, self.ranks).map(Some),
        }
    }
}

#[cfg(test)]
#[path = "queue_lock_tests.rs"]
mod tests;
