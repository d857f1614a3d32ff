//! bcs_probe: is there a message that a receive would take?
//!
//! A NIC is asked ([`crate::roads::nic`], `probing.rs`); messages of this node are looked for here.
//!
//! A matched probe (MPI 5.0, 3.8.2) takes the message out: only [`bcs_recv_extracted`] gets it then.
//! A non-blocking one first asks as any probe does, because an answer that came later would take a
//! message away from receives that were posted meanwhile; only when there is a message does it have
//! it taken out, and waits for that: BR answers in its next slice, whatever other ranks do.
//!
//! [`bcs_recv_extracted`]: Endpoint::bcs_recv_extracted

use super::endpoint::Endpoint;
use super::request::Request;
use super::state::State;
use super::what::What;
use crate::data::Piece;
use crate::roads::{Blocking, Handle, Outcome, TooManyRequests, smartmap};
use bcs_core::descriptor::ReceiveKind;
use bcs_core::matching::Pattern;
use bcs_core::request::{Failure, RequestId};
use bcs_core::whereabouts::{Peer, Wait};

/// A message that a matched probe has taken out.
#[derive(Debug)]
#[must_use = "nobody else can receive this message"]
pub struct Extracted(Taken);

#[derive(Debug)]
enum Taken {
    /// The NIC keeps it under the request of the probe.
    Nic {
        request: RequestId,
        pattern: Pattern,
    },
    /// It is here, until it is received.
    Near(Option<smartmap::Extracted>),
}

impl Endpoint {
    /// Takes a message for this pattern out, or waits until there is one: what it is, and what to
    /// receive. `None` only if `blocking` is no. Where there is a failure, there is no message.
    ///
    /// # Errors
    /// When all request slots are in use.
    pub fn bcs_extract(
        &self,
        blocking: Blocking,
        pattern: Pattern,
    ) -> Result<Option<(Outcome, Extracted)>, TooManyRequests> {
        let reach = self.lock().reach(pattern);
        let what = What::Wait(Wait::Probe(Peer::from(pattern)));
        if !reach.near {
            return self.extract_far(blocking, pattern);
        }
        if !reach.far {
            return Ok(self.look(blocking, what, |state| state.extract_near(pattern)));
        }
        loop {
            let found = self.look(Blocking::No, what, |state| state.extract_near(pattern));
            if found.is_some() {
                return Ok(found);
            }
            if blocking == Blocking::No {
                return self.extract_far(Blocking::No, pattern);
            }
            // Whatever road it is on, and even if another thread then is quicker.
            self.probe_both(pattern)?;
            let found = self.extract_far(Blocking::No, pattern)?;
            if found.is_some() {
                return Ok(found);
            }
        }
    }

    fn extract_far(
        &self,
        blocking: Blocking,
        pattern: Pattern,
    ) -> Result<Option<(Outcome, Extracted)>, TooManyRequests> {
        let kind = match blocking {
            Blocking::Yes => ReceiveKind::Extract,
            Blocking::No => match self.probe_far(Blocking::No, pattern)? {
                None => return Ok(None),
                Some(_) => ReceiveKind::ExtractOnce,
            },
        };
        let mut state = self.lock();
        self.progress(&mut state);
        let request = state.roads.nic.probe(pattern, kind)?;
        self.progress(&mut state);
        if blocking == Blocking::No {
            state.roads.nic.ask(); // Also when another thread has got the message: BR is to say so.
        }
        drop(state);
        let outcome = self
            .bcs_test(Blocking::Yes, Request::on(Handle::Nic(request)))
            .expect("a blocking test has an answer");
        if outcome.failure == Failure::Cancelled {
            return Ok(None);
        }
        let taken = Taken::Nic { request, pattern };
        Ok(Some((outcome, Extracted(taken))))
    }

    /// Posts the receive of a message that was taken out, which is spent then. It never blocks.
    ///
    /// # Errors
    /// When all request slots are in use.
    ///
    /// # Panics
    /// If it is spent.
    pub fn bcs_recv_extracted(
        &self,
        message: &mut Extracted,
        into: Piece,
    ) -> Result<Request, TooManyRequests> {
        let mut state = self.lock();
        self.progress(&mut state);
        let (message, pattern) = match &mut message.0 {
            Taken::Nic { request, pattern } => (*request, *pattern),
            Taken::Near(message) => {
                let near = state.roads.near.as_mut().expect("it came from there");
                let taken = message.take().expect("a message is received once");
                let posted = near.receive_extracted(taken, into);
                let request = posted.map_err(|(full, taken)| {
                    *message = Some(taken);
                    full
                })?;
                return Ok(Request::on(Handle::Near(request)));
            }
        };
        let request = state.roads.nic.receive_extracted(message, pattern, &into)?;
        self.progress(&mut state);
        // The message is not among those that BR says it holds for this rank.
        state.roads.nic.ask();
        self.progress(&mut state);
        Ok(Request::on(Handle::Nic(request)))
    }

    /// Asks whether there is a message for this pattern, or waits until there is one. What is
    /// found stays where it is. `None` only if `blocking` is no.
    ///
    /// # Errors
    /// When all request slots are in use.
    pub fn bcs_probe(
        &self,
        blocking: Blocking,
        pattern: Pattern,
    ) -> Result<Option<Outcome>, TooManyRequests> {
        let reach = self.lock().reach(pattern);
        let what = What::Wait(Wait::Probe(Peer::from(pattern)));
        if !reach.near {
            return self.probe_far(blocking, pattern);
        }
        if !reach.far {
            return Ok(self.look(blocking, what, |state| state.probe_near(pattern)));
        }
        if blocking == Blocking::Yes {
            return self.probe_both(pattern).map(Some);
        }
        match self.look(blocking, what, |state| state.probe_near(pattern)) {
            None => self.probe_far(blocking, pattern),
            found => Ok(found),
        }
    }

    /// Waits until there is a message on either road.
    fn probe_both(&self, pattern: Pattern) -> Result<Outcome, TooManyRequests> {
        let mut state = self.lock();
        self.progress(&mut state);
        let request = state.roads.nic.probe(pattern, ReceiveKind::Probe)?;
        self.progress(&mut state);
        drop(state);
        let what = What::Request(Request::on(Handle::Nic(request)));
        let found = self.look(Blocking::Yes, what, |state| {
            let Some(found) = state.probe_near(pattern) else {
                return state.roads.take(Handle::Nic(request));
            };
            state.roads.nic.withdraw_probe(request, pattern);
            Some(found)
        });
        Ok(found.expect("a blocking look finds something"))
    }

    fn probe_far(
        &self,
        blocking: Blocking,
        pattern: Pattern,
    ) -> Result<Option<Outcome>, TooManyRequests> {
        if blocking == Blocking::Yes {
            let mut state = self.lock();
            self.progress(&mut state);
            let request = state.roads.nic.probe(pattern, ReceiveKind::Probe)?;
            self.progress(&mut state);
            drop(state);
            return Ok(self.bcs_test(Blocking::Yes, Request::on(Handle::Nic(request))));
        }
        let mut asked = Ok(());
        let what = What::Wait(Wait::Probe(Peer::from(pattern)));
        let found = self.look(Blocking::No, what, |state| {
            // Twice, because BR's answer may be "no" and old: then it is asked anew.
            for _ in 0..2 {
                if asked.is_ok() {
                    asked = state.roads.nic.ask_once(pattern);
                    self.progress(state);
                }
                let answer = state.roads.nic.answer(pattern);
                if answer.is_some() {
                    return answer;
                }
            }
            None
        });
        asked.map(|()| found)
    }
}

impl State {
    fn probe_near(&mut self, pattern: Pattern) -> Option<Outcome> {
        self.roads.near.as_mut()?.probe(pattern)
    }

    fn extract_near(&mut self, pattern: Pattern) -> Option<(Outcome, Extracted)> {
        let (outcome, taken) = self.roads.near.as_mut()?.extract(pattern)?;
        Some((outcome, Extracted(Taken::Near(Some(taken)))))
    }
}
