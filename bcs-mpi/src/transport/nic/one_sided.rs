//! One-sided operations between nodes: descriptors for the NICs of origin and target.
//!
//! A put or an update is a send without a receive, a get is a receive without a send
//! ([`bcs_core::descriptor::OneSidedTarget`]). Up to 64 bytes go with the descriptor, and come back
//! with the completion. The NIC of the target's node does the operation, so the target takes no
//! part in it.

use super::NicTransport;
use super::requests::Purpose;
use crate::data::{DataView, PackBuffer, gather};
use crate::transport::TooManyRequests;
use crate::transport::one_sided::{OneSided, OneSidedKind};
use bcs_core::check_bits::CheckBits;
use bcs_core::descriptor::{OneSidedAction, OneSidedTarget, Payload, ReceiveKind, SendDescriptor};
use bcs_core::limits::INLINE_BYTES;
use bcs_core::matching::Pattern;
use bcs_core::request::RequestId;

impl NicTransport {
    /// Posts a one-sided operation. Its request is complete when it has happened at the target and
    /// its result is in place.
    ///
    /// # Panics
    /// If an update fetches more than [`INLINE_BYTES`].
    pub(crate) fn one_sided(&mut self, operation: &OneSided) -> Result<RequestId, TooManyRequests> {
        let action = match operation.kind {
            OneSidedKind::Get => return self.get(operation),
            OneSidedKind::Put => OneSidedAction::Put,
            OneSidedKind::Update(update) => OneSidedAction::Update(update),
        };
        let target = OneSidedTarget {
            address: operation.address,
            action,
            wakes: operation.wakes_target,
        };
        let returned = target.returned_len(operation.len);
        assert!(
            returned <= INLINE_BYTES as u64,
            "{returned} bytes come back"
        );
        let (request, payload) = self.open_one_sided(operation, action == OneSidedAction::Put)?;
        let descriptor = SendDescriptor {
            request,
            needs_completion: true,
            context: 0,
            destination: operation.target,
            tag: 0,
            len: operation.len,
            check_bits: CheckBits::NONE,
            payload,
            one_sided: Some(target),
        };
        self.assert_attended();
        self.sends.post(&descriptor.encode());
        self.posted_send();
        Ok(request)
    }

    /// Opens the request of an operation that sends, and describes where its bytes are. Those of an
    /// update lie side by side.
    fn open_one_sided(
        &mut self,
        operation: &OneSided,
        may_be_in_pieces: bool,
    ) -> Result<(RequestId, Payload), TooManyRequests> {
        let (origin, result) = (&operation.origin, &operation.result);
        let open = |room, layout| Purpose::OneSided {
            result: result.clone(),
            room,
            layout,
        };
        if origin.len() <= INLINE_BYTES {
            let mut inline = [0; INLINE_BYTES];
            gather(origin, 0, &mut inline[..origin.len()]);
            let request = self.requests.open(open(None, None))?;
            return Ok((request, Payload::Inline(inline)));
        }
        let packed = match origin.layout() {
            Some(_) if !may_be_in_pieces => Some(self.rooms.copy_of(origin)),
            _ => self.room_for(origin).map(|mut room| {
                gather(origin, 0, room.bytes(origin.len()));
                room
            }),
        };
        let Some(mut room) = packed else {
            let request = self.requests.open(open(None, origin.layout().cloned()))?;
            return Ok((request, Payload::Memory(origin.location())));
        };
        let location = room.location();
        let request = self.requests.open(open(Some(room), None))?;
        Ok((request, Payload::Memory(location)))
    }

    fn get(&mut self, operation: &OneSided) -> Result<RequestId, TooManyRequests> {
        let into: &DataView = &operation.result;
        let mut room = self.room_for(into);
        let place = room
            .as_mut()
            .map_or_else(|| into.location(), PackBuffer::location);
        let request = self.requests.open(Purpose::Get {
            into: into.clone(),
            room,
        })?;
        let kind = ReceiveKind::Get {
            address: operation.address,
            into: place,
            len: operation.len,
        };
        let target = Pattern {
            context: 0,
            source: Some(operation.target),
            tag: None,
        };
        self.push_receive(request, target, kind);
        self.posted_get();
        Ok(request)
    }
}
