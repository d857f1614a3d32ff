//! The faults of the simulated fabric, and their frequencies.

use bcs_core::job::NodeId;

/// The faults of one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FaultPlan {
    /// Probability that an Xfer-And-Signal or get fails as a whole.
    pub lose: f64,
    /// Probability that one is delayed, and the longest delay in nanoseconds.
    pub delay: (f64, u64),
    /// The most nanoseconds by which transfers of different pairs overtake each other.
    pub reorder_ns: u64,
    /// Slow nodes, and the factor by which each of their operations takes longer.
    pub slow: Vec<(NodeId, u64)>,
    /// Nodes that die, and their times of death (nanoseconds of virtual time).
    pub crash: Vec<(NodeId, u64)>,
    /// The time from which there are no losses and delays, so that a run must converge.
    pub until_ns: u64,
}

/// The number of injected faults of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultCounts {
    /// Transfers lost; in a network of datagrams, datagrams lost.
    pub lost: u64,
    /// Transfers or datagrams delayed.
    pub delayed: u64,
    /// Transfers given a random extra time so that pairs overtake each other; datagrams that were
    /// overtaken.
    pub reordered: u64,
    /// Operations of slow nodes.
    pub slowed: u64,
    /// Nodes that died.
    pub crashed: u64,
    /// Datagrams that came twice.
    pub repeated: u64,
    /// Datagrams lost because nothing passed for a while.
    pub cut: u64,
}

impl FaultCounts {
    /// Adds the counts of another run.
    pub fn add(&mut self, other: &Self) {
        self.lost += other.lost;
        self.delayed += other.delayed;
        self.reordered += other.reordered;
        self.slowed += other.slowed;
        self.crashed += other.crashed;
        self.repeated += other.repeated;
        self.cut += other.cut;
    }
}
