//! Which party may send what along the tree, and how many messages reach the root.

use super::*;
use crate::shm::{RankMemoryAccess, Segment, WriteLog};
use crate::udp::cluster::UdpCluster;
use crate::udp::datagram_network::DatagramFaults;
use crate::udp::hub::HubConfig;
use crate::udp::link::LinkSettings;
use crate::udp::message::EncodedCompareAndWrite;
use crate::{Block, Port, Variable};
use bcs_core::job::Placement;
use bcs_core::wake::MachinePage;
use std::sync::Arc;
use std::sync::atomic::Ordering;

const NODES: usize = 7;

/// One of seven processes, each on its own machine: 0 has 1 and 2 below it, 1 has 3 and 4, 2 has 5
/// and 6.
fn process(me: usize) -> HubState {
    let node = NodeId::from_index;
    let segment = Segment::private(NODES, NODES).unwrap();
    let config = HubConfig {
        placement: Placement::block(NODES, NODES).unwrap(),
        parties: (0..NODES).map(|it| vec![node(it)]).collect(),
        me,
        machine: NodeSet::only(node(me)),
        machines: (0..NODES).map(|it| NodeSet::only(node(it))).collect(),
        fan_out: 2,
        beside_sequencer: Vec::new(),
        segment: segment.clone(),
        page: MachinePage::private(NODES, 1).unwrap(),
        memory: RankMemoryAccess::new(segment, Arc::new(Vec::new())),
        ledger: (me == 0).then(WriteLog::default),
        link: LinkSettings::default(),
        paths: Vec::new(),
    };
    HubState::new(config, 0)
}

/// How a process judges a message of another.
fn hears(me: usize, party: usize, message: &Message<'_>) -> Result<bool, ProtocolViolation> {
    process(me).pass_on(party, message, b"")
}

#[test]
fn down_the_tree_only_the_parent_is_heard() {
    let (nodes, thread) = (&[127][..], NicThreadId::BufferReceiver.index());
    let written = Message::Written {
        nodes,
        variable: 0,
        value: 1,
    };
    let strobe = Message::Strobe {
        nodes,
        byte: 0,
        signal: None,
    };
    let await_them = |to| Message::Await {
        to,
        from: 0,
        puts: 1,
    };
    let verdict = |of: usize| Message::Verdict {
        port: index32(of * NicThreadId::COUNT + thread),
        holds: true,
        told: 0,
    };
    for message in [written, strobe, await_them(1), verdict(1)] {
        assert_eq!(hears(1, 0, &message), Ok(true));
        for party in 2..NODES {
            assert_eq!(hears(1, party, &message), Err(NOT_PARENT), "{message:?}");
            assert_eq!(hears(0, party, &message), Err(NOT_PARENT), "{message:?}");
        }
        // The root itself, to a process that is not its child.
        assert_eq!(hears(3, 0, &message), Err(NOT_PARENT), "{message:?}");
    }
    for message in [await_them(3), verdict(4)] {
        assert_eq!(hears(1, 0, &message), Ok(false), "it is for another one");
    }
    for message in [await_them(5), verdict(0)] {
        assert_eq!(hears(1, 0, &message), Err(NOT_BELOW), "{message:?}");
    }
    assert!(hears(1, 0, &await_them(7)).is_err());
    assert!(hears(1, 0, &verdict(7)).is_err());
}

#[test]
fn up_the_tree_a_child_speaks_for_its_branch() {
    let stored = |nodes| Message::Stored {
        nodes,
        variable: 0,
        value: 1,
        told: 0,
        reports: true,
    };
    let sent = |from| Message::Sent {
        from,
        to: 6,
        puts: 1,
    };
    let compare = |of: usize| Message::Compare {
        port: index32(of * NicThreadId::COUNT),
        request: EncodedCompareAndWrite {
            nodes: &[1],
            variable: 0,
            comparison: 0,
            operand: 0,
            write: None,
            wait: false,
        },
    };
    let of_3 = [stored(&[8]), sent(3), compare(3)];
    for message in of_3 {
        assert_eq!(hears(1, 3, &message), Ok(false), "it goes further up");
        assert_eq!(hears(0, 1, &message), Ok(true));
        for (me, party) in [
            (1, 4),
            (1, 0),
            (2, 1),
            (2, 3),
            (0, 2),
            (0, 3),
            (3, 1),
            (4, 3),
        ] {
            let heard = hears(me, party, &message);
            assert_eq!(heard, Err(NOT_BELOW), "{party} says {message:?} to {me}");
        }
    }
    let of_branch = stored(&[0b1_1010]);
    assert_eq!(hears(0, 1, &of_branch), Ok(true));
    assert_eq!(hears(0, 1, &stored(&[0b11_1010])), Err(NOT_BELOW));
    for message in [stored(&[0, 1]), sent(7), sent(u32::MAX), compare(NODES)] {
        assert!(hears(0, 1, &message).is_err(), "{message:?}");
    }
}

/// Thirteen machines, each of which forwards to three.
#[test]
fn the_root_hears_and_says_a_word_for_each_child_in_a_microphase() {
    const ALL: usize = 13;
    let node = NodeId::from_index;
    let placement = Placement::block(ALL, ALL).unwrap();
    let machines: Vec<_> = (0..ALL).map(|it| vec![vec![node(it)]]).collect();
    let none = Arc::new(Vec::new());
    let wire = DatagramFaults::default();
    let mut cluster = UdpCluster::new(&placement, &machines, 3, &none, wire, 1).unwrap();
    let port = |cluster: &UdpCluster, of: usize, thread| {
        let party = cluster.party_of(node(of));
        let memory = RankMemoryAccess::new(party.segment.clone(), none.clone());
        party.port(node(of), thread, memory)
    };
    let step = |cluster: &mut UdpCluster| cluster.advance(cluster.now_ns() + 5_000);
    let mut sender = {
        let party = cluster.party_of(NodeId(0));
        party.strobe_sender(RankMemoryAccess::new(party.segment.clone(), none.clone()))
    };
    for sequence in 1..=10_u64 {
        let heard = cluster.received_datagrams(0);
        let at = GlobalAddress::new(Block::Strobe, NodeId(0));
        let all = NodeSet::first_nodes(ALL);
        let thread = NicThreadId::StrobeReceiver;
        let _put = sender.xfer_and_signal(&all, at, &sequence.to_le_bytes(), Some(thread));
        let mut reported = [false; ALL];
        while reported != [true; ALL] {
            step(&mut cluster);
            for (of, reported) in reported.iter_mut().enumerate() {
                let mut port = port(&cluster, of, thread);
                if !*reported && port.signal_count() == sequence {
                    *reported = true;
                    port.store(Variable::Scratch(0), sequence);
                    port.store_and_report(Variable::Finished, sequence);
                }
            }
        }
        let root = cluster.party_of(NodeId(0)).segment.clone();
        let has_come = |of: usize| {
            let word = root.variable(node(of), Variable::Finished.index());
            word.load(Ordering::Relaxed) == sequence
        };
        while !(0..ALL).all(has_come) {
            step(&mut cluster);
        }
        // A report of each branch, and acknowledgements of the strobe that did not wait for it.
        let words = cluster.received_datagrams(0) - heard;
        assert!((3..=6).contains(&words), "{words} datagrams in {sequence}");
    }
}
