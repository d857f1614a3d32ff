//! A NIC thread's port on the shared-memory fabric.

use super::bells::PendingBells;
use super::colocated::ColocatedPorts;
use super::rank_memory_access::RankMemoryAccess;
use super::segment::{RawRequest, Segment};
use crate::{
    CompareAndWrite, DestinationSpan, Event, FabricError, GlobalAddress, Port, RankMemory,
    SourceSpan, Ticket, Variable,
};
use bcs_core::job::{NicThreadId, NodeId, NodeSet};
use bcs_core::wake::machine_page::BellId;
use std::sync::atomic::Ordering;

/// Tickets of operations that are complete when their call returns.
const DONE: Ticket = Ticket(0);
const SOURCE_FAULT: Ticket = Ticket(1);
const DESTINATION_FAULT: Ticket = Ticket(2);
/// The ticket of the one Compare-And-Write a port may have outstanding.
const COMPARING: Ticket = Ticket(3);
/// Tickets of Compare-And-Writes that were decided when their call returned.
const HOLDS: Ticket = Ticket(4);
const FAILS: Ticket = Ticket(5);
/// Fetches have tickets of their own, since each has a buffer to give back.
const FIRST_FETCH: u64 = 16;

/// A fetch that is complete, and whose buffer has not been taken.
#[derive(Debug)]
struct CompletedFetch {
    ticket: Ticket,
    event: Event,
    bytes: Vec<u8>,
}

/// The port of a NIC thread, or of the Strobe Sender.
#[derive(Debug)]
pub struct ShmPort {
    segment: Segment,
    bells: PendingBells,
    memory: RankMemoryAccess,
    /// The NIC thread; `None` is the Strobe Sender, which has no global memory of its own.
    who: Option<(NodeId, NicThreadId)>,
    colocated: Option<ColocatedPorts>,
    /// A Compare-And-Write that waits, and the number of reports when it was last evaluated.
    waiting: Option<(RawRequest, u64)>,
    fetched: Vec<CompletedFetch>,
    next_fetch: u64,
}

impl ShmPort {
    /// Makes the port of a NIC thread; `memory` reaches the ranks this process may copy between.
    #[must_use]
    pub fn new(
        segment: Segment,
        bells: PendingBells,
        memory: RankMemoryAccess,
        node: NodeId,
        thread: NicThreadId,
    ) -> Self {
        Self {
            segment,
            bells,
            memory,
            who: Some((node, thread)),
            colocated: None,
            waiting: None,
            fetched: Vec::new(),
            next_fetch: FIRST_FETCH,
        }
    }

    /// Makes the port of the Strobe Sender: it only puts and compares.
    #[must_use]
    pub fn strobe_sender(segment: Segment, bells: PendingBells, memory: RankMemoryAccess) -> Self {
        Self {
            segment,
            bells,
            memory,
            who: None,
            colocated: None,
            waiting: None,
            fetched: Vec::new(),
            next_fetch: FIRST_FETCH,
        }
    }

    /// Makes the same port for an OS thread that works with all ports of the job.
    #[must_use]
    pub fn with_colocated(self, colocated: Option<ColocatedPorts>) -> Self {
        Self { colocated, ..self }
    }

    /// Evaluates the Compare-And-Write that waits here, if nodes have reported since the last
    /// evaluation.
    fn retry_waiting(&mut self) -> Event {
        let (Some((request, seen)), Some(colocated)) = (&mut self.waiting, &self.colocated) else {
            unreachable!("a ticket is tested while its Compare-And-Write waits");
        };
        let reports = colocated.reports();
        if std::mem::replace(seen, reports) == reports {
            return Event::Pending;
        }
        let Some(holds) = colocated.judge(&self.segment, request) else {
            return Event::Pending;
        };
        self.waiting = None;
        Event::Verdict(holds)
    }

    fn index(&self) -> usize {
        match self.who {
            Some((node, thread)) => node.index() * NicThreadId::COUNT + thread.index(),
            None => self.segment.nodes() * NicThreadId::COUNT,
        }
    }

    fn node(&self) -> NodeId {
        self.who
            .expect("the Strobe Sender has no global memory of its own")
            .0
    }
}

impl Port for ShmPort {
    fn nodes(&self) -> usize {
        self.segment.nodes()
    }

    fn alive(&self) -> NodeSet {
        // On one machine the death of a node ends the job: its survivors are killed.
        NodeSet::first_nodes(self.segment.nodes())
    }

    fn xfer_and_signal(
        &mut self,
        set: &NodeSet,
        at: GlobalAddress,
        bytes: &[u8],
        signal: Option<NicThreadId>,
    ) -> Ticket {
        for node in set.iter() {
            self.segment.put(node, at, bytes);
        }
        if let Some(thread) = signal {
            for node in set.iter() {
                self.segment.signal_thread(node, thread);
                match &self.colocated {
                    Some(colocated) => colocated.signal(node, thread),
                    None => self.bells.add(BellId::for_nic_thread(node, thread)),
                }
            }
        }
        DONE
    }

    fn get(&mut self, from: SourceSpan, to: DestinationSpan) -> Ticket {
        match self.memory.copy(&from, &to) {
            Ok(()) => DONE,
            Err(FabricError::SourceMemory) => SOURCE_FAULT,
            Err(_) => DESTINATION_FAULT,
        }
    }

    fn fetch(&mut self, rank: u32, address: u64, mut into: Vec<u8>) -> Ticket {
        let event = match self.memory.read(rank, address, &mut into) {
            Ok(()) => Event::Signalled,
            Err(_) => Event::Failed(FabricError::SourceMemory),
        };
        let ticket = Ticket(self.next_fetch);
        self.next_fetch += 1;
        self.fetched.push(CompletedFetch {
            ticket,
            event,
            bytes: into,
        });
        ticket
    }

    fn take_fetched(&mut self, ticket: Ticket) -> Vec<u8> {
        let at = self.fetched.iter().position(|done| done.ticket == ticket);
        let at = at.expect("a fetch is asked for once");
        self.fetched.swap_remove(at).bytes
    }

    fn compare_and_write(&mut self, what: &CompareAndWrite) -> Ticket {
        if let Some(colocated) = &self.colocated {
            let request = RawRequest::from(what);
            return match colocated.judge(&self.segment, &request) {
                Some(true) => HOLDS,
                Some(false) => FAILS,
                None => {
                    self.waiting = Some((request, colocated.reports()));
                    COMPARING
                }
            };
        }
        let is_asked = self
            .segment
            .post_request(self.index(), &RawRequest::from(what));
        assert!(is_asked, "a port has one Compare-And-Write outstanding");
        self.bells.add(BellId::STROBE_SENDER);
        COMPARING
    }

    fn test_event(&mut self, ticket: Ticket) -> Event {
        match ticket {
            DONE => Event::Signalled,
            SOURCE_FAULT => Event::Failed(FabricError::SourceMemory),
            DESTINATION_FAULT => Event::Failed(FabricError::DestinationMemory),
            HOLDS => Event::Verdict(true),
            FAILS => Event::Verdict(false),
            Ticket(FIRST_FETCH..) => {
                let mut fetched = self.fetched.iter();
                let done = fetched.find(|done| done.ticket == ticket);
                done.expect("a fetch is tested before it is asked for")
                    .event
            }
            _ if self.waiting.is_some() => self.retry_waiting(),
            _ => {
                let verdict = self.segment.take_verdict(self.index());
                verdict.map_or(Event::Pending, Event::Verdict)
            }
        }
    }

    fn signal_count(&self) -> u64 {
        self.who.map_or(0, |(node, thread)| {
            self.segment.signal(node, thread).load(Ordering::Acquire) // PUT
        })
    }

    fn load(&self, variable: Variable) -> u64 {
        self.segment
            .variable(self.node(), variable.index())
            .load(Ordering::Acquire)
    }

    fn store(&mut self, variable: Variable, value: u64) {
        // PROGRESS
        self.segment
            .variable(self.node(), variable.index())
            .store(value, Ordering::Release);
    }

    fn store_and_report(&mut self, variable: Variable, value: u64) {
        self.store(variable, value);
        match &self.colocated {
            Some(colocated) => colocated.report(),
            None => {
                self.segment.count_report();
                self.bells.add(BellId::STROBE_SENDER);
            }
        }
    }

    fn read(&self, at: GlobalAddress, bytes: &mut [u8]) {
        self.segment.read(self.node(), at, bytes);
    }

    fn other_host_nodes(&self) -> NodeSet {
        NodeSet::EMPTY
    }

    fn are_on_different_hosts(&self, _: NodeId, _: NodeId) -> bool {
        false
    }

    fn send_outside_slice(&mut self, node: NodeId, _: &[u64]) {
        unreachable!("{node} is not far");
    }

    fn send_eager_bytes(&mut self, node: NodeId, _: SourceSpan) {
        unreachable!("{node} is not far");
    }

    fn receive_outside_slice(&mut self, _: &mut Vec<u64>) -> Option<NodeId> {
        None
    }
}
