//! Compare-And-Write: it compares on all nodes, and writes on all or none, in one order.

use super::bench::{Bench, NODES, buffer_sender_port, compare, settle};
use crate::{CompareAndWrite, Comparison, Event, Port as _, Variable};
use bcs_core::job::{NodeId, NodeSet};

pub(super) fn a_comparison_must_hold_on_all_nodes<B: Bench>(bench: &mut B) {
    let mut port = buffer_sender_port(bench, 0);
    for node in 0..5u16 {
        buffer_sender_port(bench, node).store(Variable::Scratch(0), 10 + u64::from(node));
    }
    bench.run_until_idle();
    let all = NodeSet::first_nodes(NODES);
    let cases = [
        (all, Comparison::AtLeast, 10, true),
        (all, Comparison::AtLeast, 11, false),
        (all, Comparison::Less, 15, true),
        (all, Comparison::Less, 14, false),
        (all, Comparison::Equal, 12, false),
        (NodeSet::only(NodeId(2)), Comparison::Equal, 12, true),
        (all, Comparison::NotEqual, 9, true),
        (all, Comparison::NotEqual, 12, false),
    ];
    for (set, comparison, operand, expected) in cases {
        let ticket = port.compare_and_write(&compare(set, comparison, operand, 0));
        assert_eq!(
            settle(bench, &mut port, ticket),
            Event::Verdict(expected),
            "{comparison:?} {operand}"
        );
    }
}

pub(super) fn a_false_comparison_writes_nothing<B: Bench>(bench: &mut B) {
    let mut port = buffer_sender_port(bench, 0);
    let all = NodeSet::first_nodes(NODES);
    buffer_sender_port(bench, 4).store(Variable::Scratch(0), 1);
    bench.run_until_idle();
    let ticket = port.compare_and_write(&compare(all, Comparison::Equal, 0, 77));
    assert_eq!(settle(bench, &mut port, ticket), Event::Verdict(false));
    let written = |bench: &mut B| -> Vec<u64> {
        bench.run_until_idle();
        (0..5)
            .map(|node| buffer_sender_port(bench, node).load(Variable::Scratch(1)))
            .collect()
    };
    assert_eq!(written(bench), [0; 5]);
    let three = NodeSet::first_nodes(3);
    let ticket = port.compare_and_write(&compare(three, Comparison::Equal, 0, 77));
    assert_eq!(settle(bench, &mut port, ticket), Event::Verdict(true));
    assert_eq!(written(bench), [77, 77, 77, 0, 0]);
}

pub(super) fn one_that_waits_is_true_in_the_end<B: Bench>(bench: &mut B) {
    let mut port = buffer_sender_port(bench, 0);
    let what = CompareAndWrite {
        wait: true,
        ..compare(NodeSet::first_nodes(NODES), Comparison::AtLeast, 1, 5)
    };
    let ticket = port.compare_and_write(&what);
    for node in 0..5u16 {
        for _ in 0..20 {
            bench.step();
        }
        assert_eq!(
            port.test_event(ticket),
            Event::Pending,
            "before node {node}"
        );
        buffer_sender_port(bench, node).store_and_report(Variable::Scratch(0), 1);
    }
    assert_eq!(settle(bench, &mut port, ticket), Event::Verdict(true));
    bench.run_until_idle();
    assert_eq!(buffer_sender_port(bench, 3).load(Variable::Scratch(1)), 5);
}

pub(super) fn concurrent_writes_leave_one_value<B: Bench>(bench: &mut B) {
    let all = NodeSet::first_nodes(NODES);
    for round in 1..=20u64 {
        let mut asked: Vec<_> = (0..5u16)
            .map(|node| {
                let mut port = buffer_sender_port(bench, node);
                let value = round * 100 + u64::from(node);
                let ticket = port.compare_and_write(&compare(all, Comparison::AtLeast, 0, value));
                (port, ticket)
            })
            .collect();
        for (port, ticket) in &mut asked {
            assert_eq!(settle(bench, port, *ticket), Event::Verdict(true));
        }
        bench.run_until_idle();
        let values: Vec<u64> = (0..5)
            .map(|node| buffer_sender_port(bench, node).load(Variable::Scratch(1)))
            .collect();
        assert!(
            values.iter().all(|&value| value == values[0]),
            "nodes disagree: {values:?}"
        );
        assert_eq!(values[0] / 100, round);
    }
}
