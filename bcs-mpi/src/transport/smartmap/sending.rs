//! Sends within the node.

use super::deferred_copy::LocalDeferredCopy;
use super::messages::envelope::{
    Body, Envelope, INLINE_BYTES, InlineBytes, QueueMessage, ScatteredSource,
};
use super::messages::outgoing::OutgoingQueue;
use super::messages::packing::Pack;
use super::requests::{LocalRequestId, LocalRequestState};
use super::state::SmartMap;
use crate::data::{DataView, LOCAL_SMALL_PIECE_BYTES, LONG_BYTES, PackBuffer, gather};
use crate::transport::{OutgoingMessage, PostedSend, RequestOutcome, SendMode, TooManyRequests};
use bcs_core::limits::{MAX_COPIED_BYTES, MAX_QUEUED_BYTES};
use bcs_core::smartmap::NodeMemory;
use bcs_core::wait_state::MessagePeer;
use std::sync::atomic::Ordering;

#[cold]
fn open_way(way: &mut Option<OutgoingQueue>, node: &NodeMemory, from: usize, to: usize) {
    *way = Some(OutgoingQueue::new(node.sender(from, to)));
}

impl SmartMap {
    /// Returns the queue to a place. On the first use it is introduced to the rank there.
    #[inline(always)]
    pub(super) fn way_to(&mut self, place: usize) -> &mut OutgoingQueue {
        let way = &mut self.outgoing[place];
        if way.is_none() {
            open_way(way, &self.node, self.place, place);
        }
        way.as_mut().expect("it was opened")
    }

    /// Returns whether anything waits for room in the queue to a place.
    pub(super) fn holds_for(&self, place: usize) -> bool {
        self.outgoing[place]
            .as_ref()
            .is_some_and(OutgoingQueue::holds)
    }

    /// Posts a send to a rank of this node. Standard sends of at most the eager limit are complete
    /// when they have been copied (law 3).
    #[inline(always)]
    pub(crate) fn send(
        &mut self,
        mode: SendMode,
        message: &OutgoingMessage<'_>,
    ) -> Result<PostedSend, TooManyRequests> {
        let place = self.place_of(message.destination);
        let place = place.expect("the caller has looked whether the rank is near");
        let data = message.data;
        let eager =
            mode.is_eager(data.len(), self.eager_limit) && self.has_room_for(place, data.len());
        let envelope = Envelope::of(message);
        if eager && data.len() > INLINE_BYTES {
            return self.send_eagerly(place, envelope, data);
        }
        let to = self.peer(place, &envelope);
        let mut envelope = envelope;
        let mut posted = PostedSend::Complete;
        if !eager {
            let data = data.clone();
            let id = self.requests.open(LocalRequestState::Sent { to, data })?;
            self.cancellable(id).open();
            envelope.transfer = Some(id);
            posted = PostedSend::Request(id);
        }
        if data.len() <= INLINE_BYTES {
            envelope.body = Body::Inline(InlineBytes::of(data));
        } else {
            envelope.body = Body::InSenderMemory(data.location());
            if let Some(id) = envelope.transfer.filter(|_| data.layout().is_some()) {
                envelope.body = self.packed((id, to), place, data);
            }
        }
        self.word(place, QueueMessage::Message(envelope));
        Ok(posted)
    }

    /// Returns the location of a message that is not contiguous: in place, or packed if its pieces
    /// are small.
    #[cold]
    fn packed(
        &mut self,
        (id, to): (LocalRequestId, MessagePeer),
        place: usize,
        data: &DataView,
    ) -> Body {
        let wanted = self.rooms.wanted(data, LOCAL_SMALL_PIECE_BYTES);
        let Some((mut room, layout)) = wanted.zip(data.layout()) else {
            return Body::InSenderMemory(data.location());
        };
        let into = room.plain(data.len());
        let packed = DataView::from(into);
        let mut body = Body::InSenderMemory(packed.location());
        if data.len() > LONG_BYTES {
            // Its receiver may unpack meanwhile.
            self.requests
                .set(id, LocalRequestState::Away { to, data: packed });
            body = Body::Packing(
                into.address(),
                ScatteredSource {
                    address: data.address(),
                    digest: layout.digest(),
                },
            );
            let pack = Pack {
                copier: self.copier(),
                id,
                to: place,
                data: data.clone(),
                into,
            };
            self.push_deferred_copy(LocalDeferredCopy::Pack(pack));
        } else {
            gather(data, 0, room.bytes(data.len()));
            self.requests
                .set(id, LocalRequestState::Sent { to, data: packed });
        }
        self.packed.insert(id, room);
        body
    }

    fn send_eagerly(
        &mut self,
        place: usize,
        envelope: Envelope,
        data: &DataView,
    ) -> Result<PostedSend, TooManyRequests> {
        if data.len() > MAX_QUEUED_BYTES {
            let copy = self.rooms.copy_of(data);
            return self.send_copy(place, envelope, copy);
        }
        if self.way_to(place).eager(envelope, data).is_ok() {
            self.ring(place);
            return Ok(PostedSend::Complete);
        }
        let to = self.peer(place, &envelope);
        let request = self.requests.open(LocalRequestState::Held { to })?;
        self.way_to(place).hold(envelope, data.clone(), request);
        self.holding = true;
        self.flush();
        Ok(PostedSend::Request(request))
    }

    /// Sends a copy of a message that is too long for the queue, because the sender does not wait.
    /// Only this end knows of the copy.
    fn send_copy(
        &mut self,
        place: usize,
        envelope: Envelope,
        mut copy: PackBuffer,
    ) -> Result<PostedSend, TooManyRequests> {
        let to = self.peer(place, &envelope);
        let len = usize::try_from(envelope.len).expect("it was copied");
        let data = DataView::from(copy.plain(len));
        let body = Body::InSenderMemory(data.location());
        let opened = self.requests.open(LocalRequestState::Sent { to, data });
        let Ok(id) = opened else {
            self.rooms.give_back(Some(copy));
            return Err(TooManyRequests);
        };
        self.keep_copy(id, copy);
        self.cancellable(id).open();
        let transfer = Some(id);
        let word = QueueMessage::Message(Envelope {
            transfer,
            body,
            ..envelope
        });
        self.word(place, word);
        Ok(PostedSend::Complete)
    }

    /// Sends an entry without payload, now or when there is room.
    pub(super) fn word(&mut self, place: usize, word: QueueMessage) {
        let outgoing = self.way_to(place);
        outgoing.word(word);
        let holds = outgoing.holds();
        self.holding |= holds;
        self.ring(place);
    }

    /// Returns a buffer for a copy of a message. The copy is made without the endpoint's lock.
    pub(crate) fn room_for_copy(&mut self, len: usize) -> PackBuffer {
        self.rooms.allocate(len)
    }

    /// Sends a message whose data are this copy. Returns whether it did. The message is complete
    /// then.
    pub(crate) fn send_copied(&mut self, message: &OutgoingMessage<'_>, copy: PackBuffer) -> bool {
        let Some(place) = self.place_of(message.destination) else {
            return false;
        };
        let envelope = Envelope::of(message);
        self.send_copy(place, envelope, copy).is_ok()
    }

    /// Returns whether an eager message may be copied: into the queue, from which the receiver
    /// stores it, or here if it is too long for the queue.
    #[inline]
    pub(super) fn has_room_for(&self, place: usize, len: usize) -> bool {
        if len <= INLINE_BYTES {
            return true;
        }
        if len <= MAX_QUEUED_BYTES {
            return self.node.unexpected_full(place).load(Ordering::Relaxed) == 0;
        }
        self.may_copy(len)
    }

    /// Returns whether there is room for one more copy that its receiver has not requested.
    pub(crate) fn may_copy(&self, len: usize) -> bool {
        self.copied + len <= MAX_COPIED_BYTES
    }

    pub(super) fn keep_copy(&mut self, id: LocalRequestId, copy: PackBuffer) {
        self.copied += copy.len();
        self.copies.push_back((id, copy));
    }

    /// Checks this many of the copies, in turn, and frees those that have been received.
    pub(super) fn reap_copies(&mut self, looks: usize) {
        for _ in 0..looks.min(self.copies.len()) {
            let Some((id, copy)) = self.copies.pop_front() else {
                return;
            };
            if self.take(id).is_none() {
                self.copies.push_back((id, copy));
            } else {
                self.copied -= copy.len();
                self.rooms.give_back(Some(copy));
            }
        }
    }

    /// Sends messages that were held back, as far as there is room. Returns whether any was sent.
    pub(super) fn flush(&mut self) -> bool {
        if !self.holding {
            return false;
        }
        let mut sent_any = false;
        for place in 0..self.outgoing.len() {
            if !self.holds_for(place) {
                continue;
            }
            let mut sent = self.flush_to(place);
            if self.holds_for(place) {
                // Once more after the request for space, or a wake-up might be lost.
                self.node.request_space(self.place, place);
                sent |= self.flush_to(place);
            }
            if sent {
                self.ring(place);
            }
            sent_any |= sent;
        }
        self.holding = self.outgoing.iter().flatten().any(OutgoingQueue::holds);
        sent_any
    }

    fn flush_to(&mut self, place: usize) -> bool {
        let requests = &mut self.requests;
        let done = |id| requests.set(id, LocalRequestState::Done(RequestOutcome::default()));
        let way = self.outgoing[place].as_mut();
        way.is_some_and(|way| way.flush(done))
    }

    /// Handles a receiver's request for the parts of a message.
    pub(super) fn pulled(
        &mut self,
        from: usize,
        (transfer, into): (LocalRequestId, LocalRequestId),
        len: u64,
    ) {
        let rank = self.source(from);
        let (to, data) =
            match self.requests.state(transfer) {
                Some(
                    LocalRequestState::Sent { to, data } | LocalRequestState::Away { to, data },
                ) if to.rank == Some(rank) => (*to, data.clone()),
                _ => self.abort_on_corruption(from, "asks for a message that it was not sent"),
            };
        let len = usize::try_from(len).unwrap_or(usize::MAX).min(data.len());
        self.requests.set(transfer, LocalRequestState::Held { to });
        self.way_to(from).parts(data, len, (transfer, into));
        self.holding = true;
    }

    /// Returns whether this rank owes nothing: all that it has sent is with its receivers, or in
    /// their queues.
    pub(crate) fn is_quiet(&mut self) -> bool {
        if self.holding {
            return false;
        }
        if self.requests.sending() {
            let sent: Vec<LocalRequestId> = self.requests.sent().collect();
            for id in sent {
                self.look_at_transfer(id);
            }
        }
        // After the last check, or a copy that was received meanwhile would be left.
        self.reap_copies(usize::MAX);
        !self.requests.sending()
    }
}
