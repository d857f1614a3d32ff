//! The nodes of the members of a communicator.

use std::collections::HashMap;
use std::hash::Hash;

/// The nodes of a communicator, in the order of their first members, with the places of the members
/// on each.
#[derive(Clone, Debug)]
pub struct MembersByNode(pub(super) Vec<Vec<usize>>);

impl MembersByNode {
    /// Groups members by node, given the node of each. Returns `None` if they are all on one.
    #[must_use]
    pub fn new<N: Eq + Hash>(nodes_of_members: impl Iterator<Item = N>) -> Option<Self> {
        let mut nodes: Vec<Vec<usize>> = Vec::new();
        let mut known = HashMap::new();
        for (member, node) in nodes_of_members.enumerate() {
            let index = *known.entry(node).or_insert(nodes.len());
            if index == nodes.len() {
                nodes.push(Vec::new());
            }
            nodes[index].push(member);
        }
        (nodes.len() > 1).then_some(Self(nodes))
    }

    /// Returns the number of nodes.
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// Returns the index of a member's node.
    pub(super) fn node_of(&self, member: usize) -> usize {
        let found = self.0.iter().position(|members| members.contains(&member));
        found.expect("a member is on a node")
    }
}
