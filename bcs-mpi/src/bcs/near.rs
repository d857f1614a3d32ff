//! The two roads: messages of this node come by SMARTMAP, others by the NIC.
//!
//! All messages between two ranks take the same road, so each road by itself keeps the order that the
//! standard asks for. A receive or probe whose source is named takes the road of that rank. One
//! from any source, of a communicator with members both here and elsewhere, is posted on both, and a
//! message has to be *claimed* for it before it is matched ([`NicMemory::claim`]): by this rank when it
//! finds one in its queues, by its NIC when it has one. Whoever comes second leaves it alone, and so
//! goes on to the next receive that matches.
//!
//! [`NicMemory::claim`]: bcs_core::memory::NicMemory::claim
#![expect(unsafe_code, reason = "messages are named by address")]

use super::endpoint::{Endpoint, State};
use super::requests::{Handle, Purpose, Requests};
use crate::data::Piece;
use crate::roads::smartmap::{NoSlot, Posted};
use crate::roads::{Message, SendMode};
use crate::roads::{Outcome, TooManyRequests};
use bcs_core::descriptor::ReceiveKind;
use bcs_core::limits::MAX_CONTEXTS;
use bcs_core::matching::Pattern;
use bcs_core::memory::Claimant;
use bcs_core::request::RequestId;

/// Which roads a message may come by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reach {
    pub(super) near: bool,
    pub(super) far: bool,
}

impl From<NoSlot> for TooManyRequests {
    fn from(_: NoSlot) -> Self {
        Self
    }
}

impl From<Posted> for Handle {
    /// Of what has no length.
    fn from(posted: Posted) -> Self {
        match posted {
            Posted::Complete => Self::Complete(0),
            Posted::Request(id) => Self::Near(id),
        }
    }
}

impl State {
    /// Takes back what a receive had for its NIC, which never claimed it.
    fn give_back(&mut self, receive: Purpose) {
        if let Purpose::Receive { room, .. } = receive {
            self.rooms.give_back(room);
        }
    }

    /// By which roads a message for this pattern may come.
    pub(super) fn reach(&self, pattern: Pattern) -> Reach {
        let Some(smartmap) = &self.near else {
            return Reach {
                near: false,
                far: true,
            };
        };
        if let Some(source) = pattern.source {
            let near = smartmap.is_near(source);
            return Reach { near, far: !near };
        }
        match self.contexts.get(pattern.context) {
            Some(context) => context.reach(),
            // A communicator of this rank alone.
            None => Reach {
                near: true,
                far: (pattern.context as usize) < MAX_CONTEXTS,
            },
        }
    }
}

impl Endpoint {
    /// Posts a send to a rank of this node; `None` if it is not one.
    ///
    /// # Safety
    /// As for [`bcs_send`](Self::bcs_send).
    #[inline(always)]
    pub(super) unsafe fn send_near(
        &self,
        state: &mut State,
        mode: SendMode,
        message: &Message,
    ) -> Option<Result<Handle, TooManyRequests>> {
        let near = state.near.as_mut()?;
        if !near.is_near(message.destination) {
            return None;
        }
        // SAFETY: the caller's promise.
        let posted = unsafe { near.send(mode, message, self.settings.eager_limit) };
        Some(match posted {
            Ok(Posted::Complete) => Ok(Handle::Complete(message.data.len as u64)),
            Ok(Posted::Request(id)) => Ok(Handle::Near(id)),
            Err(full) => Err(full.into()),
        })
    }

    /// Posts a receive that a message by either road may satisfy.
    ///
    /// # Safety
    /// As for [`bcs_recv`](Self::bcs_recv).
    pub(super) unsafe fn receive_shared(
        &self,
        state: &mut State,
        pattern: Pattern,
        into: Piece,
    ) -> Result<Handle, TooManyRequests> {
        let capacity = into.len as u64;
        let (location, purpose) = state.purpose_of_receive(pattern, into.clone());
        let request = state.requests.open(purpose)?;
        self.memory.open_claim(request);
        let near = state.near.as_mut().expect("there are two roads");
        // SAFETY: the caller's promise; whoever claims the receive is the only one who writes.
        match unsafe { near.receive(pattern, into, Some(request)) } {
            Ok(id) => state.requests.share(request, id),
            Err(full) => {
                let nothing = state.requests.close(request);
                state.give_back(nothing);
                return Err(full.into());
            }
        }
        // If a message was there, the NIC need not know of it; it never had the request.
        if self.memory.claimant(request) == Some(Claimant::Rank) {
            let closed = state.requests.close(request);
            let Purpose::Receive { near: Some(id), .. } = closed else {
                unreachable!("it was opened as that");
            };
            state.give_back(closed);
            return Ok(Handle::Near(id));
        }
        state.void_probes(pattern);
        let kind = ReceiveKind::Receive {
            into: location,
            capacity,
            shared: true,
        };
        self.push_receive(state, request, pattern, kind);
        Ok(Handle::Nic(request))
    }

    /// Of a receive that was posted on both roads: what it came to, if SMARTMAP satisfied it.
    /// `None` if it is not known yet whether it did, `Some(None)` if the NIC has it.
    #[expect(
        clippy::option_option,
        reason = "whether it is decided, and what came of it"
    )]
    pub(super) fn take_shared(
        &self,
        state: &mut State,
        request: RequestId,
    ) -> Option<Option<Outcome>> {
        let Purpose::Receive {
            near: Some(id),
            pattern,
            ..
        } = *state.requests.purpose(request)
        else {
            return Some(None);
        };
        let near = state.near.as_mut().expect("there are two roads");
        if self.memory.claimant(request) == Some(Claimant::Rank) {
            let outcome = near.take(id)?;
            // The NIC forgets it, and then its slot is free.
            let withdraw = ReceiveKind::Cancel(request);
            let satisfied = state.requests.detach(request, Purpose::VoidProbe);
            satisfied.into_iter().for_each(|it| state.give_back(it));
            self.push_receive(state, Requests::NOBODY, pattern, withdraw);
            return Some(Some(outcome));
        }
        self.memory.completion(request)?;
        // The NIC's, or nobody's: it was cancelled, or the peer is gone.
        near.cancel(id);
        let _cancelled = near.take(id);
        Some(None)
    }

    /// Cancels a receive that was posted on both roads, if nobody has claimed it. Returns whether it
    /// is one: what its NIC has claimed cannot be cancelled any more.
    pub(super) fn cancel_shared(&self, state: &mut State, request: RequestId) -> bool {
        let Purpose::Receive { near: Some(id), .. } = *state.requests.purpose(request) else {
            return false;
        };
        if self.memory.claim(request, Claimant::Rank) {
            let near = state.near.as_mut().expect("there are two roads");
            near.cancel(id);
        }
        true
    }

    /// Whether SMARTMAP has satisfied a receive that was posted on both roads.
    pub(super) fn is_satisfied_near(&self, state: &mut State, request: RequestId) -> bool {
        let Purpose::Receive { near: Some(id), .. } = *state.requests.purpose(request) else {
            return false;
        };
        let near = state.near.as_mut().expect("there are two roads");
        self.memory.claimant(request) == Some(Claimant::Rank) && near.is_done(id)
    }
}
