//! The network of a simulated cluster: all state, and the events in flight.

use super::faults::{FaultCounts, Faults};
use crate::descriptor::Payload;
use crate::fabric::{
    Block, CompareAndWrite, DestinationSpan, Event, FabricError, GlobalAddress, MemoryFault,
    RankMemory, SourceSpan, Ticket, Variable, shm,
};
use crate::job::{NicThreadId, NodeId, NodeSet};
use crate::layout::{Location, RemoteRuns};
use crate::limits::TOKEN_HEADER_BYTES;
use crate::memory::NicMemory;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// How long operations take, in nanoseconds of virtual time.
#[derive(Clone, Copy, Debug)]
pub struct Latencies {
    /// Compare-And-Write, independent of the number of nodes: Table 2.1 says < 10 µs for QsNet.
    pub compare_and_write_ns: u64,
    /// The start of a transfer. Table 2.1 gives only bandwidth; 5 µs is ours, a short Elan3 put.
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

/// The memory of one scripted rank: its NIC memory, and bytes at addresses from 0.
#[derive(Debug)]
pub struct RankStore {
    /// What the NIC shares with the rank.
    pub nic: NicMemory,
    /// The rank's own memory.
    pub bytes: Vec<u8>,
    /// The rank's node.
    pub node: NodeId,
}

/// The ranks of a simulated cluster, as its NICs reach them.
#[derive(Debug)]
pub enum Ranks {
    /// Scripted ranks, by number.
    Scripted(Vec<RankStore>),
    /// Threads of this process, whose memory the kernel guards: what is not mapped is a fault.
    Threads {
        /// The way to their memory.
        memory: shm::NodeMemory,
        /// The node of each.
        nodes: Vec<NodeId>,
    },
}

impl Ranks {
    fn node(&self, rank: u32) -> NodeId {
        match self {
            Self::Scripted(stores) => stores[rank as usize].node,
            Self::Threads { nodes, .. } => nodes[rank as usize],
        }
    }
}

#[derive(Debug)]
struct Node {
    variables: Vec<u64>,
    blocks: BTreeMap<usize, Vec<u8>>,
    signals: [u64; NicThreadId::COUNT],
    alive: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Happening {
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

/// The network of a simulated cluster.
#[derive(Debug)]
pub struct Network {
    now_ns: u64,
    nodes: Vec<Node>,
    ranks: Ranks,
    latencies: Latencies,
    faults: Faults,
    counts: FaultCounts,
    random: ChaCha8Rng,
    events: BinaryHeap<Reverse<(u64, u64, Happening)>>,
    sequence: u64,
    tickets: BTreeMap<u64, Event>,
    gets: BTreeMap<u64, (SourceSpan, DestinationSpan)>,
    compares: BTreeMap<u64, CompareAndWrite>,
    /// The last arrival time per (source, destination): pairs keep their order.
    last_arrival: BTreeMap<(Option<NodeId>, NodeId), u64>,
    trace: u64,
    in_flight: usize,
    lost_compare: bool,
    /// Bytes of data that entered each node since they were last taken.
    entered: Vec<u64>,
}

impl Network {
    /// A cluster of `nodes` nodes with these ranks.
    #[must_use]
    pub fn new(
        nodes: usize,
        ranks: Ranks,
        latencies: Latencies,
        faults: Faults,
        seed: u64,
    ) -> Self {
        let mut network = Self {
            now_ns: 0,
            nodes: (0..nodes)
                .map(|_| Node {
                    variables: vec![0; Variable::COUNT],
                    blocks: BTreeMap::new(),
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
            compares: BTreeMap::new(),
            last_arrival: BTreeMap::new(),
            trace: 0xcbf2_9ce4_8422_2325,
            in_flight: 0,
            lost_compare: false,
            entered: vec![0; nodes],
            faults,
        };
        for (node, at) in network.faults.crash.clone() {
            network.schedule(at, Happening::Crash { node });
        }
        network
    }

    /// The virtual time in nanoseconds.
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// When the next event happens.
    #[must_use]
    pub fn next_event_ns(&self) -> Option<u64> {
        self.events.peek().map(|Reverse((at, _, _))| *at)
    }

    /// Transfers that have not arrived: zero at the end of a slice.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// The faults injected so far.
    #[must_use]
    pub fn fault_counts(&self) -> FaultCounts {
        self.counts
    }

    /// A hash of everything that happened, in order: equal for equal seeds.
    #[must_use]
    pub fn trace_hash(&self) -> u64 {
        self.trace
    }

    /// Mixes words into the trace hash: the simulator adds what ranks and NICs do.
    pub fn trace(&mut self, words: &[u64]) {
        for word in words {
            for byte in word.to_le_bytes() {
                self.trace = (self.trace ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
            }
        }
    }

    /// Planted bug, for the checkers' own test: the next successful Compare-And-Write that writes
    /// reports success and writes nothing.
    pub fn plant_lost_compare_and_write(&mut self) {
        self.lost_compare = true;
    }

    /// Bytes of messages and collectives that entered each node since the last call.
    pub fn take_entered(&mut self) -> Vec<u64> {
        let nodes = self.nodes.len();
        std::mem::replace(&mut self.entered, vec![0; nodes])
    }

    /// The scripted ranks, to write their memory.
    ///
    /// # Panics
    /// When they are threads.
    pub fn scripted(&mut self) -> &mut [RankStore] {
        match &mut self.ranks {
            Ranks::Scripted(stores) => stores,
            Ranks::Threads { .. } => panic!("these ranks are threads"),
        }
    }

    /// Copies bytes of a rank.
    pub(super) fn read_rank(
        &mut self,
        rank: u32,
        address: u64,
        bytes: &mut [u8],
    ) -> Result<(), MemoryFault> {
        match &mut self.ranks {
            Ranks::Threads { memory, .. } => memory.read(rank, address, bytes),
            Ranks::Scripted(stores) => {
                let memory = &stores[rank as usize].bytes;
                let range = checked(rank, address, bytes.len(), memory.len())?;
                bytes.copy_from_slice(&memory[range]);
                Ok(())
            }
        }
    }

    /// Copies bytes to a rank.
    pub(super) fn write_rank(
        &mut self,
        rank: u32,
        address: u64,
        bytes: &[u8],
    ) -> Result<(), MemoryFault> {
        match &mut self.ranks {
            Ranks::Threads { memory, .. } => memory.write(rank, address, bytes),
            Ranks::Scripted(stores) => {
                let memory = &mut stores[rank as usize].bytes;
                let range = checked(rank, address, bytes.len(), memory.len())?;
                memory[range].copy_from_slice(bytes);
                Ok(())
            }
        }
    }

    /// The nodes that live.
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
            self.happen(happening);
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
            Happening::Put {
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
            self.schedule(arrival, Happening::Get { ticket: ticket.0 });
        }
        ticket
    }

    pub(super) fn compare(&mut self, what: &CompareAndWrite) -> Ticket {
        let ticket = self.ticket();
        self.compares.insert(ticket.0, *what);
        let at = self.now_ns + self.latencies.compare_and_write_ns;
        self.schedule(at, Happening::Compare { ticket: ticket.0 });
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

    /// A global variable of a node, as the checkers see it.
    #[must_use]
    pub fn load(&self, node: NodeId, variable: Variable) -> u64 {
        self.nodes[node.index()].variables[variable.index()]
    }

    pub(super) fn store(&mut self, node: NodeId, variable: Variable, value: u64) {
        self.nodes[node.index()].variables[variable.index()] = value;
    }

    /// Looks again at the Compare-And-Writes that wait.
    pub(super) fn progress(&mut self) {
        let at = self.now_ns + self.latencies.compare_and_write_ns;
        let waiting: Vec<u64> = self
            .compares
            .iter()
            .filter(|(_, c)| c.wait)
            .map(|(&t, _)| t)
            .collect();
        for ticket in waiting {
            self.schedule(at, Happening::Compare { ticket });
        }
    }

    pub(super) fn read(&self, node: NodeId, at: GlobalAddress, bytes: &mut [u8]) {
        let start = at.byte(self.nodes.len(), bytes.len());
        // Global memory is stored page by page, those touched only: all of it, for all nodes,
        // would be gigabytes.
        for (page, range, offset) in pieces(start, bytes.len()) {
            let target = &mut bytes[offset..offset + range.len()];
            match self.nodes[node.index()].blocks.get(&page) {
                Some(stored) => target.copy_from_slice(&stored[range]),
                None => target.fill(0),
            }
        }
    }

    fn write(&mut self, node: NodeId, start: usize, bytes: &[u8]) {
        for (page, range, offset) in pieces(start, bytes.len()) {
            let blocks = &mut self.nodes[node.index()].blocks;
            let stored = blocks.entry(page).or_insert_with(|| vec![0; PAGE]);
            let len = range.len();
            stored[range].copy_from_slice(&bytes[offset..offset + len]);
        }
    }

    fn ticket(&mut self) -> Ticket {
        self.sequence += 1;
        self.tickets.insert(self.sequence, Event::Pending);
        Ticket(self.sequence)
    }

    fn schedule(&mut self, at: u64, happening: Happening) {
        self.sequence += 1;
        self.events.push(Reverse((at, self.sequence, happening)));
    }

    /// When a transfer arrives; `None` when it is lost, and its failure has been scheduled.
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
            self.schedule(arrival, Happening::Fail { ticket: ticket.0 });
            return None;
        }
        Some(arrival)
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Put {
                set,
                byte,
                bytes,
                signal,
                ticket,
            } => {
                self.in_flight -= 1;
                for node in set {
                    if self.nodes[node.index()].alive {
                        self.write(node, byte, &bytes);
                        if let Some(thread) = signal {
                            self.nodes[node.index()].signals[thread] += 1;
                        }
                    }
                }
                self.tickets.insert(ticket, Event::Signalled);
            }
            Happening::Get { ticket } => {
                self.in_flight -= 1;
                let (from, to) = self.gets.remove(&ticket).expect("a get is scheduled once");
                let event = self.move_bytes(&from, &to);
                self.tickets.insert(ticket, event);
            }
            Happening::Compare { ticket } => self.decide(ticket),
            Happening::Fail { ticket } => {
                self.tickets
                    .insert(ticket, Event::Failed(FabricError::Lost));
            }
            Happening::Crash { node } => {
                self.nodes[node.index()].alive = false;
                self.counts.crashed += 1;
                self.progress(); // "all" means all survivors from here on
            }
        }
    }

    fn decide(&mut self, ticket: u64) {
        let Some(what) = self.compares.get(&ticket).copied() else {
            return; // decided by an earlier look
        };
        let set = what.set.and(&self.alive());
        let holds = set.iter().all(|node| {
            what.comparison
                .holds(self.load(node, what.variable), what.operand)
        });
        if !holds && what.wait {
            return;
        }
        self.compares.remove(&ticket);
        if let (true, Some((variable, value))) = (holds, what.write) {
            if std::mem::take(&mut self.lost_compare) {
                self.trace(&[u64::MAX]);
            } else {
                for node in set.iter() {
                    self.store(node, variable, value);
                }
            }
        }
        self.trace(&[ticket, u64::from(holds)]);
        self.tickets.insert(ticket, Event::Verdict(holds));
    }

    fn move_bytes(&mut self, from: &SourceSpan, to: &DestinationSpan) -> Event {
        if !self.nodes[self.ranks.node(from.rank).index()].alive {
            return Event::Failed(FabricError::PeerGone);
        }
        let stores = match &mut self.ranks {
            Ranks::Scripted(stores) => stores,
            Ranks::Threads { memory, .. } => {
                let moved = memory.copy(from, to);
                return moved.map_or_else(Event::Failed, |()| Event::Signalled);
            }
        };
        let source = &stores[from.rank as usize];
        let len = usize::try_from(from.len).expect("simulated messages are small");
        let mut bytes = vec![0; len];
        let read = match from.payload {
            Payload::Slot { slot, .. } => {
                let offset = usize::try_from(from.offset).expect("small");
                source.nic.read_payload(slot as usize, offset, &mut bytes)
            }
            Payload::Memory(location) => {
                let ranges = ranges(location, from.offset, len, &source.bytes);
                let gathered = ranges.map(|ranges| {
                    let mut at = 0;
                    for range in ranges {
                        let next = at + range.len();
                        bytes[at..next].copy_from_slice(&source.bytes[range]);
                        at = next;
                    }
                });
                gathered.is_some()
            }
            Payload::Inline(_) => unreachable!("inline bytes travel with the descriptor"),
        };
        if !read {
            return Event::Failed(FabricError::SourceMemory);
        }
        let target = &mut stores[to.rank as usize].bytes;
        let Some(ranges) = ranges(to.into, to.offset, len, target) else {
            return Event::Failed(FabricError::DestinationMemory);
        };
        let mut at = 0;
        for range in ranges {
            let next = at + range.len();
            target[range].copy_from_slice(&bytes[at..next]);
            at = next;
        }
        Event::Signalled
    }
}

/// The indices of `len` bytes of a message, from `offset` on, if all of them lie within a memory.
fn ranges(
    location: Location,
    offset: u64,
    len: usize,
    memory: &[u8],
) -> Option<Vec<std::ops::Range<usize>>> {
    let Some(layout) = location.layout else {
        let address = location.address.checked_add(offset)?;
        return Some(vec![range(address, len, memory.len())?]);
    };
    let read = |address, bytes: &mut [u8]| {
        let range = range(address, bytes.len(), memory.len());
        range
            .map(|range| bytes.copy_from_slice(&memory[range]))
            .is_some()
    };
    let end = offset + len as u64;
    let mut walk = RemoteRuns::pieces(read, layout.get(), offset, end).ok()?;
    let mut ranges = Vec::new();
    while let Some(strip) = walk.advance().ok()? {
        let block = usize::try_from(strip.block).expect("at most all bytes");
        for at in strip.offsets() {
            let address = location.address.wrapping_add_signed(at);
            ranges.push(range(address, block, memory.len())?);
        }
    }
    Some(ranges)
}

const PAGE: usize = 4096;

/// Divides bytes of global memory by page: (page, range in the page, offset in the bytes).
fn pieces(
    start: usize,
    len: usize,
) -> impl Iterator<Item = (usize, std::ops::Range<usize>, usize)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let (page, first) = ((start + done) / PAGE, (start + done) % PAGE);
        let piece = (PAGE - first).min(len - done);
        let offset = done;
        done += piece;
        (piece > 0).then_some((page, first..first + piece, offset))
    })
}

/// The indices of `len` bytes at an address, if they lie within a memory of `total` bytes.
fn range(address: u64, len: usize, total: usize) -> Option<std::ops::Range<usize>> {
    let start = usize::try_from(address).ok()?;
    let end = start.checked_add(len)?;
    (end <= total).then_some(start..end)
}

fn checked(
    rank: u32,
    address: u64,
    len: usize,
    total: usize,
) -> Result<std::ops::Range<usize>, MemoryFault> {
    range(address, len, total).ok_or(MemoryFault { rank, address, len })
}
