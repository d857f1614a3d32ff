//! Hubs in virtual time.

use super::shm::all_ranks_are_here;
use crate::conformance::bench::{Bench, ReceiveBuffers, SOURCE_BYTES};
use crate::conformance::check_all;
use crate::conformance::layouts::layouts;
use crate::shm::RankMemoryAccess;
use crate::udp::UdpPort;
use crate::udp::cluster::UdpCluster;
use crate::udp::datagram_network::DatagramFaults;
use bcs_core::job::{NicThreadId, NodeId, Placement};
use bcs_core::limits::FAN_OUT;
use std::sync::Arc;

pub(super) struct UdpBench {
    pub(super) cluster: UdpCluster,
    rooms: ReceiveBuffers,
}

impl UdpBench {
    pub(super) fn new(cluster: UdpCluster) -> Self {
        let rooms = ReceiveBuffers::default();
        Self { cluster, rooms }
    }
}

impl Bench for UdpBench {
    type Port = UdpPort;
    fn port(&mut self, node: NodeId, thread: NicThreadId) -> UdpPort {
        let party = self.cluster.party_of(node);
        let memory = RankMemoryAccess::new(party.segment.clone(), Arc::new(Vec::new()));
        party.port(node, thread, memory)
    }
    fn strobe_sender(&mut self) -> UdpPort {
        let party = self.cluster.party_of(NodeId(0));
        let memory = RankMemoryAccess::new(party.segment.clone(), Arc::new(Vec::new()));
        party.strobe_sender(memory)
    }
    fn step(&mut self) {
        // Even if datagrams are lost again and again, some arrive within a thousand of these steps.
        self.cluster.advance(self.cluster.now_ns() + 3_000_000);
    }
    fn run_until_idle(&mut self) {
        assert!(
            self.cluster.run_until_idle(10_000_000_000),
            "it does not come to rest"
        );
    }
    fn source_address(&self) -> u64 {
        SOURCE_BYTES.as_ptr().expose_provenance() as u64
    }
    fn receive_address(&self, node: NodeId) -> u64 {
        self.rooms.address(node)
    }
}

pub(super) fn cluster(
    nodes: usize,
    (machines, fan_out): (&[Vec<Vec<NodeId>>], usize),
    faults: DatagramFaults,
    seed: u64,
) -> UdpCluster {
    let placement = Placement::block(nodes, nodes).unwrap();
    let none = Arc::new(Vec::new());
    let cluster = UdpCluster::new(&placement, machines, fan_out, &none, faults, seed).unwrap();
    for party in cluster.parties() {
        all_ranks_are_here(&party.segment, nodes);
    }
    cluster
}

/// A network that loses and repeats some datagrams and lets others overtake.
pub(super) const BAD: DatagramFaults = DatagramFaults {
    loss: 50,
    repetition: 50,
    jitter_ns: 5_000_000,
    cut: (0, 0),
    until_ns: u64::MAX,
};

#[test]
fn udp_keeps_the_laws() {
    let faults = [
        DatagramFaults::default(),
        BAD,
        DatagramFaults {
            loss: 300,
            until_ns: u64::MAX,
            ..DatagramFaults::default()
        },
    ];
    for (seed, faults) in (0..).zip(faults.into_iter().cycle().take(12)) {
        for machines in layouts() {
            // A chain where there are enough machines, a tree, and a star.
            for fan_out in [1, 2, FAN_OUT] {
                let tree = (&machines[..], fan_out);
                check_all(|nodes| UdpBench::new(cluster(nodes, tree, faults, seed)));
            }
        }
    }
}
