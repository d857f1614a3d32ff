//! The placement of ranks on nodes.
//!
//! A job may have *spare ranks*: numbers after those of the ranks that start with it, with a node
//! and memory there, but without a process until `MPI_Comm_spawn` starts one (docs/spawning.md).

use super::bad_job::BadJob;
use super::node::NodeId;
use crate::limits::{MAX_NODES, MAX_RANKS, MAX_RANKS_PER_NODE};
use serde::{Deserialize, Serialize};

/// The placement of ranks on nodes. Nodes host consecutive ranks (block placement). Spare ranks
/// follow, one for each node in turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    /// The nodes of the ranks that start with the job.
    node_of_rank: Vec<u16>,
    nodes: usize,
    spare: usize,
}

/// The ranks of one node, by their place on it: those that start with the job, which are
/// consecutive, and then its spare ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeRanks {
    first: u32,
    starting: u32,
    first_spare: u32,
    spare: u32,
    /// The distance of two spare ranks of this node.
    step: u32,
}

impl NodeRanks {
    /// Returns consecutive ranks, from `first` on, none of them spare.
    #[must_use]
    pub const fn consecutive(first: u32, ranks: u32) -> Self {
        Self {
            first,
            starting: ranks,
            first_spare: u32::MAX,
            spare: 0,
            step: 1,
        }
    }

    /// Returns the number of ranks that start with the job.
    #[must_use]
    pub const fn starting(&self) -> u32 {
        self.starting
    }

    /// Returns the place of a rank, if it is on this node.
    #[must_use]
    #[inline]
    pub fn place_of(&self, rank: u32) -> Option<usize> {
        let place = rank.wrapping_sub(self.first);
        if place < self.starting {
            return Some(place as usize);
        }
        self.place_of_spare(rank)
    }

    fn place_of_spare(&self, rank: u32) -> Option<usize> {
        let after = rank.checked_sub(self.first_spare)?;
        let spare = after / self.step;
        (after.is_multiple_of(self.step) && spare < self.spare)
            .then_some((self.starting + spare) as usize)
    }

    /// Returns the rank at a place. (A place that the node has not gives a rank that is not there.)
    #[must_use]
    #[inline]
    pub fn rank_at(&self, place: usize) -> u32 {
        let place = u32::try_from(place).expect("MAX_RANKS_PER_NODE fits u32");
        match place.checked_sub(self.starting) {
            None => self.first + place,
            Some(spare) => self.first_spare.saturating_add(spare * self.step),
        }
    }
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
            spare: 0,
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
            spare: 0,
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
            spare: 0,
        })
    }

    /// Adds spare ranks, one to each node in turn.
    ///
    /// # Errors
    /// [`BadJob`] when there are more ranks than a limit.
    pub fn with_spare(self, spare: usize) -> Result<Self, BadJob> {
        let each = spare.div_ceil(self.nodes);
        let most = (0..self.nodes)
            .map(|node| self.starting_on(NodeId::from_index(node)).count())
            .max();
        let most = most.unwrap_or(0).saturating_add(each);
        let all = self.node_of_rank.len().saturating_add(spare);
        check_counts(all, self.nodes, most)?;
        Ok(Self { spare, ..self })
    }

    /// Returns the number of ranks that start with the job.
    #[must_use]
    pub fn ranks(&self) -> usize {
        self.node_of_rank.len()
    }

    /// Returns the number of all ranks, spare ones included.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.node_of_rank.len() + self.spare
    }

    /// Returns the number of nodes.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// Returns the node of a rank, spare or not, if the rank exists.
    #[must_use]
    pub fn node_of(&self, rank: u32) -> Option<NodeId> {
        let rank = rank as usize;
        if let Some(&node) = self.node_of_rank.get(rank) {
            return Some(NodeId(node));
        }
        (rank < self.capacity())
            .then(|| NodeId::from_index((rank - self.node_of_rank.len()) % self.nodes))
    }

    /// Returns the ranks of a node that start with the job, in ascending order.
    pub fn starting_on(&self, node: NodeId) -> impl Iterator<Item = u32> + Clone + '_ {
        (0u32..)
            .zip(&self.node_of_rank)
            .filter(move |&(_, &on)| on == node.0)
            .map(|(rank, _)| rank)
    }

    /// Returns all ranks of a node in ascending order, spare ones included.
    pub fn ranks_of(&self, node: NodeId) -> impl Iterator<Item = u32> + Clone + '_ {
        let first = self.node_of_rank.len() + node.index();
        let spare = (first..self.capacity()).step_by(self.nodes);
        let spare = spare.map(|rank| u32::try_from(rank).expect("MAX_RANKS fits u32"));
        self.starting_on(node).chain(spare)
    }

    /// Returns the ranks of a node by their places.
    #[must_use]
    pub fn node_ranks(&self, node: NodeId) -> NodeRanks {
        let number = |ranks: usize| u32::try_from(ranks).expect("MAX_RANKS fits u32");
        let first_spare = self.node_of_rank.len() + node.index();
        let spare = self.capacity().saturating_sub(first_spare);
        NodeRanks {
            first: self.starting_on(node).next().unwrap_or(0),
            starting: number(self.starting_on(node).count()),
            first_spare: number(first_spare),
            spare: number(spare.div_ceil(self.nodes)),
            step: number(self.nodes),
        }
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
    fn spare_ranks_are_on_each_node_in_turn() {
        let placement = Placement::counts(&[1, 3, 2]).unwrap().with_spare(7);
        let placement = placement.unwrap();
        assert_eq!((placement.ranks(), placement.capacity()), (6, 13));
        let nodes: Vec<u16> = (6..13)
            .map(|rank| placement.node_of(rank).unwrap().0)
            .collect();
        assert_eq!(nodes, [0, 1, 2, 0, 1, 2, 0]);
        assert_eq!(placement.node_of(13), None);
        let on_node_1: Vec<u32> = placement.ranks_of(NodeId(1)).collect();
        assert_eq!(on_node_1, [1, 2, 3, 7, 10]);
        assert!(placement.starting_on(NodeId(1)).eq([1, 2, 3]));
        let too_many = placement.with_spare(MAX_RANKS);
        assert!(matches!(too_many, Err(BadJob::TooMany { .. })));
    }

    #[test]
    fn places_and_ranks_of_a_node_belong_together() {
        for spare in [0, 1, 2, 3, 8] {
            let placement = Placement::counts(&[2, 1, 4]).unwrap();
            let placement = placement.with_spare(spare).unwrap();
            for node in (0..3).map(NodeId) {
                let ranks = placement.node_ranks(node);
                let mut known = Vec::new();
                for (place, rank) in placement.ranks_of(node).enumerate() {
                    assert_eq!(
                        ranks.place_of(rank),
                        Some(place),
                        "{spare} spare, rank {rank}"
                    );
                    assert_eq!(ranks.rank_at(place), rank);
                    known.push(rank);
                }
                let others = (0..40).filter(|rank| !known.contains(rank));
                assert!(
                    others
                        .into_iter()
                        .all(|rank| ranks.place_of(rank).is_none())
                );
            }
        }
        let alone = NodeRanks::consecutive(5, 2);
        assert_eq!(
            [4, 5, 6, 7].map(|rank| alone.place_of(rank)),
            [None, Some(0), Some(1), None]
        );
        assert_eq!(alone.place_of(u32::MAX), None);
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
