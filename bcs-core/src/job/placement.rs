//! The placement of ranks on nodes.

use super::bad_job::BadJob;
use super::node::NodeId;
use crate::limits::{MAX_NODES, MAX_RANKS, MAX_RANKS_PER_NODE};
use serde::{Deserialize, Serialize};

/// The placement of ranks on nodes. Nodes host consecutive ranks (block placement).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    node_of_rank: Vec<u16>,
    nodes: usize,
}

fn check_counts(ranks: usize, nodes: usize, on_one_node: usize) -> Result<(), BadJob> {
    let limits = [
        ("ranks", ranks, MAX_RANKS),
        ("nodes", nodes, MAX_NODES),
        ("ranks on one node", on_one_node, MAX_RANKS_PER_NODE),
    ];
    if ranks == 0 {
        return Err(BadJob::NoRanks);
    }
    if nodes == 0 {
        return Err(BadJob::NoNodes);
    }
    for (what, asked, limit) in limits {
        if asked > limit {
            return Err(BadJob::TooMany { what, asked, limit });
        }
    }
    if nodes > ranks {
        return Err(BadJob::EmptyNodes { nodes, ranks });
    }
    Ok(())
}

impl Placement {
    /// Places consecutive ranks on each node. The first nodes take the remainder.
    ///
    /// # Errors
    /// [`BadJob`] when there are no ranks or nodes, more nodes than ranks, or more than a limit.
    pub fn block(ranks: usize, nodes: usize) -> Result<Self, BadJob> {
        check_counts(ranks, nodes, ranks.div_ceil(nodes.max(1)))?;
        let (share, remainder) = (ranks / nodes, ranks % nodes);
        let node_of_rank = (0..nodes)
            .flat_map(|node| {
                let ranks = share + usize::from(node < remainder);
                std::iter::repeat_n(NodeId::from_index(node).0, ranks)
            })
            .collect();
        Ok(Self {
            node_of_rank,
            nodes,
        })
    }

    /// Places `ranks_per_node` consecutive ranks on each node, and the remainder on the last node.
    ///
    /// # Errors
    /// [`BadJob`] when there are no ranks, no rank on a node, or more than a limit.
    pub fn full(ranks: usize, ranks_per_node: usize) -> Result<Self, BadJob> {
        if ranks_per_node == 0 {
            return Err(BadJob::NoRanksOnNode);
        }
        let nodes = ranks.div_ceil(ranks_per_node);
        check_counts(ranks, nodes.max(1), ranks.min(ranks_per_node))?;
        let node_of_rank = (0..ranks)
            .map(|rank| NodeId::from_index(rank / ranks_per_node).0)
            .collect();
        Ok(Self {
            node_of_rank,
            nodes,
        })
    }

    /// Places the given number of consecutive ranks on each node.
    ///
    /// # Errors
    /// [`BadJob`] when there are no ranks, no rank on a node, or more than a limit.
    pub fn counts(counts: &[usize]) -> Result<Self, BadJob> {
        if counts.contains(&0) {
            return Err(BadJob::NoRanksOnNode);
        }
        let most = counts.iter().copied().max().unwrap_or(0);
        let ranks = counts
            .iter()
            .fold(0usize, |ranks, &count| ranks.saturating_add(count));
        check_counts(ranks, counts.len(), most)?;
        let nodes = counts.iter().enumerate();
        let on_node = |(node, &count)| std::iter::repeat_n(NodeId::from_index(node).0, count);
        Ok(Self {
            node_of_rank: nodes.flat_map(on_node).collect(),
            nodes: counts.len(),
        })
    }

    /// Returns the number of ranks.
    #[must_use]
    pub fn ranks(&self) -> usize {
        self.node_of_rank.len()
    }

    /// Returns the number of nodes.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// Returns the node of a rank, if the rank exists.
    #[must_use]
    pub fn node_of(&self, rank: u32) -> Option<NodeId> {
        self.node_of_rank
            .get(rank as usize)
            .map(|&node| NodeId(node))
    }

    /// Returns the ranks of a node in ascending order.
    pub fn ranks_of(&self, node: NodeId) -> impl Iterator<Item = u32> + Clone + '_ {
        (0u32..)
            .zip(&self.node_of_rank)
            .filter(move |&(_, &on)| on == node.0)
            .map(|(rank, _)| rank)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_as_even_as_can_be() {
        let placement = Placement::block(7, 3).unwrap();
        let sizes: Vec<usize> = (0..3)
            .map(|node| placement.ranks_of(NodeId(node)).count())
            .collect();
        assert_eq!(sizes, [3, 2, 2]);
        assert_eq!(placement.node_of(3), Some(NodeId(1)));
        assert_eq!(placement.node_of(7), None);
    }

    #[test]
    fn nodes_may_have_what_they_were_given() {
        let placement = Placement::counts(&[1, 3, 2]).unwrap();
        let nodes: Vec<u16> = (0..6)
            .map(|rank| placement.node_of(rank).unwrap().0)
            .collect();
        assert_eq!(nodes, [0, 1, 1, 1, 2, 2]);
        assert_eq!(placement.nodes(), 3);
        assert_eq!(Placement::counts(&[]), Err(BadJob::NoRanks));
        assert_eq!(Placement::counts(&[1, 0]), Err(BadJob::NoRanksOnNode));
    }

    #[test]
    fn impossible_jobs_say_why() {
        assert_eq!(Placement::block(0, 1), Err(BadJob::NoRanks));
        assert_eq!(Placement::block(1, 0), Err(BadJob::NoNodes));
        assert_eq!(
            Placement::block(2, 3),
            Err(BadJob::EmptyNodes { nodes: 3, ranks: 2 })
        );
        assert!(matches!(
            Placement::block(MAX_RANKS + 1, 100),
            Err(BadJob::TooMany { what: "ranks", .. })
        ));
        assert!(matches!(
            Placement::block(MAX_RANKS_PER_NODE + 1, 1),
            Err(BadJob::TooMany {
                what: "ranks on one node",
                ..
            })
        ));
    }
}
