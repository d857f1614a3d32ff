//! Sends: a descriptor, and where its bytes are.

use super::Nic;
use super::requests::{Purpose, Requests};
use crate::data::{Piece, Room, gather, look_at};
use crate::roads::{Message, Posted, SendMode, TooManyRequests};
use bcs_core::descriptor::{Payload, SendDescriptor};
use bcs_core::layout::Layout;
use bcs_core::limits::INLINE_BYTES;
use bcs_core::mark::Mark;
use bcs_core::request::RequestId;
use bcs_core::whereabouts::Peer;
use std::sync::Arc;

/// Bytes that are gathered at a time on their way to a payload slot: some lines of the first cache are enough.
const BOUNCE_BYTES: usize = 1024;

impl Nic {
    /// Posts a send, whose data may have been packed into a [room](Self::room_for). Standard sends of at most the
    /// eager limit are complete when they have been copied (law 3).
    pub(crate) fn send(
        &mut self,
        mode: SendMode,
        message: &Message<'_>,
        packed: Option<Room>,
    ) -> Result<Posted, TooManyRequests> {
        let data = message.data;
        let eager = mode.is_eager(data.len(), self.eager_limit);
        let (posted, owed, payload) = if data.len() <= INLINE_BYTES {
            let mut inline = [0; INLINE_BYTES];
            gather(data, 0, &mut inline[..data.len()]);
            if eager {
                (Posted::Complete, None, Payload::Inline(inline))
            } else {
                let request = self.open_send(message, None, None)?;
                (
                    Posted::Request(request),
                    Some(request),
                    Payload::Inline(inline),
                )
            }
        } else if let Some(slot) = eager.then(|| self.payload_slot()).flatten() {
            let opened = self
                .requests
                .opened_detached(Purpose::Eager { payload_slot: slot });
            let Ok(request) = opened else {
                self.payload_slots.give_back(slot);
                return Err(TooManyRequests);
            };
            self.fill_payload(slot, data);
            let address = self.memory.payload_address(slot as usize);
            (
                Posted::Complete,
                Some(request),
                Payload::Slot { slot, address },
            )
        } else {
            let room = packed.or_else(|| {
                let mut room = self.room_for(data)?;
                gather(data, 0, room.bytes(data.len()));
                Some(room)
            });
            let (location, request) = match room {
                Some(mut room) => {
                    let location = room.location();
                    (location, self.open_send(message, None, Some(room))?)
                }
                None => {
                    let layout = data.layout().cloned();
                    (data.location(), self.open_send(message, layout, None)?)
                }
            };
            let payload = Payload::Memory(location);
            (Posted::Request(request), Some(request), payload)
        };
        let descriptor = SendDescriptor {
            request: owed.unwrap_or(Requests::NOBODY),
            owed: owed.is_some(),
            context: message.context,
            destination: message.destination,
            tag: message.tag,
            len: data.len() as u64,
            mark: message.mark,
            payload,
        };
        self.is_needed();
        self.sends.post(&descriptor.encode());
        self.posted_send();
        Ok(posted)
    }

    /// Asks to cancel a send, which has still to be taken. Its receiver's NIC decides, whatever that rank does: the send
    /// is cancelled if it has met no receive.
    pub(super) fn cancel_send(&mut self, request: RequestId, to: Peer) {
        let (Some(destination), Some(tag)) = (to.rank, to.tag) else {
            unreachable!("a send has a receiver and a tag");
        };
        let descriptor = SendDescriptor {
            request,
            owed: false,
            context: to.context,
            destination,
            tag,
            len: 0,
            mark: Mark::NONE,
            payload: Payload::Cancel,
        };
        self.sends.post(&descriptor.encode());
        self.posted_send();
    }

    fn open_send(
        &mut self,
        message: &Message<'_>,
        layout: Option<Arc<Layout>>,
        room: Option<Room>,
    ) -> Result<RequestId, TooManyRequests> {
        let to = Peer {
            context: message.context,
            rank: Some(message.destination),
            tag: Some(message.tag),
        };
        self.requests.open(Purpose::Send {
            len: message.data.len() as u64,
            to,
            layout,
            room,
        })
    }

    fn fill_payload(&self, slot: u32, data: &Piece) {
        let write = |at, bytes: &[u8]| self.memory.write_payload(slot as usize, at, bytes);
        look_at::<BOUNCE_BYTES>(data, 0..data.len(), write);
    }

    fn payload_slot(&mut self) -> Option<u32> {
        self.reap(false);
        if let Some(slot) = self.payload_slots.take() {
            return Some(slot);
        }
        self.reap(true);
        self.payload_slots.take()
    }
}
