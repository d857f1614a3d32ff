//! The fabric of one machine, with the sequencer in this OS thread and in another.

use crate::conformance::bench::{Bench, ReceiveBuffers, SOURCE_BYTES};
use crate::conformance::check_all;
use crate::shm::{ColocatedPorts, PendingBells, RankMemoryAccess, Segment, Sequencer, ShmPort};
use crate::{CompareAndWrite, Comparison, Event, Port as _, Variable};
use bcs_core::job::{NicThreadId, NodeId, NodeSet};
use std::sync::Arc;

struct ShmBench {
    segment: Segment,
    bells: PendingBells,
    sequencer: Sequencer,
    colocated: Option<ColocatedPorts>,
    rooms: ReceiveBuffers,
}

impl Bench for ShmBench {
    type Port = ShmPort;
    fn port(&mut self, node: NodeId, thread: NicThreadId) -> ShmPort {
        let memory = RankMemoryAccess::new(self.segment.clone(), Arc::new(Vec::new()));
        ShmPort::new(
            self.segment.clone(),
            self.bells.clone(),
            memory,
            node,
            thread,
        )
        .with_colocated(self.colocated.clone())
    }
    fn strobe_sender(&mut self) -> ShmPort {
        let memory = RankMemoryAccess::new(self.segment.clone(), Arc::new(Vec::new()));
        ShmPort::strobe_sender(self.segment.clone(), self.bells.clone(), memory)
            .with_colocated(self.colocated.clone())
    }
    fn step(&mut self) {
        self.sequencer.poll();
    }
    fn source_address(&self) -> u64 {
        SOURCE_BYTES.as_ptr().expose_provenance() as u64
    }
    fn receive_address(&self, node: NodeId) -> u64 {
        self.rooms.address(node)
    }
}

/// Makes this process the process of all ranks.
pub(super) fn all_ranks_are_here(segment: &Segment, nodes: usize) {
    for rank in 0..u32::try_from(nodes).unwrap() {
        let pid = segment.pid(rank).unwrap();
        pid.store(std::process::id(), std::sync::atomic::Ordering::Release);
    }
}

fn shm_keeps_the_laws_with(colocated: impl Fn(usize) -> Option<ColocatedPorts>) {
    check_all(|nodes| {
        let segment = Segment::private(nodes, nodes).unwrap();
        all_ranks_are_here(&segment, nodes);
        let bells = PendingBells::default();
        let sequencer = Sequencer::new(segment.clone(), bells.clone());
        ShmBench {
            segment,
            bells,
            sequencer,
            colocated: colocated(nodes),
            rooms: ReceiveBuffers::default(),
        }
    });
}

#[test]
fn shm_keeps_the_laws() {
    shm_keeps_the_laws_with(|_| None);
}

#[test]
fn shm_keeps_the_laws_where_one_thread_has_all_ports() {
    shm_keeps_the_laws_with(|nodes| Some(ColocatedPorts::new(nodes)));
}

/// The same laws with the sequencer on an OS thread of its own: the verdicts race.
#[test]
fn shm_totally_orders_racing_compare_and_writes() {
    let segment = Segment::private(4, 0).unwrap();
    let stop = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let sequencing = std::thread::spawn({
        let (segment, stop) = (segment.clone(), stop.clone());
        move || {
            let mut sequencer = Sequencer::new(segment, PendingBells::default());
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
                    let memory = RankMemoryAccess::new(segment.clone(), Arc::new(Vec::new()));
                    let thread = NicThreadId::BufferReceiver;
                    let bells = PendingBells::default();
                    let mut port = ShmPort::new(segment, bells, memory, NodeId(node), thread);
                    let mut won = 0;
                    for step in 0..500 {
                        let ticket = port.compare_and_write(&CompareAndWrite {
                            set: NodeSet::first_nodes(4),
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
    let memory = RankMemoryAccess::new(segment.clone(), Arc::new(Vec::new()));
    let thread = NicThreadId::BufferReceiver;
    let bells = PendingBells::default();
    let port = ShmPort::new(segment.clone(), bells, memory, NodeId(0), thread);
    port.load(Variable::Scratch(2))
}
