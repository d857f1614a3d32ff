//! A rank's call of a collective.

use crate::coded::coded;
use crate::descriptor::{CollectiveKind, NicCollectiveCall};
use crate::request::low;
use std::fmt;

/// A rank's call of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CalledCollective {
    /// A collective of the NICs, or any with a wrong argument.
    Nic {
        /// The collective.
        kind: CollectiveKind,
        /// The length of the data in bytes, as in [`NicCollectiveCall`].
        bytes: u64,
    },
    /// A collective that is made of messages.
    Messages(MessageCollective, Option<u32>),
}

/// The collectives that are made of messages. Variants that differ only in how their arguments are
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
    /// A reduction by an operation that the program defined.
    Reduce,
    /// The same reduction, but each rank gets a block of the result.
    ReduceScatter,
    /// Among the neighbours of a topology.
    Neighbors,
    /// From a root to the other group of an intercommunicator. (The NIC's collectives are also made
    /// of messages there.)
    BroadcastBetween,
    /// A reduction of the other group's contributions.
    ReduceBetween,
    /// The same reduction, but each rank gets a block of the result.
    ReduceScatterBetween,
}

impl MessageCollective {
    /// Returns whether each member gives the same bytes to all that take from it.
    #[must_use]
    pub fn gives_the_same(self) -> bool {
        matches!(self, Self::Gather | Self::Allgather)
    }
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

/// The top two bits. [`NicCollectiveCall`] sets both only in an invalid call, together with the bit
/// below them.
pub(super) const MESSAGES: u64 = 3 << 62;

impl CalledCollective {
    /// Returns whether the call had a wrong argument.
    #[must_use]
    pub fn is_invalid(&self) -> bool {
        let Self::Nic { kind, .. } = self else {
            return false;
        };
        matches!(kind, CollectiveKind::Invalid(_))
    }

    /// Packs the call into one word. The words of the NIC's collectives are those of
    /// [`NicCollectiveCall`]; no other call has the same word.
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

    /// Unpacks a word, or returns `None` if it is no call.
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
