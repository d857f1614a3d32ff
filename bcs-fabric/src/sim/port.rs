//! Ports and rank memory on the simulated fabric.

use super::network::{FetchRequest, Network};
use crate::{
    CompareAndWrite, DestinationSpan, Event, GlobalAddress, MemoryFault, MemoryUpdate, Port,
    RankMemory, SourceSpan, Ticket, Variable,
};
use bcs_core::job::{NicThreadId, NodeId, NodeSet};
use std::cell::RefCell;
use std::rc::Rc;

/// The port of a simulated NIC thread, or of the Strobe Sender.
#[derive(Clone, Debug)]
pub struct SimPort {
    network: Rc<RefCell<Network>>,
    who: Option<(NodeId, NicThreadId)>,
}

impl SimPort {
    /// Makes the port of a NIC thread.
    #[must_use]
    pub fn new(network: Rc<RefCell<Network>>, node: NodeId, thread: NicThreadId) -> Self {
        Self {
            network,
            who: Some((node, thread)),
        }
    }

    /// Makes the port of the Strobe Sender.
    #[must_use]
    pub fn strobe_sender(network: Rc<RefCell<Network>>) -> Self {
        Self { network, who: None }
    }

    fn node(&self) -> NodeId {
        self.who
            .expect("the Strobe Sender has no global memory of its own")
            .0
    }
}

impl Port for SimPort {
    fn nodes(&self) -> usize {
        self.network.borrow().node_count()
    }

    fn alive(&self) -> NodeSet {
        self.network.borrow().alive()
    }

    fn xfer_and_signal(
        &mut self,
        set: &NodeSet,
        at: GlobalAddress,
        bytes: &[u8],
        signal: Option<NicThreadId>,
    ) -> Ticket {
        self.network
            .borrow_mut()
            .put(self.who.map(|who| who.0), set, at, bytes, signal)
    }

    fn get(&mut self, from: SourceSpan, to: DestinationSpan) -> Ticket {
        self.network.borrow_mut().get(self.node(), from, to)
    }

    fn fetch(&mut self, rank: u32, address: u64, into: Vec<u8>) -> Ticket {
        let fetch = FetchRequest {
            rank,
            address,
            into,
        };
        self.network.borrow_mut().fetch(self.node(), fetch)
    }

    fn take_fetched(&mut self, ticket: Ticket) -> Vec<u8> {
        self.network.borrow_mut().fetched(ticket)
    }

    fn compare_and_write(&mut self, what: &CompareAndWrite) -> Ticket {
        self.network.borrow_mut().compare(what)
    }

    fn test_event(&mut self, ticket: Ticket) -> Event {
        self.network.borrow_mut().test(ticket)
    }

    fn signal_count(&self) -> u64 {
        self.who.map_or(0, |(node, thread)| {
            self.network.borrow().signals(node, thread)
        })
    }

    fn load(&self, variable: Variable) -> u64 {
        self.network.borrow().load(self.node(), variable)
    }

    fn store(&mut self, variable: Variable, value: u64) {
        self.network
            .borrow_mut()
            .store(self.node(), variable, value);
    }

    fn store_and_report(&mut self, variable: Variable, value: u64) {
        self.store(variable, value);
        self.network.borrow_mut().retry_waiting();
    }

    fn read(&self, at: GlobalAddress, bytes: &mut [u8]) {
        self.network.borrow().read(self.node(), at, bytes);
    }

    fn other_host_nodes(&self) -> NodeSet {
        NodeSet::EMPTY
    }

    fn are_on_different_hosts(&self, _: NodeId, _: NodeId) -> bool {
        false
    }

    fn send_outside_slice(&mut self, node: NodeId, _: &[u64]) {
        unreachable!("{node} is not far");
    }

    fn send_eager_bytes(&mut self, node: NodeId, _: SourceSpan) {
        unreachable!("{node} is not far");
    }

    fn receive_outside_slice(&mut self, _: &mut Vec<u64>) -> Option<NodeId> {
        None
    }
}

/// The memory of the ranks.
#[derive(Clone, Debug)]
pub struct SimMemory(pub Rc<RefCell<Network>>);

impl RankMemory for SimMemory {
    fn read(&mut self, rank: u32, address: u64, bytes: &mut [u8]) -> Result<(), MemoryFault> {
        self.0.borrow_mut().ranks().read(rank, address, bytes)
    }

    fn write(&mut self, rank: u32, address: u64, bytes: &[u8]) -> Result<(), MemoryFault> {
        self.0.borrow_mut().ranks().write(rank, address, bytes)
    }

    fn update(
        &mut self,
        rank: u32,
        address: u64,
        update: &mut MemoryUpdate<'_>,
    ) -> Result<bool, MemoryFault> {
        self.0.borrow_mut().ranks().update(rank, address, update)
    }
}
