//! Receives: their descriptors, and the delivery of their messages.

use super::NicTransport;
use super::requests::Purpose;
use super::unpacking::DeferredUnpack;
use crate::data::{DataView, LONG_BYTES, PackBuffer, SMALL_PIECE_BYTES, scatter};
use crate::transport::{RequestOutcome, TooManyRequests};
use bcs_core::descriptor::{ReceiveDescriptor, ReceiveKind};
use bcs_core::layout::Location;
use bcs_core::matching::Pattern;
use bcs_core::memory::Claimant;
use bcs_core::request::{RequestFailure, RequestId};

impl NicTransport {
    /// Posts a receive of at most as many bytes as `into` has.
    #[inline]
    pub(crate) fn receive(
        &mut self,
        pattern: Pattern,
        into: DataView,
    ) -> Result<RequestId, TooManyRequests> {
        let request = self.open_receive(pattern, &into)?;
        self.post_opened(request, pattern, &into, false);
        Ok(request)
    }

    /// Opens a receive that the other transport may satisfy as well, without posting it. The caller
    /// has to [post](Self::post_shared) it or [close](Self::close_shared) it.
    pub(crate) fn open_shared(
        &mut self,
        pattern: Pattern,
        into: &DataView,
    ) -> Result<RequestId, TooManyRequests> {
        let request = self.open_receive(pattern, into)?;
        self.memory.open_claim(request);
        Ok(request)
    }

    /// Posts a receive that was opened this way, and records its request on the other transport.
    pub(crate) fn post_shared(
        &mut self,
        (request, twin): (RequestId, RequestId),
        pattern: Pattern,
        into: &DataView,
    ) {
        self.requests.share(request, twin);
        self.post_opened(request, pattern, into, true);
    }

    /// Closes a receive that was opened this way and belongs to the other transport. The NIC never
    /// had it.
    pub(crate) fn close_shared(&mut self, request: RequestId) {
        if let Purpose::Receive { room, .. } = self.requests.close(request) {
            self.rooms.give_back(room);
        }
    }

    /// Returns the request of the same receive on the other transport, if it has one.
    pub(crate) fn twin(&self, request: RequestId) -> Option<RequestId> {
        match *self.requests.purpose(request) {
            Purpose::Receive { twin, .. } => twin,
            _ => None,
        }
    }

    /// Returns whether the other transport has claimed a shared receive.
    pub(crate) fn is_claimed_by_rank(&self, request: RequestId) -> bool {
        self.memory.claimant(request) == Some(Claimant::Rank)
    }

    /// Claims a shared receive for the other transport, unless the NIC was first.
    pub(crate) fn claim_for_rank(&self, request: RequestId) -> bool {
        self.memory.claim(request, Claimant::Rank)
    }

    /// Withdraws a shared receive that the other transport has satisfied. The NIC forgets it, and
    /// then its slot is free.
    pub(crate) fn withdraw_shared(&mut self, request: RequestId) {
        let Purpose::Receive { pattern, .. } = *self.requests.purpose(request) else {
            unreachable!("it was opened as that");
        };
        let satisfied = self.requests.detach(request, Purpose::VoidProbe);
        if let Some(Purpose::Receive { room, .. }) = satisfied {
            self.rooms.give_back(room);
        }
        self.push_receive(RequestId::NOBODY, pattern, ReceiveKind::Cancel(request));
    }

    #[inline]
    fn open_receive(
        &mut self,
        pattern: Pattern,
        into: &DataView,
    ) -> Result<RequestId, TooManyRequests> {
        let room = self.rooms.wanted(into, SMALL_PIECE_BYTES);
        let purpose = Purpose::Receive {
            pattern,
            into: into.clone(),
            room,
            twin: None,
        };
        self.requests.open(purpose)
    }

    /// Returns the location where the NIC puts the message of an open receive.
    #[inline]
    fn place_for(&mut self, request: RequestId, into: &DataView) -> Location {
        let purpose = self.requests.if_live_mut(request);
        let room = match purpose {
            Some(Purpose::Receive { room, .. }) => room.as_mut(),
            _ => None,
        };
        room.map_or_else(|| into.location(), PackBuffer::location)
    }

    #[inline]
    fn post_opened(&mut self, request: RequestId, pattern: Pattern, into: &DataView, shared: bool) {
        let kind = ReceiveKind::Receive {
            into: self.place_for(request, into),
            capacity: into.len() as u64,
            shared,
        };
        self.void_probes(pattern);
        self.push_receive(request, pattern, kind);
    }

    /// Posts the receive of a message that a probe has taken out.
    pub(crate) fn receive_extracted(
        &mut self,
        message: RequestId,
        pattern: Pattern,
        into: &DataView,
    ) -> Result<RequestId, TooManyRequests> {
        let request = self.open_receive(pattern, into)?;
        let kind = ReceiveKind::MatchedReceive {
            message,
            into: self.place_for(request, into),
            capacity: into.len() as u64,
        };
        self.push_receive(request, pattern, kind);
        Ok(request)
    }

    /// Requests that a receive or a send be cancelled. The caller has still to take it. Other
    /// requests go on.
    pub(crate) fn cancel(&mut self, request: RequestId) {
        match *self.requests.purpose(request) {
            Purpose::Receive { pattern, .. } => {
                let kind = ReceiveKind::Cancel(request);
                self.push_receive(RequestId::NOBODY, pattern, kind);
            }
            Purpose::Send { to, .. } if !self.is_completed(request) => {
                self.cancel_send(request, to);
            }
            _ => return,
        }
        self.progress();
        // A rank that cancels waits for the answer, and a receive alone requests no slice.
        self.demand_slice();
    }

    #[inline]
    pub(super) fn push_receive(&mut self, request: RequestId, pattern: Pattern, kind: ReceiveKind) {
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
        self.assert_attended();
        self.receives.post(&descriptor.encode());
        self.posted_receive();
    }

    /// Returns whether a request is done and its message is in place, as far as that takes no copy.
    pub(crate) fn is_done(&mut self, request: RequestId) -> bool {
        self.is_completed(request) && self.is_unpacked(request)
    }

    /// Takes the completion of a request, if it is there, and brings its message into place.
    pub(crate) fn take(&mut self, request: RequestId) -> Option<RequestOutcome> {
        let completion = self.completion(request)?;
        if !self.is_unpacked(request) {
            return None;
        }
        let unpacked = self.unpacking.take(request);
        self.rooms.give_back(unpacked);
        let mut outcome = RequestOutcome::from(&completion);
        let inline = completion.inline_bytes();
        let purpose = self.requests.close(request);
        if matches!(purpose, Purpose::Get { .. }) && outcome.failure == RequestFailure::SenderMemory
        {
            outcome.failure = RequestFailure::TargetMemory;
        }
        let into = match purpose {
            Purpose::OneSided { result, room, .. } => {
                self.rooms.give_back(room);
                result
            }
            Purpose::Receive { into, room, .. } | Purpose::Get { into, room } => {
                if let Some(mut room) = room {
                    let came = matches!(
                        outcome.failure,
                        RequestFailure::None | RequestFailure::Truncated
                    );
                    if came && inline.is_empty() {
                        let len = usize::try_from(outcome.len).unwrap_or(usize::MAX);
                        scatter(&into, 0, room.bytes(len.min(into.len())));
                    }
                    self.rooms.give_back(Some(room));
                }
                into
            }
            Purpose::Collective { output, .. } => output.into(),
            Purpose::Send { len, room, .. } => {
                self.rooms.give_back(room);
                outcome.len = len;
                return Some(outcome);
            }
            Purpose::Eager { .. } | Purpose::Probe(_) | Purpose::VoidProbe => return Some(outcome),
        };
        let fits = inline.len().min(into.len());
        scatter(&into, 0, &inline[..fits]);
        Some(outcome)
    }

    /// Returns whether there is a message to unpack without the lock.
    #[inline]
    pub(crate) fn has_deferred_copies(&self) -> bool {
        self.unpacking.has_errands()
    }

    /// Takes the next deferred copy of a request which `is_mine`. It has to be
    /// [returned](Self::finish_deferred_copy).
    pub(crate) fn take_deferred_copy(
        &mut self,
        is_mine: impl Fn(RequestId) -> bool,
    ) -> Option<DeferredUnpack> {
        self.unpacking.next(is_mine)
    }

    /// Takes back a deferred copy that was run.
    pub(crate) fn finish_deferred_copy(&mut self, done: DeferredUnpack) {
        self.unpacking.brought(done);
    }

    /// Returns whether the message that the NIC has completed is in place. For a long packed
    /// message it begins a deferred copy that unpacks it.
    pub(super) fn is_unpacked(&mut self, request: RequestId) -> bool {
        if let Some(is_done) = self.unpacking.is_done(request) {
            return is_done;
        }
        let purpose = self.requests.if_live_mut(request);
        let Some(Purpose::Receive { into, room, .. } | Purpose::Get { into, room }) = purpose
        else {
            return true;
        };
        if room.is_none() || into.len() <= LONG_BYTES {
            return true;
        }
        let Some(completion) = self.memory.completion(request) else {
            return false;
        };
        let came = matches!(
            completion.failure,
            RequestFailure::None | RequestFailure::Truncated
        );
        let len = usize::try_from(completion.len).unwrap_or(usize::MAX);
        let len = len.min(into.len());
        if !came || len <= LONG_BYTES {
            return true;
        }
        let Some(room) = room.take() else {
            return true;
        };
        let into = into.clone();
        self.unpacking.begin(DeferredUnpack {
            request,
            into,
            room,
            len,
        });
        false
    }
}
