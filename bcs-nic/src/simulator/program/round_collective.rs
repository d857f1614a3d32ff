//! The collectives at the end of a round, and their results.

use super::message_bytes::{LENGTHS, pattern};
use bcs_core::descriptor::{CollectiveKind, NicCollectiveCall};
use bcs_core::job::Placement;
use bcs_core::reduction::arithmetic::{ArithmeticPath, combine};
use bcs_core::reduction::{Datatype, Op};
use rand::Rng;
use rand_chacha::ChaCha8Rng;

/// A collective at the end of a round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::simulator) enum RoundCollective {
    Barrier,
    Broadcast {
        root: u32,
        len: usize,
    },
    Reduce {
        root: Option<u32>,
        op: Op,
        datatype: Datatype,
        elements: usize,
    },
}

impl RoundCollective {
    pub(super) fn new(members: &[u32], random: &mut ChaCha8Rng) -> Self {
        let root = members[random.random_range(0..members.len())];
        match random.random_range(0..3) {
            0 => Self::Barrier,
            1 => Self::Broadcast {
                root,
                len: LENGTHS[random.random_range(0..LENGTHS.len())],
            },
            _ => {
                let datatype =
                    [Datatype::Double, Datatype::Int32, Datatype::Float][random.random_range(0..3)];
                let op = [Op::Sum, Op::Max, Op::Prod][random.random_range(0..3)];
                let elements = [0, 1, 7, 8, 9, 300, 3000][random.random_range(0..7)];
                let root = random.random_bool(0.5).then_some(root);
                Self::Reduce {
                    root,
                    op,
                    datatype,
                    elements,
                }
            }
        }
    }

    /// Returns the call of a member.
    pub(in crate::simulator) fn call(&self, rank: u32) -> NicCollectiveCall {
        let (kind, bytes) = match self {
            Self::Barrier => (CollectiveKind::Barrier, 0),
            Self::Broadcast { root, len } => (CollectiveKind::Broadcast { root: *root }, *len),
            Self::Reduce {
                root,
                op,
                datatype,
                elements,
            } => {
                let kind = CollectiveKind::Reduce {
                    root: *root,
                    op: *op,
                    datatype: *datatype,
                };
                (kind, elements * datatype.size())
            }
        };
        let bytes = bytes as u64;
        NicCollectiveCall { rank, kind, bytes }
    }

    /// Returns the contribution of a member in round `round`.
    pub(in crate::simulator) fn contribution(&self, member: u32, round: usize) -> Vec<u8> {
        let id = u64::from(member) * 1000 + round as u64;
        match self {
            Self::Barrier => Vec::new(),
            Self::Broadcast { len, .. } => pattern(id, *len),
            Self::Reduce {
                datatype: Datatype::Double,
                elements,
                ..
            } => {
                let value = |at: usize| (id as f64 + 0.1) / (at as f64 + 3.0);
                (0..*elements)
                    .flat_map(|at| value(at).to_le_bytes())
                    .collect()
            }
            Self::Reduce {
                datatype: Datatype::Float,
                elements,
                ..
            } => {
                let value = |at: usize| (id as f32 + 0.1) / (at as f32 + 3.0);
                (0..*elements)
                    .flat_map(|at| value(at).to_le_bytes())
                    .collect()
            }
            Self::Reduce {
                datatype, elements, ..
            } => pattern(id, elements * datatype.size()),
        }
    }

    /// Returns the contributions of these members, folded from the left.
    pub(in crate::simulator) fn folded(&self, members: &[u32], round: usize) -> Vec<u8> {
        let mut parts = members.iter().map(|&rank| self.contribution(rank, round));
        let first = parts.next().expect("a node has a member");
        let Self::Reduce { op, datatype, .. } = self else {
            return first;
        };
        parts.fold(first, |mut left, right| {
            combine(*op, *datatype, ArithmeticPath::Host, &mut left, &right).expect("allowed");
            left
        })
    }

    /// Returns the result that a member must have; `None` if it gets nothing. This is the
    /// sequential oracle: it computes the canonical order (law 9) by its own recursion, not by the
    /// RH's code.
    pub(in crate::simulator) fn answer(
        &self,
        member: u32,
        members: &[u32],
        placement: &Placement,
        round: usize,
    ) -> Option<Vec<u8>> {
        match self {
            Self::Barrier => None,
            Self::Broadcast { root, .. } => Some(self.contribution(*root, round)),
            Self::Reduce {
                root: Some(root), ..
            } if *root != member => None,
            Self::Reduce { op, datatype, .. } => {
                let mut nodes: Vec<Vec<u32>> = Vec::new();
                for &rank in members {
                    let node = placement.node_of(rank);
                    match nodes.iter_mut().find(|on| placement.node_of(on[0]) == node) {
                        Some(on) => on.push(rank),
                        None => nodes.push(vec![rank]),
                    }
                }
                let fold = |parts: Vec<Vec<u8>>| {
                    parts.into_iter().reduce(|mut left, right| {
                        combine(*op, *datatype, ArithmeticPath::Soft, &mut left, &right)
                            .expect("allowed");
                        left
                    })
                };
                let partials: Vec<Vec<u8>> = nodes
                    .iter()
                    .map(|on| {
                        let local = on.iter().map(|&rank| self.contribution(rank, round));
                        fold(local.collect()).expect("a node has a member")
                    })
                    .collect();
                // Pairs of neighbours, then pairs of pairs: the binomial tree seen from above.
                let mut level = partials;
                while level.len() > 1 {
                    level = level
                        .chunks(2)
                        .map(|pair| fold(pair.to_vec()).expect("some"))
                        .collect();
                }
                level.pop()
            }
        }
    }
}
