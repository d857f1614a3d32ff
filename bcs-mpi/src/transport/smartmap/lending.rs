//! Lending the messages of blocking sends ([`loans`](super::messages::loans)).

use super::messages::envelope::{Body, Envelope, QueueMessage};
use super::messages::loans::LoanOutcome;
use super::requests::{LocalRequestId, LocalRequestState};
use super::state::SmartMap;
use crate::data::{DataView, PackBuffer};
use crate::transport::OutgoingMessage;
use bcs_core::limits::LEAST_SHARED_BYTES;
use bcs_core::smartmap::loan::Loan;

impl SmartMap {
    /// Lends a message to a rank of this node, if that rank is likely to want it. The caller waits
    /// a little and then [settles](Self::settle) it.
    pub(crate) fn lend(&mut self, message: &OutgoingMessage<'_>) -> Option<LocalRequestId> {
        let place = self.place_of(message.destination)?;
        let data = message.data;
        let lendable = data.layout().is_none() && data.len() < LEAST_SHARED_BYTES;
        let ways = !self.holds_for(place) && lendable && place != self.place;
        if !ways || !self.may_copy(data.len()) || !self.lenders[place].lends() {
            return None;
        }
        // The kernel would copy it, which takes longer than two copies through the slot.
        if self.peer_memory.is_beside(data.address(), data.len()) {
            return None;
        }
        let mut envelope = Envelope {
            body: Body::Lent(data.address()),
            ..Envelope::of(message)
        };
        let to = self.peer(place, &envelope);
        let data = data.clone();
        let id = self
            .requests
            .open(LocalRequestState::Sent { to, data })
            .ok()?;
        envelope.transfer = Some(id);
        self.word(place, QueueMessage::Message(envelope));
        Some(id)
    }

    /// Ends the short wait of a sender for its message to be fetched. Returns what the caller has
    /// to do about it.
    pub(crate) fn settle(&mut self, to: u32, id: LocalRequestId) -> LoanOutcome {
        if self.take(id).is_some() {
            self.was_wanted(to, true);
            return LoanOutcome::Done;
        }
        let Some(LocalRequestState::Sent { .. }) = self.requests.state(id) else {
            return LoanOutcome::Claimed; // It is being sent in parts.
        };
        if self.loan(id).is_claimed() {
            self.was_wanted(to, true);
            return LoanOutcome::Claimed;
        }
        LoanOutcome::Unwanted
    }

    /// Replaces a message that was not fetched by a copy. Returns whether the sender is done with
    /// it. If not, it is being fetched, and the sender has to wait for the request.
    pub(crate) fn withdraw(
        &mut self,
        to: u32,
        id: LocalRequestId,
        (mut copy, len): (PackBuffer, usize),
    ) -> bool {
        let piece = DataView::from(copy.plain(len));
        let withdrawn = self.loan(id).withdraw(piece.address());
        self.was_wanted(to, !withdrawn);
        if withdrawn {
            if let Some(LocalRequestState::Sent { data, .. }) = self.requests.state(id) {
                *data = piece;
            }
            self.keep_copy(id, copy);
        } else {
            self.rooms.give_back(Some(copy));
        }
        withdrawn
    }

    /// Returns whether a message that was lent to the rank at a place was not fetched in time, so
    /// that the next ones are copied.
    #[cfg(test)]
    pub(crate) fn copies_after_a_loan_to(&self, place: usize) -> bool {
        self.lenders[place].backs_off()
    }

    fn loan(&self, id: LocalRequestId) -> Loan<'_> {
        Loan::of_transfer(&self.node, self.place, id).expect("requests have their transfers")
    }

    fn was_wanted(&mut self, to: u32, wanted: bool) {
        let place = self
            .place_of(to)
            .expect("it was lent to a rank of this node");
        self.lenders[place].was_wanted(wanted);
    }
}
