//! bcs_probe: is there a message that a receive would take?
//!
//! A probe asks the NIC ([`crate::transport::nic`], `probing.rs`) and searches the messages of this
//! node.
//!
//! A matched probe (MPI 5.0, 3.8.2) takes the message out: only [`bcs_recv_extracted`] gets it
//! then. A non-blocking one first asks as any probe does, because a late answer would take a
//! message away from receives that were posted meanwhile. Only when there is a message does it
//! request to take it out, and waits for the answer. BR answers in its next slice, whatever other
//! ranks do.
//!
//! [`bcs_recv_extracted`]: Endpoint::bcs_recv_extracted

use super::endpoint::Endpoint;
use super::request::Request;
use super::state::EndpointState;
use super::wait_target::WaitTarget;
use crate::data::DataView;
use crate::transport::{Blocking, RequestOutcome, TooManyRequests, TransportHandle, smartmap};
use bcs_core::descriptor::ReceiveKind;
use bcs_core::matching::Pattern;
use bcs_core::request::{RequestFailure, RequestId};
use bcs_core::wait_state::{MessagePeer, WaitReason};

/// A message that a matched probe has taken out.
#[derive(Debug)]
#[must_use = "nobody else can receive this message"]
pub struct MatchedMessage(MatchedMessageLocation);

#[derive(Debug)]
enum MatchedMessageLocation {
    /// The NIC keeps it under the request of the probe.
    Nic {
        request: RequestId,
        pattern: Pattern,
    },
    /// It is here, until it is received.
    Local(Option<smartmap::LocalMatchedMessage>),
}

impl Endpoint {
    /// Takes a message for this pattern out, or waits until there is one. Returns its outcome and
    /// the message to receive. Returns `None` only if `blocking` is no. After a failure there is no
    /// message.
    ///
    /// # Errors
    /// When all request slots are in use.
    pub fn bcs_extract(
        &self,
        blocking: Blocking,
        pattern: Pattern,
    ) -> Result<Option<(RequestOutcome, MatchedMessage)>, TooManyRequests> {
        let reach = self.lock().transports_for(pattern);
        let what = WaitTarget::Wait(WaitReason::Probe(MessagePeer::from(pattern)));
        if !reach.local {
            return self.extract_remote(blocking, pattern);
        }
        if !reach.remote {
            return Ok(self.poll_or_wait(blocking, what, |state| state.extract_local(pattern)));
        }
        loop {
            let found = self.poll_or_wait(Blocking::No, what, |state| state.extract_local(pattern));
            if found.is_some() {
                return Ok(found);
            }
            if blocking == Blocking::No {
                return self.extract_remote(Blocking::No, pattern);
            }
            // The message may be on either transport, and another thread may be quicker afterwards.
            self.probe_both(pattern)?;
            let found = self.extract_remote(Blocking::No, pattern)?;
            if found.is_some() {
                return Ok(found);
            }
        }
    }

    fn extract_remote(
        &self,
        blocking: Blocking,
        pattern: Pattern,
    ) -> Result<Option<(RequestOutcome, MatchedMessage)>, TooManyRequests> {
        let kind = match blocking {
            Blocking::Yes => ReceiveKind::MatchedProbe,
            Blocking::No => match self.probe_remote(Blocking::No, pattern)? {
                None => return Ok(None),
                Some(_) => ReceiveKind::MatchedProbeOnce,
            },
        };
        let mut state = self.lock();
        self.progress(&mut state);
        let request = state.mux.nic.probe(pattern, kind)?;
        self.progress(&mut state);
        if blocking == Blocking::No {
            state.mux.nic.demand_slice(); // Also when another thread has got the message.
        }
        drop(state);
        let outcome = self
            .bcs_test(Blocking::Yes, Request::on(TransportHandle::Nic(request)))
            .expect("a blocking test has an answer");
        if outcome.failure == RequestFailure::Cancelled {
            return Ok(None);
        }
        let taken = MatchedMessageLocation::Nic { request, pattern };
        Ok(Some((outcome, MatchedMessage(taken))))
    }

    /// Posts the receive of a message that was taken out. The message is spent then. It never
    /// blocks.
    ///
    /// # Errors
    /// When all request slots are in use.
    ///
    /// # Panics
    /// If it is spent.
    pub fn bcs_recv_extracted(
        &self,
        message: &mut MatchedMessage,
        into: DataView,
    ) -> Result<Request, TooManyRequests> {
        let mut state = self.lock();
        self.progress(&mut state);
        let (message, pattern) = match &mut message.0 {
            MatchedMessageLocation::Nic { request, pattern } => (*request, *pattern),
            MatchedMessageLocation::Local(message) => {
                let near = state.mux.local.as_mut().expect("it came from there");
                let taken = message.take().expect("a message is received once");
                let posted = near.receive_extracted(taken, into);
                let request = posted.map_err(|(full, taken)| {
                    *message = Some(taken);
                    full
                })?;
                return Ok(Request::on(TransportHandle::Local(request)));
            }
        };
        let request = state.mux.nic.receive_extracted(message, pattern, &into)?;
        self.progress(&mut state);
        // Tests whether there is a message for this pattern, or waits until there is one. The
        // message stays where it is. Returns `None` only if `blocking` is no.
        //
        // # Errors
        // When all request slots are in use.
        state.mux.nic.demand_slice();
        self.progress(&mut state);
        Ok(Request::on(TransportHandle::Nic(request)))
    }

    /// Tests whether there is a message for this pattern, or waits until there is one. The message
    /// stays where it is. Returns `None` only if `blocking` is no.
    pub fn bcs_probe(
        &self,
        blocking: Blocking,
        pattern: Pattern,
    ) -> Result<Option<RequestOutcome>, TooManyRequests> {
        let reach = self.lock().transports_for(pattern);
        let what = WaitTarget::Wait(WaitReason::Probe(MessagePeer::from(pattern)));
        if !reach.local {
            return self.probe_remote(blocking, pattern);
        }
        if !reach.remote {
            return Ok(self.poll_or_wait(blocking, what, |state| state.probe_local(pattern)));
        }
        if blocking == Blocking::Yes {
            return self.probe_both(pattern).map(Some);
        }
        match self.poll_or_wait(blocking, what, |state| state.probe_local(pattern)) {
            None => self.probe_remote(blocking, pattern),
            found => Ok(found),
        }
    }

    /// Waits until there is a message on either transport.
    fn probe_both(&self, pattern: Pattern) -> Result<RequestOutcome, TooManyRequests> {
        let mut state = self.lock();
        self.progress(&mut state);
        let request = state.mux.nic.probe(pattern, ReceiveKind::Probe)?;
        self.progress(&mut state);
        drop(state);
        let what = WaitTarget::Request(Request::on(TransportHandle::Nic(request)));
        let found = self.poll_or_wait(Blocking::Yes, what, |state| {
            let Some(found) = state.probe_local(pattern) else {
                return state.mux.take(TransportHandle::Nic(request));
            };
            state.mux.nic.withdraw_probe(request, pattern);
            Some(found)
        });
        Ok(found.expect("a blocking look finds something"))
    }

    fn probe_remote(
        &self,
        blocking: Blocking,
        pattern: Pattern,
    ) -> Result<Option<RequestOutcome>, TooManyRequests> {
        if blocking == Blocking::Yes {
            let mut state = self.lock();
            self.progress(&mut state);
            let request = state.mux.nic.probe(pattern, ReceiveKind::Probe)?;
            self.progress(&mut state);
            drop(state);
            return Ok(self.bcs_test(Blocking::Yes, Request::on(TransportHandle::Nic(request))));
        }
        let mut asked = Ok(());
        let what = WaitTarget::Wait(WaitReason::Probe(MessagePeer::from(pattern)));
        let found = self.poll_or_wait(Blocking::No, what, |state| {
            // Two attempts: BR's answer may be "no" and old. The second attempt asks again.
            for _ in 0..2 {
                if asked.is_ok() {
                    asked = state.mux.nic.ask_once(pattern);
                    self.progress(state);
                }
                let answer = state.mux.nic.answer(pattern);
                if answer.is_some() {
                    return answer;
                }
            }
            None
        });
        asked.map(|()| found)
    }
}

impl EndpointState {
    fn probe_local(&mut self, pattern: Pattern) -> Option<RequestOutcome> {
        self.mux.local.as_mut()?.probe(pattern)
    }

    fn extract_local(&mut self, pattern: Pattern) -> Option<(RequestOutcome, MatchedMessage)> {
        let (outcome, taken) = self.mux.local.as_mut()?.extract(pattern)?;
        Some((
            outcome,
            MatchedMessage(MatchedMessageLocation::Local(Some(taken))),
        ))
    }
}
