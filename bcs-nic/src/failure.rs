//! The causes that end a job, as its NICs find them: a variant each, whose message says what to do.

use crate::table_leak::TableLeak;
use bcs_core::descriptor::BadDescriptor;
use bcs_core::job::{NicThreadId, NodeId};
use bcs_core::matching::TableFull;
use bcs_core::memory::ring::RingCorrupt;

/// A failure that a NIC found and that ends the job.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{cause}")]
pub struct NicFailure {
    /// The node.
    pub node: NodeId,
    /// The cause, and the remedy.
    pub cause: NicFailureCause,
}

impl NicFailure {
    /// Returns the rank at fault, if it is the fault of one rank.
    #[must_use]
    pub fn rank(&self) -> Option<u32> {
        match self.cause {
            NicFailureCause::CorruptPost { rank, .. }
            | NicFailureCause::TooManyReceives { rank, .. }
            | NicFailureCause::Starving { rank, .. } => Some(rank),
            _ => None,
        }
    }
}

/// Why a NIC thread gives up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NicFailureCause {
    /// A rank has written invalid data into its rings, where a descriptor belongs.
    #[error(
        "rank {rank} posted an invalid descriptor to its NIC: {what}; is it writing out of bounds?"
    )]
    CorruptPost {
        /// The rank.
        rank: u32,
        /// The defect that was found.
        what: CorruptPost,
    },
    /// A rank has more outstanding receives than its node can hold.
    #[error("rank {rank} posted too many receives: {full}")]
    TooManyReceives {
        /// The rank.
        rank: u32,
        /// The table.
        full: TableFull,
    },
    /// More messages came for a rank than its node can hold.
    #[error("rank {rank} cannot take more messages: {full}")]
    TooManyMessages {
        /// The rank.
        rank: u32,
        /// The table.
        full: TableFull,
    },
    /// Nothing has come from a node for too long.
    #[error(
        "nothing was heard of it for {seconds} s: it is dead, or cut off; --node-timeout says how long is too long"
    )]
    Silent {
        /// How long.
        seconds: u64,
    },
    /// A node has sent invalid data, signed with the job's key.
    #[error("{0}: is it of another version?")]
    Nonsense(bcs_fabric::udp::message::ProtocolViolation),
    /// A message came for a rank of another node.
    #[error("a message for rank {rank} came to the wrong node")]
    WrongNode {
        /// The rank.
        rank: u32,
    },
    /// The fabric delivered a block that no BS sends.
    #[error("node {lane} sent an invalid descriptor block: {what}")]
    BadBlock {
        /// The node from which it came.
        lane: NodeId,
        /// The defect that was found.
        what: BadDescriptor,
    },
    /// A sender is held back for lack of credit, and its receiver holds as many envelopes as it
    /// may, none of which matches a receive: nothing can ever move again (law 4).
    #[error(
        "rank {rank} holds {share} messages from ranks of node {lane} that no receive matches, and \
         waits for one that no more can reach: receive them earlier, or send fewer at once"
    )]
    Starving {
        /// The receiver.
        rank: u32,
        /// The node of the senders.
        lane: NodeId,
        /// How many messages from there it may hold.
        share: u64,
    },
    /// A NIC thread, or the Strobe Sender, panicked.
    #[error(
        "{} panicked: {said}; this is a bug of the runtime, please report it",
        thread_label(*.thread)
    )]
    Panicked {
        /// The NIC thread; `None` is the Strobe Sender.
        thread: Option<NicThreadId>,
        /// The message of the panic.
        said: String,
    },
    /// At the end of the job a NIC thread's tables held entries that the runtime had to take out
    /// before.
    #[error(
        "at the end of the job NIC thread {} still had {}; this is a bug of the runtime, please \
         report it",
        .thread.name(),
        leak_list(.left)
    )]
    LeftOver {
        /// The NIC thread.
        thread: NicThreadId,
        /// The entries that it held.
        left: Vec<TableLeak>,
    },
}

impl NicFailureCause {
    pub(crate) fn corrupt_post(rank: u32, what: impl Into<CorruptPost>) -> Self {
        let what = what.into();
        Self::CorruptPost { rank, what }
    }
}

/// The defect in the data that a rank posted in place of a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CorruptPost {
    /// The ring has an impossible position.
    #[error(transparent)]
    Ring(#[from] RingCorrupt),
    /// A field has an impossible value.
    #[error(transparent)]
    Descriptor(#[from] BadDescriptor),
    /// The destination of a send does not exist.
    #[error("there is no rank {0}")]
    NoRank(u32),
}

fn thread_label(thread: Option<NicThreadId>) -> String {
    thread.map_or("the Strobe Sender".to_owned(), |thread| {
        format!("NIC thread {}", thread.name())
    })
}

fn leak_list(left: &[TableLeak]) -> String {
    let left: Vec<String> = left.iter().map(TableLeak::to_string).collect();
    left.join(", ")
}
