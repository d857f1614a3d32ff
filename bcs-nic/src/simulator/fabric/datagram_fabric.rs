//! The links of a job on several hosts, on a network that loses datagrams.
//!
//! Ranks are threads or bytes of this process: the kernel copies between them as it does between
//! processes.

use super::VirtualFabric;
use super::metered_port::{InboundBudget, InboundMeter, MeteredPort};
use bcs_core::fingerprint::fingerprint;
use bcs_core::job::{NicThreadId, NodeId, NodeSet, Placement};
use bcs_core::limits::FAN_OUT;
use bcs_core::memory::NicMemory;
use bcs_core::wake::MachinePage;
use bcs_fabric::shm::{RankMemoryAccess, Segment};
use bcs_fabric::sim::FaultCounts;
use bcs_fabric::udp::cluster::UdpCluster;
use bcs_fabric::udp::datagram_network::DatagramFaults;
use bcs_fabric::{Port, RankMemory, Variable};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The longest time at the end of a job until all messages are acknowledged.
const REST_NS: u64 = 1_000_000_000;

/// The virtual time after which no datagram is lost or late.
const FAULTS_END_NS: u64 = 400_000_000;

/// The kinds of faults that the network may inject into datagrams.
#[derive(Clone, Copy, Debug)]
pub struct DatagramFaultKinds {
    /// They are lost, up to three of ten.
    pub lose: bool,
    /// They come twice, up to three of ten.
    pub repeat: bool,
    /// They are late by up to 5 ms, and so overtake each other.
    pub delay: bool,
    /// None arrives for up to 150 ms.
    pub cut: bool,
}

impl DatagramFaultKinds {
    /// Draws the rates and times of the faults from the seed.
    pub fn draw(self, random: &mut ChaCha8Rng) -> DatagramFaults {
        // Every choice is drawn, whether or not it is used.
        let mut up_to = |most: u64, has: bool| {
            let drawn = random.random_range(1..=most);
            if has { drawn } else { 0 }
        };
        let per_mille = |drawn: u64| u32::try_from(drawn).expect("at most 1000");
        let from_ns = up_to(20_000_000, self.cut);
        DatagramFaults {
            loss: per_mille(up_to(300, self.lose)),
            repetition: per_mille(up_to(300, self.repeat)),
            jitter_ns: up_to(5_000_000, self.delay),
            cut: (from_ns, from_ns + up_to(150_000_000, self.cut)),
            until_ns: FAULTS_END_NS,
        }
    }
}

/// The nodes on each host and in each of its processes, and the fan-out of a process that passes
/// messages on.
#[derive(Clone, Debug)]
pub struct HostTopology(Vec<Vec<Vec<NodeId>>>, usize);

impl HostTopology {
    /// Creates a host for each node.
    #[must_use]
    pub fn one_node_each(nodes: usize) -> Self {
        let nodes = (0..nodes).map(NodeId::from_index);
        Self(nodes.map(|node| vec![vec![node]]).collect(), FAN_OUT)
    }

    /// Draws from the seed: a host for each node, processes of several nodes, or hosts of several
    /// processes; and a chain or a tree of them.
    pub fn draw(nodes: usize, random: &mut ChaCha8Rng) -> Self {
        // The chances that a node is on the host, and in the process, of an earlier one.
        let kinds = [(0.0, 0.0), (0.5, 1.0), (0.5, 0.0), (0.5, 0.5)];
        let (joins_machine, joins_process) = kinds[random.random_range(0..kinds.len())];
        let mut machines: Vec<Vec<Vec<NodeId>>> = Vec::new();
        for node in (0..nodes).map(NodeId::from_index) {
            let known = machines.len();
            // There are two hosts at least, and so a network.
            if known < 2 || !random.random_bool(joins_machine) {
                machines.push(vec![vec![node]]);
                continue;
            }
            let machine = &mut machines[random.random_range(0..known)];
            if random.random_bool(joins_process) {
                let process = random.random_range(0..machine.len());
                machine[process].push(node);
            } else {
                machine.push(vec![node]);
            }
        }
        // This has a stream of its own, so all that is drawn afterwards is the same as before there
        // were trees.
        let mut other = random.clone();
        other.set_stream(1);
        Self(machines, other.random_range(1..=3))
    }
}

/// The links, and the network.
#[derive(Debug)]
pub struct DatagramFabric {
    cluster: UdpCluster,
    memories: Arc<Vec<Option<NicMemory>>>,
    entered: Rc<RefCell<Vec<InboundBudget>>>,
    /// The node of each rank.
    node_of: Rc<[NodeId]>,
    nodes: usize,
    trace: u64,
}

impl DatagramFabric {
    /// Creates idle links between these hosts, with `cores` in their pages. Ranks belong to this
    /// process.
    ///
    /// # Panics
    /// When there is no memory.
    #[must_use]
    pub fn new(
        placement: &Placement,
        &HostTopology(ref machines, fan_out): &HostTopology,
        memories: &[NicMemory],
        cores: u32,
        (faults, seed): (DatagramFaults, u64),
    ) -> Self {
        let memories: Arc<Vec<_>> = Arc::new(memories.iter().cloned().map(Some).collect());
        let cluster = UdpCluster::new(placement, machines, fan_out, &memories, faults, seed);
        let cluster = cluster.expect("memory");
        for party in cluster.parties() {
            party.page.set_cores(cores);
            for rank in party
                .nodes
                .iter()
                .flat_map(|&node| placement.ranks_of(node))
            {
                let pid = party.segment.pid(rank).expect("a rank");
                pid.store(std::process::id(), Ordering::Release);
            }
        }
        let ranks = 0..u32::try_from(placement.ranks()).expect("ranks have 32 bits");
        let node_of = |rank| placement.node_of(rank).expect("placed");
        Self {
            cluster,
            memories,
            entered: Rc::new(RefCell::new(vec![
                InboundBudget::default();
                placement.nodes()
            ])),
            node_of: ranks.map(node_of).collect(),
            nodes: placement.nodes(),
            trace: 0,
        }
    }

    /// Returns the segment of a node's host.
    #[must_use]
    pub fn segment(&self, node: NodeId) -> &Segment {
        &self.cluster.party_of(node).segment
    }

    fn reach(&self, node: NodeId) -> RankMemoryAccess {
        RankMemoryAccess::new(self.segment(node).clone(), self.memories.clone())
    }
}

impl VirtualFabric for DatagramFabric {
    fn port(&self, node: NodeId, thread: NicThreadId) -> Box<dyn Port> {
        let party = self.cluster.party_of(node);
        let port = party.port(node, thread, self.reach(node));
        let meter = InboundMeter {
            node,
            entered: self.entered.clone(),
            node_of: self.node_of.clone(),
        };
        Box::new(MeteredPort::new(port, meter))
    }

    fn strobe_sender(&self) -> Box<dyn Port> {
        let node = NodeId(0);
        let party = self.cluster.party_of(node);
        Box::new(party.strobe_sender(self.reach(node)))
    }

    fn memory(&self, node: NodeId) -> Box<dyn RankMemory> {
        Box::new(self.reach(node))
    }

    fn page(&self, node: NodeId) -> &MachinePage {
        &self.cluster.party_of(node).page
    }

    fn now_ns(&self) -> u64 {
        self.cluster.now_ns()
    }

    fn next_ns(&self) -> Option<u64> {
        self.cluster.next_ns()
    }

    fn advance(&mut self, to_ns: u64) {
        self.cluster.advance(to_ns);
    }

    fn settle(&mut self) -> bool {
        self.cluster.settle()
    }

    fn alive(&self) -> NodeSet {
        // A node that dies ends the job, so there are no survivors to exclude it.
        (0..self.nodes).map(NodeId::from_index).collect()
    }

    fn retries(&self) -> u64 {
        self.cluster.retries()
    }

    fn in_flight(&self, gets: bool) -> usize {
        self.cluster.in_flight(gets)
    }

    fn take_inbound_bytes(&mut self) -> Vec<u64> {
        self.entered
            .borrow_mut()
            .iter_mut()
            .map(InboundBudget::take)
            .collect()
    }

    fn load(&self, node: NodeId, variable: Variable) -> u64 {
        self.cluster.load(node, variable)
    }

    fn run_until_idle(&mut self) -> bool {
        self.cluster.run_until_idle(REST_NS)
    }

    fn fault_counts(&self) -> FaultCounts {
        self.cluster.wire().counts()
    }

    fn trace(&mut self, words: &[u64]) {
        self.trace = fingerprint([self.trace].iter().chain(words).copied());
    }

    fn trace_hash(&self) -> u64 {
        self.trace ^ self.cluster.wire().trace_hash().rotate_left(1)
    }
}
