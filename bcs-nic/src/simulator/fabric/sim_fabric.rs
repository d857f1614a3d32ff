//! The simulated fabric: one network, and one page for all nodes.

use super::VirtualFabric;
use bcs_core::job::{NicThreadId, NodeId, NodeSet};
use bcs_core::wake::MachinePage;
use bcs_fabric::sim::{FaultCounts, Network, SimMemory, SimPort};
use bcs_fabric::{Port, RankMemory, Variable};
use std::cell::RefCell;
use std::rc::Rc;

/// The simulated fabric.
#[derive(Debug)]
pub struct SimFabric {
    network: Rc<RefCell<Network>>,
    page: MachinePage,
}

impl SimFabric {
    /// Creates the fabric of this network, with one page for all nodes.
    #[must_use]
    pub fn new(network: Rc<RefCell<Network>>, page: MachinePage) -> Self {
        Self { network, page }
    }
}

impl VirtualFabric for SimFabric {
    fn port(&self, node: NodeId, thread: NicThreadId) -> Box<dyn Port> {
        Box::new(SimPort::new(self.network.clone(), node, thread))
    }

    fn strobe_sender(&self) -> Box<dyn Port> {
        Box::new(SimPort::strobe_sender(self.network.clone()))
    }

    fn memory(&self, _: NodeId) -> Box<dyn RankMemory> {
        Box::new(SimMemory(self.network.clone()))
    }

    fn page(&self, _: NodeId) -> &MachinePage {
        &self.page
    }

    fn now_ns(&self) -> u64 {
        self.network.borrow().now_ns()
    }

    fn next_ns(&self) -> Option<u64> {
        self.network.borrow().next_event_ns()
    }

    fn advance(&mut self, to_ns: u64) {
        self.network.borrow_mut().advance(to_ns);
    }

    fn settle(&mut self) -> bool {
        false // every operation takes time
    }

    fn alive(&self) -> NodeSet {
        self.network.borrow().alive()
    }

    fn retries(&self) -> u64 {
        self.network.borrow().retries()
    }

    fn in_flight(&self, _gets: bool) -> usize {
        self.network.borrow().in_flight()
    }

    fn take_inbound_bytes(&mut self) -> Vec<u64> {
        self.network.borrow_mut().take_entered()
    }

    fn load(&self, node: NodeId, variable: Variable) -> u64 {
        self.network.borrow().load(node, variable)
    }

    fn run_until_idle(&mut self) -> bool {
        true // a transfer that nobody waits for changes nothing
    }

    fn fault_counts(&self) -> FaultCounts {
        self.network.borrow().fault_counts()
    }

    fn trace(&mut self, words: &[u64]) {
        self.network.borrow_mut().trace(words);
    }

    fn trace_hash(&self) -> u64 {
        self.network.borrow().trace_hash()
    }
}
