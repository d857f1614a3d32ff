//! `MPI_Cancel` (MPI 5.0, 3.8.4): of receives that no message has met, and of sends that have met
//! no receive.
//!
//! The sender cancels a send without its receiver, which may be computing:
//!
//! - It takes back a message that waits for room in its queue.
//! - It cancels a message that is in the queue, or stored by its receiver, by one compare-and-swap
//!   in the transfer slot ([`bcs_core::smartmap::cancellation`]), unless the receiver has claimed
//!   it for a receive. A word that follows it through the queue notifies the receiver, which drops
//!   the entry.
//!
//! An eager message is complete when it was posted: its cancel comes too late, and it is received.

use super::messages::envelope::{Envelope, QueueMessage};
use super::requests::{LocalRequestId, LocalRequestState};
use super::state::SmartMap;
use crate::transport::RequestOutcome;
use bcs_core::matching::Pattern;
use bcs_core::request::RequestFailure;
use bcs_core::smartmap::cancellation::CancellableSend;

impl SmartMap {
    /// Cancels a receive that no message has met, or a send that has met no receive. The caller has
    /// still to take the request. If it is not known yet whether a message is claimed, a later look
    /// at its request decides.
    pub(crate) fn cancel(&mut self, request: LocalRequestId) {
        let (peer, handle) = match self.requests.state(request) {
            Some(LocalRequestState::Posted { peer, handle }) => (*peer, *handle),
            Some(LocalRequestState::Held { .. } | LocalRequestState::Sent { .. }) => {
                return self.cancel_sent(request);
            }
            // A thread is using the data. The cancel waits until it has returned.
            Some(LocalRequestState::Away { .. }) => return self.cancel_later(request),
            _ => return,
        };
        if self.matcher_of(peer.context).cancel(handle).is_some() {
            self.cancelled(request);
        }
    }

    /// Sender: returns the data by which its receiver and this end decide.
    pub(super) fn cancellable(&self, id: LocalRequestId) -> CancellableSend<'_> {
        let message = CancellableSend::of_transfer(&self.node, self.place, id);
        message.expect("requests have their transfers")
    }

    fn cancelled(&mut self, request: LocalRequestId) {
        let outcome = RequestOutcome {
            failure: RequestFailure::Cancelled,
            ..RequestOutcome::default()
        };
        self.requests.set(request, LocalRequestState::Done(outcome));
    }

    fn cancel_later(&mut self, id: LocalRequestId) {
        if !self.cancels.contains(&id) {
            self.cancels.push(id);
        }
    }

    /// Cancels a send whose data no thread is using, if it has met no receive.
    pub(super) fn cancel_sent(&mut self, id: LocalRequestId) {
        let (is_held, to) = match self.requests.state(id) {
            Some(LocalRequestState::Held { to }) => (true, *to),
            Some(LocalRequestState::Sent { to, .. }) => (false, *to),
            _ => return,
        };
        let Some(place) = to.rank.and_then(|rank| self.place_of(rank)) else {
            return;
        };
        let way = self.outgoing[place].as_mut();
        if way.is_some_and(|way| way.take_back(id)) {
            return self.cancelled(id);
        }
        if is_held {
            return; // Its receiver has requested its parts.
        }
        if self.node.transfer_outcome(self.place, id).is_some() {
            return;
        }
        if !self.cancellable(id).cancel() {
            // Claimed, and perhaps released again.
            return self.cancel_later(id);
        }
        let (context, Some(tag)) = (to.context, to.tag) else {
            unreachable!("a send has a tag");
        };
        self.word(
            place,
            QueueMessage::Cancelled {
                context,
                tag,
                transfer: id,
            },
        );
        self.cancelled(id);
    }

    /// Receiver: claims a message for a receive. Its sender cannot cancel it any more. Returns
    /// false if it is already cancelled.
    #[inline]
    pub(super) fn claims(&self, place: usize, envelope: &Envelope) -> bool {
        let Some(transfer) = envelope.cancellable() else {
            return true;
        };
        match CancellableSend::of_transfer(&self.node, place, transfer) {
            Some(message) => message.claim(),
            None => self.abort_on_corruption(place, "waits for a transfer that there is not"),
        }
    }

    /// Receiver: returns whether the sender of a message has cancelled it so far.
    pub(super) fn is_cancelled(&self, place: usize, envelope: &Envelope) -> bool {
        let message = envelope.cancellable();
        let message =
            message.and_then(|transfer| CancellableSend::of_transfer(&self.node, place, transfer));
        message.is_some_and(|message| message.is_cancelled())
    }

    /// Receiver: releases the claim of a message whose receive is another one's.
    #[cold]
    pub(super) fn release(&self, place: usize, envelope: &Envelope) {
        let message = envelope.cancellable();
        if let Some(message) =
            message.and_then(|it| CancellableSend::of_transfer(&self.node, place, it))
        {
            message.release();
            self.ring(place);
        }
    }

    /// Receiver: drops stored messages that were cancelled, as far as a receive with this pattern
    /// would get them.
    pub(super) fn forget_cancelled(&mut self, pattern: Pattern) {
        while let Some((_, arrived)) = self.matcher_of(pattern.context).probe(pattern) {
            let (place, envelope) = (arrived.place, arrived.envelope);
            if !self.is_cancelled(place, &envelope) {
                return;
            }
            self.matcher_of(pattern.context).take_unexpected(pattern);
        }
    }

    /// Receiver: handles the word that the sender at a place has cancelled a message.
    pub(super) fn heard_of_cancel(
        &mut self,
        place: usize,
        (context, tag): (u32, i32),
        id: LocalRequestId,
    ) {
        let signature = bcs_core::matching::MessageEnvelope {
            context,
            source: self.source(place),
            tag,
        };
        let matcher = self.matcher_of(context);
        // If it is not stored, it was found to be cancelled before.
        matcher.take_message(signature, |arrived| arrived.envelope.transfer == Some(id));
    }
}
