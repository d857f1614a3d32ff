//! bcs_send and bcs_recv.

use super::endpoint::Endpoint;
use super::request::{Kind, Request};
use super::state::State;
use crate::data::{LONG_BYTES, Piece, gather};
use crate::roads::smartmap::{Replacing, SmartMap};
use crate::roads::{Handle, Message, Outcome, Reach, SendMode, TooManyRequests};
use bcs_core::limits::MAX_CONTEXTS;
use bcs_core::matching::Pattern;
use bcs_core::request::RequestId;

/// What became of a receive.
#[derive(Clone, Copy, Debug)]
pub enum Received {
    /// Its message was there: what it came to has been written.
    Now,
    /// It is posted.
    Posted(Request),
}

/// A send and a receive of the same bytes.
#[derive(Clone, Copy, Debug)]
pub struct Replace {
    /// The send.
    pub send: Request,
    /// The receive.
    pub receive: Request,
    received: RequestId,
}

impl State {
    /// By which roads a message for this pattern may come.
    pub(crate) fn reach(&self, pattern: Pattern) -> Reach {
        if let Some(source) = pattern.source {
            return self.roads.reach(source);
        }
        if self.roads.near.is_none() {
            return Reach {
                near: false,
                far: true,
            };
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
    /// Posts a send. It never blocks; a blocking send is this and a
    /// [`bcs_test`](Self::bcs_test) that waits.
    ///
    /// # Errors
    /// When all request slots are in use.
    pub fn bcs_send(
        &self,
        mode: SendMode,
        message: &Message<'_>,
    ) -> Result<Request, TooManyRequests> {
        let mut state = self.lock();
        if let Some(posted) = state.roads.send_near(mode, message) {
            let posted = posted?;
            // Whoever only sends finds its queue full in the end, and then looks after the others.
            let holds = state.roads.near.as_ref().is_some_and(SmartMap::holds);
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
            room = state.roads.nic.room_for(data);
        }
        if let Some(room) = &mut room {
            drop(state);
            gather(data, 0, room.bytes(data.len()));
            state = self.lock();
        }
        let request = state.roads.send_far(mode, message, room)?;
        self.progress(&mut state);
        self.leave(state);
        Ok(Request::on(request))
    }

    /// Posts a receive of at most as many bytes as `into` has, unless its message is there already: then what it
    /// came to is written where the caller wants it. (An outcome that is returned is copied from call to call, and
    /// each copy waits until the one before has been written.) It never blocks.
    ///
    /// # Errors
    /// When all request slots are in use.
    #[inline(always)]
    pub fn bcs_recv(
        &self,
        pattern: Pattern,
        into: &Piece,
        outcome: &mut Outcome,
    ) -> Result<Received, TooManyRequests> {
        let mut state = self.lock();
        let reach = state.reach(pattern);
        if let Some(near) = state.roads.near.as_mut().filter(|_| !reach.far) {
            // What waits for room is the affair of every call.
            if !self.turn.is_holding() && near.receive_early(&pattern, into, outcome) {
                return Ok(Received::Now);
            }
            let request = near.receive(pattern, into.clone(), None)?;
            near.drain_for(pattern.source);
            self.tell_threads(&state);
            self.leave(state);
            return Ok(Received::Posted(Request::on(Handle::Near(request))));
        }
        if reach.near {
            self.progress(&mut state); // What has come within the node came before this receive.
        }
        let request = state.roads.receive(reach, pattern, into.clone())?;
        self.progress(&mut state);
        self.leave(state);
        Ok(Received::Posted(Request::on(request)))
    }

    /// Whether a message to that rank and one of this pattern both go without a NIC: then
    /// [`bcs_replace`](Self::bcs_replace) exchanges them.
    #[must_use]
    pub fn replaces_near(&self, destination: u32, pattern: Pattern) -> bool {
        let state = self.lock();
        let near = state.roads.near.as_ref();
        near.is_some_and(|near| near.is_near(destination)) && !state.reach(pattern).far
    }

    /// Posts a standard send and a receive of the same bytes, of ranks that are reached without a
    /// NIC ([`replaces_near`](Self::replaces_near)): the message that comes is stored as the one
    /// that is sent is fetched. When both are done, whatever they have come to,
    /// [`bcs_replaced`](Self::bcs_replaced) stores the rest.
    ///
    /// # Errors
    /// When all request slots are in use.
    pub fn bcs_replace(
        &self,
        message: &Message<'_>,
        pattern: Pattern,
        into: &Piece,
    ) -> Result<Replace, TooManyRequests> {
        let mut state = self.lock();
        let near = state.roads.near.as_mut();
        let near = near.expect("the caller has looked how they are reached");
        let (sent, received) = near.replace(message, pattern, into.clone())?;
        self.progress(&mut state);
        self.leave(state);
        let (send, receive) = (Handle::near(sent), Handle::Near(received));
        Ok(Replace {
            send: Request::on(send),
            receive: Request::on(receive),
            received,
        })
    }

    /// Both parts of it are done: stores what could not be stored before. Returns whether its memory was there.
    pub fn bcs_replaced(&self, done: Replace) -> bool {
        let mut state = self.lock();
        let near = state.roads.near.as_mut();
        let rest = near.and_then(|near| near.take_replacing(done.received));
        drop(state);
        rest.is_none_or(Replacing::store)
    }

    /// Asks to cancel a receive or a send (MPI 5.0, 3.8.4). The request has still to be tested for: it
    /// comes to [`Cancelled`](bcs_core::request::Failure::Cancelled), or to what it would have come to if
    /// it was matched before. Requests that are no messages go on as if nothing had been asked.
    pub fn bcs_cancel(&self, request: Request) {
        let Kind::Road(handle) = request.0 else {
            return;
        };
        let mut state = self.lock();
        state.roads.cancel(handle);
        if let Handle::Near(_) = handle {
            return self.tell_threads(&state);
        }
        self.progress(&mut state);
    }
}
