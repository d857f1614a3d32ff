//! Probes: the questions to BR, and its answers.
//!
//! Only BR knows, so a non-blocking probe that has not asked yet asks and answers "no". The next
//! one with the same pattern finds BR's answer. A "yes" stays true until this rank posts a receive
//! that could take the message found. Such a receive voids the answer. It also voids a question
//! that BR has not answered yet, since BR may answer before it sees the receive.

use super::NicTransport;
use super::probes::{ProbeState, meet};
use super::requests::Purpose;
use crate::transport::{RequestOutcome, TooManyRequests};
use bcs_core::descriptor::ReceiveKind;
use bcs_core::matching::{MessageEnvelope, Pattern};
use bcs_core::request::{RequestFailure, RequestId};

impl NicTransport {
    /// Asks BR for a message of this pattern, in this way. The answer completes the request.
    pub(crate) fn probe(
        &mut self,
        pattern: Pattern,
        kind: ReceiveKind,
    ) -> Result<RequestId, TooManyRequests> {
        let request = self.requests.open(Purpose::Probe(pattern))?;
        if matches!(
            kind,
            ReceiveKind::MatchedProbe | ReceiveKind::MatchedProbeOnce
        ) {
            self.void_probes(pattern);
        }
        self.push_receive(request, pattern, kind);
        Ok(request)
    }

    /// Withdraws a probe whose answer is no longer needed. The NIC forgets it, and then its slot is
    /// free.
    pub(crate) fn withdraw_probe(&mut self, request: RequestId, pattern: Pattern) {
        let _probe = self.requests.detach(request, Purpose::VoidProbe);
        self.push_receive(RequestId::NOBODY, pattern, ReceiveKind::Cancel(request));
        self.demand_slice();
    }

    /// Asks BR without waiting for it, unless that was done or it has answered.
    pub(crate) fn ask_once(&mut self, pattern: Pattern) -> Result<(), TooManyRequests> {
        if self.probes.contains_key(&pattern) {
            return Ok(());
        }
        self.reap(false);
        let request = self.probe(pattern, ReceiveKind::ProbeOnce)?;
        self.probes.insert(pattern, ProbeState::Asked(request));
        Ok(())
    }

    /// Returns BR's answer to that.
    pub(crate) fn answer(&mut self, pattern: Pattern) -> Option<RequestOutcome> {
        let request = match *self.probes.get(&pattern)? {
            ProbeState::Found(outcome) => return Some(outcome),
            ProbeState::Asked(request) => request,
        };
        let outcome = self.take(request)?;
        self.probes.remove(&pattern);
        match outcome.failure {
            RequestFailure::Cancelled => None,
            RequestFailure::None => {
                self.probes.insert(pattern, ProbeState::Found(outcome));
                Some(outcome)
            }
            _ => Some(outcome),
        }
    }

    /// Forgets the non-blocking probes. BR still answers the questions that it has got.
    pub(super) fn forget_probes(&mut self) {
        for (_, once) in self.probes.drain() {
            if let ProbeState::Asked(request) = once {
                let _probe = self.requests.detach(request, Purpose::VoidProbe);
            }
        }
    }

    /// Voids the probes whose message a receive could take. The rank is posting that receive.
    pub(super) fn void_probes(&mut self, receive: Pattern) {
        if self.probes.is_empty() {
            return;
        }
        let Self {
            probes, requests, ..
        } = self;
        probes.retain(|&probe, once| match *once {
            ProbeState::Asked(request) => {
                let may_meet = meet(probe, receive);
                if may_meet {
                    let _probe = requests.detach(request, Purpose::VoidProbe);
                }
                !may_meet
            }
            ProbeState::Found(RequestOutcome { source, tag, .. }) => {
                !receive.matches(&MessageEnvelope {
                    context: probe.context,
                    source,
                    tag,
                })
            }
        });
    }
}
