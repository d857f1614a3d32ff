//! The base of a simulated cluster of scripted ranks: a fabric, and the ranks' memory.

use super::fabric::{DatagramFabric, HostTopology, SimFabric, VirtualFabric};
use super::rank::MEMORY_BYTES;
use bcs_core::job::Placement;
use bcs_core::memory::{GuardedBytes, NicMemory};
use bcs_core::wake::MachinePage;
use bcs_fabric::sim::{FaultPlan, Latencies, Network, RankStore, SharedRankStores, SimulatedRanks};
use bcs_fabric::udp::datagram_network::DatagramFaults;
use std::cell::RefCell;
use std::rc::Rc;

/// The fabric that the seed has drawn.
pub(super) enum SeededFabric {
    /// The simulated fabric with these faults.
    Sim(FaultPlan),
    /// Links between these hosts, with these faults.
    Udp(HostTopology, DatagramFaults),
}

impl SeededFabric {
    /// Whether a node dies.
    pub(super) fn crashes(&self) -> bool {
        match self {
            Self::Sim(faults) => !faults.crash.is_empty(),
            Self::Udp(..) => false,
        }
    }

    pub(super) fn build_fabric(
        self,
        placement: &Placement,
        memories: &[NicMemory],
        stores: &SharedRankStores,
        seed: u64,
    ) -> Box<dyn VirtualFabric> {
        let (nodes, cores) = (placement.nodes(), 1);
        match self {
            Self::Sim(faults) => {
                let ranks = SimulatedRanks::Scripted(stores.clone());
                let network = Network::new(nodes, ranks, Latencies::default(), faults, seed);
                let network = Rc::new(RefCell::new(network));
                let page = MachinePage::private(nodes, cores).expect("memory");
                Box::new(SimFabric::new(network, page))
            }
            Self::Udp(machines, faults) => {
                let faults = (faults, seed);
                Box::new(DatagramFabric::new(
                    placement, &machines, memories, cores, faults,
                ))
            }
        }
    }
}

/// Creates the memory of the ranks. For the simulated fabric it is at address 0 of each rank. For
/// the other one it is in this process, since the kernel copies it.
pub(super) fn make_rank_stores(
    drawn: &SeededFabric,
    placement: &Placement,
    memories: &[NicMemory],
) -> SharedRankStores {
    let store = |(rank, nic): (u32, &NicMemory)| {
        let bytes = GuardedBytes::new(MEMORY_BYTES).expect("memory");
        RankStore {
            nic: nic.clone(),
            start: match drawn {
                SeededFabric::Sim(_) => 0,
                SeededFabric::Udp(..) => bytes.address(),
            },
            bytes,
            node: placement.node_of(rank).expect("placed"),
        }
    };
    let stores = (0..).zip(memories).map(store).collect();
    Rc::new(RefCell::new(stores))
}
