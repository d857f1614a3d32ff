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
use super::requests::{Handle, Outcome, Purpose, Request, TooManyRequests};
use super::whereabouts::What;
use super::{Blocking, Piece};
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
#[derive(Debug, PartialEq, Eq)]
#[must_use = "nobody else can receive this message"]
pub struct Extracted {
    request: RequestId,
    pattern: Pattern,
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
        let kind = match blocking {
            Blocking::Yes => ReceiveKind::Extract,
            Blocking::No => match self.bcs_probe(Blocking::No, pattern)? {
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
        Ok(Some((outcome, Extracted { request, pattern })))
    }

    /// Posts the receive of a message that was taken out. It never blocks.
    ///
    /// # Safety
    /// As for [`bcs_recv`](Self::bcs_recv).
    ///
    /// # Errors
    /// When all request slots are in use.
    pub unsafe fn bcs_recv_extracted(
        &self,
        message: &Extracted,
        into: Piece,
    ) -> Result<Request, TooManyRequests> {
        let mut state = self.lock();
        self.progress(&mut state);
        let (pattern, capacity) = (message.pattern, into.len as u64);
        let (location, purpose) = state.purpose_of_receive(pattern, into);
        let request = state.requests.open(purpose)?;
        let kind = ReceiveKind::ReceiveExtracted {
            message: message.request,
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
            // Twice, because BR's answer may be "no" and old: then it is asked anew, and in a
            // world of one it answers at once.
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
                    requests.detach(request, Purpose::VoidProbe);
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
