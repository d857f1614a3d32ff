//! Both transports of a rank: messages of its node go by SMARTMAP, others by the NIC.
//!
//! All messages between two ranks take the same transport, so it is enough that each transport
//! keeps the order that the standard requires. A receive or probe with a named source uses the
//! transport of that rank. One from any source, on a communicator with both local and remote
//! members, is posted on both transports. A message then has to be *claimed* for it before it is
//! matched ([`NicMemory::claim`]): by this rank when it finds one in its queues, by its NIC when it
//! has one. The side that claims second leaves the receive alone and goes on to the next receive
//! that matches.
//!
//! [`NicMemory::claim`]: bcs_core::memory::NicMemory::claim

use super::direct_access::DirectAccess;
use super::nic::NicTransport;
use super::one_sided::{OneSided, OneSidedRefusal};
use super::smartmap::SmartMap;
use super::transport_trait::as_it_does_itself;
use super::{OutgoingMessage, PostedSend, RequestOutcome, SendMode, TooManyRequests, Transport};
use crate::data::{DataView, PackBuffer};
use bcs_core::matching::Pattern;
use bcs_core::request::RequestId;
use bcs_core::wait_state::{EnteredCollective, WaitReason};

/// Both transports of a rank.
#[derive(Debug)]
pub(crate) struct Mux {
    pub(crate) nic: NicTransport,
    /// The transport to the ranks of this node, if this one reaches them without its NIC.
    pub(crate) local: Option<SmartMap>,
}

/// An operation that was posted on a transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum TransportHandle {
    /// It was complete when it was posted: an eager send of this many bytes.
    Complete(u64),
    /// The NIC completes it.
    Nic(RequestId),
    /// A rank of this node completes it, or this one.
    Local(RequestId),
}

impl TransportHandle {
    /// Returns the handle of a send that was posted within the node and whose length is not needed.
    pub(crate) fn local(posted: PostedSend) -> Self {
        match posted {
            PostedSend::Complete => Self::Complete(0),
            PostedSend::Request(id) => Self::Local(id),
        }
    }
}

/// The transports by which a message may come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TransportSet {
    pub(crate) local: bool,
    pub(crate) remote: bool,
}

impl Mux {
    /// Returns the transport by which messages of this world rank come.
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

    /// Posts a receive of a message that may come by these transports.
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
        // If a message was there, the NIC need not get the request.
        if nic.is_claimed_by_rank(request) {
            nic.close_shared(request);
            return Ok(TransportHandle::Local(twin));
        }
        nic.post_shared((request, twin), pattern, &into);
        Ok(TransportHandle::Nic(request))
    }

    /// Returns the access to memory that this rank reaches by itself.
    pub(crate) fn direct_access(&self) -> DirectAccess {
        let nic = self.nic.node();
        let local = self.local.as_ref();
        DirectAccess::new(local.map(|local| local.one_sided_access(nic)))
    }

    /// Posts a one-sided operation. It is complete when it was applied at the target and its result
    /// is in place. Within the node it is executed at once.
    pub(crate) fn one_sided(
        &mut self,
        operation: &OneSided,
    ) -> Result<TransportHandle, OneSidedRefusal> {
        if let Some(done) = self.direct_access().execute(operation) {
            return done.map(|()| TransportHandle::Complete(operation.len));
        }
        Ok(TransportHandle::Nic(self.nic.one_sided(operation)?))
    }

    /// Takes the outcome of a posted operation, if it is done.
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

    /// Takes the outcome of a request of the NIC, which the other transport may have satisfied.
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
        // The NIC completed it, or neither transport did: it was cancelled, or the peer is gone.
        near.cancel(twin);
        let _cancelled = near.take(twin);
        nic.take(request)
    }

    /// Returns whether it is done.
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

    /// Requests that a send or a receive be cancelled, the latter on both transports if it is on
    /// both. The caller has still to take it. An operation that is already matched goes on, and so
    /// does a collective.
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

    /// Returns how many more requests may be posted on either transport.
    pub(crate) fn room(&self) -> usize {
        let near = self.local.as_ref().map_or(usize::MAX, SmartMap::room);
        self.nic.room().min(near)
    }

    /// Returns how often a caller has found no request slot on either transport. A slot becomes
    /// free when a request is taken, which no completion reports. So a caller that was refused
    /// tries again.
    pub(crate) fn refusals(&self) -> u64 {
        self.nic.refusals() + self.local.as_ref().map_or(0, SmartMap::refusals)
    }

    /// Makes the next request slots of each transport look as if they were used this many times
    /// before.
    #[cfg(test)]
    pub(crate) fn slots_were_used(&mut self, slots: usize, times: u32) {
        self.nic.slots_were_used(slots, times);
        if let Some(near) = &mut self.local {
            near.slots_were_used(slots, times);
        }
    }

    /// Makes the request tables small.
    #[cfg(test)]
    pub(crate) fn limit_requests(&mut self, slots: usize) {
        self.nic.limit_requests(slots);
        if let Some(near) = &mut self.local {
            near.limit_requests(slots);
        }
    }

    /// Returns what a wait for this request waits for, and the collective that the rank entered by
    /// it.
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

    /// Returns the collective that the rank has entered by this, if it is one.
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
