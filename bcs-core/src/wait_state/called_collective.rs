//! What a rank called.

use crate::coded::coded;
use crate::descriptor::{CollectiveKind, NicCollectiveCall};
use crate::request::low;
use std::fmt;

/// What a rank called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CalledCollective {
    /// A collective of the NICs, or any with a wrong argument.
    Nic {
        /// Which one.
        kind: CollectiveKind,
        /// Length of the data in bytes, as in [`Call`].
        bytes: u64,
    },
    /// A collective that is made of messages.
    Messages(MessageCollective, Option<u32>),
}

/// Collectives that are made of messages. Those that differ only in how their arguments are
/// given (MPI_Gather, MPI_Gatherv) are one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageCollective {
    /// From a root.
    Scatter,
    /// To a root.
    Gather,
    /// To all.
    Allgather,
    /// From all to all.
    Alltoall,
    /// An inclusive scan.
    Scan,
    /// An exclusive scan.
    Exscan,
    /// A reduction by an operation that the program made.
    Reduce,
    /// The same, of which everybody gets a block.
    ReduceScatter,
    /// Among the neighbours of a topology.
    Neighbors,
    /// From a root to the other group of an intercommunicator. (What NICs do otherwise is made of
    /// messages there.)
    BroadcastBetween,
    /// A reduction of what the other group gives.
    ReduceBetween,
    /// The same, of which everybody gets a block.
    ReduceScatterBetween,
}

coded! { MessageCollective, "a collective that is made of messages":
    Scatter "a scatter",
    Gather "a gather",
    Allgather "an allgather",
    Alltoall "an all-to-all",
    Scan "a scan",
    Exscan "an exclusive scan",
    Reduce "a reduction by an operation of the program's",
    ReduceScatter "a reduce-scatter by an operation of the program's",
    Neighbors "an exchange among neighbours",
    BroadcastBetween "a broadcast between two groups",
    ReduceBetween "a reduction between two groups",
    ReduceScatterBetween "a reduce-scatter between two groups",
}

/// The top two bits, which [`Call`] sets both only of an invalid call, with the bit below them.
pub(super) const MESSAGES: u64 = 3 << 62;

impl CalledCollective {
    /// Whether it had a wrong argument.
    #[must_use]
    pub fn is_invalid(&self) -> bool {
        let Self::Nic { kind, .. } = self else {
            return false;
        };
        matches!(kind, CollectiveKind::Invalid(_))
    }

    /// In one word. Those of the NIC are as [`Call`] packs them, and no other is like one.
    #[must_use]
    pub fn pack(self) -> u64 {
        match self {
            Self::Nic { kind, bytes } => {
                let rank = 0;
                NicCollectiveCall { rank, kind, bytes }.pack()
            }
            Self::Messages(exchange, root) => {
                let root = root.map_or(0, |root| u64::from(root) + 1);
                MESSAGES | u64::from(exchange as u8) << 32 | root
            }
        }
    }

    /// From its word; `None` if that is none.
    #[must_use]
    pub fn unpack(word: u64) -> Option<Self> {
        if let Some(NicCollectiveCall { kind, bytes, .. }) = NicCollectiveCall::unpack(word) {
            return Some(Self::Nic { kind, bytes });
        }
        if word & MESSAGES != MESSAGES {
            return None;
        }
        let [.., exchange, _, _, _] = word.to_le_bytes();
        let exchange = MessageCollective::try_from(exchange).ok()?;
        Some(Self::Messages(exchange, low(word).checked_sub(1)))
    }
}

impl fmt::Display for CalledCollective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Nic { kind, bytes } => {
                let rank = 0;
                NicCollectiveCall { rank, kind, bytes }.fmt(f)
            }
            Self::Messages(exchange, root) => {
                exchange.fmt(f)?;
                match (exchange, root) {
                    (_, None) => Ok(()),
                    (
                        MessageCollective::Scatter | MessageCollective::BroadcastBetween,
                        Some(root),
                    ) => {
                        write!(f, " from rank {root}")
                    }
                    (_, Some(root)) => write!(f, " to rank {root}"),
                }
            }
        }
    }
}
