//! What a fabric is tested by.

use crate::fabric::{CompareAndWrite, Comparison, Event, Port, Ticket, Variable};
use crate::job::{NicThreadId, NodeId, NodeSet};

/// A fabric under test.
pub trait Bench {
    /// Its ports.
    type Port: Port;
    /// A port of this node's NIC thread.
    fn port(&mut self, node: NodeId, thread: NicThreadId) -> Self::Port;
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
pub static REMEMBERED: [u8; 100] = [42; 100];

/// How many nodes a fabric has.
pub const NODES: usize = 5;

/// What has not happened after so many steps does not happen.
pub(super) const STEPS: usize = 1_000;

pub(super) fn settle<B: Bench>(bench: &mut B, port: &mut B::Port, ticket: Ticket) -> Event {
    for _ in 0..STEPS {
        match port.test_event(ticket) {
            Event::Pending => bench.step(),
            event => return event,
        }
    }
    panic!("an operation stayed pending for {STEPS} steps");
}

pub(super) fn bs<B: Bench>(bench: &mut B, node: u16) -> B::Port {
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
