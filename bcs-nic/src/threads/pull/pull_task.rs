//! The tasks of the nodes in a collective whose data are pulled.
//!
//! | | offers to | folds | pulls |
//! |---|---|---|---|
//! | broadcast: the root's node | all others | - | - |
//! | the others | - | - | all of it, from the root |
//! | reduction to one: the root's node | - | all of it | - |
//! | the others | the root's node | - | - |
//! | reduction to all: each node | all others | its part | the other parts, from their nodes |
//!
//! Nodes are named by their places in the group's list. A node that reads another node's memory
//! reports when it needs it no more, so a node waits for this word from all nodes to which it has
//! offered.

use crate::budget::part_bytes;
use crate::collective::ReadyCollective;
use crate::threads::NodeConfig;
use crate::threads::arithmetic::Arithmetic;
use bcs_core::descriptor::CollectiveKind;
use std::ops::Range;

/// A member, and the place of its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RootMember {
    pub(super) rank: u32,
    pub(super) place: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PullTask {
    Broadcast(RootMember),
    ReduceToOne(RootMember, Arithmetic),
    ReduceToAll(Arithmetic),
}

impl PullTask {
    pub(super) fn new(collective: &ReadyCollective, config: &NodeConfig) -> Self {
        let root_at = |rank| {
            let node = config.placement.node_of(rank);
            let place = node.and_then(|node| collective.group.place_of(node));
            RootMember {
                rank,
                place: place.expect("BR has checked the root"),
            }
        };
        let (bytes, settings) = (collective.bytes(), &config.settings);
        match collective.kind() {
            CollectiveKind::Broadcast { root } => Self::Broadcast(root_at(root)),
            CollectiveKind::Reduce { root, op, datatype } => {
                let arithmetic = Arithmetic::new(op, datatype, bytes, settings);
                match root {
                    Some(root) => Self::ReduceToOne(root_at(root), arithmetic),
                    None => Self::ReduceToAll(arithmetic),
                }
            }
            kind => unreachable!("{kind:?} has no data"),
        }
    }

    /// Returns the nodes that read memory of the node at `place`, which sends them its address.
    pub(super) fn readers(self, place: usize, nodes: usize) -> Vec<usize> {
        match self {
            Self::Broadcast(root) if root.place != place => Vec::new(),
            Self::ReduceToOne(root, _) if root.place == place => Vec::new(),
            Self::ReduceToOne(root, _) => vec![root.place],
            _ => all_but(place, nodes),
        }
    }

    /// Returns the nodes whose memory the node at `place` reads.
    pub(super) fn sources(self, place: usize, nodes: usize) -> Vec<usize> {
        match self {
            Self::Broadcast(root) if root.place != place => vec![root.place],
            Self::Broadcast(_) => Vec::new(),
            Self::ReduceToOne(root, _) if root.place != place => Vec::new(),
            _ => all_but(place, nodes),
        }
    }

    /// Returns the bytes among these that the node at `place` folds.
    pub(super) fn part(self, place: usize, nodes: usize, bytes: &Range<u64>) -> Range<u64> {
        match self {
            Self::ReduceToOne(root, _) if root.place == place => bytes.clone(),
            Self::ReduceToAll(_) => {
                let part = part_bytes(bytes.end - bytes.start, nodes);
                let from = (bytes.start + part * place as u64).min(bytes.end);
                from..(from + part).min(bytes.end)
            }
            _ => 0..0,
        }
    }

    pub(super) fn arithmetic(self) -> Option<Arithmetic> {
        match self {
            Self::Broadcast(_) => None,
            Self::ReduceToOne(_, arithmetic) | Self::ReduceToAll(arithmetic) => Some(arithmetic),
        }
    }

    /// Whether a member gets data in its memory.
    pub(super) fn gives_to(self, rank: u32) -> bool {
        match self {
            Self::Broadcast(root) => root.rank != rank,
            Self::ReduceToOne(root, _) => root.rank == rank,
            Self::ReduceToAll(_) => true,
        }
    }
}

fn all_but(place: usize, nodes: usize) -> Vec<usize> {
    (0..nodes).filter(|&other| other != place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bcs_core::job::Settings;
    use bcs_core::reduction::{Datatype, Op};

    fn tasks() -> [PullTask; 3] {
        let root = RootMember { rank: 7, place: 2 };
        let sum = Arithmetic::new(Op::Sum, Datatype::Double, 8, &Settings::default());
        [
            PullTask::Broadcast(root),
            PullTask::ReduceToOne(root, sum),
            PullTask::ReduceToAll(sum),
        ]
    }

    #[test]
    fn who_reads_and_who_is_read_agree() {
        for task in tasks() {
            for (one, other) in (0..5).flat_map(|one| (0..5).map(move |other| (one, other))) {
                let reads = task.sources(one, 5).contains(&other);
                assert_eq!(reads, task.readers(other, 5).contains(&one), "{task:?}");
            }
        }
    }

    #[test]
    fn what_is_reduced_is_folded_once() {
        for task in tasks() {
            for bytes in [64..128, 0..1000, 4096..4096 + 64 * 7] {
                let mut parts = (0..5).map(|place| task.part(place, 5, &bytes));
                let folded: u64 = parts.by_ref().map(|part| part.end - part.start).sum();
                let all = bytes.end - bytes.start;
                assert_eq!(folded, if task.arithmetic().is_some() { all } else { 0 });
            }
        }
    }
}
