//! The contents of an entry of a send queue. An entry is a claim of another rank of the job, and is
//! checked.

use crate::data::{DataView, InlineWords, LONG_BYTES, gather_words, scatter_words};
use crate::transport::OutgoingMessage;
use bcs_core::check_bits::CheckBits;
use bcs_core::descriptor::InvalidCall;
use bcs_core::layout::Location;
use bcs_core::request::{RequestId, high, low};
use bcs_core::smartmap::send_queue::QueueEntry;
use bcs_core::wait_state::COLLECTIVE_MESSAGES;

/// Bytes that travel in an entry.
pub(in crate::transport::smartmap) const INLINE_BYTES: usize = size_of::<InlineWords>();

/// The contents of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::transport::smartmap) enum QueueMessage {
    /// A message.
    Message(Envelope),
    /// A request to the sender of a message that the receiver cannot reach: send `len` bytes of it.
    Pull {
        /// The sender's transfer.
        transfer: RequestId,
        /// The receiver's request.
        request: RequestId,
        /// The room at the receiver, in bytes.
        len: u64,
    },
    /// The next bytes of such a message.
    Part {
        /// The receiver's request.
        request: RequestId,
        /// Their offset in the message.
        offset: u64,
        /// Their number.
        len: u64,
        /// Their position in the queue.
        payload: u64,
    },
    /// The sender has cancelled a message that it sent before. Its receiver may drop it.
    Cancelled {
        context: u32,
        tag: i32,
        /// The sender's transfer.
        transfer: RequestId,
    },
}

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::transport::smartmap) struct Envelope {
    pub(in crate::transport::smartmap) context: u32,
    pub(in crate::transport::smartmap) tag: i32,
    pub(in crate::transport::smartmap) len: u64,
    /// The check bits that a checked job sends along.
    pub(in crate::transport::smartmap) mark: CheckBits,
    /// The transfer that its sender waits for, if it waits.
    pub(in crate::transport::smartmap) transfer: Option<RequestId>,
    pub(in crate::transport::smartmap) body: Body,
}

impl Envelope {
    /// Makes the envelope of a message, without its bytes.
    #[inline]
    pub(in crate::transport::smartmap) fn of(message: &OutgoingMessage<'_>) -> Self {
        Self {
            context: message.context,
            tag: message.tag,
            len: message.data.len() as u64,
            mark: message.mark,
            transfer: None,
            body: Body::Inline(InlineBytes::default()),
        }
    }

    /// Returns its transfer, if its sender may cancel it. The sender of a lent message cannot,
    /// since it is in a blocking call.
    #[inline]
    pub(in crate::transport::smartmap) fn cancellable(&self) -> Option<RequestId> {
        self.transfer
            .filter(|_| !matches!(self.body, Body::Lent(_)))
    }

    /// Returns whether the message is not fetched under the endpoint's lock.
    #[inline]
    pub(in crate::transport::smartmap) fn is_long(&self) -> bool {
        match self.body {
            Body::Inline(_) | Body::Queued { .. } => false,
            Body::InSenderMemory(_) | Body::Lent(_) => self.len > LONG_BYTES as u64,
            Body::Packing(..) => true,
        }
    }
}

/// The place of the bytes of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::transport::smartmap) enum Body {
    /// In the entry.
    Inline(InlineBytes),
    /// In the queue.
    Queued {
        /// The position of the payload.
        payload: u64,
    },
    /// In the sender's memory. The sender waits.
    InSenderMemory(Location),
    /// The same, but the sender does not wait long ([`Loan`](bcs_core::smartmap::loan::Loan)).
    Lent(u64),
    /// Its sender is packing it there
    /// ([`PackingProgress`](bcs_core::smartmap::packing::PackingProgress)), from this source.
    Packing(u64, ScatteredSource),
}

/// A message in pieces, as its sender has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::transport::smartmap) struct ScatteredSource {
    pub(in crate::transport::smartmap) address: u64,
    /// The digest of its [layout](bcs_core::layout::DataLayout::digest).
    pub(in crate::transport::smartmap) digest: u128,
}

/// Bytes that travel in an entry, as its words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::transport::smartmap) struct InlineBytes(InlineWords);

impl InlineBytes {
    /// Returns the bytes of a message that fits.
    #[inline]
    pub(in crate::transport::smartmap) fn of(data: &DataView) -> Self {
        Self(gather_words(data))
    }

    /// Delivers this many of the bytes to their receive.
    #[inline]
    pub(in crate::transport::smartmap) fn bring(&self, into: &DataView, len: usize) {
        scatter_words(into, self.0, len);
    }
}

const INLINE: u32 = 1;
const QUEUED: u32 = 2;
const IN_SENDER_MEMORY: u32 = 3;
const PULL: u32 = 4;
const PART: u32 = 5;
const LENT: u32 = 6;
const PACKING: u32 = 7;
const CANCELLED: u32 = 8;

/// The mark is in the bits above the code.
const MARK_SHIFT: u32 = u32::BITS - CheckBits::BITS;
/// The bits of a code without its mark.
const CODE_MASK: u32 = (1 << MARK_SHIFT) - 1;

const _: () = assert!(CANCELLED < 1 << MARK_SHIFT);

impl QueueMessage {
    #[inline]
    pub(in crate::transport::smartmap) fn encode(&self) -> QueueEntry {
        let mut entry = QueueEntry::default();
        let words = &mut entry.words;
        match *self {
            Self::Message(envelope) => {
                words[0] =
                    u64::from(envelope.context) | u64::from(envelope.tag.cast_unsigned()) << 32;
                words[1] = envelope.len;
                words[2] = envelope.transfer.map_or(0, RequestId::word);
                entry.code = match envelope.body {
                    Body::Inline(InlineBytes(inline)) => {
                        words[3..].copy_from_slice(&inline);
                        INLINE
                    }
                    Body::Queued { payload } => {
                        words[3] = payload;
                        QUEUED
                    }
                    Body::InSenderMemory(location) => {
                        words[3] = location.address;
                        words[4] = location.layout_word();
                        words[5] = u64::from(location.grain);
                        IN_SENDER_MEMORY
                    }
                    Body::Lent(address) => {
                        words[3] = address;
                        LENT
                    }
                    Body::Packing(address, pieces) => {
                        words[3] = address;
                        words[4] = pieces.address;
                        words[5..].copy_from_slice(&halves(pieces.digest));
                        PACKING
                    }
                };
                entry.code |= envelope.mark.bits() << MARK_SHIFT;
            }
            Self::Pull {
                transfer,
                request,
                len,
            } => {
                entry.code = PULL;
                words[..3].copy_from_slice(&[transfer.word(), request.word(), len]);
            }
            Self::Part {
                request,
                offset,
                len,
                payload,
            } => {
                entry.code = PART;
                words[..4].copy_from_slice(&[request.word(), offset, len, payload]);
            }
            Self::Cancelled {
                context,
                tag,
                transfer,
            } => {
                entry.code = CANCELLED;
                words[0] = u64::from(context) | u64::from(tag.cast_unsigned()) << 32;
                words[2] = transfer.word();
            }
        }
        entry
    }

    /// Decodes an entry; returns `None` if it is invalid. In an unchecked job only the mark of an
    /// invalid call is valid. In a checked one only messages may have marks.
    #[inline(always)]
    pub(in crate::transport::smartmap) fn parse(entry: &QueueEntry, checked: bool) -> Option<Self> {
        let words = &entry.words;
        let (code, mark) = match checked {
            true => (
                entry.code & CODE_MASK,
                CheckBits::new(entry.code >> MARK_SHIFT),
            ),
            false => (entry.code, CheckBits::NONE),
        };
        let body = match code {
            INLINE => Body::Inline(InlineBytes(std::array::from_fn(|at| words[3 + at]))),
            QUEUED => Body::Queued { payload: words[3] },
            IN_SENDER_MEMORY => {
                Body::InSenderMemory(Location::from_words(words[3], words[4], words[5]))
            }
            LENT => Body::Lent(words[3]),
            PACKING => {
                let pieces = ScatteredSource {
                    address: words[4],
                    digest: u128::from(words[5]) | u128::from(words[6]) << 64,
                };
                Body::Packing(words[3], pieces)
            }
            PULL if mark.is_none() => {
                return Some(Self::Pull {
                    transfer: RequestId::from_word(words[0]),
                    request: RequestId::from_word(words[1]),
                    len: words[2],
                });
            }
            PART if mark.is_none() => {
                return Some(Self::Part {
                    request: RequestId::from_word(words[0]),
                    offset: words[1],
                    len: words[2],
                    payload: words[3],
                });
            }
            CANCELLED if mark.is_none() => {
                return Some(Self::Cancelled {
                    context: low(words[0]),
                    tag: high(words[0]).cast_signed(),
                    transfer: RequestId::from_word(words[2]),
                });
            }
            _ if !checked => return Self::parse_invalid_call(entry),
            _ => return None,
        };
        let envelope = Envelope {
            context: low(words[0]),
            tag: high(words[0]).cast_signed(),
            len: words[1],
            mark,
            transfer: Some(words[2])
                .filter(|&word| word != 0)
                .map(RequestId::from_word),
            body,
        };
        let sense = match body {
            Body::Inline(_) => envelope.len <= INLINE_BYTES as u64,
            Body::Queued { .. } => true, // The queue checks whether it has this much.
            Body::InSenderMemory(_) | Body::Lent(_) | Body::Packing(..) => {
                envelope.transfer.is_some()
            }
        };
        sense.then_some(Self::Message(envelope))
    }

    /// Returns whether this is a message without data that stands for one of a collective which its
    /// sender called with a wrong argument.
    #[cold]
    fn parse_invalid_call(entry: &QueueEntry) -> Option<Self> {
        let mark = CheckBits::new(entry.code >> MARK_SHIFT);
        let is_one = InvalidCall::from_check_bits(mark).is_some()
            && entry.code & CODE_MASK == INLINE
            && entry.words[1] == 0
            && low(entry.words[0]) & COLLECTIVE_MESSAGES != 0;
        is_one.then(|| Self::parse(entry, true)).flatten()
    }
}

/// Returns the halves, the lower one first.
fn halves(digest: u128) -> [u64; 2] {
    [digest, digest >> 64].map(|half| {
        let half = half & u128::from(u64::MAX);
        u64::try_from(half).expect("half of it")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words() -> Vec<QueueMessage> {
        let transfer = RequestId {
            slot: 5,
            generation: 6,
        };
        let message = |len, transfer, body| {
            QueueMessage::Message(Envelope {
                context: 0x8000_0007,
                tag: -3,
                len,
                mark: CheckBits::NONE,
                transfer,
                body,
            })
        };
        vec![
            message(32, None, Body::Inline(InlineBytes([u64::MAX / 3; 4]))),
            message(0, Some(transfer), Body::Inline(InlineBytes::default())),
            message(9_000, None, Body::Queued { payload: 1 << 40 }),
            message(
                1 << 40,
                Some(transfer),
                Body::InSenderMemory(Location::contiguous(4096)),
            ),
            message(4_000, Some(transfer), Body::Lent(4096)),
            message(
                1 << 20,
                Some(transfer),
                Body::Packing(
                    4096,
                    ScatteredSource {
                        address: 80,
                        digest: 7 << 64 | 5,
                    },
                ),
            ),
            message(
                64,
                Some(transfer),
                Body::InSenderMemory(Location::from_words(8, 16, 24)),
            ),
            QueueMessage::Pull {
                transfer,
                request: RequestId::default(),
                len: 77,
            },
            QueueMessage::Part {
                request: transfer,
                offset: 1 << 33,
                len: 4096,
                payload: 12,
            },
            QueueMessage::Cancelled {
                context: 7,
                tag: -5,
                transfer,
            },
        ]
    }

    #[test]
    fn every_word_comes_back_from_its_entry() {
        for word in words() {
            assert_eq!(QueueMessage::parse(&word.encode(), false), Some(word));
            let QueueMessage::Message(envelope) = word else {
                continue;
            };
            let mark = CheckBits::new(u32::MAX);
            let marked = QueueMessage::Message(Envelope { mark, ..envelope });
            assert_eq!(QueueMessage::parse(&marked.encode(), true), Some(marked));
            assert_eq!(
                QueueMessage::parse(&marked.encode(), false),
                None,
                "nobody checks"
            );
        }
    }

    #[test]
    fn a_message_in_memory_has_a_sender_that_waits() {
        for word in &words()[3..7] {
            let &QueueMessage::Message(envelope) = word else {
                panic!("a message")
            };
            let alone = QueueMessage::Message(Envelope {
                transfer: None,
                ..envelope
            });
            assert_eq!(QueueMessage::parse(&alone.encode(), false), None);
        }
    }

    proptest! {
        #[test]
        fn rubbish_is_parsed_or_refused(code in 0_u32..40, words: [u64; 7], checked: bool) {
            if let Some(QueueMessage::Message(envelope)) = QueueMessage::parse(&QueueEntry { code, words }, checked) {
                let inline = matches!(envelope.body, Body::Inline(_));
                prop_assert!(!inline || envelope.len <= INLINE_BYTES as u64);
            }
        }
    }
}
