//! bcs_probe: is there a message that a receive would take?
//!
//! Only BR knows, so a non-blocking probe that has not asked yet asks and answers "no"; the next
//! one with the same pattern finds BR's answer. A "yes" stays true until this rank posts a
//! receive that could take the message found: such a receive voids it, and also a question that
//! BR has not answered yet, since BR may answer it before it sees the receive.
//!
//! A matched probe (MPI 5.0, 3.8.2) takes the message out: only [`bcs_recv_extracted`] gets it then.
//! A non-blocking one first asks as any probe does, because an answer that came later would take a
//! message away from receives that were posted meanwhile; only when there is a message does it have
//! it taken out, and waits for that: BR answers in its next slice, whatever other ranks do.
//!
//! [`bcs_recv_extracted`]: Endpoint::bcs_recv_extracted
#![expect(unsafe_code, reason = "receives are named by address")]

use super::endpoint::{Endpoint, State};
use super::requests::{Handle, Purpose, Request, Requests};
use super::whereabouts::What;
use crate::data::Piece;
use crate::roads::Blocking;
use crate::roads::smartmap;
use crate::roads::{Outcome, TooManyRequests};
use bcs_core::descriptor::ReceiveKind;
use bcs_core::matching::{Pattern, Signature};
use bcs_core::request::{Failure, RequestId};
use bcs_core::whereabouts::{Peer, Wait};
use std::collections::HashMap;

/// Non-blocking probes by what they look for.
pub(super) type Probes = HashMap<Pattern, Once>;

/// How far a non-blocking probe is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Once {
    /// BR was asked.
    Asked(RequestId),
    /// BR found this message.
    Found(Outcome),
}

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
        let request = state.requests.open(Purpose::Probe(pattern))?;
        state.void_probes(pattern);
        self.post_receive(&mut state, request, pattern, kind);
        if blocking == Blocking::No {
            self.ask(); // Also when another thread has got the message: BR is to say so.
        }
        drop(state);
        let outcome = self
            .bcs_test(Blocking::Yes, Request(Handle::Nic(request)))
            .expect("a blocking test has an answer");
        if outcome.failure == Failure::Cancelled {
            return Ok(None);
        }
        let taken = Taken::Nic { request, pattern };
        Ok(Some((outcome, Extracted(taken))))
    }

    /// Posts the receive of a message that was taken out, which is spent then. It never blocks.
    ///
    /// # Safety
    /// As for [`bcs_recv`](Self::bcs_recv).
    ///
    /// # Errors
    /// When all request slots are in use.
    ///
    /// # Panics
    /// If it is spent.
    pub unsafe fn bcs_recv_extracted(
        &self,
        message: &mut Extracted,
        into: Piece,
    ) -> Result<Request, TooManyRequests> {
        let mut state = self.lock();
        self.progress(&mut state);
        let (message, pattern) = match &mut message.0 {
            Taken::Nic { request, pattern } => (*request, *pattern),
            Taken::Near(message) => {
                let near = state.near.as_mut().expect("it came from there");
                let taken = message.take().expect("a message is received once");
                // SAFETY: the caller's promise.
                let posted = unsafe { near.receive_extracted(taken, into) };
                let request = posted.map_err(|(full, taken)| {
                    *message = Some(taken);
                    full
                })?;
                return Ok(Request(Handle::Near(request)));
            }
        };
        let capacity = into.len as u64;
        let (location, purpose) = state.purpose_of_receive(pattern, into);
        let request = state.requests.open(purpose)?;
        let kind = ReceiveKind::ReceiveExtracted {
            message,
            into: location,
            capacity,
        };
        self.post_receive(&mut state, request, pattern, kind);
        // The message is not among those that BR says it holds for this rank.
        self.ask();
        self.progress(&mut state);
        Ok(Request(Handle::Nic(request)))
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
        let request = state.requests.open(Purpose::Probe(pattern))?;
        self.post_receive(&mut state, request, pattern, ReceiveKind::Probe);
        drop(state);
        let what = What::Request(Request(Handle::Nic(request)));
        let found = self.look(Blocking::Yes, what, |state| {
            let Some(found) = state.probe_near(pattern) else {
                return self.take(state, request);
            };
            // The NIC forgets it, and then its slot is free.
            let _probe = state.requests.detach(request, Purpose::VoidProbe);
            let withdraw = ReceiveKind::Cancel(request);
            self.push_receive(state, Requests::NOBODY, pattern, withdraw);
            self.ask();
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
            let request = state.requests.open(Purpose::Probe(pattern))?;
            self.post_receive(&mut state, request, pattern, ReceiveKind::Probe);
            drop(state);
            return Ok(self.bcs_test(Blocking::Yes, Request(Handle::Nic(request))));
        }
        let mut asked = Ok(());
        let what = What::Wait(Wait::Probe(Peer::from(pattern)));
        let found = self.look(Blocking::No, what, |state| {
            // Twice, because BR's answer may be "no" and old: then it is asked anew.
            for _ in 0..2 {
                if !state.probes.contains_key(&pattern) && asked.is_ok() {
                    asked = self.ask_once(state, pattern);
                }
                let answer = self.answer(state, pattern);
                if answer.is_some() {
                    return answer;
                }
            }
            None
        });
        asked.map(|()| found)
    }

    fn ask_once(&self, state: &mut State, pattern: Pattern) -> Result<(), TooManyRequests> {
        self.reap(state, false);
        let request = state.requests.open(Purpose::Probe(pattern))?;
        state.probes.insert(pattern, Once::Asked(request));
        self.post_receive(state, request, pattern, ReceiveKind::ProbeOnce);
        Ok(())
    }

    fn answer(&self, state: &mut State, pattern: Pattern) -> Option<Outcome> {
        let request = match *state.probes.get(&pattern)? {
            Once::Found(outcome) => return Some(outcome),
            Once::Asked(request) => request,
        };
        let outcome = self.take(state, request)?;
        state.probes.remove(&pattern);
        match outcome.failure {
            Failure::Cancelled => None,
            Failure::None => {
                state.probes.insert(pattern, Once::Found(outcome));
                Some(outcome)
            }
            _ => Some(outcome),
        }
    }
}

impl State {
    /// Nobody asks any more whether there is a message. What BR has been asked it will still answer.
    pub(super) fn forget_probes(&mut self) {
        for (_, once) in self.probes.drain() {
            if let Once::Asked(request) = once {
                let _probe = self.requests.detach(request, Purpose::VoidProbe);
            }
        }
    }

    fn probe_near(&self, pattern: Pattern) -> Option<Outcome> {
        self.near.as_ref()?.probe(pattern)
    }

    fn extract_near(&mut self, pattern: Pattern) -> Option<(Outcome, Extracted)> {
        let (outcome, taken) = self.near.as_mut()?.extract(pattern)?;
        Some((outcome, Extracted(Taken::Near(Some(taken)))))
    }

    /// This rank posts a receive: what it could take is no longer found.
    pub(super) fn void_probes(&mut self, receive: Pattern) {
        if self.probes.is_empty() {
            return;
        }
        let Self {
            probes, requests, ..
        } = self;
        probes.retain(|&probe, once| match *once {
            Once::Asked(request) => {
                let may_meet = meet(probe, receive);
                if may_meet {
                    let _probe = requests.detach(request, Purpose::VoidProbe);
                }
                !may_meet
            }
            Once::Found(Outcome { source, tag, .. }) => !receive.matches(&Signature {
                context: probe.context,
                source,
                tag,
            }),
        });
    }
}

/// Whether there can be a message for both patterns.
fn meet(one: Pattern, other: Pattern) -> bool {
    fn open<T: PartialEq>(one: Option<T>, other: Option<T>) -> bool {
        one.is_none() || other.is_none() || one == other
    }
    one.context == other.context && open(one.source, other.source) && open(one.tag, other.tag)
}
