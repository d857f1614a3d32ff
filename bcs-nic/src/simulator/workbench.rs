//! A cluster whose ranks a test drives by hand: it posts a descriptor, lets slices go by, and
//! checks the outcome. It serves for cases that a random program hits too seldom: full tables,
//! spent credits, descriptors in an order in which no program posts them.
//!
//! Only the test acts as a rank, and nothing fails unless the test makes it fail. Each event that
//! the test waits for has a deadline in virtual time, so a NIC that hangs ends a test with a
//! message.

use super::fabric::{DatagramFabric, HostTopology, SimFabric, VirtualFabric};
use super::nics::{SimulatedNics, SimulatedNicsConfig};
use crate::bounds::Bounds;
use crate::collective::StepGrant;
use crate::failure::NicFailure;
use bcs_core::check_bits::CheckBits;
use bcs_core::descriptor::{
    CollectiveDescriptor, CollectiveKind, Payload, ReceiveDescriptor, ReceiveKind, SendDescriptor,
};
use bcs_core::job::{NicThreadId, NodeId, Placement, Settings};
use bcs_core::layout::Location;
use bcs_core::limits::INLINE_BYTES;
use bcs_core::memory::ring::Producer;
use bcs_core::memory::{GuardedBytes, MappedWords, NicMemory};
use bcs_core::request::{Completion, RequestId};
use bcs_core::wake::MachinePage;
use bcs_fabric::Variable;
use bcs_fabric::sim::{FaultPlan, Latencies, Network, RankStore, SimulatedRanks};
use bcs_fabric::udp::datagram_network::DatagramFaults;
use mds::dump::NodeDump;
use mds::selection::SliceWindow;
use std::cell::RefCell;
use std::rc::Rc;

/// The virtual time by which everything that a test waits for must be over.
const DEADLINE_NS: u64 = 5_000_000_000;
/// Turns without time passing after which the cluster is in a livelock.
const MAX_TURNS: u32 = 100_000;

struct WorkbenchRank {
    memory: NicMemory,
    sends: Producer<MappedWords>,
    receives: Producer<MappedWords>,
    collectives: Producer<MappedWords>,
    requests: u32,
}

/// A cluster for tests.
pub struct Workbench {
    nics: SimulatedNics,
    placement: Placement,
    ranks: Vec<WorkbenchRank>,
    failures: Vec<NicFailure>,
}

impl std::fmt::Debug for Workbench {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Workbench")
            .field("failures", &self.failures)
            .finish_non_exhaustive()
    }
}

impl Workbench {
    /// Bytes of each rank's memory.
    pub const MEMORY_BYTES: usize = 1 << 20;

    /// Creates a cluster of ranks on nodes, in blocks, with elastic strobes.
    ///
    /// # Panics
    /// When the job is impossible.
    #[must_use]
    pub fn new(ranks: usize, nodes: usize, bounds: Bounds) -> Self {
        Self::with_settings(ranks, nodes, bounds, Settings::default())
    }

    /// Creates a cluster with other settings.
    ///
    /// # Panics
    /// When the job is impossible.
    #[must_use]
    pub fn with_settings(ranks: usize, nodes: usize, bounds: Bounds, settings: Settings) -> Self {
        let placement = Placement::block(ranks, nodes).expect("a small job");
        let memory = || NicMemory::private(settings.eager_limit).expect("memory");
        let memories: Vec<NicMemory> = (0..ranks).map(|_| memory()).collect();
        let store = |(rank, nic): (u32, &NicMemory)| RankStore {
            nic: nic.clone(),
            bytes: GuardedBytes::new(Self::MEMORY_BYTES).expect("memory"),
            start: 0,
            node: placement.node_of(rank).expect("placed"),
        };
        let stores = (0..).zip(&memories).map(store).collect();
        let stores = SimulatedRanks::Scripted(Rc::new(RefCell::new(stores)));
        let mut network =
            Network::new(nodes, stores, Latencies::default(), FaultPlan::default(), 0);
        // Earlier collectives of the world count as granted.
        if let Some(last) = bounds.first_collective.checked_sub(1) {
            let granted = StepGrant::new(last, 1, 0).encode();
            let all = (0..nodes).map(NodeId::from_index);
            all.for_each(|node| network.set_initial(node, Variable::Go(0), granted));
        }
        let network = Rc::new(RefCell::new(network));
        let page = MachinePage::private(nodes, 1).expect("memory");
        let fabric = SimFabric::new(network, page);
        Self::on(placement, settings, bounds, memories, Box::new(fabric))
    }

    /// Creates a cluster with each rank on a node and a host of its own, and links between them
    /// that lose nothing. The ranks' memory is that of this process.
    ///
    /// # Panics
    /// When the job is impossible.
    #[must_use]
    pub fn on_separate_hosts(ranks: usize) -> Self {
        Self::on_separate_hosts_with(ranks, Settings::default())
    }

    /// Creates such a cluster with other settings.
    ///
    /// # Panics
    /// When the job is impossible.
    #[must_use]
    pub fn on_separate_hosts_with(ranks: usize, settings: Settings) -> Self {
        let placement = Placement::block(ranks, ranks).expect("a small job");
        let memory = || NicMemory::private(settings.eager_limit).expect("memory");
        let memories: Vec<NicMemory> = (0..ranks).map(|_| memory()).collect();
        let wire = (DatagramFaults::default(), 0);
        let fabric = DatagramFabric::new(
            &placement,
            &HostTopology::one_node_each(ranks),
            &memories,
            1,
            wire,
        );
        let bounds = Bounds::default();
        Self::on(placement, settings, bounds, memories, Box::new(fabric))
    }

    fn on(
        placement: Placement,
        settings: Settings,
        bounds: Bounds,
        memories: Vec<NicMemory>,
        fabric: Box<dyn VirtualFabric>,
    ) -> Self {
        let nics = SimulatedNics::new(SimulatedNicsConfig {
            placement: placement.clone(),
            settings,
            bounds,
            memories: memories.clone(),
            fabric,
            oversleeping: None,
            bug: None,
            emds: Some(SliceWindow::default()),
        });
        let rank = |memory: NicMemory| WorkbenchRank {
            sends: Producer::new(memory.words(), NicMemory::send_ring()),
            receives: Producer::new(memory.words(), NicMemory::receive_ring()),
            collectives: Producer::new(memory.words(), NicMemory::collective_ring()),
            requests: 0,
            memory,
        };
        Self {
            nics,
            ranks: memories.into_iter().map(rank).collect(),
            failures: Vec::new(),
            placement,
        }
    }

    fn node(&self, rank: u32) -> NodeId {
        self.placement.node_of(rank).expect("a rank of the job")
    }

    fn page(&self, rank: u32) -> &MachinePage {
        self.nics.fabric().page(self.node(rank))
    }

    /// Returns a request of a rank that no descriptor has used.
    pub fn request(&mut self, rank: u32) -> RequestId {
        let rank = &mut self.ranks[rank as usize];
        rank.requests += 1;
        RequestId {
            slot: rank.requests % 4096,
            generation: rank.requests,
        }
    }

    /// Posts a send, and requests a slice.
    ///
    /// # Panics
    /// When the ring is full.
    pub fn post_send(&mut self, rank: u32, send: &SendDescriptor) {
        self.push_send(rank, &send.encode());
        self.page(rank).demand();
    }

    /// Posts a receive, probe or cancel, and requests nothing. The test decides about that, as does
    /// a rank that sees no messages (law 2).
    ///
    /// # Panics
    /// When the ring is full.
    pub fn post_receive(&mut self, rank: u32, receive: &ReceiveDescriptor) {
        self.push_receive(rank, &receive.encode());
    }

    /// Posts a collective, and requests a slice; or nudges, if it is short and nodes are on
    /// different hosts.
    ///
    /// # Panics
    /// When the ring is full.
    pub fn post_collective(&mut self, rank: u32, collective: &CollectiveDescriptor) {
        self.push_collective(rank, &collective.encode());
        let page = self.page(rank);
        if page.spans_machines() && collective.is_short() {
            page.nudge(self.node(rank), NicThreadId::BufferSender);
        } else {
            page.demand();
        }
    }

    /// Puts words into a rank's send ring.
    ///
    /// # Panics
    /// When it is full.
    pub fn push_send(&mut self, rank: u32, words: &[u64; SendDescriptor::WORDS]) {
        let ring = &mut self.ranks[rank as usize].sends;
        ring.push(words).expect("the ring has room");
    }

    /// Puts words into a rank's receive ring.
    ///
    /// # Panics
    /// When it is full.
    pub fn push_receive(&mut self, rank: u32, words: &[u64; ReceiveDescriptor::WORDS]) {
        let ring = &mut self.ranks[rank as usize].receives;
        ring.push(words).expect("the ring has room");
    }

    /// Puts words into a rank's collective ring.
    ///
    /// # Panics
    /// When it is full.
    pub fn push_collective(&mut self, rank: u32, words: &[u64; CollectiveDescriptor::WORDS]) {
        let ring = &mut self.ranks[rank as usize].collectives;
        ring.push(words).expect("the ring has room");
    }

    /// Demands a slice.
    pub fn demand(&self) {
        self.page(0).demand();
    }

    /// Requests the next regular strobe.
    pub fn arm(&self) {
        self.page(0).arm();
    }

    /// Sends an inline message of one byte; with `owed` the sender gets a completion when it was
    /// received.
    pub fn send(&mut self, from: u32, to: u32, tag: i32, owed: bool) -> RequestId {
        let request = self.request(from);
        let mut bytes = [0; INLINE_BYTES];
        bytes[0] = tag.to_le_bytes()[0];
        let send = SendDescriptor {
            request,
            needs_completion: owed,
            context: 0,
            destination: to,
            tag,
            len: 1,
            check_bits: CheckBits::NONE,
            payload: Payload::Inline(bytes),
            one_sided: None,
        };
        self.post_send(from, &send);
        request
    }

    /// Sends the data at an address, or in a payload slot; and nudges, as between different hosts.
    ///
    /// # Panics
    /// When the ring is full.
    pub fn send_from(
        &mut self,
        from: u32,
        to: u32,
        tag: i32,
        (payload, len): (Payload, u64),
    ) -> RequestId {
        let request = self.request(from);
        let send = SendDescriptor {
            request,
            needs_completion: true,
            context: 0,
            destination: to,
            tag,
            len,
            check_bits: CheckBits::NONE,
            payload,
            one_sided: None,
        };
        self.push_send(from, &send.encode());
        let node = self.node(from);
        self.page(from).nudge(node, NicThreadId::BufferSender);
        request
    }

    /// Returns bytes in a payload slot of a rank.
    #[must_use]
    pub fn payload(&self, rank: u32, slot: u32, bytes: &[u8]) -> Payload {
        let memory = &self.ranks[rank as usize].memory;
        memory.write_payload(slot as usize, 0, bytes);
        let address = memory.payload_address(slot as usize);
        Payload::Slot { slot, address }
    }

    /// Posts a receive of up to 64 bytes in the world, and demands the slice in which it is taken.
    pub fn receive(&mut self, rank: u32, source: Option<u32>, tag: Option<i32>) -> RequestId {
        let kind = ReceiveKind::Receive {
            into: Location::contiguous(4096),
            capacity: 64,
            shared: false,
        };
        self.page(rank).demand();
        self.post_receive_kind(rank, source, tag, kind)
    }

    /// Posts a receive, probe or cancel in the world, and requests nothing.
    pub fn post_receive_kind(
        &mut self,
        rank: u32,
        source: Option<u32>,
        tag: Option<i32>,
        kind: ReceiveKind,
    ) -> RequestId {
        let request = self.request(rank);
        let receive = ReceiveDescriptor {
            request,
            context: 0,
            source,
            tag,
            kind,
        };
        self.post_receive(rank, &receive);
        request
    }

    /// Posts an arrival without data.
    pub fn call(
        &mut self,
        rank: u32,
        context: u32,
        sequence: u64,
        kind: CollectiveKind,
    ) -> RequestId {
        let request = self.request(rank);
        let collective = CollectiveDescriptor {
            request,
            context,
            sequence,
            kind,
            bytes: 0,
            input: 0,
            output: 0,
            inline: None,
            for_node: false,
            unreadable_member: None,
        };
        self.post_collective(rank, &collective);
        request
    }

    /// Posts an arrival at the first collective of the world, with data of this length from one
    /// address and to another.
    pub fn arrive(
        &mut self,
        rank: u32,
        kind: CollectiveKind,
        bytes: u64,
        [input, output]: [u64; 2],
    ) -> RequestId {
        let request = self.request(rank);
        let collective = CollectiveDescriptor {
            request,
            context: 0,
            sequence: 0,
            kind,
            bytes,
            input,
            output,
            inline: None,
            for_node: false,
            unreadable_member: None,
        };
        self.post_collective(rank, &collective);
        request
    }

    /// Posts an arrival with four bytes of data.
    pub fn add(
        &mut self,
        rank: u32,
        context: u32,
        sequence: u64,
        kind: CollectiveKind,
    ) -> RequestId {
        let request = self.request(rank);
        let collective = CollectiveDescriptor {
            request,
            context,
            sequence,
            kind,
            bytes: 4,
            input: 0,
            output: 4096,
            inline: Some([1; INLINE_BYTES]),
            for_node: false,
            unreadable_member: None,
        };
        self.post_collective(rank, &collective);
        request
    }

    /// Makes a context of these members known to the NIC of one of them.
    ///
    /// # Panics
    /// When there are more than fit inline.
    pub fn open(&mut self, rank: u32, context: u32, members: &[u32]) -> RequestId {
        let request = self.request(rank);
        let mut inline = [0; INLINE_BYTES];
        for (place, member) in inline.chunks_exact_mut(4).zip(members) {
            place.copy_from_slice(&member.to_le_bytes());
        }
        assert!(members.len() * 4 <= INLINE_BYTES, "few members");
        let open = CollectiveDescriptor {
            request,
            context,
            sequence: 0,
            kind: CollectiveKind::OpenContext,
            bytes: members.len() as u64 * 4,
            input: 0,
            output: 0,
            inline: Some(inline),
            for_node: false,
            unreadable_member: None,
        };
        self.post_collective(rank, &open);
        request
    }

    /// Returns the outcome of a request, once it has one.
    #[must_use]
    pub fn completion(&self, rank: u32, request: RequestId) -> Option<Completion> {
        self.ranks[rank as usize].memory.completion(request)
    }

    /// Returns the outcome of a request that must have ended.
    ///
    /// # Panics
    /// When it has not.
    #[must_use]
    pub fn expect_completion(&self, rank: u32, request: RequestId) -> Completion {
        let failures = &self.failures;
        self.completion(rank, request).unwrap_or_else(|| {
            panic!("a request of rank {rank} has not ended; failures: {failures:?}")
        })
    }

    /// Returns bytes of a rank's own memory.
    ///
    /// # Panics
    /// When it has none there.
    #[must_use]
    pub fn read(&self, rank: u32, address: u64, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        let mut memory = self.nics.fabric().memory(self.node(rank));
        let read = memory.read(rank, address, &mut bytes);
        read.expect("the rank has this memory");
        bytes
    }

    /// Writes a rank's own memory, as the rank would.
    ///
    /// # Panics
    /// When it has none there.
    pub fn write(&mut self, rank: u32, address: u64, bytes: &[u8]) {
        let mut memory = self.nics.fabric().memory(self.node(rank));
        let written = memory.write(rank, address, bytes);
        written.expect("the rank has this memory");
    }

    /// Returns a rank's NIC memory.
    #[must_use]
    pub fn memory(&self, rank: u32) -> &NicMemory {
        &self.ranks[rank as usize].memory
    }

    /// Returns the failures that must end the job, as NICs reported them.
    #[must_use]
    pub fn failures(&self) -> &[NicFailure] {
        &self.failures
    }

    /// Returns the entries in the tables of the NICs, as words: at the end, none.
    #[must_use]
    pub fn table_leaks(&self) -> Vec<String> {
        let left = self.nics.table_leaks().into_iter();
        left.map(|(node, thread, left)| format!("{} of node {node}: {left}", thread.name()))
            .collect()
    }

    /// Returns the NICs' record of their slices, by node; the first has the figures of the Strobe
    /// Sender. It ends the recording.
    #[must_use]
    pub fn take_recorded(&mut self) -> Vec<NodeDump> {
        self.nics.take_recorded()
    }

    /// Returns the virtual time in nanoseconds.
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        self.nics.fabric().now_ns()
    }

    /// Whether nothing will happen any more by itself.
    #[must_use]
    pub fn is_silent(&self) -> bool {
        self.nics.is_idle() && self.nics.next_ns().is_none()
    }

    /// Returns the number of slices struck so far.
    #[must_use]
    pub fn slices(&self) -> u64 {
        self.nics.slice()
    }

    /// Returns the number of cuts that the node has taken so far.
    #[must_use]
    pub fn cuts(&self, node: usize) -> u64 {
        self.nics.cuts(NodeId::from_index(node))
    }

    /// Reports that a rank is blocked.
    pub fn block(&self) {
        self.page(0).count_blocked(true);
    }

    /// Runs until no slice is wanted.
    ///
    /// # Panics
    /// When that never comes.
    pub fn settle(&mut self) {
        self.run(|bench| bench.nics.is_idle());
    }

    /// Runs this number of slices, wanted or not.
    ///
    /// # Panics
    /// When one of them does not end.
    pub fn run_slices(&mut self, slices: u64) {
        for _ in 0..slices {
            let next = self.slices() + 1;
            self.demand();
            self.run(|bench| bench.slices() >= next && bench.nics.is_at_rest());
        }
    }

    /// Runs until the condition holds.
    ///
    /// # Panics
    /// When that never comes.
    pub fn run(&mut self, until: impl Fn(&Self) -> bool) {
        let now_ns = |bench: &Self| bench.nics.fabric().now_ns();
        let deadline_ns = now_ns(self) + DEADLINE_NS;
        loop {
            let mut turns = 0;
            loop {
                if until(self) {
                    return;
                }
                let moved = self.nics.move_on();
                self.failures.append(&mut self.nics.take_failures());
                if !moved.expect("no checker objects") {
                    break;
                }
                turns += 1;
                assert!(turns < MAX_TURNS, "the NICs are in a livelock");
            }
            match self.nics.next_ns() {
                Some(at) if at <= deadline_ns => {
                    let to_ns = at.max(now_ns(self));
                    self.nics.fabric_mut().advance(to_ns);
                }
                next => panic!(
                    "what was waited for never came (next: {next:?}): {:?}, failures: {:?}",
                    self.nics, self.failures
                ),
            }
        }
    }
}
