//! Desks: where the ranks of a node sit.

use super::node_memory::NodeMemory;
use crate::memory::MappedWord;

/// The desk of a rank that shares a node with others.
#[derive(Clone, Debug)]
pub struct Desk {
    /// What the ranks of its node share.
    pub node: NodeMemory,
    /// The rank's number among them.
    pub place: usize,
}

impl Desk {
    /// The bell of the rank: its NIC and the other ranks of its node ring it.
    #[must_use]
    pub fn bell(&self) -> MappedWord {
        self.node.mapped_bell(self.place)
    }
}
