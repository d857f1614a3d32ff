//! An endpoint as a rank of a world that keeps the rules of roads: whatever its roads are.

use super::endpoint::Endpoint;
use super::messages;
use super::request::Request;
use super::what::What;
use crate::data::Piece;
use crate::roads::conformance::{Broken, Party, rules};
use crate::roads::{Blocking, Message, Outcome, Posted, Road, SendMode, TooManyRequests};
use bcs_core::matching::Pattern;
use bcs_core::wake::waiting;
use bcs_core::whereabouts::Wait;

/// A rank of a world, as a thread of it calls.
#[derive(Clone, Copy, Debug)]
struct Caller<'a>(&'a Endpoint);

/// What became of a send or receive.
#[derive(Clone, Copy, Debug)]
enum Received {
    Now(Outcome),
    Posted(Request),
}

impl Endpoint {
    /// Runs the rules that every road keeps, with all ranks of the world, who all call it. Rules of these names are
    /// left out. Returns how many were kept.
    ///
    /// # Errors
    /// Which rule is broken, and how.
    pub fn bcs_conforms(&self, without: &[&str]) -> Result<usize, String> {
        let mut kept = 0;
        for rule in rules::<Caller<'_>>() {
            if without.contains(&rule.name) {
                continue;
            }
            let broken = |Broken(how)| format!("rank {}: {}: {how}", self.place.rank, rule.name);
            (rule.keep)(&mut Caller(self)).map_err(broken)?;
            kept += 1;
        }
        Ok(kept)
    }
}

impl Party for Caller<'_> {
    type Road = Self;

    fn road(&mut self) -> &mut Self {
        self
    }

    fn first(&self) -> u32 {
        0
    }

    fn rank(&self) -> u32 {
        self.0.place.rank
    }

    fn ranks(&self) -> u32 {
        self.0.place.ranks
    }

    fn pause(&mut self) {
        waiting::give_way(&self.0.page);
    }

    fn wait(&mut self, received: Received) -> Outcome {
        match received {
            Received::Now(outcome) => outcome,
            Received::Posted(request) => {
                let outcome = self.0.bcs_test(Blocking::Yes, request);
                outcome.expect("a blocking test has an answer")
            }
        }
    }

    fn in_thread(&self) -> Option<Self> {
        Some(*self)
    }
}

impl Road for Caller<'_> {
    type Request = Received;

    fn send(
        &mut self,
        mode: SendMode,
        message: &Message<'_>,
    ) -> Result<Posted<Received>, TooManyRequests> {
        let request = self.0.bcs_send(mode, message)?;
        Ok(match request.is_complete() {
            true => Posted::Complete,
            false => Posted::Request(Received::Posted(request)),
        })
    }

    fn receive(&mut self, pattern: Pattern, into: Piece) -> Result<Received, TooManyRequests> {
        let mut outcome = Outcome::default();
        Ok(match self.0.bcs_recv(pattern, &into, &mut outcome)? {
            messages::Received::Now => Received::Now(outcome),
            messages::Received::Posted(request) => Received::Posted(request),
        })
    }

    fn probe(&mut self, pattern: Pattern) -> Result<Option<Outcome>, TooManyRequests> {
        self.0.bcs_probe(Blocking::No, pattern)
    }

    fn cancel(&mut self, received: Received) {
        if let Received::Posted(request) = received {
            self.0.bcs_cancel(request);
        }
    }

    fn is_done(&mut self, received: Received) -> bool {
        match received {
            Received::Now(_) => true,
            Received::Posted(request) => self.0.lock().is_done(request),
        }
    }

    fn take(&mut self, received: Received) -> Option<Outcome> {
        match received {
            Received::Now(outcome) => Some(outcome),
            Received::Posted(request) => self.0.bcs_test(Blocking::No, request),
        }
    }

    fn progress(&mut self) {
        let anything = What::Wait(Wait::Request);
        let nothing: Option<()> = self.0.look(Blocking::No, anything, |_| None);
        assert_eq!(nothing, None, "nothing was looked for");
    }

    fn room(&self) -> usize {
        self.0.lock().roads.room()
    }

    fn is_over(&mut self) -> bool {
        self.0.lock().roads.is_over()
    }
}
