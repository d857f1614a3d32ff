//! The fabric under a simulated cluster: what the simulators ask of it, beside ports.
//!
//! | file | is |
//! |---|---|
//! | `transfers.rs` | the simulated fabric, whose transfers are late, fail whole, or overtake each other |
//! | `datagrams.rs` | the links of jobs on several machines, on a network that loses datagrams |
//! | `metered.rs` | a port that counts what enters its node |

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
    /// The port of a NIC thread.
    fn port(&self, node: NodeId, thread: NicThreadId) -> Box<dyn Port>;

    /// The port of the Strobe Sender.
    fn strobe_sender(&self) -> Box<dyn Port>;

    /// The ranks' memory, as a NIC thread of a node reaches it.
    fn memory(&self, node: NodeId) -> Box<dyn RankMemory>;

    /// The page of the machine of a node.
    fn page(&self, node: NodeId) -> &MachinePage;

    /// The virtual time in nanoseconds.
    fn now_ns(&self) -> u64;

    /// When something happens next.
    fn next_ns(&self) -> Option<u64>;

    /// Advances the time, letting everything happen that is due.
    fn advance(&mut self, to_ns: u64);

    /// Does what can be done at once of what ports have asked for. Returns whether there was anything.
    fn settle(&mut self) -> bool;

    /// The nodes that live.
    fn alive(&self) -> NodeSet;

    /// Looks at Compare-And-Writes that wait that came out false.
    fn retries(&self) -> u64;

    /// Transfers that have not arrived, GETs of far nodes among them or not: zero at the end of a slice.
    fn in_flight(&self, gets: bool) -> usize;

    /// Bytes of messages and collectives that entered each node since the last call.
    fn take_inbound_bytes(&mut self) -> Vec<u64>;

    /// A global variable of a node, as the checkers see it.
    fn load(&self, node: NodeId, variable: Variable) -> u64;

    /// Whether all that was said is known to have come, at the end of a job, within a bounded time.
    fn run_until_idle(&mut self) -> bool;

    /// The faults injected so far.
    fn fault_counts(&self) -> FaultCounts;

    /// Mixes words into the trace: the simulator adds what ranks do.
    fn trace(&mut self, words: &[u64]);

    /// A hash of everything that happened, in order: equal for equal seeds.
    fn trace_hash(&self) -> u64;
}
