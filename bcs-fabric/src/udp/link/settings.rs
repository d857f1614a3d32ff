//! How a link is set.

use bcs_core::job::NodeId;

/// How a link is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkSettings {
    /// The job, as far as 32 bits tell.
    pub epoch: u32,
    /// This node.
    pub from: NodeId,
    /// The peer.
    pub to: NodeId,
    /// The longest datagram, its tag not counted.
    pub datagram_bytes: usize,
    /// How fast it sends at most, in bytes a second: the budget.
    pub bytes_per_second: u64,
    /// The most bytes on their way: what the peer's socket holds.
    pub window_bytes: u64,
    /// How long an acknowledgement is kept back, for others to come with it.
    pub acknowledge_ns: u64,
    /// The least by which an answer may be late, before what it is to is taken for lost.
    pub grain_ns: u64,
    /// Who was idle may send so much at once as the pace has in this time.
    pub burst_ns: u64,
    /// How long it says nothing, before it says that it lives.
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
