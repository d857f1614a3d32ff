//! The laws of the three primitives, written once and kept by every fabric.
//!
//! A fabric's tests implement [`Bench`] and call [`check_all`]. The laws are those of the
//! paper's section 2: Xfer-And-Signal puts to all nodes of a set or to none and signals, in
//! order; Compare-And-Write compares on all nodes and writes on all or none; concurrent ones
//! leave every node with the same value.

use super::{
    Block, CompareAndWrite, Comparison, DestinationSpan, Event, FabricError, GlobalAddress, Port,
    SourceSpan, Ticket, Variable,
};
use crate::descriptor::Payload;
use crate::job::{NicThreadId, NodeId, NodeSet};
use crate::layout::Location;

/// A fabric under test.
trait Bench {
    /// Its ports.
    type Port: Port;
    /// A port of this node's NIC thread.
    fn port(&mut self, node: NodeId, thread: NicThreadId) -> Self::Port;
    /// The port of the Strobe Sender.
    fn strobe_sender(&mut self) -> Self::Port;
    /// Lets the fabric make progress: virtual time passes, the sequencer runs.
    fn step(&mut self);
    /// Lets it make progress until nothing is under way: what nodes have stored is known where it is compared.
    fn rest(&mut self) {
        self.step();
    }
    /// The address of [`REMEMBERED`] in the memory of rank 0, which is on node 0.
    fn remembered(&self) -> u64;
}

/// What rank 0 has in its memory.
static REMEMBERED: [u8; 100] = [42; 100];

const NODES: usize = 5;
const STEPS: usize = 1_000;

fn settle<B: Bench>(bench: &mut B, port: &mut B::Port, ticket: Ticket) -> Event {
    for _ in 0..STEPS {
        match port.test_event(ticket) {
            Event::Pending => bench.step(),
            event => return event,
        }
    }
    panic!("an operation stayed pending for {STEPS} steps");
}

fn bs<B: Bench>(bench: &mut B, node: u16) -> B::Port {
    bench.port(NodeId(node), NicThreadId::BufferSender)
}

/// Checks every law on fresh fabrics of five nodes.
fn check_all<B: Bench>(mut make: impl FnMut(usize) -> B) {
    a_put_reaches_the_whole_set_and_nobody_else(&mut make(NODES));
    puts_of_one_port_arrive_in_order(&mut make(NODES));
    a_put_signals_the_thread_it_names(&mut make(NODES));
    what_is_sent_ahead_comes_once_in_order_and_before_later_puts(&mut make(NODES));
    a_comparison_must_hold_on_all_nodes(&mut make(NODES));
    a_false_comparison_writes_nothing(&mut make(NODES));
    one_that_waits_is_true_in_the_end(&mut make(NODES));
    concurrent_writes_leave_one_value(&mut make(NODES));
    a_verdict_shows_what_came_before_it(&mut make(NODES));
    a_put_shows_what_was_decided_before_it(&mut make(NODES));
    a_strobe_shows_what_was_put_before_the_reports_that_it_follows(&mut make(NODES));
    a_strobe_shows_what_was_written_before_it(&mut make(NODES));
    a_comparison_sees_what_its_asker_has_stored(&mut make(NODES));
    a_get_of_what_is_not_there_says_so(&mut make(NODES));
    a_fetch_fills_its_buffer(&mut make(NODES));
    a_fetch_of_what_is_not_there_gives_its_buffer_back(&mut make(NODES));
}

fn a_put_reaches_the_whole_set_and_nobody_else<B: Bench>(bench: &mut B) {
    let mut port = bs(bench, 0);
    let at = GlobalAddress::new(Block::Descriptors, NodeId(0)).plus(24);
    let set: NodeSet = [0, 2, 4].into_iter().map(NodeId).collect();
    let ticket = port.xfer_and_signal(&set, at, b"descriptor", None);
    assert_eq!(settle(bench, &mut port, ticket), Event::Signalled);
    bench.rest();
    for node in 0..5u16 {
        let mut bytes = [0; 10];
        bs(bench, node).read(at, &mut bytes);
        let expected = if node.is_multiple_of(2) {
            *b"descriptor"
        } else {
            [0; 10]
        };
        assert_eq!(bytes, expected, "node {node}");
    }
}

fn puts_of_one_port_arrive_in_order<B: Bench>(bench: &mut B) {
    let mut port = bs(bench, 1);
    let at = GlobalAddress::new(Block::Descriptors, NodeId(1));
    let set = NodeSet::only(NodeId(3));
    let tickets: Vec<Ticket> = (1..=20u8)
        .map(|value| port.xfer_and_signal(&set, at, &[value; 3], None))
        .collect();
    for ticket in tickets {
        assert_eq!(settle(bench, &mut port, ticket), Event::Signalled);
    }
    bench.rest();
    let mut bytes = [0; 3];
    bs(bench, 3).read(at, &mut bytes);
    assert_eq!(bytes, [20; 3]);
}

/// As far as there are far nodes.
fn what_is_sent_ahead_comes_once_in_order_and_before_later_puts<B: Bench>(bench: &mut B) {
    const ROUNDS: u64 = 20;
    for from in 0..5u16 {
        for to in bs(bench, from).far().iter().collect::<Vec<_>>() {
            let at = GlobalAddress::new(Block::Descriptors, NodeId(from));
            let mut come: Vec<u64> = Vec::new();
            let mut take = |bench: &mut B| {
                let mut receiver = bench.port(to, NicThreadId::BufferReceiver);
                let mut words = Vec::new();
                while let Some(node) = receiver.take_ahead(&mut words) {
                    assert_eq!(node, NodeId(from));
                    come.append(&mut words);
                }
                let mut put = [0; 8];
                receiver.read(at, &mut put);
                let put = u64::from_le_bytes(put);
                assert!(come.len() as u64 >= put, "a PUT overtakes what went ahead");
            };
            for round in 1..=ROUNDS {
                let mut port = bs(bench, from);
                port.send_ahead(to, &[round]);
                let set = NodeSet::only(to);
                let ticket = port.xfer_and_signal(&set, at, &round.to_le_bytes(), None);
                take(bench);
                assert_eq!(settle(bench, &mut port, ticket), Event::Signalled);
            }
            bench.rest();
            take(bench);
            assert_eq!(come, (1..=ROUNDS).collect::<Vec<_>>());
        }
    }
}

fn a_put_signals_the_thread_it_names<B: Bench>(bench: &mut B) {
    let mut port = bs(bench, 0);
    let at = GlobalAddress::new(Block::Completions, NodeId(0));
    let set: NodeSet = [1, 2].into_iter().map(NodeId).collect();
    for _ in 0..2 {
        let ticket = port.xfer_and_signal(&set, at, b"x", Some(NicThreadId::ReduceHelper));
        assert_eq!(settle(bench, &mut port, ticket), Event::Signalled);
    }
    bench.rest();
    assert_eq!(
        bench.port(NodeId(1), NicThreadId::ReduceHelper).signals(),
        2
    );
    assert_eq!(
        bench.port(NodeId(2), NicThreadId::ReduceHelper).signals(),
        2
    );
    assert_eq!(
        bench.port(NodeId(1), NicThreadId::BufferSender).signals(),
        0
    );
    assert_eq!(
        bench.port(NodeId(3), NicThreadId::ReduceHelper).signals(),
        0
    );
}

fn compare(set: NodeSet, comparison: Comparison, operand: u64, write: u64) -> CompareAndWrite {
    CompareAndWrite {
        set,
        variable: Variable::Scratch(0),
        comparison,
        operand,
        write: Some((Variable::Scratch(1), write)),
        wait: false,
    }
}

fn a_comparison_must_hold_on_all_nodes<B: Bench>(bench: &mut B) {
    let mut port = bs(bench, 0);
    for node in 0..5u16 {
        bs(bench, node).store(Variable::Scratch(0), 10 + u64::from(node));
    }
    bench.rest();
    let all = NodeSet::first(NODES);
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

fn a_false_comparison_writes_nothing<B: Bench>(bench: &mut B) {
    let mut port = bs(bench, 0);
    let all = NodeSet::first(NODES);
    bs(bench, 4).store(Variable::Scratch(0), 1);
    bench.rest();
    let ticket = port.compare_and_write(&compare(all, Comparison::Equal, 0, 77));
    assert_eq!(settle(bench, &mut port, ticket), Event::Verdict(false));
    let written = |bench: &mut B| -> Vec<u64> {
        bench.rest();
        (0..5)
            .map(|node| bs(bench, node).load(Variable::Scratch(1)))
            .collect()
    };
    assert_eq!(written(bench), [0; 5]);
    let three = NodeSet::first(3);
    let ticket = port.compare_and_write(&compare(three, Comparison::Equal, 0, 77));
    assert_eq!(settle(bench, &mut port, ticket), Event::Verdict(true));
    assert_eq!(written(bench), [77, 77, 77, 0, 0]);
}

fn one_that_waits_is_true_in_the_end<B: Bench>(bench: &mut B) {
    let mut port = bs(bench, 0);
    let what = CompareAndWrite {
        wait: true,
        ..compare(NodeSet::first(NODES), Comparison::AtLeast, 1, 5)
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
        bs(bench, node).report(Variable::Scratch(0), 1);
    }
    assert_eq!(settle(bench, &mut port, ticket), Event::Verdict(true));
    bench.rest();
    assert_eq!(bs(bench, 3).load(Variable::Scratch(1)), 5);
}

fn concurrent_writes_leave_one_value<B: Bench>(bench: &mut B) {
    let all = NodeSet::first(NODES);
    for round in 1..=20u64 {
        let mut asked: Vec<_> = (0..5u16)
            .map(|node| {
                let mut port = bs(bench, node);
                let value = round * 100 + u64::from(node);
                let ticket = port.compare_and_write(&compare(all, Comparison::AtLeast, 0, value));
                (port, ticket)
            })
            .collect();
        for (port, ticket) in &mut asked {
            assert_eq!(settle(bench, port, *ticket), Event::Verdict(true));
        }
        bench.rest();
        let values: Vec<u64> = (0..5)
            .map(|node| bs(bench, node).load(Variable::Scratch(1)))
            .collect();
        assert!(
            values.iter().all(|&value| value == values[0]),
            "nodes disagree: {values:?}"
        );
        assert_eq!(values[0] / 100, round);
    }
}

fn a_verdict_shows_what_came_before_it<B: Bench>(bench: &mut B) {
    let at = GlobalAddress::new(Block::Credits, NodeId(2));
    let mut sender = bs(bench, 2);
    let mut reader = bs(bench, 1);
    let set = NodeSet::only(NodeId(1));
    let put = sender.xfer_and_signal(&set, at, b"before", None);
    assert_eq!(settle(bench, &mut sender, put), Event::Signalled);
    sender.report(Variable::Scratch(0), 1);
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

fn a_put_shows_what_was_decided_before_it<B: Bench>(bench: &mut B) {
    let all = NodeSet::first(NODES);
    let pairs = (0..5u16).flat_map(|from| (0..5u16).map(move |to| (from, to)));
    for (value, (from, to)) in (1..).zip(pairs) {
        let mut port = bs(bench, from);
        let ticket = port.compare_and_write(&compare(all, Comparison::AtLeast, 0, value));
        assert_eq!(settle(bench, &mut port, ticket), Event::Verdict(true));
        let at = GlobalAddress::new(Block::Credits, NodeId(from));
        let reader = bench.port(NodeId(to), NicThreadId::CollectiveHelper);
        let before = reader.signals();
        let set = NodeSet::only(NodeId(to));
        let put = port.xfer_and_signal(&set, at, b"after", Some(NicThreadId::CollectiveHelper));
        for _ in 0..STEPS {
            if reader.signals() != before {
                break;
            }
            bench.step();
        }
        let found = reader.load(Variable::Scratch(1));
        assert_eq!(found, value, "node {to} after a PUT of node {from}");
        assert_eq!(settle(bench, &mut port, put), Event::Signalled);
    }
}

/// What the microphases of a slice live by: what nodes put to each other in one is there in the next.
fn a_strobe_shows_what_was_put_before_the_reports_that_it_follows<B: Bench>(bench: &mut B) {
    let all = NodeSet::first(NODES);
    let lane = |from: u16| GlobalAddress::new(Block::Credits, NodeId(from));
    let strobe = GlobalAddress::new(Block::Strobe, NodeId(0));
    for step in 1..=20u64 {
        for from in 0..5u16 {
            let mut port = bs(bench, from);
            let put = port.xfer_and_signal(&all, lane(from), &step.to_le_bytes(), None);
            assert_eq!(settle(bench, &mut port, put), Event::Signalled);
            port.report(Variable::Scratch(0), step);
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
            for _ in 0..STEPS {
                if receiver.signals() == step {
                    break;
                }
                bench.step();
            }
            assert_eq!(receiver.signals(), step);
            for from in 0..5u16 {
                let mut bytes = [0; 8];
                receiver.read(lane(from), &mut bytes);
                let found = u64::from_le_bytes(bytes);
                assert_eq!(found, step, "node {node} has the PUT of node {from}");
            }
        }
    }
}

/// What the nodes of a microphase live by: what the Strobe Sender tells them is later than what was decided before.
fn a_strobe_shows_what_was_written_before_it<B: Bench>(bench: &mut B) {
    let all = NodeSet::first(NODES);
    let strobe = GlobalAddress::new(Block::Strobe, NodeId(0));
    for step in 1..=20u64 {
        let asker = u16::try_from(step % 5).expect("a node");
        let mut port = bs(bench, asker);
        let ticket = port.compare_and_write(&compare(all, Comparison::AtLeast, 0, step));
        assert_eq!(settle(bench, &mut port, ticket), Event::Verdict(true));
        let mut sender = bench.strobe_sender();
        let bytes = step.to_le_bytes();
        let thread = Some(NicThreadId::StrobeReceiver);
        let _put = sender.xfer_and_signal(&all, strobe, &bytes, thread);
        // Whoever is struck first has it as well.
        let mut struck = [false; NODES];
        for _ in 0..STEPS {
            for node in 0..5u16 {
                let receiver = bench.port(NodeId(node), NicThreadId::StrobeReceiver);
                if receiver.signals() == step {
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

/// Whichever node asks, and whatever others below it or above it in a tree have or have not said.
fn a_comparison_sees_what_its_asker_has_stored<B: Bench>(bench: &mut B) {
    for step in 1..=10u64 {
        for node in 0..5u16 {
            let mut port = bs(bench, node);
            let ours = NodeSet::only(NodeId(node));
            port.store(Variable::Scratch(0), step * 10);
            port.report(Variable::Scratch(0), step);
            let ticket = port.compare_and_write(&compare(ours, Comparison::Equal, step, step));
            let verdict = settle(bench, &mut port, ticket);
            assert_eq!(verdict, Event::Verdict(true), "node {node}");
        }
    }
}

fn a_fetch_fills_its_buffer<B: Bench>(bench: &mut B) {
    let address = bench.remembered();
    for node in [0, 3] {
        let mut port = bs(bench, node);
        let tickets: Vec<Ticket> = (1..10)
            .map(|len| port.fetch(0, address + 7, vec![0; len * 10]))
            .collect();
        for (len, ticket) in (1..10).zip(tickets).rev() {
            assert_eq!(settle(bench, &mut port, ticket), Event::Signalled);
            assert_eq!(port.fetched(ticket), REMEMBERED[7..7 + len * 10]);
        }
    }
}

/// Several at once: of bytes that are few, many are in a datagram.
fn a_get_of_what_is_not_there_says_so<B: Bench>(bench: &mut B) {
    let from = SourceSpan {
        rank: 0,
        payload: Payload::Memory(Location::at(u64::MAX - 4096)),
        offset: 0,
        len: 50,
    };
    let to = DestinationSpan {
        rank: 0,
        into: Location::at(bench.remembered()),
        offset: 0,
    };
    let mut port = bs(bench, 2);
    let tickets: Vec<Ticket> = (0..5).map(|_| port.get(from, to)).collect();
    for ticket in tickets {
        let told = settle(bench, &mut port, ticket);
        assert_eq!(told, Event::Failed(FabricError::SourceMemory));
    }
}

fn a_fetch_of_what_is_not_there_gives_its_buffer_back<B: Bench>(bench: &mut B) {
    let mut port = bs(bench, 2);
    let ticket = port.fetch(0, u64::MAX - 4096, vec![1; 50]);
    let missing = Event::Failed(FabricError::SourceMemory);
    assert_eq!(settle(bench, &mut port, ticket), missing);
    assert_eq!(port.fetched(ticket).len(), 50);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::shm::{Bells, Colocated, NodeMemory, Segment, Sequencer, ShmPort};
    use crate::fabric::sim::{Faults, Latencies, Network, RankStore, Ranks, SimPort};
    use crate::fabric::udp::UdpPort;
    use crate::fabric::udp::cluster::Cluster;
    use crate::fabric::udp::wire::WireFaults;
    use crate::job::Placement;
    use crate::limits::FAN_OUT;
    use crate::memory::{GuardedBytes, NicMemory};
    use std::cell::RefCell;
    use std::rc::Rc;
    use std::sync::Arc;

    struct ShmBench {
        segment: Segment,
        bells: Bells,
        sequencer: Sequencer,
        colocated: Option<Colocated>,
    }

    impl Bench for ShmBench {
        type Port = ShmPort;
        fn port(&mut self, node: NodeId, thread: NicThreadId) -> ShmPort {
            let memory = NodeMemory::new(self.segment.clone(), Arc::new(Vec::new()));
            ShmPort::new(
                self.segment.clone(),
                self.bells.clone(),
                memory,
                node,
                thread,
            )
            .colocated(self.colocated.clone())
        }
        fn strobe_sender(&mut self) -> ShmPort {
            let memory = NodeMemory::new(self.segment.clone(), Arc::new(Vec::new()));
            ShmPort::strobe_sender(self.segment.clone(), self.bells.clone(), memory)
                .colocated(self.colocated.clone())
        }
        fn step(&mut self) {
            self.sequencer.poll();
        }
        fn remembered(&self) -> u64 {
            REMEMBERED.as_ptr().expose_provenance() as u64
        }
    }

    fn shm_keeps_the_laws_with(colocated: impl Fn(usize) -> Option<Colocated>) {
        check_all(|nodes| {
            let segment = Segment::private(nodes, 1).unwrap();
            let pid = segment.pid(0).unwrap();
            pid.store(std::process::id(), std::sync::atomic::Ordering::Release);
            let bells = Bells::default();
            let sequencer = Sequencer::new(segment.clone(), bells.clone());
            ShmBench {
                segment,
                bells,
                sequencer,
                colocated: colocated(nodes),
            }
        });
    }

    #[test]
    fn shm_keeps_the_laws() {
        shm_keeps_the_laws_with(|_| None);
    }

    #[test]
    fn shm_keeps_the_laws_where_one_thread_has_all_ports() {
        shm_keeps_the_laws_with(|nodes| Some(Colocated::new(nodes)));
    }

    struct UdpBench(Cluster);

    impl Bench for UdpBench {
        type Port = UdpPort;
        fn port(&mut self, node: NodeId, thread: NicThreadId) -> UdpPort {
            let party = self.0.party_of(node);
            let memory = NodeMemory::new(party.segment.clone(), Arc::new(Vec::new()));
            party.port(node, thread, memory)
        }
        fn strobe_sender(&mut self) -> UdpPort {
            let party = self.0.party_of(NodeId(0));
            let memory = NodeMemory::new(party.segment.clone(), Arc::new(Vec::new()));
            party.strobe_sender(memory)
        }
        fn step(&mut self) {
            // Of what is lost again and again some gets through within a thousand of these.
            self.0.advance(self.0.now_ns() + 3_000_000);
        }
        fn rest(&mut self) {
            assert!(self.0.rest(10_000_000_000), "it does not come to rest");
        }
        fn remembered(&self) -> u64 {
            REMEMBERED.as_ptr().expose_provenance() as u64
        }
    }

    /// Machines, their processes, and the nodes of these.
    fn machines() -> Vec<Vec<Vec<Vec<NodeId>>>> {
        let layouts: [&[&[&[u16]]]; 7] = [
            &[&[&[0]], &[&[1]], &[&[2]], &[&[3]], &[&[4]]],
            &[&[&[0, 3]], &[&[1, 2]], &[&[4]]],
            &[&[&[4]], &[&[0, 1, 2, 3]]],
            &[&[&[0], &[1], &[2]], &[&[3], &[4]]],
            &[&[&[3], &[1]], &[&[4, 0], &[2]]],
            &[&[&[1], &[0]], &[&[2], &[3]], &[&[4]]],
            &[&[&[4], &[2]], &[&[0]], &[&[1], &[3]]],
        ];
        let process = |of: &&[u16]| of.iter().copied().map(NodeId).collect();
        let machine = |of: &&[&[u16]]| of.iter().map(process).collect();
        let layout = |of: &&[&[&[u16]]]| of.iter().map(machine).collect();
        layouts.iter().map(layout).collect()
    }

    fn cluster(
        nodes: usize,
        (machines, fan_out): (&[Vec<Vec<NodeId>>], usize),
        faults: WireFaults,
        seed: u64,
    ) -> Cluster {
        let placement = Placement::block(nodes, nodes).unwrap();
        let none = Arc::new(Vec::new());
        let cluster = Cluster::new(&placement, machines, fan_out, &none, faults, seed).unwrap();
        for party in cluster.parties() {
            let pid = party.segment.pid(0).unwrap();
            pid.store(std::process::id(), std::sync::atomic::Ordering::Release);
        }
        cluster
    }

    /// A network that loses and repeats some datagrams and lets others overtake.
    const BAD: WireFaults = WireFaults {
        loss: 50,
        repetition: 50,
        jitter_ns: 5_000_000,
        cut: (0, 0),
        until_ns: u64::MAX,
    };

    #[test]
    fn udp_keeps_the_laws() {
        let faults = [
            WireFaults::default(),
            BAD,
            WireFaults {
                loss: 300,
                until_ns: u64::MAX,
                ..WireFaults::default()
            },
        ];
        for (seed, faults) in (0..).zip(faults.into_iter().cycle().take(12)) {
            for machines in machines() {
                // A chain where there are machines enough, a tree, and a star.
                for fan_out in [1, 2, FAN_OUT] {
                    let tree = (&machines[..], fan_out);
                    check_all(|nodes| UdpBench(cluster(nodes, tree, faults, seed)));
                }
            }
        }
    }

    /// What strangers send that see all datagrams, and do not have the key, changes nothing. `BCS_STRANGERS` says how
    /// many datagrams they send at least.
    #[test]
    fn udp_keeps_the_laws_among_strangers() {
        let most = std::env::var("BCS_STRANGERS").map_or(100_000, |most| most.parse().unwrap());
        let mut seeds = 0..;
        let mut forged = 0;
        while forged < most {
            let seed = seeds.next().unwrap();
            let faults = [WireFaults::default(), BAD][usize::from(seed % 2 == 1)];
            let fan_out = [1, 2, FAN_OUT][usize::try_from(seed % 3).unwrap()];
            for machines in machines() {
                let benches = RefCell::new(0);
                check_all(|nodes| {
                    let cluster = cluster(nodes, (&machines, fan_out), faults, seed);
                    let cluster = cluster.besieged(seed, 40);
                    Besieged(UdpBench(cluster), &benches)
                });
                forged += benches.into_inner();
            }
        }
        println!("{forged} datagrams of strangers, of {} seeds", seeds.start);
    }

    /// Counts what strangers have sent.
    struct Besieged<'a>(UdpBench, &'a RefCell<u64>);

    impl Bench for Besieged<'_> {
        type Port = UdpPort;
        fn port(&mut self, node: NodeId, thread: NicThreadId) -> UdpPort {
            self.0.port(node, thread)
        }
        fn strobe_sender(&mut self) -> UdpPort {
            self.0.strobe_sender()
        }
        fn step(&mut self) {
            self.0.step();
        }
        fn rest(&mut self) {
            self.0.rest();
        }
        fn remembered(&self) -> u64 {
            self.0.remembered()
        }
    }

    impl Drop for Besieged<'_> {
        fn drop(&mut self) {
            let siege = self.0.0.siege().expect("there are strangers");
            *self.1.borrow_mut() += siege.forged();
        }
    }

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
        fn remembered(&self) -> u64 {
            64
        }
    }

    fn rank() -> RankStore {
        let mut bytes = GuardedBytes::new(64 + REMEMBERED.len()).unwrap();
        bytes[64..].copy_from_slice(&REMEMBERED);
        RankStore {
            nic: NicMemory::private(0).unwrap(),
            bytes,
            start: 0,
            node: NodeId(0),
        }
    }

    #[test]
    fn sim_keeps_the_laws() {
        let faults = [
            Faults::default(),
            Faults {
                delay: (0.5, 50_000),
                until_ns: u64::MAX,
                ..Faults::default()
            },
            Faults {
                reorder_ns: 30_000,
                until_ns: u64::MAX,
                ..Faults::default()
            },
            Faults {
                slow: vec![(NodeId(1), 7)],
                until_ns: u64::MAX,
                ..Faults::default()
            },
        ];
        for faults in faults {
            for seed in 0..20 {
                check_all(|nodes| {
                    let latencies = Latencies::default();
                    let network = Network::new(
                        nodes,
                        Ranks::Scripted(Rc::new(RefCell::new(vec![rank()]))),
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
        let faults = Faults {
            lose: 1.0,
            until_ns: u64::MAX,
            ..Faults::default()
        };
        let network = Network::new(
            3,
            Ranks::Scripted(Rc::default()),
            Latencies::default(),
            faults,
            1,
        );
        let mut bench = SimBench(Rc::new(RefCell::new(network)));
        let mut port = bs(&mut bench, 0);
        let at = GlobalAddress::new(Block::Descriptors, NodeId(0));
        let ticket = port.xfer_and_signal(&NodeSet::first(3), at, b"lost", None);
        let lost = Event::Failed(crate::fabric::FabricError::Lost);
        assert_eq!(settle(&mut bench, &mut port, ticket), lost);
        for node in 0..3u16 {
            let mut bytes = [0; 4];
            bs(&mut bench, node).read(at, &mut bytes);
            assert_eq!(bytes, [0; 4]);
        }
    }

    /// The same laws with the sequencer on an OS thread of its own: the verdicts race.
    #[test]
    fn shm_totally_orders_racing_compare_and_writes() {
        let segment = Segment::private(4, 0).unwrap();
        let stop = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let sequencing = std::thread::spawn({
            let (segment, stop) = (segment.clone(), stop.clone());
            move || {
                let mut sequencer = Sequencer::new(segment, Bells::default());
                while !stop.load(std::sync::atomic::Ordering::Acquire) {
                    if !sequencer.poll() {
                        std::thread::yield_now();
                    }
                }
            }
        });
        // Four nodes race to move one replicated counter by one: each step has one winner.
        let winners: Vec<u64> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4u16)
                .map(|node| {
                    let segment = segment.clone();
                    scope.spawn(move || {
                        let memory = NodeMemory::new(segment.clone(), Arc::new(Vec::new()));
                        let thread = NicThreadId::BufferReceiver;
                        let bells = Bells::default();
                        let mut port = ShmPort::new(segment, bells, memory, NodeId(node), thread);
                        let mut won = 0;
                        for step in 0..500 {
                            let ticket = port.compare_and_write(&CompareAndWrite {
                                set: NodeSet::first(4),
                                variable: Variable::Scratch(2),
                                comparison: Comparison::Equal,
                                operand: step,
                                write: Some((Variable::Scratch(2), step + 1)),
                                wait: false,
                            });
                            let verdict = loop {
                                match port.test_event(ticket) {
                                    Event::Pending => std::thread::yield_now(),
                                    event => break event,
                                }
                            };
                            won += u64::from(verdict == Event::Verdict(true));
                        }
                        won
                    })
                })
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        });
        stop.store(true, std::sync::atomic::Ordering::Release);
        sequencing.join().unwrap();
        let reached = segment_value(&segment);
        assert_eq!(
            winners.iter().sum::<u64>(),
            reached,
            "every step of the counter has one winner"
        );
    }

    fn segment_value(segment: &Segment) -> u64 {
        let memory = NodeMemory::new(segment.clone(), Arc::new(Vec::new()));
        let thread = NicThreadId::BufferReceiver;
        let bells = Bells::default();
        let port = ShmPort::new(segment.clone(), bells, memory, NodeId(0), thread);
        port.load(Variable::Scratch(2))
    }
}
