//! Which members of a communicator are on which node.

use std::collections::HashMap;
use std::hash::Hash;

/// With fewer members on a node, in the mean, there are not many more messages one by one (measured: 2 nodes of 2
/// ranks take 1.0 to 1.3 times as long by leaders).
const LEAST_PER_NODE: usize = 3;

/// The nodes of a communicator, in the order of their first members; places of members on each.
#[derive(Clone, Debug)]
pub struct Nodes(pub(super) Vec<Vec<usize>>);

impl Nodes {
    /// The nodes of these members, given each one's node. `None` if there is nothing to be gained: they are all on
    /// one node, or there are too few on each.
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
        let members: usize = nodes.iter().map(Vec::len).sum();
        let enough = members >= LEAST_PER_NODE * nodes.len();
        (nodes.len() > 1 && enough).then_some(Self(nodes))
    }

    /// The index of a member's node.
    pub(super) fn node_of(&self, member: usize) -> usize {
        let found = self.0.iter().position(|members| members.contains(&member));
        found.expect("a member is on a node")
    }
}
