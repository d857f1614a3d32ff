//! Both roads of a rank: messages of its node go by SMARTMAP, others by the NIC.
//!
//! All messages between two ranks take the same road, so each road by itself keeps the order that the
//! standard asks for. A receive or probe whose source is named takes the road of that rank. One
//! from any source, of a communicator with members both here and elsewhere, is posted on both, and a
//! message has to be *claimed* for it before it is matched ([`NicMemory::claim`]): by this rank when it
//! finds one in its queues, by its NIC when it has one. Whoever comes second leaves it alone, and so
//! goes on to the next receive that matches.
//!
//! [`NicMemory::claim`]: bcs_core::memory::NicMemory::claim

use super::nic::NicTransport;
use super::smartmap::SmartMap;
use super::transport_trait::as_it_does_itself;
use super::{OutgoingMessage, PostedSend, RequestOutcome, SendMode, TooManyRequests, Transport};
use crate::data::{DataView, PackBuffer};
use bcs_core::matching::Pattern;
use bcs_core::request::RequestId;
use bcs_core::wait_state::{EnteredCollective, WaitReason};

/// Both roads of a rank.
#[derive(Debug)]
pub(crate) struct Mux {
    pub(crate) nic: NicTransport,
    /// The ranks of this node, if this one reaches them without its NIC.
    pub(crate) local: Option<SmartMap>,
}

/// Something that was posted on a road.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum TransportHandle {
    /// It was complete when it was posted: an eager send of so many bytes.
    Complete(u64),
    /// The NIC completes it.
    Nic(RequestId),
    /// A rank of this node does, or this one.
    Local(RequestId),
}

impl TransportHandle {
    /// Of what was posted within the node, and has no length.
    pub(crate) fn local(posted: PostedSend) -> Self {
        match posted {
            PostedSend::Complete => Self::Complete(0),
            PostedSend::Request(id) => Self::Local(id),
        }
    }
}

/// Which roads a message may come by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TransportSet {
    pub(crate) local: bool,
    pub(crate) remote: bool,
}

impl Mux {
    /// By which road messages of this world rank come.
    pub(crate) fn transports_for(&self, source: u32) -> TransportSet {
        let near = self
            .local
            .as_ref()
            .is_some_and(|near| near.is_local(source));
        TransportSet {
            local: near,
            remote: !near,
        }
    }

    /// Posts a send to a rank of this node; `None` if it is not one.
    #[inline(always)]
    pub(crate) fn send_local(
        &mut self,
        mode: SendMode,
        message: &OutgoingMessage,
    ) -> Option<Result<TransportHandle, TooManyRequests>> {
        let near = self.local.as_mut()?;
        if !near.is_local(message.destination) {
            return None;
        }
        let posted = near.send(mode, message);
        Some(match posted {
            Ok(PostedSend::Complete) => Ok(TransportHandle::Complete(message.data.len() as u64)),
            Ok(PostedSend::Request(id)) => Ok(TransportHandle::Local(id)),
            Err(full) => Err(full),
        })
    }

    /// Posts a send to a rank of another node, whose data may have been packed.
    pub(crate) fn send_remote(
        &mut self,
        mode: SendMode,
        message: &OutgoingMessage,
        packed: Option<PackBuffer>,
    ) -> Result<TransportHandle, TooManyRequests> {
        let posted = self.nic.send(mode, message, packed)?;
        Ok(match posted {
            PostedSend::Complete => TransportHandle::Complete(message.data.len() as u64),
            PostedSend::Request(id) => TransportHandle::Nic(id),
        })
    }

    /// Posts a send.
    pub(crate) fn send(
        &mut self,
        mode: SendMode,
        message: &OutgoingMessage,
    ) -> Result<TransportHandle, TooManyRequests> {
        if let Some(posted) = self.send_local(mode, message) {
            return posted;
        }
        self.send_remote(mode, message, None)
    }

    /// Posts a receive from a world rank.
    pub(crate) fn receive_from(
        &mut self,
        (source, context, tag): (u32, u32, i32),
        into: DataView,
    ) -> Result<TransportHandle, TooManyRequests> {
        let pattern = Pattern {
            context,
            source: Some(source),
            tag: Some(tag),
        };
        self.receive(self.transports_for(source), pattern, into)
    }

    /// Posts a receive of a message that may come by these roads.
    pub(crate) fn receive(
        &mut self,
        reach: TransportSet,
        pattern: Pattern,
        into: DataView,
    ) -> Result<TransportHandle, TooManyRequests> {
        let Self {
            nic, local: near, ..
        } = self;
        let Some(near) = near.as_mut().filter(|_| reach.local) else {
            return Ok(TransportHandle::Nic(nic.receive(pattern, into)?));
        };
        if !reach.remote {
            return Ok(TransportHandle::Local(near.receive(pattern, into, None)?));
        }
        let request = nic.open_shared(pattern, &into)?;
        let posted = near.receive(pattern, into.clone(), Some(request));
        let twin = posted.inspect_err(|_| nic.close_shared(request))?;
        // If a message was there, the NIC need not know of it; it never had the request.
        if nic.is_claimed_by_rank(request) {
            nic.close_shared(request);
            return Ok(TransportHandle::Local(twin));
        }
        nic.post_shared((request, twin), pattern, &into);
        Ok(TransportHandle::Nic(request))
    }

    /// Takes what came of what was posted, if it is done.
    #[inline(always)]
    pub(crate) fn take(&mut self, handle: TransportHandle) -> Option<RequestOutcome> {
        match handle {
            TransportHandle::Complete(len) => Some(RequestOutcome {
                len,
                ..RequestOutcome::default()
            }),
            TransportHandle::Nic(request) => self.take_remote(request),
            TransportHandle::Local(id) => self.local.as_mut()?.take(id),
        }
    }

    /// The same of a request of the NIC, which the other road may have satisfied.
    fn take_remote(&mut self, request: RequestId) -> Option<RequestOutcome> {
        let Self {
            nic, local: near, ..
        } = self;
        let Some((twin, near)) = nic.twin(request).zip(near.as_mut()) else {
            return nic.take(request);
        };
        if nic.is_claimed_by_rank(request) {
            let outcome = near.take(twin)?;
            nic.withdraw_shared(request);
            return Some(outcome);
        }
        if !nic.is_done(request) {
            return None;
        }
        // The NIC's, or nobody's: it was cancelled, or the peer is gone.
        near.cancel(twin);
        let _cancelled = near.take(twin);
        nic.take(request)
    }

    /// Whether it is done.
    #[inline]
    pub(crate) fn is_done(&mut self, handle: TransportHandle) -> bool {
        let Self {
            nic, local: near, ..
        } = self;
        match (handle, near.as_mut()) {
            (TransportHandle::Complete(_), _) => true,
            (TransportHandle::Local(id), near) => near.is_none_or(|near| near.is_done(id)),
            (TransportHandle::Nic(request), _) if nic.is_completed(request) => nic.is_done(request),
            (TransportHandle::Nic(request), near) => {
                let twin = nic.twin(request).zip(near);
                twin.is_some_and(|(twin, near)| {
                    nic.is_claimed_by_rank(request) && near.is_done(twin)
                })
            }
        }
    }

    /// Asks to cancel a receive, on both roads if it is on both, or a send. It has still to be taken. What has met its
    /// receive or its message, or is a collective, goes on.
    pub(crate) fn cancel(&mut self, handle: TransportHandle) {
        let Self {
            nic, local: near, ..
        } = self;
        match (handle, near.as_mut()) {
            (TransportHandle::Local(id), Some(near)) => near.cancel(id),
            (TransportHandle::Nic(request), near) => match nic.twin(request).zip(near) {
                None => nic.cancel(request),
                Some((twin, near)) => {
                    if nic.claim_for_rank(request) {
                        near.cancel(twin);
                    }
                }
            },
            (TransportHandle::Complete(_) | TransportHandle::Local(_), _) => {}
        }
    }

    /// How many more requests may be posted on either road.
    pub(crate) fn room(&self) -> usize {
        let near = self.local.as_ref().map_or(usize::MAX, SmartMap::room);
        self.nic.room().min(near)
    }

    /// How often somebody has found no request slot on either road. Slots come back when what is done is taken, of which
    /// no completion tells: so who was refused tries again.
    pub(crate) fn refusals(&self) -> u64 {
        self.nic.refusals() + self.local.as_ref().map_or(0, SmartMap::refusals)
    }

    /// The slots of requests that are opened next, so many on each road, were used as often before.
    #[cfg(test)]
    pub(crate) fn slots_were_used(&mut self, slots: usize, times: u32) {
        self.nic.slots_were_used(slots, times);
        if let Some(near) = &mut self.local {
            near.slots_were_used(slots, times);
        }
    }

    /// Makes the tables of requests small ones.
    #[cfg(test)]
    pub(crate) fn limit_requests(&mut self, slots: usize) {
        self.nic.limit_requests(slots);
        if let Some(near) = &mut self.local {
            near.limit_requests(slots);
        }
    }

    /// What it means to wait for this, and what was entered by it.
    pub(crate) fn wait(
        &mut self,
        handle: TransportHandle,
    ) -> (WaitReason, Option<EnteredCollective>) {
        match handle {
            TransportHandle::Complete(_) => (WaitReason::Request, None),
            TransportHandle::Nic(id) => self.nic.wait(id),
            TransportHandle::Local(id) => {
                let near = self.local.as_mut();
                let found = near.map(|near| (near.wait(id), near.entered_by(id)));
                let (wait, entered) = found.unwrap_or((None, None));
                (wait.unwrap_or(WaitReason::Request), entered)
            }
        }
    }

    /// What the rank has entered by this, if it is a collective.
    pub(crate) fn entered_by(&mut self, handle: TransportHandle) -> Option<EnteredCollective> {
        match handle {
            TransportHandle::Complete(_) => None,
            TransportHandle::Nic(id) => self.nic.entered_by(id),
            TransportHandle::Local(id) => self.local.as_mut()?.entered_by(id),
        }
    }
}

impl Transport for Mux {
    type Request = TransportHandle;

    fn send(
        &mut self,
        mode: SendMode,
        message: &OutgoingMessage,
    ) -> Result<PostedSend<TransportHandle>, TooManyRequests> {
        let posted = self.send(mode, message)?;
        Ok(PostedSend::Request(posted))
    }

    fn receive(
        &mut self,
        pattern: Pattern,
        into: DataView,
    ) -> Result<TransportHandle, TooManyRequests> {
        let anybody = TransportSet {
            local: true,
            remote: true,
        };
        let reach = pattern
            .source
            .map_or(anybody, |source| self.transports_for(source));
        self.receive(reach, pattern, into)
    }

    fn probe(&mut self, pattern: Pattern) -> Result<Option<RequestOutcome>, TooManyRequests> {
        let here = self.local.as_mut().and_then(|near| near.probe(pattern));
        match here {
            Some(found) => Ok(Some(found)),
            None => Transport::probe(&mut self.nic, pattern),
        }
    }

    as_it_does_itself!();

    fn progress(&mut self) {
        Transport::progress(&mut self.nic);
        self.local.iter_mut().for_each(Transport::progress);
    }

    fn is_over(&mut self) -> bool {
        self.nic.is_over() && self.local.as_mut().is_none_or(Transport::is_over)
    }
}
