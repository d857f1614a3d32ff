//! Measures the costs of the three primitives on each fabric: Table 2.1 of the BCS-MPI paper.
//!
//! On `shm` the primitives are called like NIC threads call them. Either one OS thread makes all
//! calls (the `shared` driver, where the caller decides a Compare-And-Write), or two OS threads do
//! that spin on a core each (the other drivers, where the sequencer is on another OS thread). If an
//! OS thread sleeps, the kernel's wake-up comes on top. On `sim` time is virtual. On [`udp`] there
//! are hosts.

mod udp;

pub use udp::udp;

use std::cell::RefCell;
use std::hint::{black_box, spin_loop};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use bcs_core::job::{NicThreadId, NodeId, NodeSet};
use bcs_fabric::shm::{
    ColocatedPorts, PendingBells, RankMemoryAccess, Segment, Sequencer, ShmPort,
};
use bcs_fabric::sim::{FaultPlan, Latencies, Network, SimPort, SimulatedRanks};
use bcs_fabric::{
    Block, CompareAndWrite, Comparison, Event, GlobalAddress, Port, Ticket, Variable,
};

use crate::bare_pingpong::{allowed_cores, stay_on};
use crate::verdict::UnsuitableMachine;

/// The costs with a number of nodes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Costs {
    /// A Compare-And-Write on all nodes that holds and writes, until its verdict arrives.
    pub compare_and_write_us: f64,
    /// An Xfer-And-Signal of 8 bytes to all nodes, until one of them has seen the signal.
    pub transfer_us: f64,
    /// Data that arrive by long Xfer-And-Signals to all nodes, counted at each node, in MB (10^6
    /// bytes) per second.
    pub transfer_mb_per_s: f64,
    /// A Test-Event on a signalled event.
    pub test_event_us: f64,
}

/// Bytes of a long transfer: a part of the largest block, which is that of collectives.
const LONG: usize = 64 << 10;

/// The number of samples; the fastest counts. Each sample is shorter than a scheduler time slice of
/// another program, which would stop a thread and those that wait for it.
const SAMPLES: u32 = 100;

/// The port of the asking thread.
const ASKER: NicThreadId = NicThreadId::BufferReceiver;
const ANSWERER: NicThreadId = NicThreadId::DmaHelper;

/// Measures on shared memory, with one OS thread for all ports.
///
/// # Errors
///
/// There is no memory.
pub fn shm_one_thread(nodes: usize, time: Duration) -> Result<Costs> {
    let segment = segment(nodes)?;
    let colocated = ColocatedPorts::new(nodes);
    let port =
        |node: usize, thread| port(&segment, node, thread).with_colocated(Some(colocated.clone()));
    let (mut asker, last) = (port(0, ASKER), port(nodes - 1, ANSWERER));
    let all = NodeSet::first_nodes(nodes);
    let transfer_us = each_us(time, || {
        let before = last.signal_count();
        let ticket = put(&mut asker, &all, &[7; 8], Some(ANSWERER));
        assert_eq!(asker.test_event(ticket), Event::Signalled);
        assert_eq!(last.signal_count(), before + 1);
        // The port records the signalled NIC thread for its driver, which would poll it.
        while colocated.take_signalled().is_some() {}
    });
    Ok(Costs {
        compare_and_write_us: each_us(time, || {
            let ticket = asker.compare_and_write(&compare_and_write(all));
            assert_eq!(asker.test_event(ticket), Event::Verdict(true));
        }),
        transfer_us,
        transfer_mb_per_s: bandwidth(nodes, time, &mut asker),
        test_event_us: test_event_us(time, &mut asker),
    })
}

/// Measures on shared memory, with the sequencer and the signalled node on another OS thread.
///
/// # Errors
///
/// [`UnsuitableMachine`] if there is only one core: the two would wait for the kernel to switch
/// between them.
pub fn shm_two_threads(nodes: usize, time: Duration) -> Result<Costs> {
    let segment = segment(nodes)?;
    on_two_cores(|| Ok(asks(&segment, time)), |over| answer(&segment, over))
}

fn asks(segment: &Segment, time: Duration) -> Costs {
    let mut asker = port(segment, 0, ASKER);
    let nodes = segment.nodes();
    let all = NodeSet::first_nodes(nodes);
    let compare_and_write_us = each_us(time, || {
        let ticket = asker.compare_and_write(&compare_and_write(all));
        while asker.test_event(ticket) == Event::Pending {
            spin_loop();
        }
    });
    let round_trip_us = each_us(time, || {
        let before = asker.signal_count();
        put(&mut asker, &all, &[7; 8], Some(ANSWERER));
        while asker.signal_count() == before {
            spin_loop();
        }
    });
    Costs {
        compare_and_write_us,
        transfer_us: round_trip_us / 2.0,
        transfer_mb_per_s: bandwidth(nodes, time, &mut asker),
        test_event_us: test_event_us(time, &mut asker),
    }
}

/// Measures on one OS thread while another one answers until the flag is set. Both spin, each on a
/// core.
///
/// # Errors
///
/// [`UnsuitableMachine`] if there is only one core; `measure` or `answer` fails.
fn on_two_cores(
    measure: impl FnOnce() -> Result<Costs> + Send,
    answer: impl FnOnce(&AtomicBool) + Send,
) -> Result<Costs> {
    let [one, other, ..] = allowed_cores()?[..] else {
        let why = "two OS threads that spin need two cores, and there is one".to_owned();
        return Err(UnsuitableMachine(why).into());
    };
    let over = &AtomicBool::new(false);
    thread::scope(|scope| {
        let answering = scope.spawn(move || stay_on(other).map(|()| answer(over)));
        let measuring = scope.spawn(move || stay_on(one).and_then(|()| measure()));
        let costs = measuring.join();
        over.store(true, Ordering::Relaxed);
        let answered = answering.join();
        answered.ok().context("an OS thread panicked")??;
        costs.ok().context("an OS thread panicked")?
    })
}

/// Decides Compare-And-Writes on the other OS thread, and answers each signal of the last node by a
/// signal to all nodes.
fn answer(segment: &Segment, over: &AtomicBool) {
    let nodes = segment.nodes();
    let mut sequencer = Sequencer::new(segment.clone(), PendingBells::default());
    let mut answerer = port(segment, nodes - 1, ANSWERER);
    let all = NodeSet::first_nodes(nodes);
    let mut answered = 0;
    while !over.load(Ordering::Relaxed) {
        if !sequencer.poll() && answerer.signal_count() == answered {
            spin_loop();
        } else if answerer.signal_count() > answered {
            answered += 1;
            put(&mut answerer, &all, &[7; 8], Some(ASKER));
        }
    }
}

/// Measures on the simulated fabric.
#[must_use]
pub fn sim(nodes: usize) -> Costs {
    let ranks = SimulatedRanks::Scripted(Rc::default());
    let network = Network::new(nodes, ranks, Latencies::default(), FaultPlan::default(), 1);
    let network = Rc::new(RefCell::new(network));
    let mut port = SimPort::new(Rc::clone(&network), NodeId(0), ASKER);
    let all = NodeSet::first_nodes(nodes);
    let mut until_done_us = |start: &dyn Fn(&mut SimPort) -> Ticket| {
        let began = network.borrow().now_ns();
        let ticket = start(&mut port);
        while port.test_event(ticket) == Event::Pending {
            let next = network.borrow().next_event_ns();
            let next = next.expect("an operation that is not done has an event to come");
            network.borrow_mut().advance(next);
        }
        (network.borrow().now_ns() - began) as f64 / 1e3
    };
    let long_us = until_done_us(&|port| put(port, &all, &[7; LONG], None));
    Costs {
        compare_and_write_us: until_done_us(&|port| {
            port.compare_and_write(&compare_and_write(all))
        }),
        transfer_us: until_done_us(&|port| put(port, &all, &[7; 8], Some(ANSWERER))),
        transfer_mb_per_s: (LONG * nodes) as f64 / long_us,
        test_event_us: 0.0,
    }
}

fn segment(nodes: usize) -> Result<Segment> {
    Segment::private(nodes, nodes).context("failed to make the memory of a fabric")
}

fn port(segment: &Segment, node: usize, thread: NicThreadId) -> ShmPort {
    let nobody = Arc::new((0..segment.nodes()).map(|_| None).collect());
    let memory = RankMemoryAccess::new(segment.clone(), nobody);
    let node = NodeId::from_index(node);
    ShmPort::new(
        segment.clone(),
        PendingBells::default(),
        memory,
        node,
        thread,
    )
}

fn compare_and_write(set: NodeSet) -> CompareAndWrite {
    CompareAndWrite {
        set,
        variable: Variable::Scratch(0),
        comparison: Comparison::Equal,
        operand: 0,
        write: Some((Variable::Scratch(1), 1)),
        wait: false,
    }
}

fn put<P: Port>(port: &mut P, set: &NodeSet, bytes: &[u8], signal: Option<NicThreadId>) -> Ticket {
    let at = GlobalAddress::new(Block::Collective, NodeId(0));
    port.xfer_and_signal(set, at, bytes, signal)
}

fn bandwidth(nodes: usize, time: Duration, port: &mut ShmPort) -> f64 {
    let (all, bytes) = (NodeSet::first_nodes(nodes), vec![7; LONG]);
    let us = each_us(time, || {
        let ticket = put(port, &all, black_box(&bytes), None);
        assert_eq!(port.test_event(ticket), Event::Signalled);
    });
    (LONG * nodes) as f64 / us
}

fn test_event_us(time: Duration, port: &mut ShmPort) -> f64 {
    let ticket = put(port, &NodeSet::only(NodeId(0)), &[7; 8], None);
    each_us(time, || {
        let event = port.test_event(black_box(ticket));
        assert_eq!(black_box(event), Event::Signalled);
    })
}

/// Returns the microseconds of a call: in the fastest of samples that take `time` together.
fn each_us(time: Duration, mut call: impl FnMut()) -> f64 {
    let mut of = |calls: u32| {
        let start = Instant::now();
        (0..calls).for_each(|_| call());
        start.elapsed().as_secs_f64() * 1e6
    };
    let sample_us = time.as_secs_f64() * 1e6 / f64::from(SAMPLES);
    let mut calls = 1;
    while calls < 1 << 30 && of(calls) < sample_us {
        calls *= 2;
    }
    fastest(|| of(calls) / f64::from(calls))
}

/// Returns the least of some samples.
fn fastest(sample_us: impl FnMut() -> f64) -> f64 {
    let samples = std::iter::repeat_with(sample_us).take(SAMPLES as usize);
    samples.fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fabric_has_its_costs() {
        let time = Duration::from_micros(100);
        let simulated = sim(4);
        let latencies = Latencies::default();
        let expected_us = latencies.compare_and_write_ns as f64 / 1e3;
        assert_eq!(simulated.compare_and_write_us, expected_us);
        assert!(simulated.transfer_mb_per_s > 2.0 * latencies.bytes_per_us as f64);
        let mut all = vec![shm_one_thread(3, time).unwrap()];
        if allowed_cores().unwrap().len() > 1 {
            all.push(shm_two_threads(3, time).unwrap());
        }
        for costs in all {
            let Costs {
                compare_and_write_us,
                transfer_us,
                transfer_mb_per_s,
                test_event_us,
            } = costs;
            let figures = [
                compare_and_write_us,
                transfer_us,
                transfer_mb_per_s,
                test_event_us,
            ];
            assert!(figures.iter().all(|figure| *figure > 0.0), "{costs:?}");
        }
    }
}
