//! How async operations begin and advance: in every call of the rank.
#![expect(unsafe_code, reason = "a context names its members by address")]

use super::async_operation::{AsyncOperation, OperationContext};
use super::endpoint::Endpoint;
use super::request::{OperationId, Request};
use super::state::EndpointState;
use crate::transport::{Mux, RequestOutcome, TooManyRequests};

/// The endpoint, for a caller that has its lock.
struct Locked<'a> {
    endpoint: &'a Endpoint,
    state: &'a mut EndpointState,
}

impl OperationContext for Locked<'_> {
    fn mux(&mut self) -> &mut Mux {
        &mut self.state.mux
    }

    fn take(&mut self, request: Request) -> Option<RequestOutcome> {
        self.state.take(request)
    }

    fn is_done(&mut self, request: Request) -> bool {
        self.state.is_done(request)
    }

    unsafe fn open(&mut self, context: u32, members: &[u32]) -> Result<Request, TooManyRequests> {
        // SAFETY: the caller's promise.
        unsafe { self.endpoint.open_in(self.state, context, members) }
    }

    fn opened(&mut self, context: u32, members: &[u32], local: u32) {
        self.endpoint.opened_in(self.state, context, members, local);
    }

    fn close(&mut self, context: u32) -> Result<Request, TooManyRequests> {
        self.endpoint.close_in(self.state, context)
    }
}

impl Endpoint {
    /// Begins an async operation.
    pub(crate) fn undertake(&self, undertaking: Box<dyn AsyncOperation>) -> Request {
        let mut state = self.lock();
        let id = state.undertakings.insert(undertaking);
        self.progress(&mut state);
        self.leave(state);
        Request(OperationId::AsyncOperation(id))
    }

    /// Advances the async operations, after the program has done something that they may wait for.
    pub(crate) fn nudge(&self) {
        let mut state = self.lock();
        state.undertakings.look_again();
        self.progress(&mut state);
        self.leave(state);
    }

    /// Advances all async operations, if there were completions since they last did. `completions`
    /// is the count so far. Returns whether any has posted or is over.
    pub(crate) fn advance_undertakings(&self, state: &mut EndpointState, completions: u64) -> bool {
        let Some(mut under_way) = state.undertakings.due(completions) else {
            return false;
        };
        let mut any = false;
        let refusals = state.mux.refusals();
        under_way.retain(|&id, undertaking| {
            let mut at = Locked {
                endpoint: self,
                state: &mut *state,
            };
            let Some(outcome) = undertaking.advance(&mut at, &mut any) else {
                return true;
            };
            state.undertakings.ended(id, outcome);
            any = true;
            false
        });
        state.undertakings.go_on(under_way);
        // An operation that was refused tries again: at once if others have freed slots since.
        if state.mux.refusals() != refusals {
            state.undertakings.look_again();
            any |= state.mux.room() > 0;
        }
        any
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{ByteRange, DataView};
    use crate::mpi::Process;
    use crate::transport::TransportHandle;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    fn receive(mux: &mut Mux) -> Result<TransportHandle, TooManyRequests> {
        // SAFETY: there are no bytes.
        let nothing = unsafe { ByteRange::new(0, 0) };
        mux.receive_from((0, 3, 1), DataView::from(nothing))
    }

    /// Posts a receive when there is a request slot for it.
    #[derive(Debug)]
    struct Receiver(Arc<AtomicBool>);

    impl AsyncOperation for Receiver {
        fn advance(
            &mut self,
            at: &mut dyn OperationContext,
            posted: &mut bool,
        ) -> Option<RequestOutcome> {
            if !self.0.load(Ordering::Relaxed) && receive(at.mux()).is_ok() {
                self.0.store(true, Ordering::Relaxed);
                *posted = true;
            }
            None
        }

        fn awaits(&self) -> Vec<TransportHandle> {
            Vec::new()
        }
    }

    /// Takes a request that is done, and goes on.
    #[derive(Debug)]
    struct Taker(TransportHandle);

    impl AsyncOperation for Taker {
        fn advance(
            &mut self,
            at: &mut dyn OperationContext,
            _posted: &mut bool,
        ) -> Option<RequestOutcome> {
            at.mux().take(self.0);
            None
        }

        fn awaits(&self) -> Vec<TransportHandle> {
            Vec::new()
        }
    }

    /// The program may not call again before the operation is complete.
    #[test]
    fn a_refused_operation_gets_the_first_slot_that_another_one_frees() {
        let process = Process::init().unwrap();
        let endpoint = process.endpoint();
        let mut state = endpoint.lock();
        state.mux.limit_requests(10);
        let posted: Vec<_> = std::iter::from_fn(|| receive(&mut state.mux).ok()).collect();
        drop(state);
        assert!((5..=10).contains(&posted.len()), "{posted:?}");
        let received = Arc::new(AtomicBool::new(false));
        let _refused = endpoint.undertake(Box::new(Receiver(received.clone())));
        assert!(!received.load(Ordering::Relaxed), "no slot is left");
        endpoint.lock().mux.cancel(posted[0]);
        let _taker = endpoint.undertake(Box::new(Taker(posted[0])));
        assert!(received.load(Ordering::Relaxed), "one slot is left");
    }
}
