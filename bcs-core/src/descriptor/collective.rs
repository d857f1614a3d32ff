//! Collective descriptors: rank → BS → BR, then CH or RH.
//!
//! Before a communicator is used, its ranks make it known to their NICs: each posts
//! [`CollectiveKind::OpenContext`] with the list of members. It posts
//! [`CollectiveKind::CloseContext`] when it frees the communicator. The world is context 0 and
//! always known.

use super::{BadDescriptor, InvalidCall, bad};
use crate::limits::{INLINE_BYTES, MAX_CONTEXTS, MAX_RANKS};
use crate::reduction::{Datatype, Op};
use crate::request::{RequestId, high, inline_from_words, inline_to_words, low};

/// The kind of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CollectiveKind {
    /// No member leaves before all have entered.
    Barrier,
    /// The root's bytes go to all.
    Broadcast {
        /// World rank of the root.
        root: u32,
    },
    /// Combine elements; the result goes to the root, or to all.
    Reduce {
        /// World rank of the root; `None` for an allreduce.
        root: Option<u32>,
        /// The operation.
        op: Op,
        /// The type of the elements.
        datatype: Datatype,
    },
    /// Makes a context known: the members' world ranks, in communicator order, are `bytes / 4`
    /// little-endian `u32` at `input`.
    OpenContext,
    /// The rank will not use the context any more.
    CloseContext,
    /// Nothing: a member called with a wrong argument, and takes part so that the others get the
    /// error.
    Invalid(InvalidCall),
}

/// A rank's arrival at a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollectiveDescriptor {
    /// The rank's request.
    pub request: RequestId,
    /// Context id of the communicator.
    pub context: u32,
    /// The number of this collective on its communicator, from 0.
    pub sequence: u64,
    /// The kind of the collective.
    pub kind: CollectiveKind,
    /// Length of the data in bytes.
    pub bytes: u64,
    /// The address of this rank's contribution. It is ignored when the contribution is inline.
    pub input: u64,
    /// The address for the result. Short results come with the completion.
    pub output: u64,
    /// The contribution, when it has at most [`INLINE_BYTES`].
    pub inline: Option<[u8; INLINE_BYTES]>,
    /// Whether this arrival stands for all members on the rank's node: their calls agree, the
    /// contribution is what they have folded, and the result goes to this rank alone. Only the root
    /// itself can arrive for the root of a collective.
    pub for_node: bool,
    /// The member (a world rank) whose contribution the others could not read. The node then has
    /// nothing to contribute.
    pub unreadable_member: Option<u32>,
}

/// Returns whether a collective of this kind and length ends with the completion, and writes
/// nothing to memory.
#[must_use]
pub fn is_short(kind: CollectiveKind, bytes: u64) -> bool {
    match kind {
        CollectiveKind::Barrier => true,
        CollectiveKind::Broadcast { .. } | CollectiveKind::Reduce { .. } => {
            bytes <= INLINE_BYTES as u64
        }
        CollectiveKind::OpenContext | CollectiveKind::CloseContext | CollectiveKind::Invalid(_) => {
            false
        }
    }
}

const NO_ROOT: u32 = u32::MAX;
const INLINE: u64 = 1 << 31;
const FOR_NODE: u64 = 1 << 30;

impl CollectiveDescriptor {
    /// Words of a ring entry.
    pub const WORDS: usize = 16;

    /// Returns whether the result is so short that it comes with the completion, not in memory.
    #[must_use]
    pub fn is_short(&self) -> bool {
        is_short(self.kind, self.bytes)
    }

    /// Returns the words of a ring entry.
    #[must_use]
    pub fn encode(&self) -> [u64; Self::WORDS] {
        let (code, root, op, datatype) = match self.kind {
            CollectiveKind::Barrier => (0, NO_ROOT, 0, 0),
            CollectiveKind::Broadcast { root } => (1, root, 0, 0),
            CollectiveKind::Reduce { root, op, datatype } => {
                (2, root.unwrap_or(NO_ROOT), op as u8, datatype as u8)
            }
            CollectiveKind::OpenContext => (3, NO_ROOT, 0, 0),
            CollectiveKind::CloseContext => (4, NO_ROOT, 0, 0),
            CollectiveKind::Invalid(call) => {
                let [low, high] = call.pack().to_le_bytes();
                (5, NO_ROOT, low, high)
            }
        };
        let mut words = [0; Self::WORDS];
        words[0] = self.request.word();
        words[1] = u64::from(self.context) | u64::from(root) << 32;
        words[2] = self.sequence;
        words[3] = code | u64::from(op) << 8 | u64::from(datatype) << 16;
        words[4] = self.bytes;
        words[5] = self.input;
        words[6] = self.output;
        if let Some(inline) = &self.inline {
            words[3] |= INLINE;
            inline_to_words(inline, &mut words[8..]);
        }
        if self.for_node {
            words[3] |= FOR_NODE;
        }
        words[7] = self.unreadable_member.map_or(0, |rank| u64::from(rank) + 1);
        words
    }

    /// Parses the words of a ring entry.
    ///
    /// # Errors
    /// [`BadDescriptor`] with the field that is impossible.
    pub fn parse(words: &[u64; Self::WORDS]) -> Result<Self, BadDescriptor> {
        let context = low(words[1]);
        if context as usize >= MAX_CONTEXTS {
            return bad("context", u64::from(context));
        }
        let root = match high(words[1]) {
            NO_ROOT => None,
            root if (root as usize) < MAX_RANKS => Some(root),
            root => return bad("root", u64::from(root)),
        };
        let [code, op, datatype, ..] = words[3].to_le_bytes();
        let kind = match (code, root) {
            (0, _) => CollectiveKind::Barrier,
            (1, Some(root)) => CollectiveKind::Broadcast { root },
            (1, None) => return bad("root", u64::from(NO_ROOT)),
            (2, root) => {
                let Ok(op) = Op::try_from(op) else {
                    return bad("op", u64::from(op));
                };
                let Ok(datatype) = Datatype::try_from(datatype) else {
                    return bad("datatype", u64::from(datatype));
                };
                if !words[4].is_multiple_of(datatype.size() as u64) {
                    return bad("length", words[4]);
                }
                CollectiveKind::Reduce { root, op, datatype }
            }
            (3, _) => CollectiveKind::OpenContext,
            (4, _) => CollectiveKind::CloseContext,
            (5, _) => {
                let bits = u16::from_le_bytes([op, datatype]);
                let Some(call) = InvalidCall::unpack(bits) else {
                    return bad("invalid call", bits.into());
                };
                CollectiveKind::Invalid(call)
            }
            _ => return bad("kind", u64::from(code)),
        };
        let inline = words[3] & INLINE != 0;
        if inline && words[4] > INLINE_BYTES as u64 {
            return bad("inline length", words[4]);
        }
        for address in [words[5], words[6]] {
            if address.checked_add(words[4]).is_none() {
                return bad("address", address);
            }
        }
        let spoilt_by = match words[7].checked_sub(1) {
            None => None,
            Some(rank) if rank < MAX_RANKS as u64 => Some(low(rank)),
            Some(rank) => return bad("rank", rank),
        };
        let inline = inline.then(|| {
            let mut bytes = [0; INLINE_BYTES];
            inline_from_words(&words[8..], &mut bytes);
            bytes
        });
        Ok(Self {
            request: RequestId::from_word(words[0]),
            context,
            sequence: words[2],
            kind,
            bytes: words[4],
            input: words[5],
            output: words[6],
            inline,
            for_node: words[3] & FOR_NODE != 0,
            unreadable_member: spoilt_by,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn parsing_is_total_and_encoding_is_its_inverse(
            mut words: [u64; CollectiveDescriptor::WORDS], code in 0u64..7, context in 0u64..4096,
        ) {
            words[3] = words[3] & !0xff | code;
            words[1] = words[1] & !0xffff_ffff | context;
            words[7] %= 2 * MAX_RANKS as u64;
            if let Ok(collective) = CollectiveDescriptor::parse(&words) {
                prop_assert_eq!(CollectiveDescriptor::parse(&collective.encode()), Ok(collective));
            }
        }
    }
}
