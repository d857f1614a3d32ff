//! The parts of the rank that collectives need.

use super::direction::LastDirection;
use crate::transport::smartmap::peer_memory::PeerMemory;
use bcs_core::job::NodeRanks;
use bcs_core::smartmap::NodeMemory;
use bcs_core::wake::MachinePage;

/// The environment in which a rank's collectives advance.
#[derive(Clone, Copy, Debug)]
pub(in crate::transport::smartmap) struct CollectiveEnvironment<'a> {
    pub(in crate::transport::smartmap) node: &'a NodeMemory,
    pub(in crate::transport::smartmap) page: &'a MachinePage,
    pub(in crate::transport::smartmap) peer_memory: &'a PeerMemory,
    pub(in crate::transport::smartmap) last_direction: &'a LastDirection,
    /// The ranks of this node.
    pub(in crate::transport::smartmap) ranks: NodeRanks,
}
