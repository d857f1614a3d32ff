//! Lending the messages of blocking sends ([`loans`](super::messages::loans)).
#![expect(unsafe_code, reason = "messages are named by address")]

use super::messages::envelope::{Body, Envelope, Word};
use super::messages::loans::Settled;
use super::requests::{Id, State};
use super::state::SmartMap;
use crate::data::Piece;
use crate::roads::Message;
use bcs_core::limits::LEAST_SHARED_BYTES;
use bcs_core::smartmap::loan::Loan;

impl SmartMap {
    /// Lends a message to a rank of this node, if it is likely to be wanted. Whoever lends waits a little
    /// and then [settles](Self::settle) it.
    ///
    /// # Safety
    /// The data are initialised, and nobody writes them until the request is done.
    pub(crate) unsafe fn lend(&mut self, message: &Message) -> Option<Id> {
        let place = self.place_of(message.destination)?;
        let data = &message.data;
        let lendable = data.layout.is_none() && data.len < LEAST_SHARED_BYTES;
        let ways = !self.holds_for(place) && lendable && place != self.place;
        if !ways || !self.may_copy(data.len) || !self.lenders[place].lends() {
            return None;
        }
        let mut envelope = Envelope {
            context: message.context,
            tag: message.tag,
            len: data.len as u64,
            transfer: None,
            body: Body::Lent(data.address),
        };
        let to = self.peer(place, &envelope);
        let data = data.clone();
        let id = self.requests.open(State::Sent { to, data }).ok()?;
        envelope.transfer = Some(id);
        self.word(place, Word::Message(envelope));
        Some(id)
    }

    /// A sender has waited for its message to be fetched, and waits no longer: what is to be done about it.
    pub(crate) fn settle(&mut self, to: u32, id: Id) -> Settled {
        if self.take(id).is_some() {
            self.was_wanted(to, true);
            return Settled::Done;
        }
        let Some(State::Sent { .. }) = self.requests.state(id) else {
            return Settled::Claimed; // It is being sent in parts.
        };
        if self.loan(id).is_claimed() {
            self.was_wanted(to, true);
            return Settled::Claimed;
        }
        Settled::Unwanted
    }

    /// Leaves a copy in the place of a message that nobody wanted. Returns whether it is out of its sender's
    /// hands; if not, it is being fetched, and the request is to be waited for.
    pub(crate) fn withdraw(&mut self, to: u32, id: Id, copy: Box<[u8]>) -> bool {
        let address = copy.as_ptr().expose_provenance() as u64;
        let withdrawn = self.loan(id).withdraw(address);
        self.was_wanted(to, !withdrawn);
        if withdrawn {
            if let Some(State::Sent { data, .. }) = self.requests.state(id) {
                *data = Piece::new(address, copy.len());
            }
            self.keep_copy(id, copy);
        }
        withdrawn
    }

    fn loan(&self, id: Id) -> Loan<'_> {
        Loan::of(&self.node, self.place, id).expect("requests have their transfers")
    }

    fn was_wanted(&mut self, to: u32, wanted: bool) {
        let place = self
            .place_of(to)
            .expect("it was lent to a rank of this node");
        self.lenders[place].was_wanted(wanted);
    }
}
