//! Receive descriptors: rank → BR. Probes and cancels use the same ring, so that they keep the
//! program's order among the receives.

use super::{ANY_SOURCE, BadDescriptor, bad};
use crate::layout::Location;
use crate::limits::MAX_RANKS;
use crate::request::{RequestId, high, low};

/// The operation that BR is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiveKind {
    /// Receive into memory of the receiver.
    Receive {
        /// The destination.
        into: Location,
        /// The size of the destination in bytes.
        capacity: u64,
        /// Whether a message by SMARTMAP may satisfy the receive, too. Then the receive has to be
        /// claimed ([`NicMemory::claim`](crate::memory::NicMemory::claim)).
        shared: bool,
    },
    /// Complete when a message that matches has arrived, and leave it there (MPI 5.0 section
    /// 3.8.1).
    Probe,
    /// Complete at the next MSM whether or not a message matches: `failure` is
    /// [`Cancelled`](crate::request::RequestFailure::Cancelled) if none does.
    ProbeOnce,
    /// Complete when a message that matches has arrived, and keep that message for
    /// [`MatchedReceive`](Self::MatchedReceive), which names it by this request: no other
    /// receive or probe will find it (section 3.8.2).
    MatchedProbe,
    /// Do the same if a message matches at the next MSM; otherwise `failure` is
    /// [`Cancelled`](crate::request::RequestFailure::Cancelled).
    MatchedProbeOnce,
    /// Receive the message that was kept for this request.
    MatchedReceive {
        /// The request of the matched probe.
        message: RequestId,
        /// The destination.
        into: Location,
        /// The size of the destination in bytes.
        capacity: u64,
    },
    /// Bring bytes of the source's memory here (`MPI_Get`, MPI 5.0 section 12.3.2). It meets no
    /// message.
    Get {
        /// Where they are in the process of the source.
        address: u64,
        /// The destination.
        into: Location,
        /// The number of bytes.
        len: u64,
    },
    /// Cancel the receive or probe with this request, if it has not matched (section 3.8.4).
    Cancel(RequestId),
}

/// A receive, probe or cancel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiveDescriptor {
    /// The receiver's request.
    pub request: RequestId,
    /// Context id of the communicator.
    pub context: u32,
    /// World rank of the sender; `None` is MPI_ANY_SOURCE.
    pub source: Option<u32>,
    /// Tag; `None` is MPI_ANY_TAG.
    pub tag: Option<i32>,
    /// The operation.
    pub kind: ReceiveKind,
}

const ANY_TAG: u64 = 1 << 8;
const SHARED: u64 = 1 << 9;

impl ReceiveDescriptor {
    /// Words of a ring entry.
    pub const WORDS: usize = 8;

    /// Returns the words of a ring entry.
    #[must_use]
    #[inline]
    pub fn encode(&self) -> [u64; Self::WORDS] {
        let mut words = [0; Self::WORDS];
        words[0] = self.request.word();
        words[1] = u64::from(self.context) | u64::from(self.source.unwrap_or(ANY_SOURCE)) << 32;
        let mut flags = if self.tag.is_none() { ANY_TAG } else { 0 };
        match self.kind {
            ReceiveKind::Get { address, into, len } => {
                flags |= 7;
                words[3] = len;
                words[4] = into.address;
                words[5] = address;
                words[6] = into.layout_word();
                words[7] = u64::from(into.grain);
            }
            ReceiveKind::Receive {
                into,
                capacity,
                shared,
            } => {
                flags |= if shared { SHARED } else { 0 };
                words[3] = capacity;
                words[4] = into.address;
                words[6] = into.layout_word();
                words[7] = u64::from(into.grain);
            }
            ReceiveKind::Probe => flags |= 1,
            ReceiveKind::ProbeOnce => flags |= 2,
            ReceiveKind::Cancel(target) => {
                flags |= 3;
                words[3] = target.word();
            }
            ReceiveKind::MatchedProbe => flags |= 4,
            ReceiveKind::MatchedProbeOnce => flags |= 5,
            ReceiveKind::MatchedReceive {
                message,
                into,
                capacity,
            } => {
                flags |= 6;
                words[3] = capacity;
                words[4] = into.address;
                words[5] = message.word();
                words[6] = into.layout_word();
                words[7] = u64::from(into.grain);
            }
        }
        words[2] = u64::from(self.tag.unwrap_or(0).cast_unsigned()) | flags << 32;
        words
    }

    /// Parses the words of a ring entry.
    ///
    /// # Errors
    /// [`BadDescriptor`] with the field that is impossible.
    #[inline]
    pub fn parse(words: &[u64; Self::WORDS]) -> Result<Self, BadDescriptor> {
        let flags = u64::from(high(words[2]));
        let source = high(words[1]);
        if source != ANY_SOURCE && source as usize >= MAX_RANKS {
            return bad("source", u64::from(source));
        }
        let into = Location::from_words(words[4], words[6], words[7]);
        let shared = flags & !ANY_TAG == SHARED;
        let kind = match flags & !(ANY_TAG | if shared { SHARED } else { 0 }) {
            0 | 6 | 7 if !into.may_have(words[3]) => return bad("address", words[4]),
            0 => ReceiveKind::Receive {
                into,
                capacity: words[3],
                shared,
            },
            1 => ReceiveKind::Probe,
            2 => ReceiveKind::ProbeOnce,
            3 => ReceiveKind::Cancel(RequestId::from_word(words[3])),
            4 => ReceiveKind::MatchedProbe,
            5 => ReceiveKind::MatchedProbeOnce,
            6 => ReceiveKind::MatchedReceive {
                message: RequestId::from_word(words[5]),
                into,
                capacity: words[3],
            },
            7 if source == ANY_SOURCE => return bad("source", u64::from(source)),
            7 if words[5].checked_add(words[3]).is_none() => {
                return bad("address at the target", words[5]);
            }
            7 => ReceiveKind::Get {
                address: words[5],
                into,
                len: words[3],
            },
            _ => return bad("flags", flags),
        };
        Ok(Self {
            request: RequestId::from_word(words[0]),
            context: low(words[1]),
            source: (source != ANY_SOURCE).then_some(source),
            tag: (flags & ANY_TAG == 0).then(|| low(words[2]).cast_signed()),
            kind,
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
            mut words: [u64; ReceiveDescriptor::WORDS], kind in 0u64..8, any_tag: bool, shared: bool,
        ) {
            let flags = kind | if any_tag { ANY_TAG } else { 0 } | if shared { SHARED } else { 0 };
            words[2] = words[2] & 0xffff_ffff | flags << 32;
            if let Ok(receive) = ReceiveDescriptor::parse(&words) {
                prop_assert_eq!(ReceiveDescriptor::parse(&receive.encode()), Ok(receive));
            }
        }
    }
}
