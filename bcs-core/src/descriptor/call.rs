//! The part of a rank's call that must be the same on all ranks of the communicator (MPI 5.0, 6.1
//! and 6.2): a collective descriptor without its request and buffers.
//!
//! Nodes compare *signatures*: 24 bits in the variable that also records who has arrived. Only if
//! signatures differ do nodes request more. Then a whole call, packed into one word, goes from node
//! to node and to the ranks, so that an error can report who called what.

use super::{CollectiveDescriptor, CollectiveKind, InvalidCall};
use crate::fingerprint::fingerprint;
use crate::reduction::{Datatype, Op};
use std::fmt;

/// A collective call of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NicCollectiveCall {
    /// The rank, in the world.
    pub rank: u32,
    /// The collective, with root, operation and datatype.
    pub kind: CollectiveKind,
    /// The length of the data in bytes. A packed call of 1 MiB or more holds whole MiB only.
    pub bytes: u64,
}

const RANK_BITS: u32 = 14;
const ROOT_BITS: u32 = 15;
const CODE_BITS: u32 = 6;
const LEN_BITS: u32 = 20;
const MIB: u64 = 1 << LEN_BITS;

/// The top of the word of an invalid call: a code that no other call has, and a bit that no
/// collective made of messages has ([`crate::wait_state::CalledCollective`]).
const INVALID: u64 = 0b111 << INVALID_SHIFT;
const INVALID_SHIFT: u32 = 61;
/// The position of the rank in that word.
const INVALID_RANK_SHIFT: u32 = 40;

impl NicCollectiveCall {
    /// Bits of a signature.
    pub const SIGNATURE_BITS: u32 = 24;

    /// Returns the call of a rank's descriptor.
    #[must_use]
    pub fn of(rank: u32, descriptor: &CollectiveDescriptor) -> Self {
        let bytes = match descriptor.kind {
            CollectiveKind::Broadcast { .. } | CollectiveKind::Reduce { .. } => descriptor.bytes,
            _ => 0,
        };
        Self {
            rank,
            kind: descriptor.kind,
            bytes,
        }
    }

    /// Returns whether two ranks called the same.
    #[must_use]
    pub fn agrees_with(&self, other: &Self) -> bool {
        self.kind == other.kind && self.bytes == other.bytes
    }

    /// Returns the signature: never zero, the same for calls that agree by members of the same
    /// group, and almost always different for others. `group` is the fingerprint of the
    /// communicator's members.
    #[must_use]
    pub fn signature(&self, group: u64) -> u64 {
        // A packed call holds all but the exact length.
        let anybody = Self { rank: 0, ..*self };
        let all = fingerprint([group, anybody.pack(), self.bytes]);
        (all >> (64 - Self::SIGNATURE_BITS)).max(1)
    }

    /// Packs the call into one word.
    #[must_use]
    pub fn pack(&self) -> u64 {
        if let CollectiveKind::Invalid(call) = self.kind {
            return INVALID | u64::from(self.rank) << INVALID_RANK_SHIFT | u64::from(call.pack());
        }
        let (code, root, op, datatype) = match self.kind {
            CollectiveKind::Broadcast { root } => (1, Some(root), 0, 0),
            CollectiveKind::Reduce { root, op, datatype } => (2, root, op as u8, datatype as u8),
            _ => (0, None, 0, 0),
        };
        let (in_mib, len) = if self.bytes < MIB {
            (0, self.bytes)
        } else {
            (1, (self.bytes / MIB).min(MIB - 1))
        };
        [
            (u64::from(self.rank), RANK_BITS),
            (root.map_or(0, |root| u64::from(root) + 1), ROOT_BITS),
            (u64::from(op), CODE_BITS),
            (u64::from(datatype), CODE_BITS),
            (in_mib, 1),
            (len, LEN_BITS),
        ]
        .iter()
        .fold(code, |word, &(field, bits)| word << bits | field)
    }

    /// Unpacks a word, or returns `None` if it is no call.
    #[must_use]
    pub fn unpack(mut word: u64) -> Option<Self> {
        if word >> INVALID_SHIFT == INVALID >> INVALID_SHIFT {
            return Self::unpack_invalid(word & !INVALID);
        }
        let mut field = |bits: u32| {
            let field = word & ((1 << bits) - 1);
            word >>= bits;
            u32::try_from(field).expect("fields are short")
        };
        let len = u64::from(field(LEN_BITS));
        let bytes = if field(1) == 1 { len * MIB } else { len };
        let [datatype, op] = [field(CODE_BITS), field(CODE_BITS)]
            .map(|code| u8::try_from(code).expect("codes are short"));
        let root = field(ROOT_BITS).checked_sub(1);
        let rank = field(RANK_BITS);
        let kind = match (field(2), root) {
            (0, _) => CollectiveKind::Barrier,
            (1, Some(root)) => CollectiveKind::Broadcast { root },
            (2, root) => CollectiveKind::Reduce {
                root,
                op: Op::try_from(op).ok()?,
                datatype: Datatype::try_from(datatype).ok()?,
            },
            _ => return None,
        };
        Some(Self { rank, kind, bytes })
    }

    fn unpack_invalid(word: u64) -> Option<Self> {
        let call = u16::try_from(word & ((1 << INVALID_RANK_SHIFT) - 1)).ok()?;
        let rank = u32::try_from(word >> INVALID_RANK_SHIFT).ok()?;
        Some(Self {
            rank: (rank < 1 << RANK_BITS).then_some(rank)?,
            kind: CollectiveKind::Invalid(InvalidCall::unpack(call)?),
            bytes: 0,
        })
    }
}

/// The call without its rank: "a broadcast of 8 bytes from rank 2". Ranks are the world's.
impl fmt::Display for NicCollectiveCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = match self.bytes {
            1 => "1 byte".to_owned(),
            bytes if bytes < MIB => format!("{bytes} bytes"),
            // A packed call holds no more than this.
            bytes => format!("{} MiB or a little more", bytes / MIB),
        };
        match self.kind {
            CollectiveKind::Broadcast { root } => {
                write!(f, "a broadcast of {bytes} from rank {root}")
            }
            CollectiveKind::Reduce { root, op, datatype } => {
                write!(f, "a reduction of {bytes} of {datatype} by {op} to ")?;
                match root {
                    Some(root) => write!(f, "rank {root}"),
                    None => f.write_str("all"),
                }
            }
            CollectiveKind::Invalid(call) => call.fmt(f),
            _ => f.write_str("a barrier"),
        }
    }
}

const _: () = {
    assert!(2 + RANK_BITS + ROOT_BITS + 2 * CODE_BITS + 1 + LEN_BITS <= 64);
    assert!(INVALID_RANK_SHIFT + RANK_BITS <= INVALID_SHIFT);
    assert!(crate::limits::MAX_RANKS <= 1 << RANK_BITS);
    assert!(crate::limits::MAX_RANKS < 1 << ROOT_BITS);
};

#[cfg(test)]
mod tests {
    use super::*;

    fn calls() -> impl Iterator<Item = NicCollectiveCall> {
        let reductions = Op::ALL.into_iter().flat_map(|op| {
            Datatype::ALL.map(|datatype| CollectiveKind::Reduce {
                root: None,
                op,
                datatype,
            })
        });
        let others = [
            CollectiveKind::Barrier,
            CollectiveKind::Broadcast { root: 0 },
            CollectiveKind::Broadcast { root: 16_383 },
            CollectiveKind::Invalid(InvalidCall::new("MPI_Bcast", 2)),
            CollectiveKind::Invalid(InvalidCall::new("MPI_Ibcast", 62)),
            CollectiveKind::Reduce {
                root: Some(16_383),
                op: Op::Sum,
                datatype: Datatype::Double,
            },
        ];
        reductions.chain(others).map(|kind| NicCollectiveCall {
            rank: 16_383,
            kind,
            bytes: match kind {
                CollectiveKind::Barrier | CollectiveKind::Invalid(_) => 0,
                _ => 999_999,
            },
        })
    }

    #[test]
    fn every_call_comes_back_from_its_word() {
        for call in calls() {
            assert_eq!(NicCollectiveCall::unpack(call.pack()), Some(call));
        }
        let long = NicCollectiveCall {
            rank: 3,
            kind: CollectiveKind::Broadcast { root: 2 },
            bytes: (5 << 20) + 17,
        };
        let unpacked = NicCollectiveCall::unpack(long.pack()).unwrap();
        assert_eq!(unpacked.bytes, 5 << 20);
        let said = "a broadcast of 5 MiB or a little more from rank 2";
        assert_eq!([long, unpacked].map(|call| call.to_string()), [said; 2]);
        assert_eq!(NicCollectiveCall::unpack(u64::MAX), None);
        assert_eq!(NicCollectiveCall::unpack(INVALID), None, "without a class");
    }

    #[test]
    fn signatures_tell_calls_apart_but_not_ranks() {
        let mut seen: Vec<u64> = calls().map(|call| call.signature(17)).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), calls().count());
        for call in calls() {
            let other = NicCollectiveCall { rank: 7, ..call };
            assert!(call.agrees_with(&other));
            assert_eq!(call.signature(17), other.signature(17));
            assert_ne!(call.signature(17), call.signature(18), "of another group");
            assert!(call.signature(17) < 1 << NicCollectiveCall::SIGNATURE_BITS);
        }
    }

    /// Nodes compare signatures, so ranks and NICs that other compilers have built must compute the
    /// same.
    #[test]
    fn signatures_are_the_same_whoever_has_compiled_this() {
        let of = |kind, bytes, group| {
            NicCollectiveCall {
                rank: 3,
                kind,
                bytes,
            }
            .signature(group)
        };
        assert_eq!(of(CollectiveKind::Barrier, 0, 0), 0x238275);
        assert_eq!(of(CollectiveKind::Broadcast { root: 2 }, 8, 5), 0x873bd6);
    }
}
