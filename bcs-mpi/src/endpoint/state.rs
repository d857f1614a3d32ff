//! The state of an endpoint, behind its lock.

use super::async_operation::AsyncOperations;
use super::deferred_copies::{DeferredCopies, DeferredCopy, Waiter};
use super::poll_watch::PollWatch;
use super::request::{OperationId, Request};
use crate::schedules::{Contexts, DeferredSteps, Schedules};
use crate::transport::smartmap::{self, GroupId};
use crate::transport::{Mux, RequestOutcome, TransportHandle};
use bcs_core::request::RequestId;
use std::fmt::Debug;

/// The work of this rank's NIC for a group of its node.
#[derive(Debug)]
pub(crate) struct LeaderRequest {
    pub(crate) group: GroupId,
    pub(crate) request: RequestId,
}

/// The state of an endpoint.
#[derive(Debug)]
pub(crate) struct EndpointState {
    pub(crate) mux: Mux,
    pub(crate) contexts: Contexts,
    pub(crate) schedules: Schedules,
    pub(crate) undertakings: AsyncOperations,
    /// The requests of the NIC for the groups of this node.
    pub(crate) leader_requests: Vec<LeaderRequest>,
    /// The work to do without the lock.
    pub(crate) deferred_copies: DeferredCopies,
    /// Requests that the program has freed before they were done, and what is kept until they are.
    pub(crate) freed: Vec<(Request, KeepAliveBox)>,
    /// Objects that need not be kept any more. They may be communicators, and are dropped without
    /// the lock.
    pub(crate) released: Vec<KeepAliveBox>,
    /// This rank's part in collectives that it called with wrong arguments. No call takes their
    /// outcome.
    pub(crate) invalid: Vec<Request>,
    /// Whether this rank does nothing but poll.
    pub(crate) poll_watch: PollWatch,
}

/// An object that is kept as long as a freed request is under way: its communicator, whose context
/// id must not be used for another one meanwhile, or memory.
pub(crate) type KeepAliveBox = Box<dyn KeepAlive>;

/// Anything can be kept.
pub(crate) trait KeepAlive: Debug + Send {}

impl<T: Debug + Send> KeepAlive for T {}

impl EndpointState {
    /// Takes the outcome of a request, if it is done.
    #[inline(always)]
    pub(crate) fn take(&mut self, request: Request) -> Option<RequestOutcome> {
        match request.0 {
            OperationId::Transport(handle) => self.mux.take(handle),
            OperationId::Schedule(id) => self.schedules.take(id),
            OperationId::AsyncOperation(id) => self.undertakings.take(id),
        }
    }

    /// Returns whether a request is done.
    #[inline]
    pub(crate) fn is_done(&mut self, request: Request) -> bool {
        match request.0 {
            OperationId::Transport(handle) => self.mux.is_done(handle),
            OperationId::Schedule(id) => self.schedules.is_done(id),
            OperationId::AsyncOperation(id) => self.undertakings.is_done(id),
        }
    }

    /// Frees a request: it is taken when it is done, without a waiter.
    pub(crate) fn free(&mut self, request: Request, stays: KeepAliveBox) {
        if self.freed.len() == self.freed.capacity() {
            self.reap_freed();
        }
        self.freed.push((request, stays));
    }

    /// Takes the freed requests that are done.
    pub(crate) fn reap_freed(&mut self) {
        let mut freed = std::mem::take(&mut self.freed);
        let done = freed.extract_if(.., |(request, _)| self.take(*request).is_some());
        let released: Vec<KeepAliveBox> = done.map(|(_, stays)| stays).collect();
        self.released.extend(released);
        self.freed = freed;
    }

    /// Takes the parts in collectives with wrong arguments that are done.
    pub(crate) fn reap_invalid(&mut self) {
        let mut invalid = std::mem::take(&mut self.invalid);
        invalid.retain(|&request| self.take(request).is_none());
        self.invalid = invalid;
    }

    /// Returns how many requests the unfinished ones of them have.
    pub(crate) fn held_by_invalid(&self) -> usize {
        let held = |request: &Request| match request.0 {
            OperationId::Transport(TransportHandle::Local(_)) => 1 + self.leader_requests.len(),
            OperationId::Transport(_) | OperationId::AsyncOperation(_) => 1,
            OperationId::Schedule(id) => 1 + self.schedules.held_by(id),
        };
        self.invalid.iter().map(held).sum()
    }

    /// Returns whether the NIC does a part of what members of this node wait for.
    pub(crate) fn leads(&self) -> bool {
        !self.leader_requests.is_empty()
    }

    /// Returns whether descriptors wait for room in a ring.
    pub(crate) fn holds(&self) -> bool {
        self.mux.nic.holds()
    }
}

impl EndpointState {
    /// Returns how much has been done on both transports. `completions` is the number of the NIC's
    /// completions.
    pub(crate) fn events(&self, completions: u64) -> u64 {
        let near = self.mux.local.as_ref();
        completions.wrapping_add(near.map_or(0, smartmap::SmartMap::events))
    }

    /// Advances all schedules, if there were completions since they last advanced. `completions` is
    /// the count so far. Returns whether anything was posted.
    pub(crate) fn advance_schedules(&mut self, completions: u64) -> bool {
        let Self {
            schedules,
            mux: roads,
            deferred_copies: errands,
            ..
        } = self;
        let hand_over = |steps| errands.push(DeferredCopy::Steps(steps));
        schedules.advance(roads, completions, hand_over)
    }
}

impl EndpointState {
    /// Takes the next deferred copy that no other thread waits for.
    pub(crate) fn take_deferred_copy(&mut self, waiter: Option<Waiter>) -> Option<DeferredCopy> {
        let Self {
            deferred_copies: errands,
            mux: Mux {
                local: near, nic, ..
            },
            ..
        } = self;
        let is_mine = |kind| !errands.is_anothers(kind, waiter);
        if let Some(near) = near.as_mut().filter(|near| near.has_deferred_copies())
            && let Some(errand) = near.take_deferred_copy(|id| {
                is_mine(OperationId::Transport(TransportHandle::Local(id)))
            })
        {
            return Some(DeferredCopy::Local(errand));
        }
        if let Some(unpack) =
            nic.take_deferred_copy(|id| is_mine(OperationId::Transport(TransportHandle::Nic(id))))
        {
            return Some(DeferredCopy::Unpack(unpack));
        }
        let mine = |errand: &DeferredCopy| errand.belongs_to().is_none_or(is_mine);
        let next = errands.waiting.iter().position(mine)?;
        errands.waiting.remove(next)
    }

    /// Returns whether there is work to do without the lock.
    #[inline]
    pub(crate) fn has_deferred_copies(&self) -> bool {
        let near = self.mux.local.as_ref();
        near.is_some_and(smartmap::SmartMap::has_deferred_copies)
            || self.mux.nic.has_deferred_copies()
            || !self.deferred_copies.waiting.is_empty()
    }

    pub(crate) fn bring_back(&mut self, errand: DeferredCopy) {
        self.deferred_copies.done += 1;
        self.schedules.look_again();
        self.undertakings.look_again();
        match errand {
            DeferredCopy::Local(errand) => {
                let near = self.mux.local.as_mut().expect("it is its errand");
                near.finish_deferred_copy(errand);
            }
            DeferredCopy::Steps(DeferredSteps { schedule, .. }) => self.schedules.stepped(schedule),
            DeferredCopy::Unpack(unpack) => self.mux.nic.finish_deferred_copy(unpack),
        }
    }
}
