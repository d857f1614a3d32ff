//! A port that counts what enters its node, for the budget's checker.

use bcs_core::fabric::{
    Block, CompareAndWrite, DestinationSpan, Event, GlobalAddress, Port, SourceSpan, Ticket,
    Variable,
};
use bcs_core::job::{NicThreadId, NodeId, NodeSet};
use bcs_core::limits::TOKEN_HEADER_BYTES;
use std::cell::RefCell;
use std::rc::Rc;

/// Bytes of messages and collectives that were asked into each node.
pub(super) type Entered = Rc<RefCell<Vec<u64>>>;

/// The port of a node's NIC thread.
#[derive(Debug)]
pub(super) struct Metered<P> {
    port: P,
    node: NodeId,
    entered: Entered,
}

impl<P: Port> Metered<P> {
    pub(super) fn new(port: P, node: NodeId, entered: Entered) -> Self {
        Self {
            port,
            node,
            entered,
        }
    }

    fn enters(&self, node: NodeId, bytes: usize) {
        self.entered.borrow_mut()[node.index()] += bytes as u64;
    }
}

impl<P: Port> Port for Metered<P> {
    fn nodes(&self) -> usize {
        self.port.nodes()
    }

    fn alive(&self) -> NodeSet {
        self.port.alive()
    }

    fn xfer_and_signal(
        &mut self,
        set: &NodeSet,
        at: GlobalAddress,
        bytes: &[u8],
        signal: Option<NicThreadId>,
    ) -> Ticket {
        if at.block == Block::Collective {
            let data = bytes.len().saturating_sub(TOKEN_HEADER_BYTES);
            set.iter().for_each(|node| self.enters(node, data));
        }
        self.port.xfer_and_signal(set, at, bytes, signal)
    }

    fn get(&mut self, from: SourceSpan, to: DestinationSpan) -> Ticket {
        let bytes = usize::try_from(from.len).expect("simulated messages are small");
        self.enters(self.node, bytes);
        self.port.get(from, to)
    }

    fn fetch(&mut self, rank: u32, address: u64, into: Vec<u8>) -> Ticket {
        self.enters(self.node, into.len());
        self.port.fetch(rank, address, into)
    }

    fn fetched(&mut self, ticket: Ticket) -> Vec<u8> {
        self.port.fetched(ticket)
    }

    fn compare_and_write(&mut self, what: &CompareAndWrite) -> Ticket {
        self.port.compare_and_write(what)
    }

    fn test_event(&mut self, ticket: Ticket) -> Event {
        self.port.test_event(ticket)
    }

    fn signals(&self) -> u64 {
        self.port.signals()
    }

    fn load(&self, variable: Variable) -> u64 {
        self.port.load(variable)
    }

    fn store(&mut self, variable: Variable, value: u64) {
        self.port.store(variable, value);
    }

    fn report(&mut self, variable: Variable, value: u64) {
        self.port.report(variable, value);
    }

    fn read(&self, at: GlobalAddress, bytes: &mut [u8]) {
        self.port.read(at, bytes);
    }

    fn far(&self) -> NodeSet {
        self.port.far()
    }

    fn are_apart(&self, one: NodeId, other: NodeId) -> bool {
        self.port.are_apart(one, other)
    }

    fn send_ahead(&mut self, node: NodeId, words: &[u64]) {
        self.port.send_ahead(node, words);
    }

    fn take_ahead(&mut self, into: &mut Vec<u64>) -> Option<NodeId> {
        self.port.take_ahead(into)
    }
}
