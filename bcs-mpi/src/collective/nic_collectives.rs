//! bcs_barrier, bcs_bcast, bcs_reduce.
//!
//! If all members of a context are on this rank's node they do these themselves
//! ([`crate::transport::smartmap`]). If only some are, these may do their part, and one of them
//! posts for them ([`super::leader`]).

use super::algorithm::{CollectiveAlgorithm, CollectiveClass};
use crate::data::ByteRange;
use crate::endpoint::{DeferredCopy, Endpoint, EndpointState, Request};
use crate::steps::CollectiveArguments;
use crate::transport::nic::Arrival;
use crate::transport::smartmap::{LocalRequestId, SmartMap};
use crate::transport::{Blocking, Mux, TooManyRequests, TransportHandle};
use bcs_core::descriptor::CollectiveKind;
use bcs_core::reduction::{Datatype, Op};
use bcs_core::wake::owner_lock::OwnerGuard;
use bcs_core::wake::waiting::{self, WaitPolicy};

impl Endpoint {
    /// Posts this rank's arrival at a barrier. It is `blocking` if the caller is going to wait for
    /// it at once. The call then polls for a while, which costs less than to wait for a request.
    ///
    /// # Errors
    /// When all request slots are in use.
    pub fn bcs_barrier(
        &self,
        context: u32,
        blocking: Blocking,
    ) -> Result<Request, TooManyRequests> {
        let part = CollectiveArguments::without_data(CollectiveKind::Barrier);
        self.arrive(context, part, blocking)
    }

    /// Posts this rank's part of a broadcast of `bytes` bytes: the `root` (a world rank) reads
    /// them, the other ranks write them.
    ///
    /// # Errors
    /// When all request slots are in use.
    pub fn bcs_bcast(
        &self,
        context: u32,
        root: u32,
        data: ByteRange,
        blocking: Blocking,
    ) -> Result<Request, TooManyRequests> {
        let part = CollectiveArguments::broadcast(root, data, root == self.location.rank);
        self.arrive(context, part, blocking)
    }

    /// Posts this rank's part of a reduction of `bytes` bytes from `input` to `output`, at `root`
    /// (a world rank) or, without one, at all ranks. Both may be the same.
    ///
    /// # Errors
    /// When all request slots are in use.
    pub fn bcs_reduce(
        &self,
        context: u32,
        (op, datatype): (Op, Datatype),
        root: Option<u32>,
        (input, output): (ByteRange, ByteRange),
        blocking: Blocking,
    ) -> Result<Request, TooManyRequests> {
        let kind = CollectiveKind::Reduce { root, op, datatype };
        let wanted = root.is_none_or(|root| root == self.location.rank);
        let part = CollectiveArguments {
            kind,
            bytes: input.len(),
            input: Some(input),
            output: if wanted { output } else { ByteRange::EMPTY },
        };
        self.arrive(context, part, blocking)
    }

    pub(super) fn arrive(
        &self,
        context: u32,
        part: CollectiveArguments,
        blocking: Blocking,
    ) -> Result<Request, TooManyRequests> {
        let post = |state: &mut EndpointState| self.arrive_at(state, context, part, blocking);
        self.arrive_by(self.lock(), context, blocking, post)
    }

    /// Posts this rank's part in a collective on a context, and polls for a while if the caller is
    /// going to wait for it.
    pub(crate) fn arrive_by(
        &self,
        mut state: OwnerGuard<'_, EndpointState>,
        context: u32,
        blocking: Blocking,
        post: impl FnOnce(&mut EndpointState) -> Result<TransportHandle, TooManyRequests>,
    ) -> Result<Request, TooManyRequests> {
        // While nothing else is under way, a call that ends at once has nothing to do for it, and
        // one that waits need not poll for it. Otherwise others may wait for this rank to take
        // their messages.
        let near_rests = state.mux.local.as_ref().is_some_and(SmartMap::owes_nothing);
        let alone = blocking == Blocking::Yes && near_rests && state.is_idle();
        if !alone {
            self.progress(&mut state);
        }
        let handle = post(&mut state)?;
        match (handle, blocking) {
            (TransportHandle::Complete(_), _) => return Ok(Request::on(handle)),
            (TransportHandle::Local(id), Blocking::Yes) => {
                return Ok(Request::on(self.poll_collective(
                    state,
                    (context, id),
                    alone,
                )));
            }
            _ => {}
        }
        self.progress(&mut state);
        self.leave(state);
        Ok(Request::on(handle))
    }

    /// Polls a collective of this node, as long as that takes no core from other threads if this
    /// rank is `alone` with it. Returns the outcome at once if it is over without a failure.
    fn poll_collective<'a>(
        &'a self,
        mut state: OwnerGuard<'a, EndpointState>,
        (context, id): (u32, LocalRequestId),
        alone: bool,
    ) -> TransportHandle {
        loop {
            let known = state.contexts.get(context);
            let group = known.and_then(|known| known.locality.group());
            let Some((near, group)) = state.mux.local.as_mut().zip(group) else {
                return TransportHandle::Local(id);
            };
            let long = near.take_long(group);
            let is_over = long.is_none() && near.poll_collective(id);
            if let Some(errand) = long {
                state = self.run_deferred_copy(state, DeferredCopy::Local(errand));
            }
            let Some(near) = state.mux.local.as_mut() else {
                return TransportHandle::Local(id);
            };
            if is_over || near.is_done(id) {
                let done = near.take_success(id);
                self.tell_threads(&state);
                return done.map_or(TransportHandle::Local(id), TransportHandle::Complete);
            }
            let Some(awaited) = near.awaited(group).filter(|_| alone) else {
                break;
            };
            let taken = self.turn.progressed();
            drop(state);
            let came = || awaited.has_come() || self.turn.progressed() != taken;
            let came = waiting::spin(&self.page, None, WaitPolicy::SHORT, came);
            state = self.lock();
            if !came {
                break;
            }
        }
        self.progress(&mut state);
        self.leave(state);
        TransportHandle::Local(id)
    }

    /// Posts an arrival, and leaves it to the caller to make progress.
    pub(crate) fn arrive_at(
        &self,
        state: &mut EndpointState,
        context: u32,
        part: CollectiveArguments,
        blocking: Blocking,
    ) -> Result<TransportHandle, TooManyRequests> {
        let EndpointState {
            contexts,
            mux: Mux {
                local: near, nic, ..
            },
            ..
        } = state;
        let known = contexts.get_mut(context);
        let known = known.unwrap_or_else(|| panic!("context {context} is open"));
        let called = part.called();
        match known.algorithm_for(CollectiveClass::OneResult, part.bytes) {
            CollectiveAlgorithm::Records(group) => {
                let near = with_room(near)?;
                let entered = known.enter(context, called);
                let posted = near.in_records(group, part, entered, blocking)?;
                Ok(TransportHandle::local(posted))
            }
            CollectiveAlgorithm::Memory(group) => {
                let near = with_room(near)?;
                let entered = known.enter(context, called);
                let posted = near.in_memory(group, part, entered, blocking)?;
                Ok(TransportHandle::local(posted))
            }
            CollectiveAlgorithm::Hierarchy(group) => {
                let near = with_room(near)?;
                let (sequence, due) = (known.sequence, known.due());
                known.sequence += 1;
                let entered = known.enter(context, called);
                let id = near.hierarchical(group, part, entered, sequence)?;
                // Arrivals are counted whichever rank makes them: see `due`. Only the leader's is
                // work.
                let _last = self.page.arrive(self.location.node, context, sequence, due);
                Ok(TransportHandle::Local(id))
            }
            CollectiveAlgorithm::Nic => {
                let (sequence, due) = (known.sequence, known.due());
                let posted = nic.arrive(context, Arrival::own(sequence), part)?;
                known.sequence += 1;
                nic.entered(posted, known.enter(context, called));
                // The arrival is posted, so now it may be counted: a slice that the count requests
                // sees it.
                let last = self.page.arrive(self.location.node, context, sequence, due);
                if last {
                    nic.arrived_last(&part);
                }
                Ok(TransportHandle::Nic(posted))
            }
            way => unreachable!("all members have one result: {way:?}"),
        }
    }

    /// Posts an operation that the caller alone waits for: the opening or closing of a context.
    pub(super) fn post_at_once(
        &self,
        state: &mut EndpointState,
        context: u32,
        sequence: u64,
        part: CollectiveArguments,
    ) -> Result<Request, TooManyRequests> {
        self.progress(state);
        let arrival = Arrival::own(sequence);
        let request = state.mux.nic.arrive(context, arrival, part)?;
        state.mux.nic.demand_slice();
        self.progress(state);
        Ok(Request::on(TransportHandle::Nic(request)))
    }
}

/// Returns the transport within this node, if it has room for one more request.
#[inline]
pub(super) fn with_room(near: &mut Option<SmartMap>) -> Result<&mut SmartMap, TooManyRequests> {
    let near = near.as_mut().filter(|near| near.room() > 0);
    near.ok_or(TooManyRequests)
}

const _: () = assert!(
    cfg!(target_endian = "little"),
    "member lists are little-endian in memory"
);
