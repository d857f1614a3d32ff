//! The records that the MDS gets of calls with a communicator and of their messages, in ranks of
//! the world.

use super::Comm;
use super::error::{Operation, Peer};
use crate::bcs::RequestOutcome;
use crate::recording::{
    CallInfo, CallStart, CallTiming, DeliveredMessage, MessageInfo, MessageTransport, Primitive,
    Site,
};
use bcs_core::job::IntranodeTransport;
use bcs_core::request::RequestFailure;

impl Comm {
    /// Begins a call with these arguments, which is recorded if calls are.
    #[inline(always)]
    #[track_caller]
    pub(super) fn record_call<T>(
        &self,
        (primitive, manner): (Primitive, CallTiming),
        operation: &Operation,
        call: impl FnOnce(CallStart) -> T,
    ) -> T {
        let recording = self.process().recording();
        if !recording.is_on() {
            return call(CallStart::UNKNOWN);
        }
        let called = CallInfo {
            blocking: manner == CallTiming::Waits,
            ..self.call_record(primitive, operation)
        };
        recording.record_call(Site::here(), manner, called, call)
    }

    /// Returns the MDS's record of a call with these arguments.
    pub(super) fn call_record(&self, primitive: Primitive, operation: &Operation) -> CallInfo {
        let peer = match operation.peer {
            Some(Peer::To(rank) | Peer::From(rank) | Peer::Root(rank)) => {
                self.named_world_rank(rank)
            }
            None => None,
        };
        CallInfo {
            context: Some(self.0.context),
            peer,
            tag: operation.tag.filter(|&tag| tag >= 0),
            bytes: operation.bytes.unwrap_or(0),
            ..CallInfo::plain(primitive, false)
        }
    }

    /// Returns the world rank of a rank of this communicator, if it is one.
    pub(super) fn named_world_rank(&self, rank: i32) -> Option<u32> {
        let rank = usize::try_from(rank).ok()?;
        self.peers().members.get(rank).copied()
    }

    /// Returns the MDS's record of a message of this communicator.
    pub(super) fn message_record(&self, peer: u32, tag: i32, bytes: u64) -> MessageInfo {
        let near = self.process().endpoint().reaches(peer);
        MessageInfo {
            context: self.0.context,
            peer,
            tag,
            bytes,
            road: if near {
                MessageTransport::Smartmap
            } else {
                MessageTransport::Nic
            },
        }
    }

    /// Returns the message that a call with these arguments sends; `None` if it sends none.
    pub(super) fn sent_record(&self, operation: &Operation) -> Option<DeliveredMessage> {
        let Some(Peer::To(rank)) = operation.peer else {
            return None;
        };
        let (peer, tag) = (self.named_world_rank(rank)?, operation.tag?);
        let bytes = operation.bytes.unwrap_or(0);
        Some(DeliveredMessage::Sent(
            self.message_record(peer, tag, bytes),
        ))
    }

    /// Returns the message that a receive got; `None` if it was cancelled or has failed.
    pub(super) fn received_record(&self, outcome: &RequestOutcome) -> Option<DeliveredMessage> {
        let message = || self.message_record(outcome.source, outcome.tag, outcome.len);
        (outcome.failure == RequestFailure::None).then(|| DeliveredMessage::Received(message()))
    }

    /// Returns whether the communicator has members that are reached without a NIC. No NIC sees its
    /// collectives then, or the parts of them on this node.
    pub(super) fn has_local_members(&self) -> bool {
        *self.0.has_local_members.get_or_init(|| {
            let smartmap =
                self.process().endpoint().settings().intranode == IntranodeTransport::Smartmap;
            smartmap && self.process().local_members(self.all_members()) > 1
        })
    }
}
