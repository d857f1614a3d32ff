//! What a simulated cluster of scripted ranks runs on: a fabric, and the ranks' memory.

use super::fabric::{Datagrams, Fabric, Machines, Transfers};
use super::rank::MEMORY_BYTES;
use bcs_core::job::Placement;
use bcs_core::memory::{GuardedBytes, NicMemory};
use bcs_core::wake::MachinePage;
use bcs_fabric::sim::{Faults, Latencies, Network, RankStore, Ranks, Stores};
use bcs_fabric::udp::wire::WireFaults;
use std::cell::RefCell;
use std::rc::Rc;

/// How the seed has the fabric.
pub(super) enum Drawn {
    /// With these faults.
    Sim(Faults),
    /// Between these machines.
    Udp(Machines, WireFaults),
}

impl Drawn {
    /// Whether a node dies.
    pub(super) fn crashes(&self) -> bool {
        match self {
            Self::Sim(faults) => !faults.crash.is_empty(),
            Self::Udp(..) => false,
        }
    }

    pub(super) fn make(
        self,
        placement: &Placement,
        memories: &[NicMemory],
        stores: &Stores,
        seed: u64,
    ) -> Box<dyn Fabric> {
        let (nodes, cores) = (placement.nodes(), 1);
        match self {
            Self::Sim(faults) => {
                let ranks = Ranks::Scripted(stores.clone());
                let network = Network::new(nodes, ranks, Latencies::default(), faults, seed);
                let network = Rc::new(RefCell::new(network));
                let page = MachinePage::private(nodes, cores).expect("memory");
                Box::new(Transfers::new(network, page))
            }
            Self::Udp(machines, faults) => {
                let faults = (faults, seed);
                Box::new(Datagrams::new(
                    placement, &machines, memories, cores, faults,
                ))
            }
        }
    }
}

/// The memory of the ranks: for the simulated fabric at address 0 of each, for the other one where it is in this
/// process, since the kernel copies it.
pub(super) fn stores(drawn: &Drawn, placement: &Placement, memories: &[NicMemory]) -> Stores {
    let store = |(rank, nic): (u32, &NicMemory)| {
        let bytes = GuardedBytes::new(MEMORY_BYTES).expect("memory");
        RankStore {
            nic: nic.clone(),
            start: match drawn {
                Drawn::Sim(_) => 0,
                Drawn::Udp(..) => bytes.address(),
            },
            bytes,
            node: placement.node_of(rank).expect("placed"),
        }
    };
    let stores = (0..).zip(memories).map(store).collect();
    Rc::new(RefCell::new(stores))
}
