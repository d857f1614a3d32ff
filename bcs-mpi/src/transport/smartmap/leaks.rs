//! The contents of this end's tables when its rank ends (see [`crate::endpoint`], `leaks`).

use super::messages::outgoing::OutgoingQueue;
use super::requests::{LocalRequestId, LocalRequestState};
use super::state::SmartMap;
use bcs_core::matching::Pattern;
use bcs_core::smartmap::cancellation::CancellableSend;
use bcs_core::wait_state::{EnteredCollective, Leak, LeakReport, MessagePeer, UntakenSend};
use std::collections::HashSet;

impl SmartMap {
    /// Returns the receivers of sends that are not over.
    pub(crate) fn sending_to(&self) -> impl Iterator<Item = MessagePeer> {
        self.requests.sending_to()
    }

    /// Returns the number of messages that had no receive when they came.
    pub(crate) fn kept_so_far(&self) -> u64 {
        self.kept
    }

    /// Returns the bytes of stored messages that were not received.
    pub(crate) fn kept_bytes(&self) -> usize {
        self.kept_bytes
    }

    /// Returns the bytes of copies of messages whose senders did not wait.
    pub(crate) fn copied_bytes(&self) -> usize {
        self.copied
    }

    /// Returns whether any message has come that was not received.
    pub(crate) fn keeps_any(&self) -> bool {
        self.matcher.unexpected_len() > 0
    }

    /// Returns the oldest message for this pattern that has come and was not received.
    pub(crate) fn unmatched(&self, pattern: Pattern) -> Option<MessagePeer> {
        let (signature, _) = self.matcher.probe(pattern)?;
        Some(MessagePeer::from(Pattern::from(signature)))
    }

    /// Returns what the program has left: the number of requests, and of messages that it has not
    /// received.
    pub(crate) fn leak_counts(&self) -> (usize, u64) {
        let messages = self.matcher.unexpected_len() as u64;
        (self.requests.in_use(), messages)
    }

    /// Adds messages that have come and were not received, and sent ones that were not taken yet.
    pub(crate) fn add_messages(&mut self, left: &mut LeakReport) {
        for (signature, arrived) in self.matcher.unexpected() {
            if self.is_cancelled(arrived.place, &arrived.envelope) {
                continue;
            }
            left.add(
                Leak::Message(MessagePeer::from(Pattern::from(signature))),
                1,
            );
        }
        let me = self.source(self.place);
        for (place, outgoing) in (0..).zip(&mut self.outgoing) {
            for (position, envelope) in outgoing.iter_mut().flat_map(OutgoingQueue::untaken) {
                let transfer = envelope.cancellable();
                let message = transfer
                    .and_then(|id| CancellableSend::of_transfer(&self.node, self.place, id));
                if message.is_some_and(|message| message.is_cancelled()) {
                    continue;
                }
                let message = MessagePeer {
                    context: envelope.context,
                    rank: Some(me),
                    tag: Some(envelope.tag),
                };
                left.add_sent(UntakenSend {
                    place,
                    position,
                    message,
                });
            }
        }
    }

    /// Adds requests of the program, except twins of the NIC's. If `parts` of schedules cannot be
    /// told from them, it leaves out those that are done.
    pub(crate) fn add_requests(
        &self,
        left: &mut LeakReport,
        twins: &HashSet<LocalRequestId>,
        parts: bool,
    ) -> Vec<EnteredCollective> {
        let mut entered = Vec::new();
        for (id, state) in self.requests.iter() {
            match state {
                LocalRequestState::Collective(it) => entered.push(*it),
                _ if twins.contains(&id) => {}
                LocalRequestState::Posted { peer, .. } if peer.is_of_program() => {
                    left.add(Leak::Receive(*peer), 1);
                }
                LocalRequestState::Fetching { peer } if peer.is_of_program() => {
                    left.add(Leak::Request, 1)
                }
                LocalRequestState::Pulling(it) if it.peer.is_of_program() => {
                    left.add(Leak::Request, 1)
                }
                LocalRequestState::Done(_) if !parts => left.add(Leak::Request, 1),
                _ => {}
            }
        }
        entered
    }

    /// Returns whether collectives are under way.
    pub(crate) fn is_busy(&self) -> bool {
        self.communicators.is_busy()
    }

    /// Returns what this end owes once it is [quiet](Self::is_quiet), in words. Each entry should
    /// be false.
    pub(crate) fn internal_leaks(&self) -> [(bool, &'static str); 6] {
        let holds = self.holding || self.outgoing.iter().flatten().any(OutgoingQueue::holds);
        [
            (holds, "messages that wait for room in a queue"),
            (
                !self.copies.is_empty() || self.copied != 0,
                "copies of messages",
            ),
            (self.requests.sending(), "sends within the node"),
            (!self.replacing.is_empty(), "messages that replace others"),
            (self.requests.owes(), "requests within the node"),
            (
                self.communicators.has_orders() && !self.is_busy(),
                "collectives for the NIC",
            ),
        ]
    }
}
