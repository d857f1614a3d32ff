//! What collectives need of the rank.

use super::direction::LastDirection;
use crate::roads::smartmap::peer_memory::PeerMemory;
use bcs_core::smartmap::NodeMemory;
use bcs_core::wake::MachinePage;

/// Where a rank's collectives go on.
#[derive(Clone, Copy, Debug)]
pub(in crate::roads::smartmap) struct Surroundings<'a> {
    pub(in crate::roads::smartmap) node: &'a NodeMemory,
    pub(in crate::roads::smartmap) page: &'a MachinePage,
    pub(in crate::roads::smartmap) peer_memory: &'a PeerMemory,
    pub(in crate::roads::smartmap) last_direction: &'a LastDirection,
    /// The world rank at place 0.
    pub(in crate::roads::smartmap) first: u32,
}
