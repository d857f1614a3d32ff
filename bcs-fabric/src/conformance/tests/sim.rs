//! The fabric of the simulator, with its faults.

use crate::conformance::bench::{Bench, SOURCE_BYTES, buffer_sender_port, settle};
use crate::conformance::check_all;
use crate::sim::{FaultPlan, Latencies, Network, RankStore, SimPort, SimulatedRanks};
use crate::{Block, Event, GlobalAddress, Port as _};
use bcs_core::job::{NicThreadId, NodeId, NodeSet};
use bcs_core::memory::{GuardedBytes, NicMemory};
use std::cell::RefCell;
use std::rc::Rc;

struct SimBench(Rc<RefCell<Network>>);

impl Bench for SimBench {
    type Port = SimPort;
    fn port(&mut self, node: NodeId, thread: NicThreadId) -> SimPort {
        SimPort::new(self.0.clone(), node, thread)
    }
    fn strobe_sender(&mut self) -> SimPort {
        SimPort::strobe_sender(self.0.clone())
    }
    fn step(&mut self) {
        let mut network = self.0.borrow_mut();
        let to = network.now_ns() + 10_000;
        network.advance(to);
    }
    fn source_address(&self) -> u64 {
        64
    }
    fn receive_address(&self, _node: NodeId) -> u64 {
        64
    }
}

/// The rank of a node.
fn rank(node: NodeId) -> RankStore {
    let mut bytes = GuardedBytes::new(64 + SOURCE_BYTES.len()).unwrap();
    if node == NodeId(0) {
        bytes[64..].copy_from_slice(&SOURCE_BYTES);
    }
    RankStore {
        nic: NicMemory::private(0).unwrap(),
        bytes,
        start: 0,
        node,
    }
}

#[test]
fn sim_keeps_the_laws() {
    let faults = [
        FaultPlan::default(),
        FaultPlan {
            delay: (0.5, 50_000),
            until_ns: u64::MAX,
            ..FaultPlan::default()
        },
        FaultPlan {
            reorder_ns: 30_000,
            until_ns: u64::MAX,
            ..FaultPlan::default()
        },
        FaultPlan {
            slow: vec![(NodeId(1), 7)],
            until_ns: u64::MAX,
            ..FaultPlan::default()
        },
    ];
    for faults in faults {
        for seed in 0..20 {
            check_all(|nodes| {
                let latencies = Latencies::default();
                let ranks = (0..nodes).map(NodeId::from_index).map(rank).collect();
                let network = Network::new(
                    nodes,
                    SimulatedRanks::Scripted(Rc::new(RefCell::new(ranks))),
                    latencies,
                    faults.clone(),
                    seed,
                );
                SimBench(Rc::new(RefCell::new(network)))
            });
        }
    }
}

#[test]
fn a_lost_put_reaches_nobody_and_says_so() {
    let faults = FaultPlan {
        lose: 1.0,
        until_ns: u64::MAX,
        ..FaultPlan::default()
    };
    let network = Network::new(
        3,
        SimulatedRanks::Scripted(Rc::default()),
        Latencies::default(),
        faults,
        1,
    );
    let mut bench = SimBench(Rc::new(RefCell::new(network)));
    let mut port = buffer_sender_port(&mut bench, 0);
    let at = GlobalAddress::new(Block::Descriptors, NodeId(0));
    let ticket = port.xfer_and_signal(&NodeSet::first_nodes(3), at, b"lost", None);
    let lost = Event::Failed(crate::FabricError::Lost);
    assert_eq!(settle(&mut bench, &mut port, ticket), lost);
    for node in 0..3u16 {
        let mut bytes = [0; 4];
        buffer_sender_port(&mut bench, node).read(at, &mut bytes);
        assert_eq!(bytes, [0; 4]);
    }
}
