//! Writes that the sequencer adds, on another OS thread, while its process sends messages.

use super::*;
use crate::shm::RankMemoryAccess;
use crate::udp::cluster::UdpCluster;
use crate::udp::datagram_network::DatagramFaults;
use crate::{Block, Comparison, Port, Variable};
use bcs_core::memory::NicMemory;
use std::sync::Arc;

/// Longer than any message takes.
const WITHIN_NS: u64 = 1_000_000_000;

const HELPER: NicThreadId = NicThreadId::BufferReceiver;

/// Two nodes on two machines. The sequencer has just counted a write that it has not logged, as it
/// may between two steps of the thread that sends.
fn cluster_with_unsent_write() -> UdpCluster {
    let placement = Placement::block(2, 2).unwrap();
    let machines = [0, 1].map(|node| vec![vec![NodeId(node)]]);
    let wire = DatagramFaults::default();
    let cluster = UdpCluster::new(&placement, &machines, 8, &no_ranks(), wire, 1).unwrap();
    let root = &cluster.party_of(NodeId(0)).segment;
    root.writes().store(1, Ordering::Release);
    cluster
}

fn no_ranks() -> Arc<Vec<Option<NicMemory>>> {
    Arc::new(Vec::new())
}

fn port(cluster: &UdpCluster, node: NodeId) -> impl Port + use<> {
    let process = cluster.party_of(node);
    let memory = RankMemoryAccess::new(process.segment.clone(), no_ranks());
    process.port(node, HELPER, memory)
}

#[test]
fn a_put_does_not_wait_for_a_write_that_is_sent_after_it() {
    let mut cluster = cluster_with_unsent_write();
    let at = GlobalAddress::new(Block::Strobe, NodeId(0));
    let to = NodeSet::only(NodeId(1));
    let _put = port(&cluster, NodeId(0)).xfer_and_signal(&to, at, &[7; 8], Some(HELPER));
    assert!(cluster.run_until_idle(WITHIN_NS));
    assert_eq!(port(&cluster, NodeId(1)).signal_count(), 1);
}

/// Nothing rings a NIC thread once more for a write that comes after its verdict.
#[test]
fn a_verdict_does_not_wait_for_a_write_that_is_sent_after_it() {
    let mut cluster = cluster_with_unsent_write();
    let mut asks = port(&cluster, NodeId(1));
    let ticket = asks.compare_and_write(&CompareAndWrite {
        set: NodeSet::only(NodeId(1)),
        variable: Variable::Scratch(0),
        comparison: Comparison::Equal,
        operand: 0,
        write: None,
        wait: false,
    });
    assert!(cluster.run_until_idle(WITHIN_NS));
    assert_eq!(asks.test_event(ticket), Event::Verdict(true));
}
