//! The way to one place: its queue, and in rank memory what the queue has no room for, in order.

use super::envelope::{Body, Envelope, INLINE_BYTES, Inline, Word};
use crate::data::{Piece, look_at};
use crate::roads::Message;
use crate::roads::smartmap::requests::Id;
use bcs_core::limits::QUEUED_PART_BYTES;
use bcs_core::memory::MappedWords;
use bcs_core::smartmap::send_queue::{QueueFull, QueueSender, Room};
use std::collections::VecDeque;

/// Payload is copied through a buffer of which the first cache holds all, unless it lies side by side.
const BOUNCE_BYTES: usize = 4096;

/// What waits for room.
#[derive(Debug)]
enum Held {
    /// What needs no payload.
    Word(Word),
    /// A message whose sender waits until it has been copied.
    Eager {
        envelope: Envelope,
        data: Piece,
        request: Id,
    },
    /// What is left of a message that its receiver cannot reach.
    Parts {
        data: Piece,
        len: usize,
        sent: usize,
        /// Ours.
        request: Id,
        /// The receiver's.
        into: Id,
    },
}

#[derive(Debug)]
pub(in crate::roads::smartmap) struct Outgoing {
    queue: QueueSender<MappedWords>,
    held: VecDeque<Held>,
}

impl Outgoing {
    pub(in crate::roads::smartmap) fn new(queue: QueueSender<MappedWords>) -> Self {
        Self {
            queue,
            held: VecDeque::new(),
        }
    }

    pub(in crate::roads::smartmap) fn holds(&self) -> bool {
        !self.held.is_empty()
    }

    /// Messages that are in the queue and were not taken, each with its position there.
    pub(in crate::roads::smartmap) fn untaken(&mut self) -> impl Iterator<Item = (u64, Envelope)> {
        let untaken = self.queue.untaken();
        untaken.filter_map(|(position, entry)| match Word::parse(&entry, true)? {
            Word::Message(envelope) => Some((position, envelope)),
            Word::Pull { .. } | Word::Part { .. } | Word::Cancelled { .. } => None,
        })
    }

    /// Sends a word without payload, now or when there is room.
    pub(in crate::roads::smartmap) fn word(&mut self, word: Word) {
        if self.held.is_empty() && self.try_word(&word).is_ok() {
            return;
        }
        self.held.push_back(Held::Word(word));
    }

    fn try_word(&mut self, word: &Word) -> Result<(), QueueFull> {
        let room = self.queue.reserve(0)?;
        self.queue.publish(room, &word.encode());
        Ok(())
    }

    /// Copies a message into the queue, if there is room.
    pub(in crate::roads::smartmap) fn eager(
        &mut self,
        envelope: Envelope,
        data: &Piece,
    ) -> Result<(), QueueFull> {
        if self.holds() {
            return Err(QueueFull);
        }
        self.try_eager(envelope, data)
    }

    fn try_eager(&mut self, envelope: Envelope, data: &Piece) -> Result<(), QueueFull> {
        let room = self.queue.reserve(data.len())?;
        fill(&self.queue, &room, data, 0, data.len());
        let body = Body::Queued {
            payload: room.payload,
        };
        let word = Word::Message(Envelope { body, ..envelope });
        self.queue.publish(room, &word.encode());
        Ok(())
    }

    /// Writes a message that fits into the queue, if there is room.
    pub(in crate::roads::smartmap) fn now(
        &mut self,
        message: &Message<'_>,
    ) -> Result<(), QueueFull> {
        let data = message.data;
        let mut envelope = Envelope::of(message);
        if data.len() > INLINE_BYTES {
            return self.eager(envelope, data);
        }
        if self.holds() {
            return Err(QueueFull);
        }
        envelope.body = Body::Inline(Inline::of(data));
        self.try_word(&Word::Message(envelope))
    }

    /// Keeps a message until there is room.
    pub(in crate::roads::smartmap) fn hold(
        &mut self,
        envelope: Envelope,
        data: Piece,
        request: Id,
    ) {
        self.held.push_back(Held::Eager {
            envelope,
            data,
            request,
        });
    }

    /// Takes a message of this request back that waits for room. Returns whether there was one: of what has been asked
    /// for in parts there is none.
    pub(in crate::roads::smartmap) fn take_back(&mut self, id: Id) -> bool {
        let before = self.held.len();
        self.held.retain(|held| match held {
            Held::Word(Word::Message(envelope)) => envelope.transfer != Some(id),
            Held::Eager { request, .. } => *request != id,
            Held::Word(_) | Held::Parts { .. } => true,
        });
        self.held.len() < before
    }

    /// Sends the first `len` bytes of a message in parts.
    pub(in crate::roads::smartmap) fn parts(
        &mut self,
        data: Piece,
        len: usize,
        (request, into): (Id, Id),
    ) {
        self.held.push_back(Held::Parts {
            data,
            len,
            sent: 0,
            request,
            into,
        });
    }

    /// Sends what was held, as far as there is room. `done` gets the requests that are. Returns
    /// whether anything was sent.
    pub(in crate::roads::smartmap) fn flush(&mut self, mut done: impl FnMut(Id)) -> bool {
        let mut sent_any = false;
        while let Some(mut held) = self.held.pop_front() {
            let sent = match &mut held {
                Held::Word(word) => self.try_word(word),
                Held::Eager {
                    envelope,
                    data,
                    request,
                } => {
                    let sent = self.try_eager(*envelope, data);
                    sent.map(|()| done(*request))
                }
                Held::Parts {
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
        data: &Piece,
        len: usize,
        sent: &mut usize,
        request: Id,
    ) -> Result<(), QueueFull> {
        while *sent < len {
            let part = (len - *sent).min(QUEUED_PART_BYTES);
            let room = self.queue.reserve(part)?;
            fill(&self.queue, &room, data, *sent, part);
            let word = Word::Part {
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

fn fill(queue: &QueueSender<MappedWords>, room: &Room, data: &Piece, offset: usize, len: usize) {
    let part = offset..offset + len;
    look_at::<BOUNCE_BYTES>(data, part, |at, bytes| queue.fill(room, at, bytes));
}
