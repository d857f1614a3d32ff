//! Xfer-And-Signal: to all nodes of a set or to none, in order, with a signal.

use super::bench::{Bench, buffer_sender_port, settle};
use crate::{Block, Event, GlobalAddress, Port as _, Ticket};
use bcs_core::job::{NicThreadId, NodeId, NodeSet};

pub(super) fn a_put_reaches_the_whole_set_and_nobody_else<B: Bench>(bench: &mut B) {
    let mut port = buffer_sender_port(bench, 0);
    let at = GlobalAddress::new(Block::Descriptors, NodeId(0)).plus(24);
    let set: NodeSet = [0, 2, 4].into_iter().map(NodeId).collect();
    let ticket = port.xfer_and_signal(&set, at, b"descriptor", None);
    assert_eq!(settle(bench, &mut port, ticket), Event::Signalled);
    bench.run_until_idle();
    for node in 0..5u16 {
        let mut bytes = [0; 10];
        buffer_sender_port(bench, node).read(at, &mut bytes);
        let expected = if node.is_multiple_of(2) {
            *b"descriptor"
        } else {
            [0; 10]
        };
        assert_eq!(bytes, expected, "node {node}");
    }
}

pub(super) fn puts_of_one_port_arrive_in_order<B: Bench>(bench: &mut B) {
    let mut port = buffer_sender_port(bench, 1);
    let at = GlobalAddress::new(Block::Descriptors, NodeId(1));
    let set = NodeSet::only(NodeId(3));
    let tickets: Vec<Ticket> = (1..=20u8)
        .map(|value| port.xfer_and_signal(&set, at, &[value; 3], None))
        .collect();
    for ticket in tickets {
        assert_eq!(settle(bench, &mut port, ticket), Event::Signalled);
    }
    bench.run_until_idle();
    let mut bytes = [0; 3];
    buffer_sender_port(bench, 3).read(at, &mut bytes);
    assert_eq!(bytes, [20; 3]);
}

pub(super) fn a_put_signals_the_thread_it_names<B: Bench>(bench: &mut B) {
    let mut port = buffer_sender_port(bench, 0);
    let at = GlobalAddress::new(Block::Completions, NodeId(0));
    let set: NodeSet = [1, 2].into_iter().map(NodeId).collect();
    for _ in 0..2 {
        let ticket = port.xfer_and_signal(&set, at, b"x", Some(NicThreadId::ReduceHelper));
        assert_eq!(settle(bench, &mut port, ticket), Event::Signalled);
    }
    bench.run_until_idle();
    assert_eq!(
        bench
            .port(NodeId(1), NicThreadId::ReduceHelper)
            .signal_count(),
        2
    );
    assert_eq!(
        bench
            .port(NodeId(2), NicThreadId::ReduceHelper)
            .signal_count(),
        2
    );
    assert_eq!(
        bench
            .port(NodeId(1), NicThreadId::BufferSender)
            .signal_count(),
        0
    );
    assert_eq!(
        bench
            .port(NodeId(3), NicThreadId::ReduceHelper)
            .signal_count(),
        0
    );
}
