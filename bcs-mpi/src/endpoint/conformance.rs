//! An endpoint as a rank of a world that keeps the rules of transports, whatever its transports
//! are.

use super::endpoint::Endpoint;
use super::messages;
use super::request::Request;
use super::wait_target::WaitTarget;
use crate::data::DataView;
use crate::transport::conformance::{ConformanceRank, RuleViolation, rules};
use crate::transport::{
    Blocking, OutgoingMessage, PostedSend, RequestOutcome, SendMode, TooManyRequests, Transport,
};
use bcs_core::matching::Pattern;
use bcs_core::wait_state::WaitReason;
use bcs_core::wake::waiting;

/// A rank of a world, for one of its threads.
#[derive(Clone, Copy, Debug)]
struct Caller<'a>(&'a Endpoint);

/// The result of a send or receive.
#[derive(Clone, Copy, Debug)]
enum PostedMessage {
    Now(RequestOutcome),
    Posted(Request),
}

impl Endpoint {
    /// Checks the rules that every transport keeps. All ranks of the world call it. It leaves out
    /// the rules of these names. Returns how many were kept.
    ///
    /// # Errors
    /// Returns the rule that is broken, and how.
    pub fn bcs_conforms(&self, without: &[&str]) -> Result<usize, String> {
        let mut kept = 0;
        for rule in rules::<Caller<'_>>() {
            if without.contains(&rule.name) {
                continue;
            }
            let broken =
                |RuleViolation(how)| format!("rank {}: {}: {how}", self.location.rank, rule.name);
            (rule.keep)(&mut Caller(self)).map_err(broken)?;
            kept += 1;
        }
        Ok(kept)
    }
}

impl ConformanceRank for Caller<'_> {
    type ConformanceTransport = Self;

    fn transport(&mut self) -> &mut Self {
        self
    }

    fn first(&self) -> u32 {
        0
    }

    fn rank(&self) -> u32 {
        self.0.location.rank
    }

    fn ranks(&self) -> u32 {
        self.0.location.ranks
    }

    fn pause(&mut self) {
        waiting::give_way(&self.0.page);
    }

    fn wait(&mut self, received: PostedMessage) -> RequestOutcome {
        match received {
            PostedMessage::Now(outcome) => outcome,
            PostedMessage::Posted(request) => {
                let outcome = self.0.bcs_test(Blocking::Yes, request);
                outcome.expect("a blocking test has an answer")
            }
        }
    }

    fn in_thread(&self) -> Option<Self> {
        Some(*self)
    }
}

impl Transport for Caller<'_> {
    type Request = PostedMessage;

    fn send(
        &mut self,
        mode: SendMode,
        message: &OutgoingMessage<'_>,
    ) -> Result<PostedSend<PostedMessage>, TooManyRequests> {
        let request = self.0.bcs_send(mode, message)?;
        Ok(match request.is_complete() {
            true => PostedSend::Complete,
            false => PostedSend::Request(PostedMessage::Posted(request)),
        })
    }

    fn receive(
        &mut self,
        pattern: Pattern,
        into: DataView,
    ) -> Result<PostedMessage, TooManyRequests> {
        let mut outcome = RequestOutcome::default();
        Ok(match self.0.bcs_recv(pattern, &into, &mut outcome)? {
            messages::ReceiveOutcome::Received => PostedMessage::Now(outcome),
            messages::ReceiveOutcome::Posted(request) => PostedMessage::Posted(request),
        })
    }

    fn probe(&mut self, pattern: Pattern) -> Result<Option<RequestOutcome>, TooManyRequests> {
        self.0.bcs_probe(Blocking::No, pattern)
    }

    fn cancel(&mut self, received: PostedMessage) {
        if let PostedMessage::Posted(request) = received {
            self.0.bcs_cancel(request);
        }
    }

    fn is_done(&mut self, received: PostedMessage) -> bool {
        match received {
            PostedMessage::Now(_) => true,
            PostedMessage::Posted(request) => self.0.lock().is_done(request),
        }
    }

    fn take(&mut self, received: PostedMessage) -> Option<RequestOutcome> {
        match received {
            PostedMessage::Now(outcome) => Some(outcome),
            PostedMessage::Posted(request) => self.0.bcs_test(Blocking::No, request),
        }
    }

    fn progress(&mut self) {
        let anything = WaitTarget::Wait(WaitReason::Request);
        let nothing: Option<()> = self.0.poll_or_wait(Blocking::No, anything, |_| None);
        assert_eq!(nothing, None, "nothing was looked for");
    }

    fn room(&self) -> usize {
        self.0.lock().mux.room()
    }

    fn is_over(&mut self) -> bool {
        self.0.lock().mux.is_over()
    }
}
