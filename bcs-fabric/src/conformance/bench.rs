//! The interface by which the laws test a fabric.

use crate::{CompareAndWrite, Comparison, Event, Port, Ticket, Variable};
use bcs_core::job::{NicThreadId, NodeId, NodeSet};
use std::sync::atomic::AtomicU8;

/// A fabric under test.
pub trait Bench {
    /// The ports of the fabric.
    type Port: Port;
    /// Returns a port of this node's NIC thread.
    fn port(&mut self, node: NodeId, thread: NicThreadId) -> Self::Port;
    /// Returns the port of the Strobe Sender.
    fn strobe_sender(&mut self) -> Self::Port;
    /// Lets the fabric make progress: virtual time passes, the sequencer runs.
    fn step(&mut self);
    /// Lets it make progress until nothing is in flight: the stores of nodes have arrived at the
    /// sequencer.
    fn run_until_idle(&mut self) {
        self.step();
    }
    /// Returns the address of [`SOURCE_BYTES`] in the memory of rank 0, which is on node 0.
    fn source_address(&self) -> u64;
    /// Returns the address of as many bytes, all 0 at first, in the memory of the one rank of a
    /// node, which has the node's number.
    fn receive_address(&self, node: NodeId) -> u64;
}

/// The contents of rank 0's memory.
pub static SOURCE_BYTES: [u8; 20_000] = {
    let mut bytes = [0; 20_000];
    let mut at = 0;
    while at < bytes.len() {
        // No byte is 0, and no two pieces of a datagram's length are equal.
        bytes[at] = (1 + at % 251).to_le_bytes()[0];
        at += 1;
    }
    bytes
};

/// Receive buffers of the ranks of all nodes, for benches whose ranks are processes.
#[derive(Debug)]
pub struct ReceiveBuffers(Vec<Vec<AtomicU8>>);

impl Default for ReceiveBuffers {
    fn default() -> Self {
        let room = || SOURCE_BYTES.iter().map(|_| AtomicU8::new(0)).collect();
        Self((0..NODES).map(|_| room()).collect())
    }
}

impl ReceiveBuffers {
    /// Returns the address of a node's buffer.
    #[must_use]
    pub fn address(&self, node: NodeId) -> u64 {
        self.0[node.index()].as_ptr().expose_provenance() as u64
    }
}

/// The number of nodes of a fabric.
pub const NODES: usize = 5;

/// The number of steps after which an event that has not happened does not happen.
pub(super) const MAX_STEPS: usize = 1_000;

pub(super) fn settle<B: Bench>(bench: &mut B, port: &mut B::Port, ticket: Ticket) -> Event {
    for _ in 0..MAX_STEPS {
        match port.test_event(ticket) {
            Event::Pending => bench.step(),
            event => return event,
        }
    }
    panic!("an operation stayed pending for {MAX_STEPS} steps");
}

pub(super) fn buffer_sender_port<B: Bench>(bench: &mut B, node: u16) -> B::Port {
    bench.port(NodeId(node), NicThreadId::BufferSender)
}

pub(super) fn compare(
    set: NodeSet,
    comparison: Comparison,
    operand: u64,
    write: u64,
) -> CompareAndWrite {
    CompareAndWrite {
        set,
        variable: Variable::Scratch(0),
        comparison,
        operand,
        write: Some((Variable::Scratch(1), write)),
        wait: false,
    }
}
