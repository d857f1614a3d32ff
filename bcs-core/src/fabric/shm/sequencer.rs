//! The sequencer: decides the Compare-And-Writes of a job, one at a time.
//!
//! Happens-before, named on both sides:
//! - **ASK**: a port writes its request, then stores ASKED with `Release`; the sequencer loads it
//!   with `Acquire`.
//! - **VERDICT**: the sequencer writes the variables on all nodes, then stores the verdict with
//!   `Release`; the port loads it with `Acquire`.
//! - **LAST**: a node reports by a store, a SeqCst fence, and a look at who waits for what; the sequencer says
//!   who waits, and looks at the variables once more after the SeqCst fence of its bell. So either that look sees
//!   the store, or the node sees who waits. Of nodes that report at once, the one whose fence is last sees what
//!   all have stored: it rings, and the others need not.
//! - **PROGRESS**: a node stores a variable with `Release`; the sequencer compares it after an
//!   `Acquire` load. So whoever acts on a verdict sees all that the nodes did before they made
//!   the condition true: this is what lets a lane of global memory be used anew in each slice.

use super::segment::{ASKED, FALSE, RawRequest, SEVERAL, Segment, TRUE, ports};
use crate::job::{NicThreadId, NodeId};
use crate::wake::MachinePage;
use crate::wake::machine_page::BellId;
use std::sync::atomic::Ordering;

/// Decides Compare-And-Writes. Run by the OS thread of the Strobe Sender, whose bell ports ring.
#[derive(Debug)]
pub struct Sequencer {
    segment: Segment,
    page: MachinePage,
    seen: u64,
    /// Requests that wait until their condition holds, by port.
    waiting: Vec<(usize, RawRequest)>,
    retries: u64,
}

impl Sequencer {
    /// The sequencer of a job; there must be only one.
    #[must_use]
    pub fn new(segment: Segment, page: MachinePage) -> Self {
        Self {
            segment,
            page,
            seen: 0,
            waiting: Vec::new(),
            retries: 0,
        }
    }

    /// Whether [`poll`](Self::poll) would find a new request.
    #[must_use]
    pub fn has_requests(&self) -> bool {
        self.segment.asked().load(Ordering::Acquire) != self.seen
    }

    /// Decides what can be decided. Returns whether anything was.
    pub fn poll(&mut self) -> bool {
        let mut progress = self.look_again();
        let asked = self.segment.asked().load(Ordering::Acquire);
        if asked == self.seen {
            self.say_who_waits();
            return progress;
        }
        self.seen = asked;
        for port in 0..ports(self.segment.nodes()) {
            // ASK: the words of the request are visible.
            if self.segment.request_state(port).load(Ordering::Acquire) != ASKED
                || self.waiting.iter().any(|&(waiting, _)| waiting == port)
            {
                continue;
            }
            let request = self.segment.read_request(port);
            if !self.decide(port, &request) {
                self.waiting.push((port, request));
            }
            progress = true;
        }
        self.say_who_waits();
        progress
    }

    fn say_who_waits(&self) {
        let waits = match self.waiting.as_slice() {
            [] => 0,
            [(port, _)] => *port as u64 + 1,
            _ => SEVERAL,
        };
        if self.segment.waits().load(Ordering::Relaxed) != waits {
            self.segment.waits().store(waits, Ordering::Release);
        }
    }

    /// Evaluations of waiting requests that came out false (paper Table 5.1).
    #[must_use]
    pub fn retries(&self) -> u64 {
        self.retries
    }

    fn look_again(&mut self) -> bool {
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

    /// Evaluates a request of a port; false when it goes on waiting.
    fn decide(&self, port: usize, request: &RawRequest) -> bool {
        let Some(holds) = judge(&self.segment, request) else {
            return false;
        };
        // VERDICT: publishes the writes above.
        let verdict = if holds { TRUE } else { FALSE };
        self.segment
            .request_state(port)
            .store(verdict, Ordering::Release);
        if port < self.segment.nodes() * NicThreadId::COUNT {
            let node = NodeId::from_index(port / NicThreadId::COUNT);
            self.page.ring(BellId::of(
                node,
                NicThreadId::ALL[port % NicThreadId::COUNT],
            ));
        }
        true
    }
}

/// Whether a report is for the sequencer to see: something waits that may hold now. The caller has stored
/// what it reports, and then passed a SeqCst fence (LAST).
pub(super) fn has_news(segment: &Segment) -> bool {
    let port = match segment.waits().load(Ordering::Acquire) {
        0 => return false,
        SEVERAL => return true,
        port => usize::try_from(port - 1).unwrap_or(usize::MAX),
    };
    if port >= ports(segment.nodes())
        || segment.request_state(port).load(Ordering::Acquire) != ASKED
    {
        return false; // it has been decided meanwhile
    }
    holds(segment, &segment.read_request(port))
}

fn holds(segment: &Segment, request: &RawRequest) -> bool {
    request.set.iter().all(|node| {
        // PROGRESS: what the node did before it stored the variable is visible.
        let value = segment
            .variable(node, request.variable)
            .load(Ordering::Acquire);
        request.comparison.holds(value, request.operand)
    })
}

/// Evaluates a Compare-And-Write, and writes what it says on all its nodes if it holds. `None` when it goes on
/// waiting.
pub(super) fn judge(segment: &Segment, request: &RawRequest) -> Option<bool> {
    let holds = holds(segment, request);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::shm::{NodeMemory, ShmPort};
    use crate::fabric::{CompareAndWrite, Comparison, Event, Port, Variable};
    use crate::job::NodeSet;
    use crate::wake::bell::{ASLEEP, AWAKE};
    use std::sync::Arc;

    #[test]
    fn of_nodes_that_report_the_last_one_wakes_who_waits_for_all() {
        let segment = Segment::private(3, 0).unwrap();
        let page = MachinePage::private(3, 2).unwrap();
        let memory = || NodeMemory::new(segment.clone(), Arc::new(Vec::new()));
        let mut sequencer = Sequencer::new(segment.clone(), page.clone());
        let mut sender = ShmPort::strobe_sender(segment.clone(), page.clone(), memory());
        let mut nodes: Vec<_> = (0..3)
            .map(|node| {
                let thread = NicThreadId::StrobeReceiver;
                ShmPort::new(
                    segment.clone(),
                    page.clone(),
                    memory(),
                    NodeId(node),
                    thread,
                )
            })
            .collect();
        let bell = page.bell(BellId::STROBE_SENDER);
        for (round, order) in (1..).zip([[0, 1, 2], [2, 0, 1]]) {
            let ticket = sender.compare_and_write(&CompareAndWrite {
                set: NodeSet::first(3),
                variable: Variable::Finished,
                comparison: Comparison::AtLeast,
                operand: round,
                write: None,
                wait: true,
            });
            assert!(sequencer.poll());
            for (nth, node) in order.into_iter().enumerate() {
                bell.store(ASLEEP, Ordering::Relaxed);
                nodes[node].report(Variable::Finished, round);
                let expected = if nth == 2 { AWAKE } else { ASLEEP };
                assert_eq!(bell.load(Ordering::Relaxed), expected, "report {nth}");
            }
            assert!(sequencer.poll());
            assert_eq!(sender.test_event(ticket), Event::Verdict(true));
            bell.store(ASLEEP, Ordering::Relaxed);
            nodes[0].report(Variable::Finished, round);
            assert_eq!(bell.load(Ordering::Relaxed), ASLEEP, "nobody waits");
        }
    }
}
