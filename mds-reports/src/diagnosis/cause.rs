//! The causes of slowness.

use mds::mmds::Primitive;

/// A reason why a program is slow.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum SlowCause {
    /// No cause costs enough to matter.
    NothingWrong,
    /// A rank computes for longer than the others, and they wait for it.
    LoadImbalance {
        /// The rank.
        rank: u32,
    },
    /// A rank does the same work as the others and takes longer, because others use its core, or
    /// because its core is slower.
    SlowCore {
        /// The rank.
        rank: u32,
    },
    /// A rank reads or writes files while the others wait.
    FileInput {
        /// The rank.
        rank: u32,
    },
    /// A rank sleeps outside of MPI while the others wait.
    Sleep {
        /// The rank.
        rank: u32,
    },
    /// One rank answers all others, one after the other.
    SerialisedRoot {
        /// The rank.
        rank: u32,
    },
    /// Receivers wait because this send comes late, though no rank has more work than others.
    LateSender {
        /// The place of the send.
        place: String,
    },
    /// Senders wait because this receive comes late.
    LateReceiver {
        /// The place of the receive.
        place: String,
    },
    /// Ranks enter this collective at different times, and another one comes last each time.
    WaitAtCollective {
        /// The collective.
        primitive: Primitive,
        /// Its place.
        place: String,
    },
    /// The ranks of the job take the cores from each other.
    MoreRanksThanCores,
    /// Messages wait for the next strobe.
    SlicesTooLong,
    /// Bytes take long to move, or wait for the budget of slices.
    Bandwidth,
    /// Messages are small, and so many that their starts take the time.
    ManySmallMessages,
}

impl SlowCause {
    /// Returns the name of the cause without its rank and place.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::NothingWrong => "nothing wrong",
            Self::LoadImbalance { .. } => "load imbalance",
            Self::SlowCore { .. } => "slow core",
            Self::FileInput { .. } => "I/O in one rank",
            Self::Sleep { .. } => "sleep in one rank",
            Self::SerialisedRoot { .. } => "serialised root",
            Self::LateSender { .. } => "late sender",
            Self::LateReceiver { .. } => "late receiver",
            Self::WaitAtCollective {
                primitive: Primitive::Barrier,
                ..
            } => "wait at barrier",
            Self::WaitAtCollective { .. } => "wait at collective",
            Self::MoreRanksThanCores => "more ranks than cores",
            Self::SlicesTooLong => "slices too long",
            Self::Bandwidth => "bandwidth",
            Self::ManySmallMessages => "many small messages",
        }
    }
}

/// A cause and its cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CostlyCause {
    /// The cause.
    pub cause: SlowCause,
    /// The time that ranks lost by it, summed over ranks.
    pub cost_ns: u64,
}
