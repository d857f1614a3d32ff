//! A port that counts what enters its node, for the budget's checker.

use bcs_core::job::{NicThreadId, NodeId, NodeSet};
use bcs_core::limits::TOKEN_HEADER_BYTES;
use bcs_fabric::{
    Block, CompareAndWrite, DestinationSpan, Event, GlobalAddress, Port, SourceSpan, Ticket,
    Variable,
};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// Bytes that were requested into a node.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct InboundBudget {
    /// Bytes of collectives, and of messages from nodes of its host, in this slice.
    in_slice: u64,
    /// Bytes of messages from remote nodes in flight, and their maximum.
    under_way: u64,
    most: u64,
}

impl InboundBudget {
    /// Returns the bytes that the budget limits, and begins the next slice.
    pub(super) fn take(&mut self) -> u64 {
        let in_slice = std::mem::take(&mut self.in_slice);
        let most = std::mem::replace(&mut self.most, self.under_way);
        in_slice.max(most)
    }
}

/// The counters of a port.
#[derive(Debug)]
pub(super) struct InboundMeter {
    /// Its node.
    pub(super) node: NodeId,
    /// The counts by node.
    pub(super) entered: Rc<RefCell<Vec<InboundBudget>>>,
    /// The node of each rank.
    pub(super) node_of: Rc<[NodeId]>,
}

impl InboundMeter {
    fn enters(&self, node: NodeId, bytes: usize) {
        self.entered.borrow_mut()[node.index()].in_slice += bytes as u64;
    }

    /// Counts bytes in flight to the node.
    fn leaves(&self, bytes: u64) {
        let entered = &mut self.entered.borrow_mut()[self.node.index()];
        entered.under_way += bytes;
        entered.most = entered.most.max(entered.under_way);
    }

    fn comes(&self, bytes: u64) {
        self.entered.borrow_mut()[self.node.index()].under_way -= bytes;
    }
}

/// The port of a node's NIC thread.
#[derive(Debug)]
pub(super) struct MeteredPort<P> {
    port: P,
    meter: InboundMeter,
    /// Bytes that were requested from remote nodes.
    under_way: HashMap<Ticket, u64>,
}

impl<P: Port> MeteredPort<P> {
    pub(super) fn new(port: P, meter: InboundMeter) -> Self {
        Self {
            port,
            meter,
            under_way: HashMap::new(),
        }
    }
}

impl<P: Port> Port for MeteredPort<P> {
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
            set.iter().for_each(|node| self.meter.enters(node, data));
        }
        self.port.xfer_and_signal(set, at, bytes, signal)
    }

    fn get(&mut self, from: SourceSpan, to: DestinationSpan) -> Ticket {
        let source = self.meter.node_of.get(from.rank as usize);
        let is_far = source.is_some_and(|&node| self.port.other_host_nodes().contains(node));
        let ticket = self.port.get(from, to);
        if is_far {
            self.meter.leaves(from.len);
            self.under_way.insert(ticket, from.len);
        } else {
            let bytes = usize::try_from(from.len).expect("simulated messages are small");
            self.meter.enters(self.meter.node, bytes);
        }
        ticket
    }

    fn fetch(&mut self, rank: u32, address: u64, into: Vec<u8>) -> Ticket {
        self.meter.enters(self.meter.node, into.len());
        self.port.fetch(rank, address, into)
    }

    fn take_fetched(&mut self, ticket: Ticket) -> Vec<u8> {
        self.port.take_fetched(ticket)
    }

    fn compare_and_write(&mut self, what: &CompareAndWrite) -> Ticket {
        self.port.compare_and_write(what)
    }

    fn test_event(&mut self, ticket: Ticket) -> Event {
        let event = self.port.test_event(ticket);
        if event != Event::Pending {
            let bytes = self.under_way.remove(&ticket);
            bytes.into_iter().for_each(|bytes| self.meter.comes(bytes));
        }
        event
    }

    fn signal_count(&self) -> u64 {
        self.port.signal_count()
    }

    fn load(&self, variable: Variable) -> u64 {
        self.port.load(variable)
    }

    fn store(&mut self, variable: Variable, value: u64) {
        self.port.store(variable, value);
    }

    fn store_and_report(&mut self, variable: Variable, value: u64) {
        self.port.store_and_report(variable, value);
    }

    fn read(&self, at: GlobalAddress, bytes: &mut [u8]) {
        self.port.read(at, bytes);
    }

    fn other_host_nodes(&self) -> NodeSet {
        self.port.other_host_nodes()
    }

    fn are_on_different_hosts(&self, one: NodeId, other: NodeId) -> bool {
        self.port.are_on_different_hosts(one, other)
    }

    fn send_outside_slice(&mut self, node: NodeId, words: &[u64]) {
        self.port.send_outside_slice(node, words);
    }

    fn send_eager_bytes(&mut self, node: NodeId, from: SourceSpan) {
        self.port.send_eager_bytes(node, from);
    }

    fn receive_outside_slice(&mut self, into: &mut Vec<u64>) -> Option<NodeId> {
        self.port.receive_outside_slice(into)
    }
}
