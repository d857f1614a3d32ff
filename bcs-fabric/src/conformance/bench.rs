//! What a fabric is tested by.

use crate::{CompareAndWrite, Comparison, Event, Port, Ticket, Variable};
use bcs_core::job::{NicThreadId, NodeId, NodeSet};
use std::sync::atomic::AtomicU8;

/// A fabric under test.
pub trait Bench {
    /// Its ports.
    type Port: Port;
    /// A port of this node's NIC thread.
    fn port(&mut self, node: NodeId, thread: NicThreadId) -> Self::Port;
    /// The port of the Strobe Sender.
    fn strobe_sender(&mut self) -> Self::Port;
    /// Lets the fabric make progress: virtual time passes, the sequencer runs.
    fn step(&mut self);
    /// Lets it make progress until nothing is under way: what nodes have stored is known where it is compared.
    fn run_until_idle(&mut self) {
        self.step();
    }
    /// The address of [`SOURCE_BYTES`] in the memory of rank 0, which is on node 0.
    fn source_address(&self) -> u64;
    /// The address of as many bytes, all 0 at first, in the memory of the one rank of a node, which has its number.
    fn receive_address(&self, node: NodeId) -> u64;
}

/// What rank 0 has in its memory.
pub static SOURCE_BYTES: [u8; 20_000] = {
    let mut bytes = [0; 20_000];
    let mut at = 0;
    while at < bytes.len() {
        // Never 0, and never the same in pieces of any length that datagrams have.
        bytes[at] = (1 + at % 251).to_le_bytes()[0];
        at += 1;
    }
    bytes
};

/// Room in a process for what the ranks of all nodes receive, for benches whose ranks are processes.
#[derive(Debug)]
pub struct ReceiveBuffers(Vec<Vec<AtomicU8>>);

impl Default for ReceiveBuffers {
    fn default() -> Self {
        let room = || SOURCE_BYTES.iter().map(|_| AtomicU8::new(0)).collect();
        Self((0..NODES).map(|_| room()).collect())
    }
}

impl ReceiveBuffers {
    /// The address of a node's.
    #[must_use]
    pub fn address(&self, node: NodeId) -> u64 {
        self.0[node.index()].as_ptr().expose_provenance() as u64
    }
}

/// How many nodes a fabric has.
pub const NODES: usize = 5;

/// What has not happened after so many steps does not happen.
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
