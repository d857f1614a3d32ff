//! bcs_send and bcs_recv.

use super::endpoint::Endpoint;
use super::request::{OperationId, Request};
use super::state::EndpointState;
use crate::data::{DataView, LONG_BYTES, gather};
use crate::transport::smartmap::{ReplacingReceive, SmartMap};
use crate::transport::{
    OutgoingMessage, RequestOutcome, SendMode, TooManyRequests, TransportHandle, TransportSet,
};
use bcs_core::limits::MAX_CONTEXTS;
use bcs_core::matching::Pattern;
use bcs_core::request::RequestId;
use bcs_core::wait_state::{LIBRARY_MESSAGES, UNIVERSE_CONTEXT};

/// The result of a receive.
#[derive(Clone, Copy, Debug)]
pub enum ReceiveOutcome {
    /// Its message was there. The outcome has been written.
    Received,
    /// It is posted.
    Posted(Request),
}

/// A send and a receive of the same bytes.
#[derive(Clone, Copy, Debug)]
pub struct ReplaceRequests {
    /// The send.
    pub send: Request,
    /// The receive.
    pub receive: Request,
    received: RequestId,
}

impl EndpointState {
    /// Returns the transports by which a message for this pattern may come.
    pub(crate) fn transports_for(&self, pattern: Pattern) -> TransportSet {
        if let Some(source) = pattern.source {
            return self.mux.transports_for(source);
        }
        if self.mux.local.is_none() {
            return TransportSet {
                local: false,
                remote: true,
            };
        }
        match self.contexts.get(pattern.context) {
            Some(context) => context.transports(),
            // A communicator of this rank alone.
            None => TransportSet {
                local: true,
                remote: (pattern.context as usize) < MAX_CONTEXTS
                    || pattern.context & LIBRARY_MESSAGES != 0
                        && pattern.context & !LIBRARY_MESSAGES == UNIVERSE_CONTEXT,
            },
        }
    }
}

impl Endpoint {
    /// Posts a send. It never blocks; a blocking send is this and a
    /// [`bcs_test`](Self::bcs_test) that waits.
    ///
    /// # Errors
    /// When all request slots are in use.
    pub fn bcs_send(
        &self,
        mode: SendMode,
        message: &OutgoingMessage<'_>,
    ) -> Result<Request, TooManyRequests> {
        let mut state = self.lock();
        if let Some(posted) = state.mux.send_local(mode, message) {
            let posted = posted?;
            // A rank that only sends finds its queue full in the end, and then serves the others.
            let holds = state.mux.local.as_ref().is_some_and(SmartMap::holds);
            if holds || self.turn.is_holding() {
                self.progress(&mut state);
                self.leave(state);
            } else if message.data.layout().is_some() {
                self.leave(state); // Its receiver may wait for it to be packed.
            }
            return Ok(Request::on(posted));
        }
        let (data, mut room) = (message.data, None);
        if data.len() > LONG_BYTES && data.layout().is_some() {
            room = state.mux.nic.room_for(data);
        }
        if let Some(room) = &mut room {
            drop(state);
            gather(data, 0, room.bytes(data.len()));
            state = self.lock();
        }
        let request = state.mux.send_remote(mode, message, room)?;
        self.progress(&mut state);
        self.leave(state);
        Ok(Request::on(request))
    }

    /// Posts a receive of at most as many bytes as `into` has, unless its message is there already.
    /// Then it writes the outcome to the caller's place. (A returned outcome would be copied from
    /// call to call, and each copy waits until the one before has been written.) It never blocks.
    ///
    /// # Errors
    /// When all request slots are in use.
    #[inline(always)]
    pub fn bcs_recv(
        &self,
        pattern: Pattern,
        into: &DataView,
        outcome: &mut RequestOutcome,
    ) -> Result<ReceiveOutcome, TooManyRequests> {
        let mut state = self.lock();
        let reach = state.transports_for(pattern);
        if let Some(near) = state.mux.local.as_mut().filter(|_| !reach.remote) {
            // Descriptors that wait for room are the duty of every call.
            if !self.turn.is_holding() && near.receive_early(&pattern, into, outcome) {
                return Ok(ReceiveOutcome::Received);
            }
            let request = near.receive(pattern, into.clone(), None)?;
            near.drain_for(pattern.source);
            self.tell_threads(&state);
            self.leave(state);
            return Ok(ReceiveOutcome::Posted(Request::on(TransportHandle::Local(
                request,
            ))));
        }
        if reach.local {
            self.progress(&mut state); // A message from within the node came before this receive.
        }
        let request = state.mux.receive(reach, pattern, into.clone())?;
        self.progress(&mut state);
        self.leave(state);
        Ok(ReceiveOutcome::Posted(Request::on(request)))
    }

    /// Returns whether a message to that rank and one of this pattern both go without a NIC. If so
    /// [`bcs_replace`](Self::bcs_replace) exchanges them.
    #[must_use]
    pub fn replaces_locally(&self, destination: u32, pattern: Pattern) -> bool {
        let state = self.lock();
        let near = state.mux.local.as_ref();
        near.is_some_and(|near| near.is_local(destination)) && !state.transports_for(pattern).remote
    }

    /// Posts a standard send and a receive of the same bytes, with ranks that are reached without a
    /// NIC ([`replaces_locally`](Self::replaces_locally)): the incoming message is stored while the
    /// outgoing one is fetched. When both are done, whatever their outcomes,
    /// [`bcs_replaced`](Self::bcs_replaced) stores the rest.
    ///
    /// # Errors
    /// When all request slots are in use.
    pub fn bcs_replace(
        &self,
        message: &OutgoingMessage<'_>,
        pattern: Pattern,
        into: &DataView,
    ) -> Result<ReplaceRequests, TooManyRequests> {
        let mut state = self.lock();
        let near = state.mux.local.as_mut();
        let near = near.expect("the caller has looked how they are reached");
        let (sent, received) = near.replace(message, pattern, into.clone())?;
        self.progress(&mut state);
        self.leave(state);
        let (send, receive) = (
            TransportHandle::local(sent),
            TransportHandle::Local(received),
        );
        Ok(ReplaceRequests {
            send: Request::on(send),
            receive: Request::on(receive),
            received,
        })
    }

    /// Stores what could not be stored before, when both parts of the exchange are done. Returns
    /// whether its memory was there.
    pub fn bcs_replaced(&self, done: ReplaceRequests) -> bool {
        let mut state = self.lock();
        let near = state.mux.local.as_mut();
        let rest = near.and_then(|near| near.take_replacing(done.received));
        drop(state);
        rest.is_none_or(ReplacingReceive::store)
    }

    /// Requests that a receive or a send be cancelled (MPI 5.0, 3.8.4). The caller has still to
    /// test the request. Its outcome is
    /// [`Cancelled`](bcs_core::request::RequestFailure::Cancelled), or the usual one if it was
    /// matched before. Requests that are not messages go on unchanged.
    pub fn bcs_cancel(&self, request: Request) {
        let OperationId::Transport(handle) = request.0 else {
            return;
        };
        let mut state = self.lock();
        state.mux.cancel(handle);
        if let TransportHandle::Local(_) = handle {
            return self.tell_threads(&state);
        }
        self.progress(&mut state);
    }
}
