//! Nodes and sets of nodes.

use crate::limits::MAX_NODES;
use serde::{Deserialize, Serialize};

/// A node: one emulated NIC with its node manager and ranks. Counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct NodeId(pub u16);

impl NodeId {
    /// Returns the node as an index into tables.
    #[must_use]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }

    /// Returns the node with this index. It panics above [`MAX_NODES`], which no job exceeds.
    #[must_use]
    pub fn from_index(index: usize) -> Self {
        assert!(
            index < MAX_NODES,
            "node index {index} is above the limit of {MAX_NODES}"
        );
        Self(u16::try_from(index).expect("MAX_NODES fits u16"))
    }
}

impl std::fmt::Display for NodeId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// The destination set of a primitive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct NodeSet {
    bits: [u64; MAX_NODES / 64],
}

impl NodeSet {
    /// No node.
    pub const EMPTY: Self = Self {
        bits: [0; MAX_NODES / 64],
    };

    /// Returns the nodes 0 to `count` - 1.
    #[must_use]
    pub fn first_nodes(count: usize) -> Self {
        (0..count).map(NodeId::from_index).collect()
    }

    /// Returns the set of one node.
    #[must_use]
    pub fn only(node: NodeId) -> Self {
        std::iter::once(node).collect()
    }

    /// Adds a node.
    pub fn insert(&mut self, node: NodeId) {
        self.bits[node.index() / 64] |= 1 << (node.index() % 64);
    }

    /// Takes a node out.
    pub fn remove(&mut self, node: NodeId) {
        self.bits[node.index() / 64] &= !(1 << (node.index() % 64));
    }

    /// Returns whether the node is in the set.
    #[must_use]
    pub fn contains(&self, node: NodeId) -> bool {
        self.bits[node.index() / 64] & (1 << (node.index() % 64)) != 0
    }

    /// Returns the number of nodes in the set.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bits
            .iter()
            .map(|word| word.count_ones() as usize)
            .sum()
    }

    /// Returns whether no node is in the set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bits == [0; MAX_NODES / 64]
    }

    /// Returns the nodes that are in both sets.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        Self {
            bits: std::array::from_fn(|i| self.bits[i] & other.bits[i]),
        }
    }

    /// Returns the nodes that are in either set.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        let (ours, theirs) = (self.words(), other.words());
        Self::from_words(std::array::from_fn(|word| ours[word] | theirs[word]))
    }

    /// Returns the nodes in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.bits.iter().enumerate().flat_map(|(word, &bits)| {
            std::iter::successors(Some(bits), |rest| Some(rest & rest.wrapping_sub(1)))
                .take_while(|&rest| rest != 0)
                .map(move |rest| NodeId::from_index(word * 64 + rest.trailing_zeros() as usize))
        })
    }

    /// Returns the set as words, lowest nodes first (wire and shared-memory form).
    #[must_use]
    pub fn words(&self) -> [u64; MAX_NODES / 64] {
        self.bits
    }

    /// Returns the set of these words.
    #[must_use]
    pub fn from_words(bits: [u64; MAX_NODES / 64]) -> Self {
        Self { bits }
    }
}

impl FromIterator<NodeId> for NodeSet {
    fn from_iter<I: IntoIterator<Item = NodeId>>(nodes: I) -> Self {
        let mut set = Self::EMPTY;
        for node in nodes {
            set.insert(node);
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_lists_its_members_in_order() {
        let set: NodeSet = [200, 3, 64, 63, 0].into_iter().map(NodeId).collect();
        let members: Vec<u16> = set.iter().map(|node| node.0).collect();
        assert_eq!(members, [0, 3, 63, 64, 200]);
        assert_eq!(set.len(), 5);
        assert!(set.contains(NodeId(63)) && !set.contains(NodeId(62)));
        assert_eq!(NodeSet::from_words(set.words()), set);
    }

    #[test]
    fn the_first_n_nodes() {
        assert!(NodeSet::first_nodes(0).is_empty());
        assert_eq!(NodeSet::first_nodes(MAX_NODES).len(), MAX_NODES);
        assert_eq!(
            NodeSet::first_nodes(3).and(&NodeSet::only(NodeId(2))).len(),
            1
        );
    }
}
