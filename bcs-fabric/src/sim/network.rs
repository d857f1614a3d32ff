//! The network of a simulated cluster: all state, and the events in flight.

use super::faults::{FaultCounts, FaultPlan};
use super::global_memory::GlobalMemory;
use super::ranks::SimulatedRanks;
use crate::{
    Block, CompareAndWrite, DestinationSpan, Event, FabricError, GlobalAddress, RankMemory,
    SourceSpan, Ticket, Variable,
};
use bcs_core::fingerprint::fingerprint;
use bcs_core::job::{NicThreadId, NodeId, NodeSet};
use bcs_core::limits::TOKEN_HEADER_BYTES;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// The durations of operations, in nanoseconds of virtual time.
#[derive(Clone, Copy, Debug)]
pub struct Latencies {
    /// Compare-And-Write, independent of the number of nodes: Table 2.1 says < 10 µs for QsNet.
    pub compare_and_write_ns: u64,
    /// The start of a transfer. Table 2.1 gives only bandwidth; 5 µs is our own value, a short
    /// Elan3 put.
    pub transfer_ns: u64,
    /// Bandwidth into one node in bytes per microsecond: Table 2.1 says > 150 MB/s for QsNet.
    pub bytes_per_us: u64,
}

impl Default for Latencies {
    fn default() -> Self {
        Self {
            compare_and_write_ns: 8_000,
            transfer_ns: 5_000,
            bytes_per_us: 150,
        }
    }
}

#[derive(Debug)]
struct SimulatedNode {
    memory: GlobalMemory,
    signals: [u64; NicThreadId::COUNT],
    alive: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum NetworkEvent {
    Put {
        set: Vec<NodeId>,
        byte: usize,
        bytes: Vec<u8>,
        signal: Option<usize>,
        ticket: u64,
    },
    Get {
        ticket: u64,
    },
    Fetch {
        ticket: u64,
    },
    Compare {
        ticket: u64,
    },
    Fail {
        ticket: u64,
    },
    Crash {
        node: NodeId,
    },
}

/// Bytes of a rank that a NIC thread fetches, and their destination.
#[derive(Debug)]
pub(super) struct FetchRequest {
    pub(super) rank: u32,
    pub(super) address: u64,
    pub(super) into: Vec<u8>,
}

/// The network of a simulated cluster.
#[derive(Debug)]
pub struct Network {
    now_ns: u64,
    nodes: Vec<SimulatedNode>,
    ranks: SimulatedRanks,
    latencies: Latencies,
    faults: FaultPlan,
    counts: FaultCounts,
    random: ChaCha8Rng,
    events: BinaryHeap<Reverse<(u64, u64, NetworkEvent)>>,
    sequence: u64,
    tickets: BTreeMap<u64, Event>,
    gets: BTreeMap<u64, (SourceSpan, DestinationSpan)>,
    /// Fetches whose buffers have not been taken.
    fetches: BTreeMap<u64, FetchRequest>,
    compares: BTreeMap<u64, CompareAndWrite>,
    retries: u64,
    /// The last arrival time per (source, destination): pairs keep their order.
    last_arrival: BTreeMap<(Option<NodeId>, NodeId), u64>,
    trace: u64,
    in_flight: usize,
    /// Bytes of data that entered each node since they were last taken.
    entered: Vec<u64>,
}

impl Network {
    /// Makes a cluster of `nodes` nodes with these ranks.
    #[must_use]
    pub fn new(
        nodes: usize,
        ranks: SimulatedRanks,
        latencies: Latencies,
        faults: FaultPlan,
        seed: u64,
    ) -> Self {
        let mut network = Self {
            now_ns: 0,
            nodes: (0..nodes)
                .map(|_| SimulatedNode {
                    memory: GlobalMemory::default(),
                    signals: [0; NicThreadId::COUNT],
                    alive: true,
                })
                .collect(),
            ranks,
            latencies,
            counts: FaultCounts::default(),
            random: ChaCha8Rng::seed_from_u64(seed),
            events: BinaryHeap::new(),
            sequence: 0,
            tickets: BTreeMap::new(),
            gets: BTreeMap::new(),
            fetches: BTreeMap::new(),
            compares: BTreeMap::new(),
            retries: 0,
            last_arrival: BTreeMap::new(),
            trace: 0,
            in_flight: 0,
            entered: vec![0; nodes],
            faults,
        };
        for (node, at) in network.faults.crash.clone() {
            network.schedule(at, NetworkEvent::Crash { node });
        }
        network
    }

    /// Returns the virtual time in nanoseconds.
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Returns the time of the next event.
    #[must_use]
    pub fn next_event_ns(&self) -> Option<u64> {
        self.events.peek().map(|Reverse((at, _, _))| *at)
    }

    /// Returns the number of transfers that have not arrived: zero at the end of a slice.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Returns how many evaluations of waiting Compare-And-Writes came out false (paper Table 5.1):
    /// one when the request is made, and one for each report of a node, when that has arrived at
    /// the sequencer.
    #[must_use]
    pub fn retries(&self) -> u64 {
        self.retries
    }

    /// Returns the faults injected so far.
    #[must_use]
    pub fn fault_counts(&self) -> FaultCounts {
        self.counts
    }

    /// Returns a hash of everything that happened, in order: equal for equal seeds.
    #[must_use]
    pub fn trace_hash(&self) -> u64 {
        self.trace
    }

    /// Mixes words into the trace hash: the simulator adds what ranks and NICs do.
    pub fn trace(&mut self, words: &[u64]) {
        self.trace = fingerprint([self.trace].iter().chain(words).copied());
    }

    /// Takes the bytes of messages and collectives that entered each node since the last call.
    pub fn take_entered(&mut self) -> Vec<u64> {
        let nodes = self.nodes.len();
        std::mem::replace(&mut self.entered, vec![0; nodes])
    }

    /// Returns the ranks, to read and write their memory.
    pub fn ranks(&mut self) -> &mut SimulatedRanks {
        &mut self.ranks
    }

    /// Returns the living nodes.
    #[must_use]
    pub fn alive(&self) -> NodeSet {
        (0..self.nodes.len())
            .map(NodeId::from_index)
            .filter(|n| self.nodes[n.index()].alive)
            .collect()
    }

    /// Advances the time to `to_ns`, letting everything happen that is due.
    pub fn advance(&mut self, to_ns: u64) {
        while self.next_event_ns().is_some_and(|at| at <= to_ns) {
            let Reverse((at, sequence, happening)) = self.events.pop().expect("peeked");
            self.now_ns = self.now_ns.max(at);
            self.trace(&[at, sequence]);
            self.apply_event(happening);
        }
        self.now_ns = self.now_ns.max(to_ns);
    }

    pub(super) fn node_count(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn put(
        &mut self,
        from: Option<NodeId>,
        set: &NodeSet,
        at: GlobalAddress,
        bytes: &[u8],
        signal: Option<NicThreadId>,
    ) -> Ticket {
        let ticket = self.ticket();
        let set: Vec<NodeId> = set.and(&self.alive()).iter().collect();
        let transfer = bytes.len() as u64 * 1_000 / self.latencies.bytes_per_us;
        let Some(mut arrival) = self.transfer_time(from, transfer, ticket) else {
            return ticket;
        };
        for &node in &set {
            arrival = arrival.max(
                self.last_arrival
                    .get(&(from, node))
                    .map_or(0, |last| last + 1),
            );
        }
        for &node in &set {
            self.last_arrival.insert((from, node), arrival);
            if at.block == Block::Collective {
                let data = bytes.len().saturating_sub(TOKEN_HEADER_BYTES);
                self.entered[node.index()] += data as u64;
            }
        }
        self.in_flight += 1;
        self.trace(&[
            arrival,
            at.byte(self.nodes.len(), bytes.len()) as u64,
            bytes.len() as u64,
        ]);
        self.schedule(
            arrival,
            NetworkEvent::Put {
                set,
                byte: at.byte(self.nodes.len(), bytes.len()),
                bytes: bytes.to_vec(),
                signal: signal.map(NicThreadId::index),
                ticket: ticket.0,
            },
        );
        ticket
    }

    pub(super) fn get(&mut self, node: NodeId, from: SourceSpan, to: DestinationSpan) -> Ticket {
        let ticket = self.ticket();
        let transfer = from.len * 1_000 / self.latencies.bytes_per_us;
        if let Some(arrival) = self.transfer_time(Some(node), transfer, ticket) {
            self.in_flight += 1;
            self.entered[node.index()] += from.len;
            self.gets.insert(ticket.0, (from, to));
            self.schedule(arrival, NetworkEvent::Get { ticket: ticket.0 });
        }
        ticket
    }

    pub(super) fn fetch(&mut self, node: NodeId, fetch: FetchRequest) -> Ticket {
        let ticket = self.ticket();
        let len = fetch.into.len() as u64;
        self.fetches.insert(ticket.0, fetch);
        let transfer = len * 1_000 / self.latencies.bytes_per_us;
        if let Some(arrival) = self.transfer_time(Some(node), transfer, ticket) {
            self.in_flight += 1;
            self.entered[node.index()] += len;
            self.schedule(arrival, NetworkEvent::Fetch { ticket: ticket.0 });
        }
        ticket
    }

    pub(super) fn fetched(&mut self, ticket: Ticket) -> Vec<u8> {
        let fetch = self.fetches.remove(&ticket.0);
        fetch.expect("a fetch is asked for once").into
    }

    pub(super) fn compare(&mut self, what: &CompareAndWrite) -> Ticket {
        let ticket = self.ticket();
        self.compares.insert(ticket.0, *what);
        let at = self.now_ns + self.latencies.compare_and_write_ns;
        self.schedule(at, NetworkEvent::Compare { ticket: ticket.0 });
        ticket
    }

    pub(super) fn test(&mut self, ticket: Ticket) -> Event {
        match self.tickets.get(&ticket.0) {
            Some(Event::Pending) | None => Event::Pending,
            Some(_) => self.tickets.remove(&ticket.0).expect("just seen"),
        }
    }

    pub(super) fn signals(&self, node: NodeId, thread: NicThreadId) -> u64 {
        self.nodes[node.index()].signals[thread.index()]
    }

    /// Returns a global variable of a node, as the checkers see it.
    #[must_use]
    pub fn load(&self, node: NodeId, variable: Variable) -> u64 {
        self.nodes[node.index()].memory.load(variable)
    }

    /// Sets the initial value of a global variable of a node.
    pub fn set_initial(&mut self, node: NodeId, variable: Variable, value: u64) {
        self.store(node, variable, value);
    }

    pub(super) fn store(&mut self, node: NodeId, variable: Variable, value: u64) {
        self.nodes[node.index()].memory.store(variable, value);
    }

    /// Schedules another evaluation of the waiting Compare-And-Writes.
    pub(super) fn retry_waiting(&mut self) {
        let at = self.now_ns + self.latencies.compare_and_write_ns;
        let waiting: Vec<u64> = self
            .compares
            .iter()
            .filter(|(_, c)| c.wait)
            .map(|(&t, _)| t)
            .collect();
        for ticket in waiting {
            self.schedule(at, NetworkEvent::Compare { ticket });
        }
    }

    pub(super) fn read(&self, node: NodeId, at: GlobalAddress, bytes: &mut [u8]) {
        let start = at.byte(self.nodes.len(), bytes.len());
        self.nodes[node.index()].memory.read(start, bytes);
    }

    fn ticket(&mut self) -> Ticket {
        self.sequence += 1;
        self.tickets.insert(self.sequence, Event::Pending);
        Ticket(self.sequence)
    }

    fn schedule(&mut self, at: u64, happening: NetworkEvent) {
        self.sequence += 1;
        self.events.push(Reverse((at, self.sequence, happening)));
    }

    /// Returns when a transfer arrives; `None` when it is lost, and its failure has been scheduled.
    fn transfer_time(
        &mut self,
        from: Option<NodeId>,
        transfer: u64,
        ticket: Ticket,
    ) -> Option<u64> {
        let mut takes = self.latencies.transfer_ns + transfer;
        let faulty = self.now_ns < self.faults.until_ns;
        if let Some(&(_, factor)) = self
            .faults
            .slow
            .iter()
            .find(|(node, _)| Some(*node) == from)
        {
            takes *= factor;
            self.counts.slowed += 1;
        }
        if faulty && self.faults.reorder_ns > 0 {
            takes += self.random.random_range(0..=self.faults.reorder_ns);
            self.counts.reordered += 1;
        }
        if faulty && self.faults.delay.0 > 0.0 && self.random.random_bool(self.faults.delay.0) {
            takes += self.random.random_range(0..=self.faults.delay.1);
            self.counts.delayed += 1;
        }
        let arrival = self.now_ns + takes;
        if faulty && self.faults.lose > 0.0 && self.random.random_bool(self.faults.lose) {
            self.counts.lost += 1;
            self.schedule(arrival, NetworkEvent::Fail { ticket: ticket.0 });
            return None;
        }
        Some(arrival)
    }

    fn apply_event(&mut self, happening: NetworkEvent) {
        match happening {
            NetworkEvent::Put {
                set,
                byte,
                bytes,
                signal,
                ticket,
            } => {
                self.in_flight -= 1;
                for node in set {
                    let node = &mut self.nodes[node.index()];
                    if node.alive {
                        node.memory.write(byte, &bytes);
                        if let Some(thread) = signal {
                            node.signals[thread] += 1;
                        }
                    }
                }
                self.tickets.insert(ticket, Event::Signalled);
            }
            NetworkEvent::Get { ticket } => {
                self.in_flight -= 1;
                let (from, to) = self.gets.remove(&ticket).expect("a get is scheduled once");
                let moved = if self.nodes[self.ranks.node(from.rank).index()].alive {
                    self.ranks.copy(&from, &to)
                } else {
                    Err(FabricError::PeerGone)
                };
                let event = moved.map_or_else(Event::Failed, |()| Event::Signalled);
                self.tickets.insert(ticket, event);
            }
            NetworkEvent::Fetch { ticket } => {
                self.in_flight -= 1;
                let fetch = self.fetches.get_mut(&ticket);
                let fetch = fetch.expect("nobody asks for a fetch that is pending");
                let moved = if self.nodes[self.ranks.node(fetch.rank).index()].alive {
                    let read = self.ranks.read(fetch.rank, fetch.address, &mut fetch.into);
                    read.map_err(|_| FabricError::SourceMemory)
                } else {
                    Err(FabricError::PeerGone)
                };
                let event = moved.map_or_else(Event::Failed, |()| Event::Signalled);
                self.tickets.insert(ticket, event);
            }
            NetworkEvent::Compare { ticket } => self.decide(ticket),
            NetworkEvent::Fail { ticket } => {
                self.tickets
                    .insert(ticket, Event::Failed(FabricError::Lost));
            }
            NetworkEvent::Crash { node } => {
                self.nodes[node.index()].alive = false;
                self.counts.crashed += 1;
                self.retry_waiting(); // "all" means all survivors from here on
            }
        }
    }

    fn decide(&mut self, ticket: u64) {
        let Some(what) = self.compares.get(&ticket).copied() else {
            return; // an earlier evaluation has decided it
        };
        let set = what.set.and(&self.alive());
        let holds = set.iter().all(|node| {
            what.comparison
                .holds(self.load(node, what.variable), what.operand)
        });
        if !holds && what.wait {
            self.retries += 1;
            return;
        }
        self.compares.remove(&ticket);
        if let (true, Some((variable, value))) = (holds, what.write) {
            for node in set.iter() {
                self.store(node, variable, value);
            }
        }
        self.trace(&[ticket, u64::from(holds)]);
        self.tickets.insert(ticket, Event::Verdict(holds));
    }
}
