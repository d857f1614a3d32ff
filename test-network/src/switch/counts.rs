//! The counts of a switch.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

/// The counts of UDP datagrams.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatagramCounts {
    /// Datagrams that have come.
    pub datagrams: u64,
    /// Datagrams dropped as a fault, which `datagrams` includes.
    pub lost: u64,
    /// Datagrams sent twice.
    pub repeated: u64,
    /// Datagrams held back for others to overtake them.
    pub reordered: u64,
    /// Datagrams delayed, whether as a fault or for the bandwidth.
    pub delayed: u64,
    /// Datagrams changed.
    pub corrupted: u64,
    /// Datagrams dropped since too many were waiting.
    pub overflowed: u64,
    /// Datagrams that wait now.
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

/// The counts of datagrams from one port to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairCounts {
    /// The host that they come from.
    pub from: usize,
    /// The host that they go to.
    pub to: usize,
    /// Their counts.
    #[serde(flatten)]
    pub tally: DatagramCounts,
}

/// All counts of a switch. A datagram for all hosts counts once for each.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwitchCounts {
    /// Frames of all kinds that have come.
    pub frames: u64,
    /// Frames that the kernel did not take, since their port is cut.
    pub refused: u64,
    /// Frames that the kernel dropped before the switch read them, since it read too slowly. Fates
    /// go by number, so a run with such frames cannot be repeated.
    pub overrun: u64,
    /// All UDP datagrams.
    #[serde(flatten)]
    pub all: DatagramCounts,
    /// The counts by pairs of hosts, without pairs that have had no datagram.
    pub pairs: Vec<PairCounts>,
}
