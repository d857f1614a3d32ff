//! What the MDS is told of calls with a communicator, and of their messages: in ranks of the world.

use super::Comm;
use super::error::{Operation, Peer};
use crate::bcs::Outcome;
use crate::recording::{Begun, Called, Delivered, Manner, Message, Primitive, Road, Site};
use bcs_core::job::Intranode;
use bcs_core::request::Failure;

impl Comm {
    /// A call with these arguments, which is recorded if calls are.
    #[inline(always)]
    #[track_caller]
    pub(super) fn recorded<T>(
        &self,
        (primitive, manner): (Primitive, Manner),
        operation: &Operation,
        call: impl FnOnce(Begun) -> T,
    ) -> T {
        let recording = self.process().recording();
        if !recording.is_on() {
            return call(Begun::UNKNOWN);
        }
        let called = Called {
            blocking: manner == Manner::Waits,
            ..self.called(primitive, operation)
        };
        recording.recorded(Site::here(), manner, called, call)
    }

    /// A call with these arguments as the MDS is told of it.
    pub(super) fn called(&self, primitive: Primitive, operation: &Operation) -> Called {
        let peer = match operation.peer {
            Some(Peer::To(rank) | Peer::From(rank) | Peer::Root(rank)) => self.named(rank),
            None => None,
        };
        Called {
            context: Some(self.0.context),
            peer,
            tag: operation.tag.filter(|&tag| tag >= 0),
            bytes: operation.bytes.unwrap_or(0),
            ..Called::plain(primitive, false)
        }
    }

    /// The world rank that a rank of this communicator names, if it names one.
    pub(super) fn named(&self, rank: i32) -> Option<u32> {
        let rank = usize::try_from(rank).ok()?;
        self.peers().members.get(rank).copied()
    }

    /// A message of this communicator as the MDS is told of it.
    pub(super) fn told(&self, peer: u32, tag: i32, bytes: u64) -> Message {
        let near = self.process().endpoint().reaches(peer);
        Message {
            context: self.0.context,
            peer,
            tag,
            bytes,
            road: if near { Road::Smartmap } else { Road::Nic },
        }
    }

    /// The message to somebody that a call with these arguments sends; nothing if it sends none.
    pub(super) fn told_sent(&self, operation: &Operation) -> Option<Delivered> {
        let Some(Peer::To(rank)) = operation.peer else {
            return None;
        };
        let (peer, tag) = (self.named(rank)?, operation.tag?);
        let bytes = operation.bytes.unwrap_or(0);
        Some(Delivered::Sent(self.told(peer, tag, bytes)))
    }

    /// The message that a receive has got; nothing if it was cancelled, or has failed.
    pub(super) fn told_received(&self, outcome: &Outcome) -> Option<Delivered> {
        let message = || self.told(outcome.source, outcome.tag, outcome.len);
        (outcome.failure == Failure::None).then(|| Delivered::Received(message()))
    }

    /// Whether others of the communicator are reached without a NIC, so that its collectives, or the parts of them on
    /// this node, are seen by none.
    pub(super) fn is_near(&self) -> bool {
        *self.0.near.get_or_init(|| {
            let smartmap = self.process().endpoint().settings().intranode == Intranode::Smartmap;
            smartmap && self.process().local_members(self.all_members()) > 1
        })
    }
}
