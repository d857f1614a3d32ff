//! An access to the memory of a target, and whether two accesses are a race.

use bcs_core::fingerprint::mix64;
use bcs_core::one_sided::{Update, UpdateKind};

/// Words of an access in a log.
pub(in crate::mpi::window) const WORDS: usize = 10;

/// The use that an access makes of the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mpi::window) enum AccessKind {
    Get,
    Put,
    /// A call of the rank that has the memory reads it, as its buffer.
    Load,
    /// Such a call writes it.
    Store,
    /// By this operation on elements of this datatype, as numbers.
    Update {
        operation: u8,
        datatype: u8,
    },
}

/// Operations that go with each other one: they read, or decide by themselves what to write.
const NO_OP: u8 = 1;
const COMPARE_AND_SWAP: u8 = 2;
const REPLACE: u8 = 3;
const FIRST_OF_REDUCTIONS: u8 = 16;

impl From<Update> for AccessKind {
    fn from(update: Update) -> Self {
        let operation = match update.kind {
            UpdateKind::NoOp => NO_OP,
            UpdateKind::CompareAndSwap => COMPARE_AND_SWAP,
            UpdateKind::Replace => REPLACE,
            UpdateKind::Reduce(op) => FIRST_OF_REDUCTIONS + op as u8,
        };
        Self::Update {
            operation,
            datatype: update.datatype as u8,
        }
    }
}

impl AccessKind {
    /// Returns what it does, as in "which rank 1 reads".
    pub(in crate::mpi::window) fn verb(self) -> &'static str {
        match self {
            Self::Get | Self::Load => "reads",
            Self::Put | Self::Store => "writes",
            Self::Update { .. } => "updates",
        }
    }

    fn code(self) -> [u8; 3] {
        match self {
            Self::Get => [1, 0, 0],
            Self::Put => [2, 0, 0],
            Self::Load => [4, 0, 0],
            Self::Store => [5, 0, 0],
            Self::Update {
                operation,
                datatype,
            } => [3, operation, datatype],
        }
    }

    fn decode(code: [u8; 3]) -> Option<Self> {
        match code {
            [1, 0, 0] => Some(Self::Get),
            [2, 0, 0] => Some(Self::Put),
            [4, 0, 0] => Some(Self::Load),
            [5, 0, 0] => Some(Self::Store),
            [3, operation, datatype] => Some(Self::Update {
                operation,
                datatype,
            }),
            _ => None,
        }
    }

    /// Returns whether the rank that has the memory makes it.
    fn is_local(self) -> bool {
        matches!(self, Self::Load | Self::Store)
    }

    /// Returns whether two of them may meet in the same bytes without an order (MPI 5.0, 12.7.1).
    /// Updates may if they are of one datatype, and of one operation or one that goes with all
    /// (the hint `accumulate_ops` has its default).
    fn goes_with(self, other: Self) -> bool {
        match (self, other) {
            (Self::Get | Self::Load, Self::Get | Self::Load) => true,
            (
                Self::Update {
                    operation,
                    datatype,
                },
                Self::Update {
                    operation: other_operation,
                    datatype: other_datatype,
                },
            ) => {
                let with_all = |it: u8| matches!(it, NO_OP | COMPARE_AND_SWAP);
                datatype == other_datatype
                    && (operation == other_operation
                        || with_all(operation)
                        || with_all(other_operation))
            }
            _ => false,
        }
    }
}

/// The epoch in which an access is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mpi::window) enum AccessEpoch {
    /// A fence has begun it, in this generation of the window's group.
    Fence { generation: u64 },
    /// `MPI_Win_start` has begun it, for this exposure epoch of the target.
    Started { exposure: u64 },
    /// A lock has begun it. The access is in this generation, after this many releases of the
    /// origin.
    Lock {
        generation: u64,
        releases: u64,
        is_exclusive: bool,
    },
}

/// An access to contiguous bytes of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mpi::window) struct Access {
    /// The rank in the window.
    pub(in crate::mpi::window) origin: u32,
    pub(in crate::mpi::window) kind: AccessKind,
    /// The address of the first byte.
    pub(in crate::mpi::window) start: u64,
    pub(in crate::mpi::window) len: u64,
    pub(in crate::mpi::window) epoch: AccessEpoch,
    /// How often the origin has waited for its operations at this target. A local access tells here
    /// whether its rank holds a shared lock of its own memory.
    pub(in crate::mpi::window) completions: u64,
    /// Whether the operation has a request, by which the program may have waited for it.
    pub(in crate::mpi::window) is_requested: bool,
    /// The address and the length of a text in the origin's memory: the call, and its place.
    pub(in crate::mpi::window) text: (u64, u32),
}

/// How two accesses relate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mpi::window) enum Relation {
    /// Nothing orders them, and they must be ordered.
    Race,
    /// It is a race if the origin of the earlier access has no more than this many releases now.
    RaceUnlessReleased(u64),
    Fine,
}

/// The number of completions of a local access under a shared lock.
pub(in crate::mpi::window) const UNDER_SHARED_LOCK: u64 = 1;

impl Access {
    /// Returns whether the lock of another rank orders it. A rank needs no lock for its own memory.
    fn is_under_lock(&self) -> bool {
        let holds = matches!(
            self.epoch,
            AccessEpoch::Lock {
                is_exclusive: true,
                ..
            }
        );
        !self.kind.is_local() || holds || self.completions == UNDER_SHARED_LOCK
    }

    /// Returns the first byte and the first one after the bytes that both access.
    pub(in crate::mpi::window) fn common(&self, other: &Self) -> Option<(u64, u64)> {
        let start = self.start.max(other.start);
        let end = |it: &Self| it.start.saturating_add(it.len);
        let end = end(self).min(end(other));
        (start < end).then_some((start, end))
    }

    /// Returns how this access relates to an earlier one, which was found in the log.
    pub(in crate::mpi::window) fn relation(&self, earlier: &Self) -> Relation {
        if self.common(earlier).is_none() || self.kind.goes_with(earlier.kind) {
            return Relation::Fine;
        }
        let is_local = [self.kind.is_local(), earlier.kind.is_local()];
        if self.origin == earlier.origin && is_local != [false; 2] {
            // The buffers of one rank's calls are compared with each other elsewhere.
            return Relation::Fine;
        }
        if self.origin == earlier.origin {
            let are_updates = matches!(
                (self.kind, earlier.kind),
                (AccessKind::Update { .. }, AccessKind::Update { .. })
            );
            // Updates of one origin are ordered (`accumulate_ordering` has its default).
            return match are_updates
                || earlier.is_requested
                || self.completions != earlier.completions
            {
                true => Relation::Fine,
                false => Relation::Race,
            };
        }
        match (self.epoch, earlier.epoch) {
            (AccessEpoch::Fence { .. }, AccessEpoch::Fence { .. })
            | (AccessEpoch::Started { .. }, AccessEpoch::Started { .. }) => {
                match self.epoch == earlier.epoch {
                    true => Relation::Race,
                    false => Relation::Fine,
                }
            }
            (
                AccessEpoch::Lock {
                    generation,
                    is_exclusive,
                    ..
                },
                AccessEpoch::Lock {
                    generation: before,
                    releases,
                    is_exclusive: was_exclusive,
                },
            ) if generation == before => {
                let is_ordered = is_exclusive && earlier.is_under_lock()
                    || was_exclusive && self.is_under_lock();
                match is_ordered {
                    true => Relation::Fine,
                    false => Relation::RaceUnlessReleased(releases),
                }
            }
            _ => Relation::Fine,
        }
    }

    /// Returns it as the entry of a log with this number.
    pub(in crate::mpi::window) fn encode(&self, number: u64) -> [u64; WORDS] {
        let [kind, operation, datatype] = self.kind.code().map(u64::from);
        let (epoch, at, releases) = match self.epoch {
            AccessEpoch::Fence { generation } => (1, generation, 0),
            AccessEpoch::Started { exposure } => (2, exposure, 0),
            AccessEpoch::Lock {
                generation,
                releases,
                is_exclusive,
            } => (3 + u64::from(is_exclusive), generation, releases),
        };
        let head = u64::from(self.origin) << 32 | kind << 24 | operation << 16 | datatype << 8;
        let (text, text_len) = self.text;
        let mut words = [
            number + 1,
            head | epoch,
            self.start,
            self.len,
            at,
            releases,
            self.completions,
            text,
            u64::from(text_len) << 1 | u64::from(self.is_requested),
            0,
        ];
        words[WORDS - 1] = check(&words);
        words
    }

    /// Reads the entry with this number. Returns `None` if it is being written, or is another one.
    pub(in crate::mpi::window) fn decode(number: u64, words: &[u64; WORDS]) -> Option<Self> {
        if words[0] != number + 1 || words[WORDS - 1] != check(words) {
            return None;
        }
        let [epoch, datatype, operation, kind, ..] = words[1].to_le_bytes();
        let (at, releases) = (words[4], words[5]);
        let lock = |is_exclusive| AccessEpoch::Lock {
            generation: at,
            releases,
            is_exclusive,
        };
        Some(Self {
            origin: u32::try_from(words[1] >> 32).ok()?,
            kind: AccessKind::decode([kind, operation, datatype])?,
            start: words[2],
            len: words[3],
            epoch: match epoch {
                1 => AccessEpoch::Fence { generation: at },
                2 => AccessEpoch::Started { exposure: at },
                3 => lock(false),
                4 => lock(true),
                _ => return None,
            },
            completions: words[6],
            is_requested: words[8] & 1 != 0,
            text: (words[7], u32::try_from(words[8] >> 1).ok()?),
        })
    }
}

fn check(words: &[u64; WORDS]) -> u64 {
    let mixed = |sum: u64, word: &u64| mix64(sum ^ word);
    words[..WORDS - 1].iter().fold(0, mixed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bcs_core::reduction::{Datatype, Op};

    const FENCE: AccessEpoch = AccessEpoch::Fence { generation: 4 };

    fn lock(generation: u64, is_exclusive: bool) -> AccessEpoch {
        AccessEpoch::Lock {
            generation,
            releases: 7,
            is_exclusive,
        }
    }

    fn update(kind: UpdateKind, datatype: Datatype) -> AccessKind {
        AccessKind::from(Update {
            kind,
            datatype,
            fetches: false,
        })
    }

    fn access(origin: u32, kind: AccessKind, start: u64, epoch: AccessEpoch) -> Access {
        Access {
            origin,
            kind,
            start,
            len: 8,
            epoch,
            completions: 3,
            is_requested: false,
            text: (0x7f00, 33),
        }
    }

    #[test]
    fn an_entry_is_read_as_it_was_written_or_not_at_all() {
        let sum = update(UpdateKind::Reduce(Op::Sum), Datatype::Double);
        let all = [
            AccessKind::Get,
            AccessKind::Put,
            AccessKind::Load,
            AccessKind::Store,
            sum,
        ];
        for kind in all {
            for epoch in [FENCE, AccessEpoch::Started { exposure: 9 }, lock(2, true)] {
                let access = access(5, kind, 64, epoch);
                let words = access.encode(17);
                assert_eq!(Access::decode(17, &words), Some(access));
                assert_eq!(Access::decode(18, &words), None);
                for word in 0..WORDS {
                    let mut torn = words;
                    torn[word] ^= 1 << 7;
                    assert_eq!(Access::decode(17, &torn), None, "word {word}");
                }
            }
        }
    }

    #[test]
    fn accesses_of_one_epoch_that_do_not_go_together_are_races() {
        let (get, put) = (AccessKind::Get, AccessKind::Put);
        let sum = update(UpdateKind::Reduce(Op::Sum), Datatype::Int64);
        let max = update(UpdateKind::Reduce(Op::Max), Datatype::Int64);
        let swap = update(UpdateKind::CompareAndSwap, Datatype::Int64);
        let read = update(UpdateKind::NoOp, Datatype::Int64);
        let other = update(UpdateKind::Reduce(Op::Sum), Datatype::Double);
        for (one, two, is_race) in [
            (put, put, true),
            (put, get, true),
            (get, get, false),
            (put, sum, true),
            (get, sum, true),
            (sum, sum, false),
            (sum, max, true),
            (sum, other, true),
            (sum, swap, false),
            (read, max, false),
        ] {
            let relation = access(1, one, 0, FENCE).relation(&access(2, two, 4, FENCE));
            let wanted = if is_race {
                Relation::Race
            } else {
                Relation::Fine
            };
            assert_eq!(relation, wanted, "{one:?} {two:?}");
        }
    }

    #[test]
    fn what_orders_accesses() {
        let put = |origin, epoch| access(origin, AccessKind::Put, 0, epoch);
        let exposure = |exposure| AccessEpoch::Started { exposure };
        let next = AccessEpoch::Fence { generation: 5 };
        let unless = Relation::RaceUnlessReleased(7);
        for (mine, earlier, wanted) in [
            (put(1, next), put(2, FENCE), Relation::Fine),
            (put(1, exposure(1)), put(2, exposure(1)), Relation::Race),
            (put(1, exposure(2)), put(2, exposure(1)), Relation::Fine),
            (put(1, lock(1, false)), put(2, lock(1, false)), unless),
            (
                put(1, lock(1, true)),
                put(2, lock(1, false)),
                Relation::Fine,
            ),
            (
                put(1, lock(2, false)),
                put(2, lock(1, false)),
                Relation::Fine,
            ),
            (put(1, lock(4, false)), put(2, FENCE), Relation::Fine),
            (put(1, FENCE), put(1, FENCE), Relation::Race),
        ] {
            assert_eq!(mine.relation(&earlier), wanted, "{mine:?} {earlier:?}");
        }
        let apart = access(2, AccessKind::Put, 8, FENCE);
        assert_eq!(put(1, FENCE).relation(&apart), Relation::Fine);
        let complete = Access {
            completions: 2,
            ..put(1, FENCE)
        };
        assert_eq!(put(1, FENCE).relation(&complete), Relation::Fine);
    }
}
