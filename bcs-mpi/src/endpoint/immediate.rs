//! Blocking calls between two ranks of a node, if they can be done at once
//! ([`crate::transport::smartmap`], the short path). If they cannot, nothing has happened, and the
//! call takes the usual path.
//!
//! Law 5 says that every blocking call makes progress. A call that ends at once does not: this end
//! is idle, so it has nothing to advance, and what only a NIC needs is in its rings.

use super::endpoint::Endpoint;
use super::request::Request;
use super::state::EndpointState;
use crate::data::{DataView, gather};
use crate::transport::smartmap::{LoanOutcome, QueueHead, SmartMap};
use crate::transport::{OutgoingMessage, RequestOutcome, SendMode, TransportHandle};
use bcs_core::limits::{LEAST_LENT_BYTES, LEAST_SHARED_BYTES, MAX_QUEUED_BYTES};
use bcs_core::matching::Pattern;
use bcs_core::smartmap::RankArea;
use bcs_core::wake::owner_lock::OwnerGuard;
use bcs_core::wake::waiting::{self, WaitPolicy};

/// A blocking send within the node is eager up to this many times the eager limit, unless there are
/// too many of them. Its data stay in place if they are requested soon; otherwise they are copied
/// once. The NICs' limit is small because of the payload slots and the network. (SWEEP3D sends
/// faces of 48 KB; with a rendezvous each rank waits for the other side of its wavefront.)
const LOCAL_EAGER_FACTOR: usize = 32;

/// The result of an attempt to send.
#[derive(Clone, Copy, Debug)]
pub enum SendAttempt {
    /// It is complete.
    Done,
    /// It is under way, and will be complete soon.
    Posted(Request),
    /// Nothing has happened: it could not be done at once.
    NotImmediate,
}

impl EndpointState {
    /// Returns whether all that this rank has begun ends without its help.
    pub(crate) fn is_idle(&self) -> bool {
        !self.holds() && self.schedules.is_idle() && !self.leads()
    }
}

impl Endpoint {
    /// Returns the place on this node of a world rank.
    fn place_of(&self, rank: u32) -> Option<usize> {
        self.location.local.place_of(rank)
    }

    /// Returns whether messages between this rank and a world rank need no NIC.
    pub(crate) fn reaches(&self, rank: u32) -> bool {
        self.rank_area.is_some() && self.place_of(rank).is_some()
    }

    /// Does a whole send to a rank of this node, if it need not wait.
    pub fn bcs_send_now(&self, mode: SendMode, message: &OutgoingMessage<'_>) -> SendAttempt {
        let (len, limit) = (message.data.len(), self.settings.eager_limit);
        // To copy data that are long enough for both sides to share takes longer than to wait for
        // the other side.
        let most = limit.saturating_mul(LOCAL_EAGER_FACTOR);
        let most = most.min(limit.max(LEAST_SHARED_BYTES - 1));
        if !mode.is_eager(len, most) || self.place_of(message.destination).is_none() {
            return SendAttempt::NotImmediate;
        }
        if len >= LEAST_LENT_BYTES
            && self.page.cores_suffice()
            && let Some(lent) = self.lend(message)
        {
            return lent;
        }
        let mut state = self.lock();
        let Some(near) = state.mux.local.as_mut() else {
            return SendAttempt::NotImmediate;
        };
        // Descriptors that wait for room are the duty of every call, so this call takes the usual
        // path.
        if near.holds() || self.turn.is_holding() {
            return SendAttempt::NotImmediate;
        }
        if len > MAX_QUEUED_BYTES {
            return self.send_copy(state, message);
        }
        let sent = near.send_now(message);
        if sent {
            SendAttempt::Done
        } else {
            SendAttempt::NotImmediate
        }
    }

    /// Sends a copy of a message, which it makes without the lock.
    fn send_copy(
        &self,
        mut state: OwnerGuard<'_, EndpointState>,
        message: &OutgoingMessage<'_>,
    ) -> SendAttempt {
        let (data, near) = (message.data, state.mux.local.as_mut());
        let Some(near) = near.filter(|near| near.may_copy(data.len())) else {
            return SendAttempt::NotImmediate;
        };
        let mut copy = near.room_for_copy(data.len());
        drop(state);
        gather(data, 0, copy.bytes(data.len()));
        let mut state = self.lock();
        let near = state.mux.local.as_mut();
        let sent = near.is_some_and(|near| near.send_copied(message, copy));
        if sent {
            SendAttempt::Done
        } else {
            SendAttempt::NotImmediate
        }
    }

    /// Lends a message for a short time.
    fn lend(&self, message: &OutgoingMessage<'_>) -> Option<SendAttempt> {
        let RankArea { node, place: here } = self.rank_area.as_ref()?;
        let id = self.lock().mux.local.as_mut()?.lend(message)?;
        let fetched = || node.transfer_outcome(*here, id).is_some();
        waiting::spin(&self.page, None, WaitPolicy::LOAN, fetched);
        let posted = SendAttempt::Posted(Request::on(TransportHandle::Local(id)));
        let settled = self.settle(message, |near, to| near.settle(to, id));
        if settled != LoanOutcome::Unwanted {
            let is_done = settled == LoanOutcome::Done;
            return Some(if is_done { SendAttempt::Done } else { posted });
        }
        let (data, len) = (message.data, message.data.len());
        let mut copy = self.settle(message, |near, _| near.room_for_copy(len));
        gather(data, 0, copy.bytes(len));
        let withdrawn = self.settle(message, |near, to| near.withdraw(to, id, (copy, len)));
        Some(if withdrawn { SendAttempt::Done } else { posted })
    }

    fn settle<T>(
        &self,
        lent: &OutgoingMessage<'_>,
        how: impl FnOnce(&mut SmartMap, u32) -> T,
    ) -> T {
        let mut state = self.lock();
        let near = state.mux.local.as_mut().expect("it was lent there");
        how(near, lent.destination)
    }

    /// Does a whole receive from a rank of this node, if its message comes soon and nothing else is
    /// under way. Writes the outcome to the caller's place. Returns whether it did.
    pub fn bcs_recv_now(
        &self,
        pattern: &Pattern,
        into: &DataView,
        outcome: &mut RequestOutcome,
    ) -> bool {
        let near = pattern.source.zip(self.rank_area.as_ref());
        let Some((source, RankArea { node, place: here })) = near else {
            return false;
        };
        let Some(from) = self.place_of(source) else {
            return false;
        };
        let has_news = node.news_from(from, *here);
        loop {
            let taken = self.turn.progressed();
            let mut state = self.lock();
            if !state.is_idle() {
                return false;
            }
            let near = state.mux.local.as_mut().expect("it has a desk");
            if !near.is_idle_for(pattern) {
                return false;
            }
            match near.receive_next(source, pattern, into, outcome) {
                QueueHead::Received => return true,
                QueueHead::Other => return false,
                QueueHead::Nothing => {}
            }
            drop(state);
            // Another thread may take the message, and keep it for this one.
            let came = || has_news() || self.turn.progressed() != taken;
            if !waiting::spin(&self.page, None, WaitPolicy::ANSWER, came) {
                return false;
            }
        }
    }
}
