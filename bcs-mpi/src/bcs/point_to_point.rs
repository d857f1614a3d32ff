//! bcs_send and bcs_recv.
#![expect(
    unsafe_code,
    reason = "messages are named by address, as the NIC needs them"
)]

use super::endpoint::{Endpoint, State};
use super::request::{Handle, Request};
use crate::data::{LONG_BYTES, Piece, Room, gather};
use crate::roads::smartmap::{self, SmartMap};
use crate::roads::{Message, Outcome, Posted, Reach, SendMode, TooManyRequests, both};
use bcs_core::limits::MAX_CONTEXTS;
use bcs_core::matching::Pattern;

/// What became of a receive.
#[derive(Clone, Copy, Debug)]
pub enum Received {
    /// Its message was there.
    Now(Outcome),
    /// It is posted.
    Posted(Request),
}

impl State {
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

    /// Posts a send to a rank of another node, whose data may have been packed.
    ///
    /// # Safety
    /// As for [`bcs_send`](Endpoint::bcs_send).
    unsafe fn send_far(
        &mut self,
        mode: SendMode,
        message: &Message,
        packed: Option<Room>,
    ) -> Result<Handle, TooManyRequests> {
        // SAFETY: the caller's promise.
        let posted = unsafe { self.nic.send(mode, message, packed)? };
        Ok(match posted {
            Posted::Complete => Handle::Complete(message.data.len as u64),
            Posted::Request(id) => Handle::Nic(id),
        })
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
            Ok(smartmap::Posted::Complete) => Ok(Handle::Complete(message.data.len as u64)),
            Ok(smartmap::Posted::Request(id)) => Ok(Handle::Near(id)),
            Err(full) => Err(full.into()),
        })
    }

    /// Posts a send. It never blocks; a blocking send is this and a
    /// [`bcs_test`](Self::bcs_test) that waits.
    ///
    /// # Safety
    /// The data are initialised, and nobody writes them until the request is done.
    ///
    /// # Errors
    /// When all request slots are in use.
    pub unsafe fn bcs_send(
        &self,
        mode: SendMode,
        message: &Message,
    ) -> Result<Request, TooManyRequests> {
        let mut state = self.lock();
        // SAFETY: the caller's promise.
        if let Some(posted) = unsafe { self.send_near(&mut state, mode, message) } {
            let posted = posted?;
            // Whoever only sends finds its queue full in the end, and then looks after the others.
            let holds = state.near.as_ref().is_some_and(SmartMap::holds);
            if holds || self.turn.is_holding() {
                self.progress(&mut state);
                self.leave(state);
            } else if message.data.layout.is_some() {
                self.leave(state); // Its receiver may wait for it to be packed.
            }
            return Ok(Request(posted));
        }
        self.progress(&mut state);
        let (data, mut room) = (&message.data, None);
        if data.len > LONG_BYTES && data.layout.is_some() {
            room = state.nic.room_for(data);
        }
        if let Some(room) = &mut room {
            drop(state);
            // SAFETY: the caller's promise.
            unsafe { gather(data, 0, room.bytes(data.len)) };
            state = self.lock();
        }
        // SAFETY: the caller's promise.
        let request = unsafe { state.send_far(mode, message, room)? };
        self.progress(&mut state);
        self.leave(state);
        Ok(Request(request))
    }

    /// Posts a send, and leaves it to the caller to make progress.
    ///
    /// # Safety
    /// As for [`bcs_send`](Self::bcs_send).
    pub(super) unsafe fn send(
        &self,
        state: &mut State,
        mode: SendMode,
        message: &Message,
    ) -> Result<Request, TooManyRequests> {
        // SAFETY: the caller's promise.
        if let Some(posted) = unsafe { self.send_near(state, mode, message) } {
            return Ok(Request(posted?));
        }
        // SAFETY: the caller's promise.
        unsafe { state.send_far(mode, message, None).map(Request) }
    }

    /// Posts a receive of at most as many bytes as `into` has, unless its message is there already. It never
    /// blocks.
    ///
    /// # Safety
    /// `into` may be written, and nobody else uses it until the request is done.
    ///
    /// # Errors
    /// When all request slots are in use.
    #[inline(always)]
    pub unsafe fn bcs_recv(
        &self,
        pattern: Pattern,
        into: Piece,
    ) -> Result<Received, TooManyRequests> {
        let mut state = self.lock();
        let reach = state.reach(pattern);
        if let Some(near) = state.near.as_mut().filter(|_| !reach.far) {
            let early = match self.turn.is_holding() {
                // SAFETY: the caller's promise.
                false => unsafe { near.receive_early(&pattern, &into) },
                true => None, // What waits for room is the affair of every call.
            };
            if let Some(outcome) = early {
                return Ok(Received::Now(outcome));
            }
            // SAFETY: the caller's promise.
            let request = unsafe { near.receive(pattern, into, None)? };
            near.drain_for(pattern.source);
            self.tell_threads(&state);
            self.leave(state);
            return Ok(Received::Posted(Request(Handle::Near(request))));
        }
        self.progress(&mut state);
        // SAFETY: the caller's promise.
        let request = unsafe { self.receive(&mut state, pattern, into)? };
        self.progress(&mut state);
        self.leave(state);
        Ok(Received::Posted(Request(request)))
    }

    /// Posts a receive, and leaves it to the caller to make progress.
    ///
    /// # Safety
    /// As for [`bcs_recv`](Self::bcs_recv).
    pub(super) unsafe fn receive(
        &self,
        state: &mut State,
        pattern: Pattern,
        into: Piece,
    ) -> Result<Handle, TooManyRequests> {
        let reach = state.reach(pattern);
        let State { nic, near, .. } = state;
        let posted = match near.as_mut().filter(|_| reach.near) {
            Some(near) if reach.far => {
                // SAFETY: the caller's promise.
                match unsafe { both::receive((nic, near), pattern, into)? } {
                    both::Posted::Nic(id) => Handle::Nic(id),
                    both::Posted::Near(id) => Handle::Near(id),
                }
            }
            // SAFETY: the caller's promise.
            Some(near) => Handle::Near(unsafe { near.receive(pattern, into, None)? }),
            // SAFETY: the caller's promise.
            None => Handle::Nic(unsafe { nic.receive(pattern, into)? }),
        };
        Ok(posted)
    }

    /// Asks to cancel a receive (MPI 5.0, 3.8.4). The request has still to be tested for: it
    /// comes to [`Cancelled`](bcs_core::request::Failure::Cancelled), or to a message that was
    /// matched before. Requests that are no receives go on as if nothing had been asked.
    pub fn bcs_cancel(&self, request: Request) {
        let mut state = self.lock();
        let target = match request.0 {
            Handle::Nic(target) => target,
            Handle::Near(target) => {
                state.near.iter_mut().for_each(|near| near.cancel(target));
                return self.tell_threads(&state);
            }
            Handle::Complete(_) | Handle::Schedule(_) => return,
        };
        let State { nic, near, .. } = &mut *state;
        both::cancel((nic, near.as_mut()), target);
        self.progress(&mut state);
    }
}
