//! What the switch has done so far.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

/// What has happened to UDP datagrams.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatagramCounts {
    /// So many have come.
    pub datagrams: u64,
    /// Of these, dropped as a fault.
    pub lost: u64,
    /// Sent twice.
    pub repeated: u64,
    /// Held back for others to overtake them.
    pub reordered: u64,
    /// Delayed, whether as a fault or for the bandwidth.
    pub delayed: u64,
    /// Changed.
    pub corrupted: u64,
    /// Dropped since too many were waiting.
    pub overflowed: u64,
    /// Waiting now.
    pub held: u64,
}

impl AddAssign for DatagramCounts {
    fn add_assign(&mut self, other: Self) {
        self.datagrams += other.datagrams;
        self.lost += other.lost;
        self.repeated += other.repeated;
        self.reordered += other.reordered;
        self.delayed += other.delayed;
        self.corrupted += other.corrupted;
        self.overflowed += other.overflowed;
        self.held += other.held;
    }
}

/// The same, of those from one port to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairCounts {
    /// The host that they come from.
    pub from: usize,
    /// The host that they go to.
    pub to: usize,
    /// What has happened to them.
    #[serde(flatten)]
    pub tally: DatagramCounts,
}

/// What a switch has done so far. A datagram for all hosts counts once for each.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwitchCounts {
    /// Frames of all kinds that have come.
    pub frames: u64,
    /// Frames that the kernel did not take: their port is cut.
    pub refused: u64,
    /// Frames that the kernel dropped before the switch read them, since it read too slowly. Fates are by number,
    /// so a run in which there are any cannot be told again.
    pub overrun: u64,
    /// All UDP datagrams.
    #[serde(flatten)]
    pub all: DatagramCounts,
    /// The same by pairs of hosts, without those between which nothing has come.
    pub pairs: Vec<PairCounts>,
}
