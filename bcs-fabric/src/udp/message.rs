//! The messages between processes that host NICs: the control messages of a link.
//!
//! A message is a head, in postcard's encoding, and the bytes that it brings, if any. The peer has
//! the job's key, but may be broken: each reader checks.

use crate::{FabricError, SourceSpan};
use bcs_core::descriptor::Payload;
use bcs_core::layout::Location;
use serde::{Deserialize, Serialize};
use std::num::NonZeroU64;

/// The head of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Message<'a> {
    /// A PUT of the bytes that follow.
    Put {
        /// A bit for each node of the receiver's process, by its place among them: the
        /// destinations.
        nodes: &'a [u8],
        /// The byte of their global memory.
        byte: u64,
        /// The number of the NIC thread that is signalled.
        signal: Option<u8>,
        /// How many writes of the sequencer the sender knew of: the receiver must know of them
        /// before.
        told: u64,
    },
    /// The words that follow go into the queue of a BR
    /// ([`Port::send_outside_slice`](crate::Port::send_outside_slice)).
    Ahead {
        /// The node of the BS that sends it.
        from: u16,
        /// The node of the BR.
        to: u16,
    },
    /// The bytes that follow are those of an eager message
    /// ([`Port::send_eager_bytes`](crate::Port::send_eager_bytes)), which a GET may soon request.
    Carried {
        /// World rank of its sender.
        rank: u32,
        /// The payload slot in which they are there.
        slot: u32,
    },
    /// Nodes have stored a variable of their own. Up the tree, to the sequencer.
    Stored {
        /// A bit for each node of the job.
        nodes: &'a [u8],
        /// The variable's index.
        variable: u32,
        /// The value.
        value: u64,
        /// How many writes of the sequencer each of them knew of.
        told: u64,
        /// Whether they report progress by that.
        reports: bool,
    },
    /// The number of PUTs that a party has sent to another so far. Up the tree, to the sequencer.
    Sent {
        /// The party that has sent them.
        from: u32,
        /// The party that receives them.
        to: u32,
        /// The number of PUTs.
        puts: u64,
    },
    /// The receiver must not handle the messages that follow until this many PUTs have come from a
    /// party. Down the tree, to that receiver.
    Await {
        /// The party that is to wait.
        to: u32,
        /// The party that has sent them.
        from: u32,
        /// The number of PUTs.
        puts: u64,
    },
    /// The Strobe Sender PUTs the bytes that follow. Down the tree, to all.
    Strobe {
        /// A bit for each node of the job.
        nodes: &'a [u8],
        /// The byte of their global memory.
        byte: u64,
        /// The number of the NIC thread that is signalled.
        signal: Option<u8>,
    },
    /// A port requests a Compare-And-Write. Up the tree, to the sequencer.
    Compare {
        /// The number of the port.
        port: u32,
        /// The request.
        request: EncodedCompareAndWrite<'a>,
    },
    /// The sequencer has written a variable, the next of its writes. Down the tree, to all.
    Written {
        /// A bit for each node of the job.
        nodes: &'a [u8],
        /// The variable's index.
        variable: u32,
        /// The value.
        value: u64,
    },
    /// The verdict for a port. Down the tree, to its party.
    Verdict {
        /// The number of the port.
        port: u32,
        /// Whether the condition held.
        holds: bool,
        /// How many writes there had been by then.
        told: u64,
    },
    /// A request for bytes of a message: they come as a transfer.
    Get {
        /// The number of the transfer, chosen by the requester.
        transfer: u64,
        /// The requested bytes.
        span: EncodedSpan,
    },
    /// All bytes of a transfer have arrived, or nobody wants them any more.
    Got {
        /// Its number.
        transfer: u64,
    },
    /// The bytes of a transfer cannot be read.
    CannotRead {
        /// Its number.
        transfer: u64,
    },
    /// A request for bytes at an address of a rank: they come in [`Message::Fetched`].
    Fetch {
        /// The ticket of the requester.
        ticket: u64,
        /// World rank.
        rank: u32,
        /// The address of the bytes.
        address: u64,
        /// The number of bytes.
        len: u64,
    },
    /// The bytes that follow are the next ones of a fetch.
    Fetched {
        /// The ticket.
        ticket: u64,
    },
    /// The bytes of a fetch cannot be read.
    CannotFetch {
        /// The ticket.
        ticket: u64,
    },
    /// A request for a strobe. For the Strobe Sender.
    Wanted {
        /// Whether it is wanted at once, and not when it is due.
        demanded: bool,
        /// The last slice whose cut was taken at the requester.
        slice: u64,
        /// How long ago it was wanted, in nanoseconds.
        since_ns: u64,
    },
    /// Whether some rank of the process's machine is blocked.
    Hunger {
        /// Whether a rank is blocked.
        is_hungry: bool,
    },
}

/// A Compare-And-Write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EncodedCompareAndWrite<'a> {
    /// A bit for each node of the job.
    pub nodes: &'a [u8],
    /// The variable's index.
    pub variable: u32,
    /// The comparison.
    pub comparison: u8,
    /// The operand.
    pub operand: u64,
    /// The index of the variable that is written, and the value.
    pub write: Option<(u32, u64)>,
    /// Whether it waits until the condition holds.
    pub wait: bool,
}

/// A [`SourceSpan`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EncodedSpan {
    rank: u32,
    offset: u64,
    len: u64,
    payload: EncodedPayload,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum EncodedPayload {
    Slot {
        slot: u32,
        address: u64,
    },
    Memory {
        address: u64,
        layout: u64,
        grain: u32,
    },
}

impl From<&SourceSpan> for EncodedSpan {
    fn from(span: &SourceSpan) -> Self {
        Self {
            rank: span.rank,
            offset: span.offset,
            len: span.len,
            payload: match span.payload {
                Payload::Slot { slot, address } => EncodedPayload::Slot { slot, address },
                Payload::Memory(Location {
                    address,
                    layout,
                    grain,
                }) => EncodedPayload::Memory {
                    address,
                    layout: layout.map_or(0, NonZeroU64::get),
                    grain,
                },
                Payload::Inline(_) | Payload::Cancel => {
                    unreachable!("inline bytes travel with the descriptor")
                }
            },
        }
    }
}

impl From<&EncodedSpan> for SourceSpan {
    fn from(span: &EncodedSpan) -> Self {
        Self {
            rank: span.rank,
            offset: span.offset,
            len: span.len,
            payload: match span.payload {
                EncodedPayload::Slot { slot, address } => Payload::Slot { slot, address },
                EncodedPayload::Memory {
                    address,
                    layout,
                    grain,
                } => Payload::Memory(Location {
                    address,
                    layout: NonZeroU64::new(layout),
                    grain,
                }),
            },
        }
    }
}

/// A peer has sent an invalid message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it says what makes no sense: {0}")]
pub struct ProtocolViolation(pub &'static str);

/// The most bytes that one message brings.
pub const MAX_PAYLOAD_BYTES: usize = super::control_stream::MAX_MESSAGE_BYTES / 2;

impl<'a> Message<'a> {
    /// Appends the message, and the bytes that it brings.
    pub fn encode(&self, bytes: &[u8], to: &mut Vec<u8>) {
        let start = std::mem::take(to);
        *to = postcard::to_extend(self, start).expect("a vector takes all");
        to.extend(bytes);
    }

    /// Decodes a message. Returns it and the bytes that it brings.
    ///
    /// # Errors
    /// [`ProtocolViolation`].
    pub fn decode(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), ProtocolViolation> {
        postcard::take_from_bytes(bytes).map_err(|_| ProtocolViolation("it is no message"))
    }
}

/// The outcome of a GET of bytes that cannot be read.
pub(super) const UNREADABLE: FabricError = FabricError::SourceMemory;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_comes_back_with_its_bytes() {
        let span = SourceSpan {
            rank: 7,
            payload: Payload::Memory(Location {
                address: 1 << 40,
                layout: NonZeroU64::new(99),
                grain: 8,
            }),
            offset: 5,
            len: 1 << 33,
        };
        let messages = [
            Message::Put {
                nodes: &[5, 1],
                byte: 1 << 20,
                signal: Some(3),
                told: 9,
            },
            Message::Get {
                transfer: 4,
                span: EncodedSpan::from(&span),
            },
            Message::Stored {
                nodes: &[6],
                variable: 300,
                value: u64::MAX,
                told: 7,
                reports: true,
            },
            Message::Await {
                to: 1,
                from: 2,
                puts: 3,
            },
            Message::Strobe {
                nodes: &[255, 255, 3],
                byte: 64,
                signal: Some(0),
            },
            Message::Hunger { is_hungry: true },
        ];
        for message in messages {
            let mut encoded = Vec::new();
            message.encode(b"bytes", &mut encoded);
            assert_eq!(Message::decode(&encoded), Ok((message, &b"bytes"[..])));
            for len in 0..encoded.len() - b"bytes".len() {
                assert!(Message::decode(&encoded[..len]).is_err(), "{len}");
            }
        }
        assert_eq!(SourceSpan::from(&EncodedSpan::from(&span)), span);
    }
}
