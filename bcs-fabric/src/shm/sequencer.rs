//! The sequencer: decides the Compare-And-Writes of a job, one at a time.
//!
//! Happens-before, named on both sides:
//! - **ASK**: a port writes its request, then stores ASKED with `Release`; the sequencer loads it
//!   with `Acquire`.
//! - **VERDICT**: the sequencer writes the variables on all nodes, then stores the verdict with
//!   `Release`; the port loads it with `Acquire`.
//! - **PROGRESS**: a node stores a variable with `Release`; the sequencer compares it after an
//!   `Acquire` load. So a thread that acts on a verdict sees all that the nodes did before they
//!   made the condition true. This lets each slice reuse a lane of global memory.
//! - **REPORT**: a node that reports counts it, with `Release`, after it has stored the variable.
//!   The sequencer loads the count with `Acquire` before it evaluates. So an evaluation sees all
//!   reports that it has counted, and a later report leads to another evaluation.

use super::bells::PendingBells;
use super::segment::{ASKED, FALSE, RawRequest, Segment, TRUE, port_count};
use super::write_log::WriteLog;
use bcs_core::job::{NicThreadId, NodeId};
use bcs_core::wake::machine_page::BellId;
use std::sync::atomic::Ordering;

/// Decides Compare-And-Writes. The OS thread of the Strobe Sender runs it, and ports ring its bell.
#[derive(Debug)]
pub struct Sequencer {
    segment: Segment,
    bells: PendingBells,
    seen: u64,
    /// Reports of nodes that the last evaluation of waiting requests has seen.
    reports_seen: u64,
    /// Requests that wait until their condition holds, by port.
    waiting: Vec<(usize, RawRequest)>,
    retries: u64,
    /// The log of writes, if there are nodes on other machines.
    ledger: Option<WriteLog>,
}

impl Sequencer {
    /// Makes the sequencer of a job; there must be only one.
    #[must_use]
    pub fn new(segment: Segment, bells: PendingBells) -> Self {
        Self {
            segment,
            bells,
            seen: 0,
            reports_seen: 0,
            waiting: Vec::new(),
            retries: 0,
            ledger: None,
        }
    }

    /// Sets the log of writes, in a job with nodes on other machines, whose variables this segment
    /// mirrors.
    #[must_use]
    pub fn with_ledger(self, ledger: Option<WriteLog>) -> Self {
        Self { ledger, ..self }
    }

    /// Returns whether [`poll`](Self::poll) would find a new request.
    #[must_use]
    pub fn has_requests(&self) -> bool {
        self.segment.requests_asked().load(Ordering::Acquire) != self.seen
    }

    /// Decides what can be decided. Returns whether it decided anything.
    pub fn poll(&mut self) -> bool {
        let reports = self.segment.reports().load(Ordering::Acquire); // REPORT
        let mut progress = false;
        if std::mem::replace(&mut self.reports_seen, reports) != reports {
            progress = self.retry_waiting();
        }
        let asked = self.segment.requests_asked().load(Ordering::Acquire);
        if asked == self.seen {
            return progress;
        }
        self.seen = asked;
        for port in 0..port_count(self.segment.nodes()) {
            // ASK: the words of the request are visible.
            if self.segment.request_state(port).load(Ordering::Acquire) != ASKED
                || self.waiting.iter().any(|&(waiting, _)| waiting == port)
            {
                continue;
            }
            let request = self.segment.read_request(port);
            if !self.decide(port, &request) {
                self.retries += 1;
                self.waiting.push((port, request));
            }
            progress = true;
        }
        progress
    }

    /// Returns how many evaluations of waiting requests came out false (paper Table 5.1): one when
    /// the request comes, and one whenever nodes have reported since the last.
    #[must_use]
    pub fn retries(&self) -> u64 {
        self.retries
    }

    fn retry_waiting(&mut self) -> bool {
        let mut waiting = std::mem::take(&mut self.waiting);
        let before = waiting.len();
        waiting.retain(|(port, request)| {
            let decided = self.decide(*port, request);
            self.retries += u64::from(!decided);
            !decided
        });
        self.waiting = waiting;
        self.waiting.len() != before
    }

    /// Evaluates a request of a port. Returns false if it goes on waiting.
    fn decide(&self, port: usize, request: &RawRequest) -> bool {
        let judged = match &self.ledger {
            None => evaluate_and_write(&self.segment, request),
            Some(ledger) => ledger.evaluate_and_log(
                &self.segment,
                || evaluate_and_write(&self.segment, request),
                request,
            ),
        };
        let Some(holds) = judged else {
            return false;
        };
        // VERDICT: publishes the writes above.
        let verdict = if holds { TRUE } else { FALSE };
        self.segment
            .request_state(port)
            .store(verdict, Ordering::Release);
        if port < self.segment.nodes() * NicThreadId::COUNT {
            let node = NodeId::from_index(port / NicThreadId::COUNT);
            self.bells.add(BellId::for_nic_thread(
                node,
                NicThreadId::ALL[port % NicThreadId::COUNT],
            ));
        }
        true
    }
}

/// Evaluates a Compare-And-Write, and if it holds, writes its variable on all its nodes. Returns
/// `None` if it goes on waiting.
pub(super) fn evaluate_and_write(segment: &Segment, request: &RawRequest) -> Option<bool> {
    let holds = request.set.iter().all(|node| {
        // PROGRESS: what the node did before it stored the variable is visible.
        let value = segment
            .variable(node, request.variable)
            .load(Ordering::Acquire);
        request.comparison.holds(value, request.operand)
    });
    if !holds && request.wait {
        return None;
    }
    if let (true, Some((variable, value))) = (holds, request.write) {
        for node in request.set.iter() {
            segment
                .variable(node, variable)
                .store(value, Ordering::Release);
        }
    }
    Some(holds)
}
