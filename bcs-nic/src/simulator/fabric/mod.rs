//! The fabric under a simulated cluster: what the simulators need of it, besides ports.
//!
//! | file | content |
//! |---|---|
//! | `sim_fabric.rs` | the simulated fabric: transfers are late, fail or overtake each other |
//! | `datagram_fabric.rs` | the links of jobs on several hosts, on a network that loses datagrams |
//! | `metered_port.rs` | a port that counts what enters its node |

mod datagram_fabric;
mod metered_port;
mod sim_fabric;

pub use datagram_fabric::{DatagramFabric, DatagramFaultKinds, HostTopology};
pub use sim_fabric::SimFabric;

use bcs_core::job::{NicThreadId, NodeId, NodeSet};
use bcs_core::wake::MachinePage;
use bcs_fabric::sim::FaultCounts;
use bcs_fabric::{Port, RankMemory, Variable};

/// The kinds of fabric that a simulated cluster may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FabricKind {
    /// [`SimFabric`].
    Sim,
    /// [`DatagramFabric`].
    Udp,
}

/// A fabric in virtual time.
pub trait VirtualFabric: std::fmt::Debug {
    /// Returns the port of a NIC thread.
    fn port(&self, node: NodeId, thread: NicThreadId) -> Box<dyn Port>;

    /// Returns the port of the Strobe Sender.
    fn strobe_sender(&self) -> Box<dyn Port>;

    /// Returns the ranks' memory, as a NIC thread of a node reaches it.
    fn memory(&self, node: NodeId) -> Box<dyn RankMemory>;

    /// Returns the page of a node's host.
    fn page(&self, node: NodeId) -> &MachinePage;

    /// Returns the virtual time in nanoseconds.
    fn now_ns(&self) -> u64;

    /// Returns the time of the next event.
    fn next_ns(&self) -> Option<u64>;

    /// Advances the time, and lets all events happen that are due.
    fn advance(&mut self, to_ns: u64);

    /// Carries out those requests of ports that are possible at once. Returns whether there were
    /// any.
    fn settle(&mut self) -> bool;

    /// Returns the nodes that live.
    fn alive(&self) -> NodeSet;

    /// Returns how often waiting Compare-And-Writes were false.
    fn retries(&self) -> u64;

    /// Returns the number of transfers that have not arrived, with or without GETs from remote
    /// nodes: zero at the end of a slice.
    fn in_flight(&self, gets: bool) -> usize;

    /// Returns the bytes of messages and collectives that entered each node since the last call.
    fn take_inbound_bytes(&mut self) -> Vec<u64>;

    /// Returns a global variable of a node, for the checkers.
    fn load(&self, node: NodeId, variable: Variable) -> u64;

    /// Runs until all messages are acknowledged, at the end of a job. Returns whether that took a
    /// bounded time.
    fn run_until_idle(&mut self) -> bool;

    /// Returns the faults injected so far.
    fn fault_counts(&self) -> FaultCounts;

    /// Mixes words into the trace: the simulator adds the actions of ranks.
    fn trace(&mut self, words: &[u64]);

    /// Returns a hash of all events, in order: equal for equal seeds.
    fn trace_hash(&self) -> u64;
}
