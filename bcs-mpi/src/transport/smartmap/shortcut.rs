//! The short path: blocking calls of ranks that have nothing else under way.
//!
//! A message between ranks that wait for each other costs the cache line that moves from one core
//! to the other, and some tens of nanoseconds here and there. A request, a place in the matcher and
//! two checks for all other events cost more than that. If no other event is possible they are left
//! out: a receive whose message is first in the queue of its source takes it from there, and a send
//! that finds room writes it there. The order of messages is unchanged, because no message is
//! stored here that the receive would get, and no receive is posted.

use super::messages::envelope::{Body, QueueMessage};
use super::state::SmartMap;
use crate::data::DataView;
use crate::transport::{OutgoingMessage, RequestOutcome};
use bcs_core::matching::Pattern;

/// The first entry of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueueHead {
    /// The message. It was received.
    Received,
    /// Nothing.
    Nothing,
    /// Another entry, or a message that this rank has to request.
    Other,
}

impl SmartMap {
    /// Returns whether nothing is held back or under way, and no message is stored that a receive
    /// with this pattern would get.
    #[inline]
    pub(crate) fn is_idle_for(&self, pattern: &Pattern) -> bool {
        !self.holding && !self.requests.waiting() && !self.keeps_for(pattern)
    }

    #[inline]
    fn keeps_for(&self, pattern: &Pattern) -> bool {
        self.matcher.unexpected_len() > 0 && self.matcher.holds_match_for(*pattern)
    }

    /// Receives the first entry in the queue of one source, if a receive with this pattern would
    /// get it, and writes the outcome to the caller's place. This end [is idle for
    /// it](Self::is_idle_for).
    #[inline(always)]
    pub(crate) fn receive_next(
        &mut self,
        source: u32,
        pattern: &Pattern,
        into: &DataView,
        outcome: &mut RequestOutcome,
    ) -> QueueHead {
        let Some(place) = self.place_of(source) else {
            return QueueHead::Other;
        };
        let Some(entry) = self.incoming[place].queue.peek() else {
            return QueueHead::Nothing;
        };
        let Some(QueueMessage::Message(envelope)) = QueueMessage::parse(&entry, self.checked)
        else {
            return QueueHead::Other;
        };
        if !pattern.matches(&self.signature(place, &envelope)) || envelope.is_long() {
            return QueueHead::Other;
        }
        // A cancelled message is dropped where all entries are taken.
        if !self.claims(place, &envelope) {
            return QueueHead::Other;
        }
        if matches!(envelope.body, Body::Queued { .. }) {
            let bytes = &mut self.incoming[place].bytes;
            *bytes = bytes.saturating_add(envelope.len);
        }
        if self.bring(place, &envelope, None, into, outcome).is_err() {
            return QueueHead::Other;
        }
        self.took(place);
        QueueHead::Received
    }

    /// Receives a message that is there already, if no other receive and no other message can
    /// match, and writes the outcome to the caller's place. Returns whether it did.
    pub(crate) fn receive_early(
        &mut self,
        pattern: &Pattern,
        into: &DataView,
        outcome: &mut RequestOutcome,
    ) -> bool {
        // A call that ends with its post flushes nothing.
        if self.holding || self.matcher.posted_len() > 0 || self.keeps_for(pattern) {
            return false;
        }
        pattern.source.is_some_and(|source| {
            self.receive_next(source, pattern, into, outcome) == QueueHead::Received
        })
    }

    /// Sends a message that is complete when it is in its queue. Returns whether there was room.
    pub(crate) fn send_now(&mut self, message: &OutgoingMessage<'_>) -> bool {
        let Some(place) = self.place_of(message.destination) else {
            return false;
        };
        if !self.has_room_for(place, message.data.len()) {
            return false;
        }
        if self.way_to(place).now(message).is_err() {
            return false;
        }
        self.ring(place);
        true
    }
}
