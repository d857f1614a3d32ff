//! What can go wrong on the simulated fabric, and how often.

use bcs_core::job::NodeId;

/// The faults of one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FaultPlan {
    /// Probability that an Xfer-And-Signal or get fails whole.
    pub lose: f64,
    /// Probability that one is delayed, and by how many nanoseconds at most.
    pub delay: (f64, u64),
    /// Transfers of different pairs overtake each other by up to so many nanoseconds.
    pub reorder_ns: u64,
    /// Nodes whose every operation takes so many times as long.
    pub slow: Vec<(NodeId, u64)>,
    /// Nodes that die, and when (nanoseconds of virtual time).
    pub crash: Vec<(NodeId, u64)>,
    /// After this time no more losses and delays happen, so that a run must converge.
    pub until_ns: u64,
}

/// How often each fault was injected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultCounts {
    /// Transfers lost; of a network of datagrams, these.
    pub lost: u64,
    /// Transfers or datagrams delayed.
    pub delayed: u64,
    /// Transfers given a random extra time so that pairs overtake each other; datagrams that were overtaken.
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
