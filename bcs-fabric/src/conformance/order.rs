//! The order of operations: a verdict, a PUT and a strobe show what came before them.

use super::bench::{Bench, MAX_STEPS, NODES, buffer_sender_port, compare, settle};
use crate::{Block, CompareAndWrite, Comparison, Event, GlobalAddress, Port as _, Variable};
use bcs_core::job::{NicThreadId, NodeId, NodeSet};

pub(super) fn a_verdict_shows_what_came_before_it<B: Bench>(bench: &mut B) {
    let at = GlobalAddress::new(Block::Credits, NodeId(2));
    let mut sender = buffer_sender_port(bench, 2);
    let mut reader = buffer_sender_port(bench, 1);
    let set = NodeSet::only(NodeId(1));
    let put = sender.xfer_and_signal(&set, at, b"before", None);
    assert_eq!(settle(bench, &mut sender, put), Event::Signalled);
    sender.store_and_report(Variable::Scratch(0), 1);
    let what = CompareAndWrite {
        set: NodeSet::only(NodeId(2)),
        wait: true,
        ..compare(set, Comparison::AtLeast, 1, 0)
    };
    let ticket = reader.compare_and_write(&what);
    assert_eq!(settle(bench, &mut reader, ticket), Event::Verdict(true));
    let mut bytes = [0; 6];
    reader.read(at, &mut bytes);
    assert_eq!(&bytes, b"before");
}

pub(super) fn a_put_shows_what_was_decided_before_it<B: Bench>(bench: &mut B) {
    let all = NodeSet::first_nodes(NODES);
    let pairs = (0..5u16).flat_map(|from| (0..5u16).map(move |to| (from, to)));
    for (value, (from, to)) in (1..).zip(pairs) {
        let mut port = buffer_sender_port(bench, from);
        let ticket = port.compare_and_write(&compare(all, Comparison::AtLeast, 0, value));
        assert_eq!(settle(bench, &mut port, ticket), Event::Verdict(true));
        let at = GlobalAddress::new(Block::Credits, NodeId(from));
        let reader = bench.port(NodeId(to), NicThreadId::CollectiveHelper);
        let before = reader.signal_count();
        let set = NodeSet::only(NodeId(to));
        let put = port.xfer_and_signal(&set, at, b"after", Some(NicThreadId::CollectiveHelper));
        for _ in 0..MAX_STEPS {
            if reader.signal_count() != before {
                break;
            }
            bench.step();
        }
        let found = reader.load(Variable::Scratch(1));
        assert_eq!(found, value, "node {to} after a PUT of node {from}");
        assert_eq!(settle(bench, &mut port, put), Event::Signalled);
    }
}

/// The microphases of a slice rely on this: what nodes put to each other in one is there in the
/// next.
pub(super) fn a_strobe_shows_what_was_put_before_the_reports_that_it_follows<B: Bench>(
    bench: &mut B,
) {
    let all = NodeSet::first_nodes(NODES);
    let lane = |from: u16| GlobalAddress::new(Block::Credits, NodeId(from));
    let strobe = GlobalAddress::new(Block::Strobe, NodeId(0));
    for step in 1..=20u64 {
        for from in 0..5u16 {
            let mut port = buffer_sender_port(bench, from);
            let put = port.xfer_and_signal(&all, lane(from), &step.to_le_bytes(), None);
            assert_eq!(settle(bench, &mut port, put), Event::Signalled);
            port.store_and_report(Variable::Scratch(0), step);
        }
        let mut sender = bench.strobe_sender();
        let finished = sender.compare_and_write(&CompareAndWrite {
            wait: true,
            write: None,
            ..compare(all, Comparison::AtLeast, step, 0)
        });
        assert_eq!(settle(bench, &mut sender, finished), Event::Verdict(true));
        let _put = sender.xfer_and_signal(
            &all,
            strobe,
            &step.to_le_bytes(),
            Some(NicThreadId::StrobeReceiver),
        );
        for node in 0..5u16 {
            let receiver = bench.port(NodeId(node), NicThreadId::StrobeReceiver);
            for _ in 0..MAX_STEPS {
                if receiver.signal_count() == step {
                    break;
                }
                bench.step();
            }
            assert_eq!(receiver.signal_count(), step);
            for from in 0..5u16 {
                let mut bytes = [0; 8];
                receiver.read(lane(from), &mut bytes);
                let found = u64::from_le_bytes(bytes);
                assert_eq!(found, step, "node {node} has the PUT of node {from}");
            }
        }
    }
}

/// The nodes of a microphase rely on this: a message of the Strobe Sender comes after what was
/// decided before.
pub(super) fn a_strobe_shows_what_was_written_before_it<B: Bench>(bench: &mut B) {
    let all = NodeSet::first_nodes(NODES);
    let strobe = GlobalAddress::new(Block::Strobe, NodeId(0));
    for step in 1..=20u64 {
        let asker = u16::try_from(step % 5).expect("a node");
        let mut port = buffer_sender_port(bench, asker);
        let ticket = port.compare_and_write(&compare(all, Comparison::AtLeast, 0, step));
        assert_eq!(settle(bench, &mut port, ticket), Event::Verdict(true));
        let mut sender = bench.strobe_sender();
        let bytes = step.to_le_bytes();
        let thread = Some(NicThreadId::StrobeReceiver);
        let _put = sender.xfer_and_signal(&all, strobe, &bytes, thread);
        // The first node that gets the strobe has it as well.
        let mut struck = [false; NODES];
        for _ in 0..MAX_STEPS {
            for node in 0..5u16 {
                let receiver = bench.port(NodeId(node), NicThreadId::StrobeReceiver);
                if receiver.signal_count() == step {
                    struck[usize::from(node)] = true;
                    let found = receiver.load(Variable::Scratch(1));
                    assert_eq!(found, step, "node {node} is struck");
                }
            }
            if struck == [true; NODES] {
                break;
            }
            bench.step();
        }
        assert_eq!(struck, [true; NODES]);
    }
}

/// This holds for each node, whatever others below it or above it in a tree have sent.
pub(super) fn a_comparison_sees_what_its_asker_has_stored<B: Bench>(bench: &mut B) {
    for step in 1..=10u64 {
        for node in 0..5u16 {
            let mut port = buffer_sender_port(bench, node);
            let ours = NodeSet::only(NodeId(node));
            port.store(Variable::Scratch(0), step * 10);
            port.store_and_report(Variable::Scratch(0), step);
            let ticket = port.compare_and_write(&compare(ours, Comparison::Equal, step, step));
            let verdict = settle(bench, &mut port, ticket);
            assert_eq!(verdict, Event::Verdict(true), "node {node}");
        }
    }
}
