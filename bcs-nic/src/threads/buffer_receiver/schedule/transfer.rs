//! A message in flight: what of it has moved, and what is complete when all has.

use super::super::nic_receive::NicReceive;
use crate::blocks::{CompletedSend, Envelope};
use crate::budget::Quota;
use crate::mail::{Chunk, TransferCompletion};
use bcs_core::descriptor::Payload;
use bcs_core::job::NodeId;
use bcs_core::layout::Location;
use bcs_core::limits::INLINE_BYTES;
use bcs_core::request::{Completion, RequestFailure, RequestId};
use bcs_fabric::{DestinationSpan, SourceSpan};

/// Returns the outcome of a receive that has met a message.
fn completion(envelope: &Envelope, receive: &NicReceive) -> Completion {
    let send = &envelope.send;
    let mut completion = Completion {
        source: envelope.source,
        tag: send.tag,
        len: send.len,
        check_bits: send.check_bits,
        failure: if send.len > receive.capacity {
            RequestFailure::Truncated
        } else {
            RequestFailure::None
        },
        ..Completion::default()
    };
    if let Payload::Inline(bytes) = &send.payload {
        let len = send.len.min(receive.capacity);
        completion.set_inline(&bytes[..usize::try_from(len).expect("inline is short")]);
    }
    completion
}

/// Returns the outcome of a receive if nothing remains to be done: the bytes came with the
/// descriptor, and the sender waits for no completion.
pub(in super::super) fn completion_if_inline(
    envelope: &Envelope,
    receive: &NicReceive,
) -> Option<Completion> {
    let send = &envelope.send;
    let is_here = matches!(send.payload, Payload::Inline(_)) && !send.needs_completion;
    is_here.then(|| completion(envelope, receive))
}

/// A message in flight.
#[derive(Clone, Debug)]
pub(in super::super) struct Transfer {
    pub(super) id: u64,
    pub(super) receiver: u32,
    pub(super) receive: NicReceive,
    source: u32,
    pub(super) source_node: NodeId,
    /// The sender's request, if the sender waits for a completion.
    pub(super) send: Option<RequestId>,
    payload: Payload,
    /// Bytes to move: as many as fit the receive.
    pub(super) len: u64,
    pub(super) moved: u64,
    /// Whether it goes outside of the slice.
    pub(super) ahead: bool,
    /// Whether it is the operand of an update, which BR gets.
    is_operand: bool,
    ending: TransferCompletion,
}

impl Transfer {
    pub(in super::super) fn new(
        receiver: u32,
        source_node: NodeId,
        envelope: &Envelope,
        receive: &NicReceive,
    ) -> Self {
        let send = &envelope.send;
        Self {
            id: 0,
            receiver,
            receive: *receive,
            source: envelope.source,
            source_node,
            send: send.needs_completion.then_some(send.request),
            payload: send.payload,
            len: send.len.min(receive.capacity),
            moved: 0,
            ahead: false,
            is_operand: false,
            ending: TransferCompletion {
                receive: completion(envelope, receive),
                send: RequestFailure::None,
            },
        }
    }

    /// Creates a transfer for a message that its sender cancelled before it met a receive: nothing
    /// moves, and the sender is notified.
    pub(in super::super) fn cancelled(
        receiver: u32,
        source_node: NodeId,
        envelope: &Envelope,
    ) -> Self {
        let nobody = NicReceive {
            request: RequestId::NOBODY,
            into: Location::contiguous(0),
            capacity: 0,
            shared: false,
        };
        let mut transfer = Self::new(receiver, source_node, envelope, &nobody);
        transfer.ending = TransferCompletion {
            receive: Completion::done(),
            send: RequestFailure::Cancelled,
        };
        transfer
    }

    /// Creates a transfer for the bytes of a put, to an address of its target.
    pub(in super::super) fn put(source_node: NodeId, envelope: &Envelope, address: u64) -> Self {
        let into = NicReceive {
            request: RequestId::NOBODY,
            into: Location::contiguous(address),
            capacity: envelope.send.len,
            shared: false,
        };
        let mut transfer = Self::new(envelope.send.destination, source_node, envelope, &into);
        transfer.ending.receive = Completion::done();
        transfer
    }

    /// Creates a transfer for the operand of an update. The origin is notified later, when all of
    /// it has been applied.
    pub(in super::super) fn operand(source_node: NodeId, envelope: &Envelope) -> Self {
        Self {
            is_operand: true,
            send: None,
            ..Self::put(source_node, envelope, 0)
        }
    }

    /// Returns how many of its next `bytes` bytes may be one chunk: whole elements of an operand.
    pub(super) fn whole(&self, bytes: u64) -> u64 {
        match self.is_operand && self.moved + bytes < self.len {
            // Every element's size divides this.
            true => bytes / INLINE_BYTES as u64 * INLINE_BYTES as u64,
            false => bytes,
        }
    }

    /// Creates a transfer for a one-sided operation that has happened, or failed: nothing moves,
    /// and the origin is notified.
    pub(in super::super) fn ended(
        source_node: NodeId,
        envelope: &Envelope,
        send: RequestFailure,
        returned: Completion,
    ) -> Self {
        let mut transfer = Self::cancelled(envelope.send.destination, source_node, envelope);
        // Its bytes are not needed any more, wherever they are.
        transfer.payload = Payload::Inline([0; INLINE_BYTES]);
        transfer.ending = TransferCompletion {
            receive: returned,
            send,
        };
        transfer
    }

    /// Creates a transfer that brings bytes of another rank to a rank of this node.
    pub(in super::super) fn get(
        receiver: u32,
        (source_node, source): (NodeId, u32),
        from: Location,
        receive: &NicReceive,
    ) -> Self {
        Self {
            id: 0,
            receiver,
            receive: *receive,
            source,
            source_node,
            send: None,
            payload: Payload::Memory(from),
            len: receive.capacity,
            moved: 0,
            ahead: false,
            is_operand: false,
            ending: TransferCompletion {
                receive: Completion {
                    source,
                    len: receive.capacity,
                    ..Completion::done()
                },
                send: RequestFailure::None,
            },
        }
    }

    /// Returns the units of a completion block that its end takes.
    pub(super) fn units(&self) -> usize {
        let returns = self.receive.request == RequestId::NOBODY;
        let returned = if returns {
            self.ending.receive.inline_len
        } else {
            0
        };
        CompletedSend::units(returned)
    }

    /// Returns the number of bytes that must still be moved. Bytes that came with the descriptor do
    /// not count.
    pub(super) fn left(&self) -> u64 {
        match self.payload {
            Payload::Inline(_) => 0,
            _ => self.len - self.moved,
        }
    }

    pub(super) fn pair(&self) -> (u32, u32) {
        (self.source, self.receiver)
    }

    /// Returns what a byte of it counts for in the budget.
    pub(super) fn weight(&self, quota: &Quota) -> u64 {
        let receives = quota.weight_of_pieces(&self.receive.into);
        match self.payload {
            Payload::Inline(_) | Payload::Cancel => 1,
            Payload::Slot { .. } => 1 + receives,
            Payload::Memory(from) => 1 + quota.weight_of_pieces(&from) + receives,
        }
    }

    /// Takes the next `bytes` of it, each of which counts for `weight` in the budget.
    pub(super) fn chunk(&mut self, bytes: u64, weight: u64) -> Chunk {
        // Bytes that came along are requested even if none is wanted. Otherwise they would be taken
        // for those of the next message in their slot.
        let came_along = self.ahead && matches!(self.payload, Payload::Slot { .. });
        let inline = matches!(self.payload, Payload::Inline(_)) || (bytes == 0 && !came_along);
        let copy = (!inline).then(|| {
            let from = SourceSpan {
                rank: self.source,
                payload: self.payload,
                offset: self.moved,
                len: bytes,
            };
            (
                from,
                DestinationSpan {
                    rank: self.receiver,
                    into: self.receive.into,
                    offset: self.moved,
                },
            )
        });
        self.moved += bytes;
        Chunk {
            transfer: self.id,
            copy,
            cost: bytes * weight,
            last: (self.moved == self.len).then_some(self.ending),
            receiver: (self.receiver, self.receive.request),
            is_operand: self.is_operand,
            sender: self
                .send
                .map(|request| (self.source_node, self.source, request)),
        }
    }
}
