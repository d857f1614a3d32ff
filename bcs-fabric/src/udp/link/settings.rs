//! The settings of a link.

use bcs_core::job::NodeId;

/// The settings of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkSettings {
    /// The job's epoch: 32 bits that identify the job.
    pub epoch: u32,
    /// This node.
    pub from: NodeId,
    /// The peer.
    pub to: NodeId,
    /// The length of the longest datagram, without its tag.
    pub datagram_bytes: usize,
    /// The highest rate of sending, in bytes a second: the budget.
    pub bytes_per_second: u64,
    /// The most bytes in flight: the capacity of the peer's socket.
    pub window_bytes: u64,
    /// How long an acknowledgement waits for others to come with it.
    pub acknowledge_ns: u64,
    /// The least delay of an answer after which the datagram counts as lost.
    pub grain_ns: u64,
    /// A link that was idle may send at once what the pace allows in this time.
    pub burst_ns: u64,
    /// The time without a datagram after which the link sends a ping.
    pub quiet_ns: u64,
}

impl Default for LinkSettings {
    fn default() -> Self {
        Self {
            epoch: 0,
            from: NodeId(0),
            to: NodeId(0),
            datagram_bytes: 1_400,
            bytes_per_second: 1_000_000_000,
            window_bytes: 400_000,
            acknowledge_ns: 20_000,
            grain_ns: 200_000,
            burst_ns: 100_000,
            quiet_ns: 500_000_000,
        }
    }
}
