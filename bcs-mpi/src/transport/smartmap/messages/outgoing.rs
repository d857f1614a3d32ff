//! The queue to one place. Entries that have no room in it are held in rank memory, in order.

use super::envelope::{Body, Envelope, INLINE_BYTES, InlineBytes, QueueMessage};
use crate::data::{DataView, look_at};
use crate::transport::OutgoingMessage;
use crate::transport::smartmap::requests::LocalRequestId;
use bcs_core::limits::QUEUED_PART_BYTES;
use bcs_core::memory::MappedWords;
use bcs_core::smartmap::send_queue::{QueueFull, QueueReservation, QueueSender};
use std::collections::VecDeque;

/// Payload that is not contiguous is copied through a buffer that fits in the first-level cache.
const BOUNCE_BYTES: usize = 4096;

/// An entry that waits for room.
#[derive(Debug)]
enum HeldMessage {
    /// An entry without payload.
    Word(QueueMessage),
    /// A message whose sender waits until it has been copied.
    Eager {
        envelope: Envelope,
        data: DataView,
        request: LocalRequestId,
    },
    /// The rest of a message that its receiver cannot reach.
    Parts {
        data: DataView,
        len: usize,
        sent: usize,
        /// The request of this rank.
        request: LocalRequestId,
        /// The request of the receiver.
        into: LocalRequestId,
    },
}

#[derive(Debug)]
pub(in crate::transport::smartmap) struct OutgoingQueue {
    queue: QueueSender<MappedWords>,
    held: VecDeque<HeldMessage>,
}

impl OutgoingQueue {
    pub(in crate::transport::smartmap) fn new(queue: QueueSender<MappedWords>) -> Self {
        Self {
            queue,
            held: VecDeque::new(),
        }
    }

    pub(in crate::transport::smartmap) fn holds(&self) -> bool {
        !self.held.is_empty()
    }

    /// Returns the messages in the queue that were not taken, with their positions.
    pub(in crate::transport::smartmap) fn untaken(
        &mut self,
    ) -> impl Iterator<Item = (u64, Envelope)> {
        let untaken = self.queue.untaken();
        untaken.filter_map(
            |(position, entry)| match QueueMessage::parse(&entry, true)? {
                QueueMessage::Message(envelope) => Some((position, envelope)),
                QueueMessage::Pull { .. }
                | QueueMessage::Part { .. }
                | QueueMessage::Cancelled { .. } => None,
            },
        )
    }

    /// Sends an entry without payload, now or when there is room.
    pub(in crate::transport::smartmap) fn word(&mut self, word: QueueMessage) {
        if self.held.is_empty() && self.try_word(&word).is_ok() {
            return;
        }
        self.held.push_back(HeldMessage::Word(word));
    }

    fn try_word(&mut self, word: &QueueMessage) -> Result<(), QueueFull> {
        let room = self.queue.reserve(0)?;
        self.queue.publish(room, &word.encode());
        Ok(())
    }

    /// Copies a message into the queue, if there is room.
    pub(in crate::transport::smartmap) fn eager(
        &mut self,
        envelope: Envelope,
        data: &DataView,
    ) -> Result<(), QueueFull> {
        if self.holds() {
            return Err(QueueFull);
        }
        self.try_eager(envelope, data)
    }

    fn try_eager(&mut self, envelope: Envelope, data: &DataView) -> Result<(), QueueFull> {
        let room = self.queue.reserve(data.len())?;
        fill(&self.queue, &room, data, 0, data.len());
        let body = Body::Queued {
            payload: room.payload,
        };
        let word = QueueMessage::Message(Envelope { body, ..envelope });
        self.queue.publish(room, &word.encode());
        Ok(())
    }

    /// Writes a message that fits into the queue, if there is room.
    pub(in crate::transport::smartmap) fn now(
        &mut self,
        message: &OutgoingMessage<'_>,
    ) -> Result<(), QueueFull> {
        let data = message.data;
        let mut envelope = Envelope::of(message);
        if data.len() > INLINE_BYTES {
            return self.eager(envelope, data);
        }
        if self.holds() {
            return Err(QueueFull);
        }
        envelope.body = Body::Inline(InlineBytes::of(data));
        self.try_word(&QueueMessage::Message(envelope))
    }

    /// Holds a message until there is room.
    pub(in crate::transport::smartmap) fn hold(
        &mut self,
        envelope: Envelope,
        data: DataView,
        request: LocalRequestId,
    ) {
        self.held.push_back(HeldMessage::Eager {
            envelope,
            data,
            request,
        });
    }

    /// Takes back a message of this request that waits for room. Returns whether there was one. A
    /// message that is requested in parts is not taken back.
    pub(in crate::transport::smartmap) fn take_back(&mut self, id: LocalRequestId) -> bool {
        let before = self.held.len();
        self.held.retain(|held| match held {
            HeldMessage::Word(QueueMessage::Message(envelope)) => envelope.transfer != Some(id),
            HeldMessage::Eager { request, .. } => *request != id,
            HeldMessage::Word(_) | HeldMessage::Parts { .. } => true,
        });
        self.held.len() < before
    }

    /// Sends the first `len` bytes of a message in parts.
    pub(in crate::transport::smartmap) fn parts(
        &mut self,
        data: DataView,
        len: usize,
        (request, into): (LocalRequestId, LocalRequestId),
    ) {
        self.held.push_back(HeldMessage::Parts {
            data,
            len,
            sent: 0,
            request,
            into,
        });
    }

    /// Sends held entries, as far as there is room. `done` gets the requests that are done. Returns
    /// whether anything was sent.
    pub(in crate::transport::smartmap) fn flush(
        &mut self,
        mut done: impl FnMut(LocalRequestId),
    ) -> bool {
        let mut sent_any = false;
        while let Some(mut held) = self.held.pop_front() {
            let sent = match &mut held {
                HeldMessage::Word(word) => self.try_word(word),
                HeldMessage::Eager {
                    envelope,
                    data,
                    request,
                } => {
                    let sent = self.try_eager(*envelope, data);
                    sent.map(|()| done(*request))
                }
                HeldMessage::Parts {
                    data,
                    len,
                    sent,
                    request,
                    into,
                } => {
                    let before = *sent;
                    let all = self.try_parts(data, *len, sent, *into);
                    sent_any |= *sent > before;
                    all.map(|()| done(*request))
                }
            };
            if sent.is_err() {
                self.held.push_front(held);
                break;
            }
            sent_any = true;
        }
        sent_any
    }

    fn try_parts(
        &mut self,
        data: &DataView,
        len: usize,
        sent: &mut usize,
        request: LocalRequestId,
    ) -> Result<(), QueueFull> {
        while *sent < len {
            let part = (len - *sent).min(QUEUED_PART_BYTES);
            let room = self.queue.reserve(part)?;
            fill(&self.queue, &room, data, *sent, part);
            let word = QueueMessage::Part {
                request,
                offset: *sent as u64,
                len: part as u64,
                payload: room.payload,
            };
            self.queue.publish(room, &word.encode());
            *sent += part;
        }
        Ok(())
    }
}

fn fill(
    queue: &QueueSender<MappedWords>,
    room: &QueueReservation,
    data: &DataView,
    offset: usize,
    len: usize,
) {
    let part = offset..offset + len;
    look_at::<BOUNCE_BYTES>(data, part, |at, bytes| queue.fill(room, at, bytes));
}
