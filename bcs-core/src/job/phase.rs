//! The microphases of a time slice and the NIC threads that run in them (paper section 4.2).

use serde::{Deserialize, Serialize};

/// A microphase, in the order of the slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum Microphase {
    /// Descriptor exchange: BS delivers send descriptors to the BRs, BR takes receives.
    Dem = 0,
    /// Message scheduling: BR matches, chunks, schedules and tests collective readiness.
    Msm = 1,
    /// Point-to-point: DH moves the scheduled chunks.
    Pm = 2,
    /// Broadcast and barrier: CH.
    Bbm = 3,
    /// Reduce: RH.
    Rm = 4,
}

impl Microphase {
    /// All microphases in order.
    pub const ALL: [Self; 5] = [Self::Dem, Self::Msm, Self::Pm, Self::Bbm, Self::Rm];

    /// Returns the position in the slice, from 0.
    #[must_use]
    pub fn index(self) -> usize {
        self as usize
    }

    /// Returns the microphase with this position.
    #[must_use]
    pub fn from_index(index: u64) -> Option<Self> {
        Self::ALL.get(usize::try_from(index).ok()?).copied()
    }

    /// Returns the microphase after this one, if the slice goes on.
    #[must_use]
    pub fn next(self) -> Option<Self> {
        Self::ALL.get(self.index() + 1).copied()
    }

    /// Returns the paper's abbreviation.
    #[must_use]
    pub fn name(self) -> &'static str {
        ["DEM", "MSM", "PM", "BBM", "RM"][self.index()]
    }
}

/// A NIC thread. The order is that of the bells and event words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum NicThreadId {
    /// Strobe Receiver.
    StrobeReceiver = 0,
    /// Buffer Sender.
    BufferSender = 1,
    /// Buffer Receiver.
    BufferReceiver = 2,
    /// DMA Helper.
    DmaHelper = 3,
    /// Collective Helper.
    CollectiveHelper = 4,
    /// Reduce Helper.
    ReduceHelper = 5,
}

impl NicThreadId {
    /// All NIC threads of a node.
    pub const ALL: [Self; 6] = [
        Self::StrobeReceiver,
        Self::BufferSender,
        Self::BufferReceiver,
        Self::DmaHelper,
        Self::CollectiveHelper,
        Self::ReduceHelper,
    ];

    /// The number of NIC threads of a node.
    pub const COUNT: usize = Self::ALL.len();

    /// Returns the position in tables.
    #[must_use]
    pub fn index(self) -> usize {
        self as usize
    }

    /// Returns the paper's abbreviation, after which OS threads are named.
    #[must_use]
    pub fn name(self) -> &'static str {
        ["SR", "BS", "BR", "DH", "CH", "RH"][self.index()]
    }
}
