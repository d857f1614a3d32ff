//! The fabric: the three primitives over global memory (paper section 2).
//!
//! A NIC thread is attached to the fabric by a [`Port`]. Through it, it *puts* blocks into the
//! global memory of sets of nodes ([`Port::xfer_and_signal`]), asks for one-sided transfers of
//! rank memory ([`Port::get`], [`Port::fetch`]), tests a condition on a set of nodes
//! ([`Port::compare_and_write`]), and looks whether any of these is done
//! ([`Port::test_event`]). Nothing blocks: a state machine calls, goes on, and tests later.
//!
//! | fabric | joins |
//! |---|---|
//! | [`shm`] | nodes on one machine |
//! | [`sim`] | nodes of a test, in virtual time |
//! | [`udp`] | nodes on several machines |
//!
//! The laws that every fabric keeps are in [`conformance`].
//!
//! Architecture Invariant: the state machines of `bcs-nic` see a fabric only through [`Port`];
//! whatever faults a fabric can have reach them as [`Event::NetworkError`] or as a smaller
//! [`Port::alive`].

mod address;
pub mod conformance;
pub mod shm;
pub mod sim;
pub mod udp;

pub use address::{Block, GlobalAddress, Variable};

use bcs_core::descriptor::Payload;
use bcs_core::job::{NicThreadId, NodeId, NodeSet};
use bcs_core::layout::Location;
use serde::{Deserialize, Serialize};

/// Names one outstanding operation of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Ticket(pub u64);

/// What [`Port::test_event`] finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// Not yet.
    Pending,
    /// An Xfer-And-Signal, get or fetch is complete at all its destinations.
    Signalled,
    /// A Compare-And-Write has been decided: whether the condition held on all nodes.
    Verdict(bool),
    /// The operation took no effect at any destination.
    Failed(FabricError),
}

/// Why an operation took no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum FabricError {
    /// A network error; trying again may help.
    #[error("the transfer was lost")]
    Lost,
    /// A node of the set is dead.
    #[error("the peer node is dead")]
    PeerGone,
    /// The memory of the source rank could not be read.
    #[error("the memory of the source rank could not be read")]
    SourceMemory,
    /// The memory of the destination rank could not be written.
    #[error("the memory of the destination rank could not be written")]
    DestinationMemory,
}

/// A comparison of Compare-And-Write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[repr(u8)]
pub enum Comparison {
    /// The variable is at least the operand.
    AtLeast = 0,
    /// The variable is less than the operand.
    Less = 1,
    /// They are equal.
    Equal = 2,
    /// They differ.
    NotEqual = 3,
}

impl Comparison {
    /// Whether `variable` compares so with `operand`.
    #[must_use]
    pub fn holds(self, variable: u64, operand: u64) -> bool {
        match self {
            Self::AtLeast => variable >= operand,
            Self::Less => variable < operand,
            Self::Equal => variable == operand,
            Self::NotEqual => variable != operand,
        }
    }

    pub(crate) fn from_code(code: u64) -> Self {
        [Self::AtLeast, Self::Less, Self::Equal, Self::NotEqual]
            [usize::try_from(code & 3).expect("two bits")]
    }
}

/// A Compare-And-Write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompareAndWrite {
    /// On which nodes. The dead ones among them are left out.
    pub set: NodeSet,
    /// The variable that is compared on each of them.
    pub variable: Variable,
    /// How.
    pub comparison: Comparison,
    /// With what.
    pub operand: u64,
    /// What to write on all of them if the condition holds on all.
    pub write: Option<(Variable, u64)>,
    /// Whether to wait until the condition holds: it is then looked at again whenever a node
    /// reports progress, and the verdict is always true.
    pub wait: bool,
}

/// Bytes of a rank, as the source of a [`Port::get`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceSpan {
    /// World rank.
    pub rank: u32,
    /// Where its message is; never inline, for inline bytes travel with the descriptor.
    pub payload: Payload,
    /// First byte of the message to move.
    pub offset: u64,
    /// How many bytes.
    pub len: u64,
}

/// Where a [`Port::get`] puts them: memory of a rank of the port's own node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DestinationSpan {
    /// World rank.
    pub rank: u32,
    /// Where its receive puts a message.
    pub into: Location,
    /// The first byte of the message that is moved.
    pub offset: u64,
}

/// A NIC thread's attachment to the fabric.
pub trait Port {
    /// How many nodes the job has.
    fn nodes(&self) -> usize;

    /// The nodes that are not known to be dead.
    fn alive(&self) -> NodeSet;

    /// Xfer-And-Signal: PUTs `bytes` at the same global address of all nodes in the set, and
    /// signals the event of a NIC thread there once they have arrived. All nodes get them, or
    /// none does. When it is complete they have arrived, or will have before whatever follows from a report or a
    /// Compare-And-Write of this node by way of the sequencer: the next microstrobe, a verdict. PUTs of one port to one node arrive in order. The address is a multiple of 8: the
    /// first word of a PUT becomes visible last.
    fn xfer_and_signal(
        &mut self,
        set: &NodeSet,
        at: GlobalAddress,
        bytes: &[u8],
        signal: Option<NicThreadId>,
    ) -> Ticket;

    /// A one-sided transfer from the memory of any rank to the memory of a rank of this node: the
    /// Xfer-And-Signal of the source's NIC, asked for by the destination's (paper figure 4.5,
    /// step 9).
    fn get(&mut self, from: SourceSpan, to: DestinationSpan) -> Ticket;

    /// A one-sided transfer from the memory of any rank into this NIC thread: it fills `into` with the
    /// bytes at an address of the rank's.
    fn fetch(&mut self, rank: u32, address: u64, into: Vec<u8>) -> Ticket;

    /// Gives back the buffer of a fetch, once [`test_event`](Self::test_event) has said that it has
    /// ended: with the bytes, if it was [`Event::Signalled`]. Each fetch is asked for once.
    fn take_fetched(&mut self, ticket: Ticket) -> Vec<u8>;

    /// Compare-And-Write. All Compare-And-Writes of a job take effect in one total order. A port
    /// has at most one outstanding.
    fn compare_and_write(&mut self, what: &CompareAndWrite) -> Ticket;

    /// Test-Event: whether an operation is done. Once it answers anything but
    /// [`Event::Pending`], the ticket is spent.
    fn test_event(&mut self, ticket: Ticket) -> Event;

    /// How often this NIC thread's event has been signalled by Xfer-And-Signals.
    fn signal_count(&self) -> u64;

    /// A global variable of this node.
    fn load(&self, variable: Variable) -> u64;

    /// Changes a global variable of this node.
    fn store(&mut self, variable: Variable, value: u64);

    /// As [`store`](Self::store), and reports progress: Compare-And-Writes that wait are looked
    /// at again.
    fn store_and_report(&mut self, variable: Variable, value: u64);

    /// Copies bytes out of this node's global memory. Panics when they lie outside the block.
    fn read(&self, at: GlobalAddress, bytes: &mut [u8]);

    /// The nodes that [`send_outside_slice`](Self::send_outside_slice) reaches: those that a strobe takes long to come to.
    fn other_host_nodes(&self) -> NodeSet;

    /// Whether two nodes are on different machines, so that each of them is far from the other: all nodes find the same.
    fn are_on_different_hosts(&self, one: NodeId, other: NodeId) -> bool;

    /// Xfer-And-Signal into a queue of a far node's BR, whose event is signalled: what comes there is not written over
    /// what came before. What one port sends to one node comes in order, each once, and before what that port PUTs to it
    /// later. Who sends keeps within the credit that it has there.
    fn send_outside_slice(&mut self, node: NodeId, words: &[u64]);

    /// Sends a whole eager message, which lies in a payload slot of a rank of this node, to a far node: what is sent ahead
    /// after it makes that node ask for it, and then it is there.
    fn send_eager_bytes(&mut self, node: NodeId, from: SourceSpan);

    /// For BR: the next that came so, and from which node. `into` is empty before.
    fn receive_outside_slice(&mut self, into: &mut Vec<u64>) -> Option<NodeId>;
}

/// Memory of the ranks of one node, as its NIC reaches it.
pub trait RankMemory {
    /// Copies bytes of a local rank.
    ///
    /// # Errors
    /// [`MemoryFault`] when the address is not the rank's.
    fn read(&mut self, rank: u32, address: u64, bytes: &mut [u8]) -> Result<(), MemoryFault>;

    /// Copies bytes to a local rank.
    ///
    /// # Errors
    /// [`MemoryFault`] when the address is not the rank's.
    fn write(&mut self, rank: u32, address: u64, bytes: &[u8]) -> Result<(), MemoryFault>;
}

/// A rank named memory that it does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("rank {rank} has no {len} bytes at address {address:#x}")]
pub struct MemoryFault {
    /// World rank.
    pub rank: u32,
    /// The address it named.
    pub address: u64,
    /// How many bytes.
    pub len: usize,
}
