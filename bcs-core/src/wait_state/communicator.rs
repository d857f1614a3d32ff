//! A communicator that a rank knows.

use super::called_collective::CalledCollective;
use crate::request::{high, low};

/// A communicator that a rank knows, and the rank's progress there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommunicatorProgress {
    /// Context id.
    pub context: u32,
    /// The fingerprint of its ranks ([`super::group_fingerprint()`]); 0 for the world.
    pub group: u32,
    /// The number of collectives that the rank has entered there.
    pub entered: u32,
    /// The digest of the kinds of its collectives, in their order ([`extend_call_digest()`]).
    pub call_digest: u32,
    /// Its ranks.
    pub members: MemberRange,
}

/// The ranks of a communicator in a short form, without a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemberRange {
    /// The number of ranks.
    pub size: u32,
    /// The world rank of the first.
    pub first: u32,
    /// The distance from each rank to the next, if all distances are the same; else 0.
    pub step: i32,
}

impl MemberRange {
    /// Describes these world ranks, in the order of the communicator.
    #[must_use]
    pub fn of(ranks: impl ExactSizeIterator<Item = u32>) -> Self {
        let size = u32::try_from(ranks.len()).expect("MAX_RANKS fits u32");
        let (mut first, mut last, mut step) = (0, None, None);
        for rank in ranks {
            let Some(before) = last.replace(rank) else {
                first = rank;
                continue;
            };
            let distance = rank.wrapping_sub(before).cast_signed();
            if *step.get_or_insert(distance) != distance {
                step = Some(0);
            }
        }
        let step = step.unwrap_or(i32::from(size == 1));
        Self { size, first, step }
    }

    /// Returns the world ranks, if they are known.
    pub fn ranks(self) -> Option<impl Iterator<Item = u32>> {
        let Self { size, first, step } = self;
        let rank = move |at: u32| first.wrapping_add(at.wrapping_mul(step.cast_unsigned()));
        (step != 0 && (size as usize) <= crate::limits::MAX_RANKS).then(|| (0..size).map(rank))
    }
}

/// Returns the digest of all collectives that a rank has entered, when this one follows them. All
/// collectives of the NIC are one kind, since NICs compare them when they meet; a rank with a wrong
/// argument takes part in them, too. Roots between two groups are left out, because not all ranks
/// know them.
#[must_use]
pub fn extend_call_digest(called: u32, next: CalledCollective) -> u32 {
    let kind = match next {
        CalledCollective::Nic { .. } => 0,
        CalledCollective::Messages(exchange, _) => exchange as u32 + 1,
    };
    // Without a constant the first ones of the NIC would leave a digest of 0.
    let mixed = called.rotate_left(7) ^ (kind + 1);
    mixed.wrapping_mul(0x9e37_79b1)
}

/// Words of an entry.
pub(super) const WORDS: usize = 4;

impl CommunicatorProgress {
    pub(super) fn encode(&self) -> [u64; WORDS] {
        let MemberRange { size, first, step } = self.members;
        [
            u64::from(self.context) << 32 | u64::from(self.group),
            u64::from(self.entered) << 32 | u64::from(size),
            u64::from(self.call_digest) << 32 | u64::from(first),
            u64::from(step.cast_unsigned()),
        ]
    }

    pub(super) fn decode(words: &[u64]) -> Self {
        Self {
            context: high(words[0]),
            group: low(words[0]),
            entered: high(words[1]),
            call_digest: high(words[2]),
            members: MemberRange {
                size: low(words[1]),
                first: low(words[2]),
                step: low(words[3]).cast_signed(),
            },
        }
    }
}
