//! Sends: a descriptor, and the location of the bytes.

use super::NicTransport;
use super::requests::Purpose;
use crate::data::{DataView, PackBuffer, gather, look_at};
use crate::transport::{OutgoingMessage, PostedSend, SendMode, TooManyRequests};
use bcs_core::check_bits::CheckBits;
use bcs_core::descriptor::{Payload, SendDescriptor};
use bcs_core::layout::DataLayout;
use bcs_core::limits::INLINE_BYTES;
use bcs_core::request::RequestId;
use bcs_core::wait_state::MessagePeer;
use std::sync::Arc;

/// Bytes that are gathered at a time on their way to a payload slot. Some lines of the first-level
/// cache are enough.
const BOUNCE_BYTES: usize = 1024;

impl NicTransport {
    /// Posts a send, whose data may have been packed into a [buffer](Self::room_for). Standard
    /// sends of at most the eager limit are complete when they have been copied (law 3).
    pub(crate) fn send(
        &mut self,
        mode: SendMode,
        message: &OutgoingMessage<'_>,
        packed: Option<PackBuffer>,
    ) -> Result<PostedSend, TooManyRequests> {
        let data = message.data;
        let eager = mode.is_eager(data.len(), self.eager_limit);
        let (posted, owed, payload) = if data.len() <= INLINE_BYTES {
            let mut inline = [0; INLINE_BYTES];
            gather(data, 0, &mut inline[..data.len()]);
            if eager {
                (PostedSend::Complete, None, Payload::Inline(inline))
            } else {
                let request = self.open_send(message, None, None)?;
                (
                    PostedSend::Request(request),
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
                PostedSend::Complete,
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
            (PostedSend::Request(request), Some(request), payload)
        };
        let descriptor = SendDescriptor {
            request: owed.unwrap_or(RequestId::NOBODY),
            needs_completion: owed.is_some(),
            context: message.context,
            destination: message.destination,
            tag: message.tag,
            len: data.len() as u64,
            check_bits: message.mark,
            payload,
            one_sided: None,
        };
        self.assert_attended();
        self.sends.post(&descriptor.encode());
        self.posted_send();
        Ok(posted)
    }

    /// Requests that a send be cancelled. The caller has still to take it. The receiver's NIC
    /// decides, whatever the receiving rank does: the send is cancelled if it has met no receive.
    pub(super) fn cancel_send(&mut self, request: RequestId, to: MessagePeer) {
        let (Some(destination), Some(tag)) = (to.rank, to.tag) else {
            unreachable!("a send has a receiver and a tag");
        };
        let descriptor = SendDescriptor {
            request,
            needs_completion: false,
            context: to.context,
            destination,
            tag,
            len: 0,
            check_bits: CheckBits::NONE,
            payload: Payload::Cancel,
            one_sided: None,
        };
        self.sends.post(&descriptor.encode());
        self.posted_send();
    }

    fn open_send(
        &mut self,
        message: &OutgoingMessage<'_>,
        layout: Option<Arc<DataLayout>>,
        room: Option<PackBuffer>,
    ) -> Result<RequestId, TooManyRequests> {
        let to = MessagePeer {
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

    fn fill_payload(&self, slot: u32, data: &DataView) {
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
