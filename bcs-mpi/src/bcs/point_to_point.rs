//! bcs_send and bcs_recv.
#![expect(
    unsafe_code,
    reason = "messages are named by address, as the NIC needs them"
)]

use super::endpoint::{Endpoint, State};
use super::requests::{Handle, Purpose, Request, Requests};
use crate::data::LONG_BYTES;
use crate::data::bytes;
use crate::data::{Piece, gather};
use crate::data::{Room, SMALL_PIECE_BYTES};
use crate::roads::smartmap::SmartMap;
use crate::roads::{Message, SendMode};
use crate::roads::{Outcome, TooManyRequests};
use bcs_core::descriptor::{Payload, ReceiveDescriptor, ReceiveKind, SendDescriptor};
use bcs_core::limits::INLINE_BYTES;
use bcs_core::matching::Pattern;
use bcs_core::request::RequestId;
use bcs_core::whereabouts::Peer;

/// What became of a receive.
#[derive(Clone, Copy, Debug)]
pub enum Received {
    /// Its message was there.
    Now(Outcome),
    /// It is posted.
    Posted(Request),
}

impl Endpoint {
    /// Posts a send. It never blocks; a blocking send is this and a
    /// [`bcs_test`](Self::bcs_test) that waits.
    ///
    /// # Safety
    /// The data are initialised, and nobody writes them until the request is done.
    ///
    /// # Errors
    /// When all request slots are in use.
    pub unsafe fn bcs_send(
        &self,
        mode: SendMode,
        message: &Message,
    ) -> Result<Request, TooManyRequests> {
        let mut state = self.lock();
        // SAFETY: the caller's promise.
        if let Some(posted) = unsafe { self.send_near(&mut state, mode, message) } {
            let posted = posted?;
            // Whoever only sends finds its queue full in the end, and then looks after the others.
            let holds = state.near.as_ref().is_some_and(SmartMap::holds);
            if holds || self.turn.is_holding() {
                self.progress(&mut state);
                self.leave(state);
            } else if message.data.layout.is_some() {
                self.leave(state); // Its receiver may wait for it to be packed.
            }
            return Ok(Request(posted));
        }
        self.progress(&mut state);
        let (data, mut room) = (&message.data, None);
        if data.len > LONG_BYTES && data.layout.is_some() {
            room = state.rooms.wanted(data, SMALL_PIECE_BYTES);
        }
        if let Some(room) = &mut room {
            drop(state);
            // SAFETY: the caller's promise.
            unsafe { gather(data, 0, room.bytes(data.len)) };
            state = self.lock();
        }
        // SAFETY: the caller's promise.
        let request = unsafe { self.send_far(&mut state, mode, message, room)? };
        self.progress(&mut state);
        self.leave(state);
        Ok(request)
    }

    /// Posts a send, and leaves it to the caller to make progress.
    ///
    /// # Safety
    /// As for [`bcs_send`](Self::bcs_send).
    pub(super) unsafe fn send(
        &self,
        state: &mut State,
        mode: SendMode,
        message: &Message,
    ) -> Result<Request, TooManyRequests> {
        // SAFETY: the caller's promise.
        if let Some(posted) = unsafe { self.send_near(state, mode, message) } {
            return Ok(Request(posted?));
        }
        // SAFETY: the caller's promise.
        unsafe { self.send_far(state, mode, message, None) }
    }

    /// Posts a send to a rank of another node, whose data may have been packed.
    ///
    /// # Safety
    /// As for [`bcs_send`](Self::bcs_send).
    unsafe fn send_far(
        &self,
        state: &mut State,
        mode: SendMode,
        message: &Message,
        packed: Option<Room>,
    ) -> Result<Request, TooManyRequests> {
        // An eager limit of 0 means the paper's rendezvous for all, empty messages included.
        let limit = self.settings.eager_limit;
        let data = &message.data;
        let eager = mode == SendMode::Standard && limit > 0 && data.len <= limit;
        let len = data.len as u64;
        let to = Peer {
            context: message.context,
            rank: Some(message.destination),
            tag: Some(message.tag),
        };
        let open = |state: &mut State, layout, room| {
            let purpose = Purpose::Send {
                len,
                to,
                layout,
                room,
            };
            state.requests.open(purpose)
        };
        let complete = Handle::Complete(len);
        let (handle, owed, payload) = if data.len <= INLINE_BYTES {
            let mut inline = [0; INLINE_BYTES];
            // SAFETY: the caller's promise.
            unsafe { gather(data, 0, &mut inline[..data.len]) };
            if eager {
                (complete, None, Payload::Inline(inline))
            } else {
                let request = open(state, None, None)?;
                (Handle::Nic(request), Some(request), Payload::Inline(inline))
            }
        } else if let Some(slot) = eager.then(|| self.payload_slot(state)).flatten() {
            let opened = state
                .requests
                .opened_detached(Purpose::Eager { payload_slot: slot });
            let Ok(request) = opened else {
                state.payload_slots.give_back(slot);
                return Err(TooManyRequests);
            };
            // SAFETY: the caller's promise.
            unsafe { self.fill_payload(slot, data) };
            let address = self.memory.payload_address(slot as usize);
            (complete, Some(request), Payload::Slot { slot, address })
        } else {
            let (location, request) = if let Some(mut room) = packed {
                (room.location(), open(state, None, Some(room))?)
            } else if let Some(mut room) = state.rooms.wanted(data, SMALL_PIECE_BYTES) {
                // SAFETY: the caller's promise.
                unsafe { gather(data, 0, room.bytes(data.len)) };
                (room.location(), open(state, None, Some(room))?)
            } else {
                (data.location(), open(state, data.layout.clone(), None)?)
            };
            let payload = Payload::Memory(location);
            (Handle::Nic(request), Some(request), payload)
        };
        let descriptor = SendDescriptor {
            request: owed.unwrap_or(Requests::NOBODY),
            owed: owed.is_some(),
            context: message.context,
            destination: message.destination,
            tag: message.tag,
            len,
            payload,
        };
        self.needs_nic();
        state.sends.post(descriptor.encode());
        self.posted_send();
        Ok(Request(handle))
    }

    /// # Safety
    /// The data are initialised and nobody writes them.
    unsafe fn fill_payload(&self, slot: u32, data: &Piece) {
        let slot = slot as usize;
        if data.layout.is_none() {
            // SAFETY: the caller's promise.
            let bytes = unsafe { bytes::bytes(data.address, data.len) };
            self.memory.write_payload(slot, 0, bytes);
            return;
        }
        // Through a copy of which some lines of the first cache are enough.
        let mut bounce = [0; 1024];
        let mut offset = 0;
        while offset < data.len {
            let bytes = &mut bounce[..(data.len - offset).min(1024)];
            // SAFETY: the caller's promise.
            unsafe { gather(data, offset, bytes) };
            self.memory.write_payload(slot, offset, bytes);
            offset += bytes.len();
        }
    }

    fn payload_slot(&self, state: &mut State) -> Option<u32> {
        self.reap(state, false);
        if let Some(slot) = state.payload_slots.take() {
            return Some(slot);
        }
        self.reap(state, true);
        state.payload_slots.take()
    }

    /// Posts a receive of at most as many bytes as `into` has, unless its message is there already. It never
    /// blocks.
    ///
    /// # Safety
    /// `into` may be written, and nobody else uses it until the request is done.
    ///
    /// # Errors
    /// When all request slots are in use.
    #[inline(always)]
    pub unsafe fn bcs_recv(
        &self,
        pattern: Pattern,
        into: Piece,
    ) -> Result<Received, TooManyRequests> {
        let mut state = self.lock();
        let reach = state.reach(pattern);
        if let Some(near) = state.near.as_mut().filter(|_| !reach.far) {
            let early = match self.turn.is_holding() {
                // SAFETY: the caller's promise.
                false => unsafe { near.receive_early(&pattern, &into) },
                true => None, // What waits for room is the affair of every call.
            };
            if let Some(outcome) = early {
                return Ok(Received::Now(outcome));
            }
            // SAFETY: the caller's promise.
            let request = unsafe { near.receive(pattern, into, None)? };
            near.drain_for(pattern.source);
            self.tell_threads(&state);
            self.leave(state);
            return Ok(Received::Posted(Request(Handle::Near(request))));
        }
        self.progress(&mut state);
        // SAFETY: the caller's promise.
        let request = unsafe { self.receive(&mut state, pattern, into)? };
        self.progress(&mut state);
        self.leave(state);
        Ok(Received::Posted(Request(request)))
    }

    /// Posts a receive, and leaves it to the caller to make progress.
    ///
    /// # Safety
    /// As for [`bcs_recv`](Self::bcs_recv).
    pub(super) unsafe fn receive(
        &self,
        state: &mut State,
        pattern: Pattern,
        into: Piece,
    ) -> Result<Handle, TooManyRequests> {
        let reach = state.reach(pattern);
        if reach.near && reach.far {
            // SAFETY: the caller's promise.
            return unsafe { self.receive_shared(state, pattern, into) };
        }
        if let Some(near) = state.near.as_mut().filter(|_| reach.near) {
            // SAFETY: the caller's promise.
            return Ok(Handle::Near(unsafe { near.receive(pattern, into, None)? }));
        }
        let capacity = into.len as u64;
        let (location, purpose) = state.purpose_of_receive(pattern, into);
        let request = state.requests.open(purpose)?;
        state.void_probes(pattern);
        let kind = ReceiveKind::Receive {
            into: location,
            capacity,
            shared: false,
        };
        self.push_receive(state, request, pattern, kind);
        Ok(Handle::Nic(request))
    }

    /// Asks to cancel a receive (MPI 5.0, 3.8.4). The request has still to be tested for: it
    /// comes to [`Cancelled`](bcs_core::request::Failure::Cancelled), or to a message that was
    /// matched before. Requests that are no receives go on as if nothing had been asked.
    pub fn bcs_cancel(&self, request: Request) {
        let mut state = self.lock();
        let target = match request.0 {
            Handle::Nic(target) => target,
            Handle::Near(target) => {
                state.near.iter_mut().for_each(|near| near.cancel(target));
                return self.tell_threads(&state);
            }
            Handle::Complete(_) | Handle::Schedule(_) => return,
        };
        if self.cancel_shared(&mut state, target) {
            return;
        }
        if let &Purpose::Receive { pattern, .. } = state.requests.purpose(target) {
            let kind = ReceiveKind::Cancel(target);
            self.post_receive(&mut state, Requests::NOBODY, pattern, kind);
            // Whoever cancels will wait for it, and a receive alone asks for no slice.
            self.ask();
            self.progress(&mut state);
        }
    }

    pub(super) fn post_receive(
        &self,
        state: &mut State,
        request: RequestId,
        pattern: Pattern,
        kind: ReceiveKind,
    ) {
        self.push_receive(state, request, pattern, kind);
        self.progress(state);
    }

    pub(super) fn push_receive(
        &self,
        state: &mut State,
        request: RequestId,
        pattern: Pattern,
        kind: ReceiveKind,
    ) {
        let Pattern {
            context,
            source,
            tag,
        } = pattern;
        let descriptor = ReceiveDescriptor {
            request,
            context,
            source,
            tag,
            kind,
        };
        self.needs_nic();
        state.receives.post(descriptor.encode());
        self.posted_receive();
    }
}
