//! The base of a simulated job: a fabric, the segments and pages of its hosts, and the memory of
//! its ranks.

use super::fault::{FaultSet, draw_network_faults, draw_wire_faults};
use bcs_core::job::{IntranodeTransport, NodeId, Placement, Settings};
use bcs_core::memory::NicMemory;
use bcs_core::smartmap::{NodeMemory, RankArea};
use bcs_core::wake::MachinePage;
use bcs_fabric::shm::{RankMemoryAccess as RankMemories, Segment};
use bcs_fabric::sim::{self, Latencies, Network, SimulatedRanks};
use bcs_fabric::udp::datagram_network::DatagramFaults;
use bcs_mpi::shared_memory::SharedMemory;
use bcs_nic::simulator::fabric::{
    DatagramFabric, FabricKind, HostTopology, SimFabric, VirtualFabric,
};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The fabric that the seed has drawn.
pub(super) enum FabricChoice {
    /// The simulated fabric with these faults.
    Sim(sim::FaultPlan),
    /// Links between these hosts, with these faults.
    Udp(HostTopology, DatagramFaults),
}

impl FabricChoice {
    pub(super) fn draw(
        kind: FabricKind,
        faults: FaultSet,
        nodes: usize,
        random: &mut ChaCha8Rng,
    ) -> Self {
        match kind {
            FabricKind::Sim => Self::Sim(draw_network_faults(faults, nodes, random)),
            FabricKind::Udp => Self::Udp(
                HostTopology::draw(nodes, random),
                draw_wire_faults(faults, random),
            ),
        }
    }
}

/// A fabric whose ranks are threads.
pub(super) struct JobFabric {
    pub(super) fabric: Box<dyn VirtualFabric>,
    /// The segment of each node's host.
    pub(super) segments: Vec<Segment>,
}

impl JobFabric {
    pub(super) fn new(
        drawn: FabricChoice,
        placement: &Placement,
        memories: &[NicMemory],
        random: &mut ChaCha8Rng,
    ) -> Self {
        let (cores, seed) = (random.random_range(1..9), random.random());
        let nodes = (0..placement.nodes()).map(NodeId::from_index);
        match drawn {
            FabricChoice::Sim(faults) => {
                let (fabric, segment) = transfers(placement, memories, cores, (faults, seed));
                Self {
                    fabric: Box::new(fabric),
                    segments: nodes.map(|_| segment.clone()).collect(),
                }
            }
            FabricChoice::Udp(machines, faults) => {
                let faults = (faults, seed);
                let fabric = DatagramFabric::new(placement, &machines, memories, cores, faults);
                Self {
                    segments: nodes.map(|node| fabric.segment(node).clone()).collect(),
                    fabric: Box::new(fabric),
                }
            }
        }
    }
}

fn transfers(
    placement: &Placement,
    memories: &[NicMemory],
    cores: u32,
    (faults, seed): (sim::FaultPlan, u64),
) -> (SimFabric, Segment) {
    let (nodes, ranks) = (placement.nodes(), placement.ranks());
    let page = MachinePage::private(nodes, cores).expect("memory");
    let segment = Segment::private(nodes, ranks).expect("memory");
    let all = 0..u32::try_from(ranks).expect("few ranks");
    for rank in all.clone() {
        let pid = segment.pid(rank).expect("a rank");
        pid.store(std::process::id(), Ordering::Release);
    }
    let held: Vec<Option<NicMemory>> = memories.iter().cloned().map(Some).collect();
    let threads = SimulatedRanks::Threads {
        memory: RankMemories::new(segment.clone(), Arc::new(held)),
        nodes: all
            .map(|rank| placement.node_of(rank).expect("placed"))
            .collect(),
    };
    let network = Network::new(nodes, threads, Latencies::default(), faults, seed);
    let network = Rc::new(RefCell::new(network));
    (SimFabric::new(network, page), segment)
}

/// The memory of all nodes and ranks.
pub(super) struct JobMemory {
    pub(super) nodes: Vec<NodeMemory>,
    /// The memory that NICs share with ranks.
    pub(super) nics: Vec<NicMemory>,
    desks: Vec<Option<RankArea>>,
}

impl JobMemory {
    pub(super) fn new(placement: &Placement, settings: &Settings) -> Self {
        let (mut nodes, mut nics, mut desks) = (Vec::new(), Vec::new(), Vec::new());
        for node in (0..placement.nodes()).map(NodeId::from_index) {
            let places = placement.ranks_of(node).count();
            let shared = NodeMemory::private(places).expect("memory");
            for place in 0..places {
                shared
                    .process_id(place)
                    .store(std::process::id(), Ordering::Release);
                let nic = NicMemory::private(settings.eager_limit).expect("memory");
                let node = shared.clone();
                let desk = match settings.intranode {
                    IntranodeTransport::Smartmap => Some(RankArea { node, place }),
                    IntranodeTransport::Nic => None,
                };
                nics.push(match &desk {
                    Some(desk) => nic
                        .with_bell(desk.bell())
                        .with_update_lock(desk.update_lock()),
                    None => nic,
                });
                desks.push(desk);
            }
            nodes.push(shared);
        }
        Self { nodes, nics, desks }
    }

    /// Returns the shared memory of each rank on a fabric, by number.
    pub(super) fn take_rank_memories(
        &mut self,
        placement: &Placement,
        fabric: &dyn VirtualFabric,
    ) -> Vec<SharedMemory> {
        let ranks = (0..).zip(&self.nics).zip(self.desks.drain(..));
        let of_rank = |((rank, nic), desk): ((u32, &NicMemory), _)| {
            let node = placement.node_of(rank).expect("placed");
            SharedMemory::new(nic.clone(), desk, fabric.page(node).clone())
        };
        ranks.map(of_rank).collect()
    }
}
