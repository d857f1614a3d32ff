//! The fabric: the three primitives over global memory (paper section 2).
//!
//! A [`Port`] attaches a NIC thread to the fabric. Through it, the thread *puts* blocks into the
//! global memory of sets of nodes ([`Port::xfer_and_signal`]), requests one-sided transfers of rank
//! memory ([`Port::get`], [`Port::fetch`]), tests a condition on a set of nodes
//! ([`Port::compare_and_write`]), and polls whether any of these is done ([`Port::test_event`]). No
//! call blocks: a state machine calls, goes on, and tests later.
//!
//! | fabric | joins |
//! |---|---|
//! | [`shm`] | nodes on one machine |
//! | [`sim`] | nodes of a test, in virtual time |
//! | [`udp`] | nodes on several machines |
//!
//! [`conformance`] has the laws that every fabric keeps.
//!
//! Architecture Invariant: the state machines of `bcs-nic` see a fabric only through [`Port`]. They
//! see each fault of a fabric as [`Event::Failed`] or as a smaller [`Port::alive`].

mod address;
pub mod conformance;
pub mod shm;
pub mod sim;
pub mod udp;

pub use address::{Block, GlobalAddress, Variable};

use bcs_core::descriptor::Payload;
use bcs_core::job::{NicThreadId, NodeId, NodeSet};
use bcs_core::layout::Location;
use bcs_core::one_sided::Update;
use serde::{Deserialize, Serialize};

/// Names one outstanding operation of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Ticket(pub u64);

/// The result of [`Port::test_event`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// The operation is not complete.
    Pending,
    /// An Xfer-And-Signal, get or fetch is complete at all its destinations.
    Signalled,
    /// A Compare-And-Write is decided. The value is true if the condition held on all nodes.
    Verdict(bool),
    /// The operation took no effect at any destination.
    Failed(FabricError),
}

/// The reason why an operation took no effect.
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
    /// The variable equals the operand.
    Equal = 2,
    /// The variable differs from the operand.
    NotEqual = 3,
}

impl Comparison {
    /// Returns whether the comparison of `variable` with `operand` holds.
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
    /// The nodes. Dead nodes are left out.
    pub set: NodeSet,
    /// The variable that is compared on each of them.
    pub variable: Variable,
    /// The comparison.
    pub comparison: Comparison,
    /// The operand of the comparison.
    pub operand: u64,
    /// The write on all of them if the condition holds on all.
    pub write: Option<(Variable, u64)>,
    /// Whether to wait until the condition holds. Then it is evaluated again whenever a node
    /// reports progress, and the verdict is always true.
    pub wait: bool,
}

/// Bytes of a rank, as the source of a [`Port::get`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceSpan {
    /// World rank.
    pub rank: u32,
    /// Where the message is. It is never inline, for inline bytes travel with the descriptor.
    pub payload: Payload,
    /// First byte of the message to move.
    pub offset: u64,
    /// The number of bytes.
    pub len: u64,
}

/// The destination of a [`Port::get`]: memory of a rank of the port's own node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DestinationSpan {
    /// World rank.
    pub rank: u32,
    /// Where the rank's receive puts the message.
    pub into: Location,
    /// First byte of the message to move.
    pub offset: u64,
}

/// A NIC thread's attachment to the fabric.
pub trait Port {
    /// Returns the number of nodes of the job.
    fn nodes(&self) -> usize;

    /// Returns the nodes that are not known to be dead.
    fn alive(&self) -> NodeSet;

    /// Xfer-And-Signal: PUTs `bytes` at the same global address of all nodes in the set, and
    /// signals the event of a NIC thread there once they have arrived. Either all nodes get them,
    /// or no node does. When the operation is complete, the bytes have arrived, or they will arrive
    /// before anything that the sequencer derives from a later report or Compare-And-Write of this
    /// node: the next microstrobe, a verdict. PUTs of one port to one node arrive in order. The
    /// address is a multiple of 8. The first word of a PUT becomes visible last.
    fn xfer_and_signal(
        &mut self,
        set: &NodeSet,
        at: GlobalAddress,
        bytes: &[u8],
        signal: Option<NicThreadId>,
    ) -> Ticket;

    /// Starts a one-sided transfer from the memory of any rank to the memory of a rank of this
    /// node. It is an Xfer-And-Signal of the source's NIC that the destination's NIC requests
    /// (paper figure 4.5, step 9).
    fn get(&mut self, from: SourceSpan, to: DestinationSpan) -> Ticket;

    /// Starts a one-sided transfer from the memory of any rank into this NIC thread: it fills
    /// `into` with the bytes at an address of the rank.
    fn fetch(&mut self, rank: u32, address: u64, into: Vec<u8>) -> Ticket;

    /// Gives back the buffer of a fetch, once [`test_event`](Self::test_event) has reported its
    /// end. The buffer holds the bytes if the event was [`Event::Signalled`]. Call it once per
    /// fetch.
    fn take_fetched(&mut self, ticket: Ticket) -> Vec<u8>;

    /// Starts a Compare-And-Write. All Compare-And-Writes of a job take effect in one total order.
    /// A port has at most one outstanding.
    fn compare_and_write(&mut self, what: &CompareAndWrite) -> Ticket;

    /// Test-Event: returns whether an operation is done. Once it returns anything but
    /// [`Event::Pending`], the ticket is spent.
    fn test_event(&mut self, ticket: Ticket) -> Event;

    /// Returns how often Xfer-And-Signals have signalled this NIC thread's event.
    fn signal_count(&self) -> u64;

    /// Returns a global variable of this node.
    fn load(&self, variable: Variable) -> u64;

    /// Changes a global variable of this node.
    fn store(&mut self, variable: Variable, value: u64);

    /// Does the same as [`store`](Self::store), and reports progress: waiting Compare-And-Writes
    /// are evaluated again.
    fn store_and_report(&mut self, variable: Variable, value: u64);

    /// Copies bytes out of this node's global memory. Panics when they lie outside the block.
    fn read(&self, at: GlobalAddress, bytes: &mut [u8]);

    /// Returns the nodes that [`send_outside_slice`](Self::send_outside_slice) reaches: a strobe
    /// takes long to reach them.
    fn other_host_nodes(&self) -> NodeSet;

    /// Returns whether two nodes are on different machines. All nodes get the same answer.
    fn are_on_different_hosts(&self, one: NodeId, other: NodeId) -> bool;

    /// Sends by Xfer-And-Signal into a queue of a remote node's BR, and signals its event. The
    /// queue never overwrites earlier entries. Sends of one port to one node arrive in order, each
    /// once, and before all that the port PUTs to that node later. The sender keeps within its
    /// credit there.
    fn send_outside_slice(&mut self, node: NodeId, words: &[u64]);

    /// Sends a whole eager message from a payload slot of a rank of this node to a remote node. A
    /// later [`send_outside_slice`](Self::send_outside_slice) makes that node request the message.
    /// By then its bytes are there.
    fn send_eager_bytes(&mut self, node: NodeId, from: SourceSpan);

    /// Takes the next entry of that queue into `into`, and returns its sender. Only BR calls it.
    /// `into` is empty before.
    fn receive_outside_slice(&mut self, into: &mut Vec<u64>) -> Option<NodeId>;
}

/// The memory of the ranks of one node, as its NIC reaches it.
pub trait RankMemory {
    /// Copies bytes of a local rank.
    ///
    /// # Errors
    /// [`MemoryFault`] when the rank has no such memory.
    fn read(&mut self, rank: u32, address: u64, bytes: &mut [u8]) -> Result<(), MemoryFault>;

    /// Copies bytes to a local rank.
    ///
    /// # Errors
    /// [`MemoryFault`] when the rank has no such memory.
    fn write(&mut self, rank: u32, address: u64, bytes: &[u8]) -> Result<(), MemoryFault>;

    /// Updates elements of a local rank, each in one step for all who update them
    /// ([`bcs_core::one_sided`]). Returns false if another one holds the lock that this takes: then
    /// nothing was done, and the caller tries again later. This implementation is for memory that
    /// nobody else updates at the same time.
    ///
    /// # Errors
    /// [`MemoryFault`] when the rank has no such memory.
    fn update(
        &mut self,
        rank: u32,
        address: u64,
        update: &mut MemoryUpdate<'_>,
    ) -> Result<bool, MemoryFault> {
        let mut contents = vec![0; update.len];
        self.read(rank, address, &mut contents)?;
        update.apply_to_copy(&mut contents);
        self.write(rank, address, &contents)?;
        Ok(true)
    }
}

/// An update of a rank's memory.
#[derive(Debug)]
pub struct MemoryUpdate<'a> {
    /// The function.
    pub update: Update,
    /// The number of bytes to update.
    pub len: usize,
    /// The operand ([`Update::operand_len`]).
    pub operand: &'a [u8],
    /// Where the previous contents go, if the update fetches them; otherwise empty.
    pub old: &'a mut [u8],
}

impl MemoryUpdate<'_> {
    /// Updates a copy of the elements.
    pub fn apply_to_copy(&mut self, contents: &mut [u8]) {
        self.update.apply_to_copy(contents, self.operand, self.old);
    }
}

/// A rank named memory that it does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("rank {rank} has no {len} bytes at address {address:#x}")]
pub struct MemoryFault {
    /// World rank.
    pub rank: u32,
    /// The address that it named.
    pub address: u64,
    /// The number of bytes.
    pub len: usize,
}
