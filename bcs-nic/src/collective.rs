//! Communicators and collectives as NICs know them.

use bcs_core::descriptor::{CollectiveDescriptor, CollectiveKind};
use bcs_core::fingerprint::fingerprint;
use bcs_core::job::{NodeId, NodeSet, Placement};
use std::sync::Arc;

/// The members of a context, and their nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NicGroup {
    /// World ranks in communicator order.
    pub members: Vec<u32>,
    /// The nodes, in the order of their first members. The reduction tree is over this list, so it
    /// does not depend on the root (law 9).
    pub nodes: Vec<NodeId>,
    /// The same nodes as a set.
    pub set: NodeSet,
    /// The index of each node's first member when the members are sorted by node, and at the end
    /// the number of members.
    pub first: Vec<usize>,
    /// A hash of the members: nodes that got different members must not go together.
    pub fingerprint: u64,
}

impl NicGroup {
    /// Returns the group of these world ranks; `None` if a rank does not exist or occurs twice, or
    /// if there are no ranks.
    #[must_use]
    pub fn new(members: Vec<u32>, placement: &Placement) -> Option<Self> {
        let mut nodes = Vec::new();
        let mut set = NodeSet::EMPTY;
        let mut on_node = vec![0; placement.nodes()];
        for &rank in &members {
            let node = placement.node_of(rank)?;
            on_node[node.index()] += 1;
            if !set.contains(node) {
                set.insert(node);
                nodes.push(node);
            }
        }
        let before = |first: &mut usize, node: &NodeId| {
            *first += on_node[node.index()];
            Some(*first)
        };
        let first = std::iter::once(0).chain(nodes.iter().scan(0, before));
        let first = first.collect();
        let mut sorted = members.clone();
        sorted.sort_unstable();
        sorted.dedup();
        (!members.is_empty() && sorted.len() == members.len()).then_some(Self {
            fingerprint: fingerprint(members.iter().map(|&rank| u64::from(rank))),
            members,
            nodes,
            set,
            first,
        })
    }

    /// Returns the node whose BR schedules the group's collectives: the *master*'s (paper section
    /// 4.4).
    #[must_use]
    pub fn master(&self) -> NodeId {
        self.nodes[0]
    }

    /// Returns a node's place in the reduction tree.
    #[must_use]
    pub fn place_of(&self, node: NodeId) -> Option<usize> {
        self.nodes.iter().position(|&other| other == node)
    }

    /// Returns the children of a place in the binomial tree, in the order in which they are
    /// combined.
    pub fn children(&self, place: usize) -> impl Iterator<Item = usize> + use<> {
        let count = self.nodes.len();
        let below = if place == 0 {
            count.next_power_of_two()
        } else {
            lowest_bit(place)
        };
        std::iter::successors(Some(1), |step| Some(step * 2))
            .take_while(move |&step| step < below)
            .map(move |step| place + step)
            .filter(move |&child| child < count)
    }

    /// Returns the parent of a place in the binomial tree, and which child of the parent the place
    /// is.
    #[must_use]
    pub fn parent(place: usize) -> Option<(usize, usize)> {
        (place > 0).then(|| {
            (
                place - lowest_bit(place),
                lowest_bit(place).trailing_zeros() as usize,
            )
        })
    }
}

fn lowest_bit(place: usize) -> usize {
    place & place.wrapping_neg()
}

/// A collective at which all ranks of this node have arrived.
#[derive(Clone, Debug)]
pub struct ReadyCollective {
    /// The context's slot of global variables.
    pub slot: u32,
    /// Which collective of the context, from 0.
    pub sequence: u64,
    /// The members.
    pub group: Arc<NicGroup>,
    /// The first member and the id of its context, if BR must be notified when the collective is
    /// over: later ones may go outside of the slice.
    pub over_to: Option<(u32, u32)>,
    /// The descriptors of the local members in communicator order, or the one that a member posted
    /// for all of them.
    pub local: Vec<(u32, CollectiveDescriptor)>,
}

impl ReadyCollective {
    /// Returns what the members do. All local members do the same: BR has checked it.
    #[must_use]
    pub fn kind(&self) -> CollectiveKind {
        self.local[0].1.kind
    }

    /// Returns the length of the data in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        match self.kind() {
            CollectiveKind::Broadcast { .. } | CollectiveKind::Reduce { .. } => {
                self.local[0].1.bytes
            }
            _ => 0,
        }
    }
}

/// The value that the master's BR writes into the `Go` variable of a context: the collective, how
/// many of its steps may be done by the end of this slice, and the first token of the new steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct StepGrant {
    /// How many collectives of the context have begun.
    pub begun: u64,
    /// How many steps of the last of them may be done.
    pub steps: u64,
    /// The first token of the new steps.
    pub token: u64,
}

impl StepGrant {
    const STEP_BITS: u32 = 28;
    const TOKEN_BITS: u32 = 6;
    /// `begun` is counted modulo this number: only neighbouring values are ever compared.
    const BEGUN: u64 = 1 << (64 - Self::STEP_BITS - Self::TOKEN_BITS);

    const REFUSED: u64 = (1 << Self::STEP_BITS) - 1;

    /// The largest number of steps of one collective.
    pub const MAX_STEPS: u64 = Self::REFUSED - 1;

    /// Returns the refusal of collective `sequence`: it will never go, because its members did not
    /// call the same.
    #[must_use]
    pub fn refusal(sequence: u64) -> Self {
        Self::new(sequence, Self::REFUSED, 0)
    }

    /// Whether this refuses collective `sequence`.
    #[must_use]
    pub fn refuses(self, sequence: u64) -> bool {
        self == Self::refusal(sequence)
    }

    /// Returns the grant of the steps up to `steps` of collective `sequence`, from this token on.
    #[must_use]
    pub fn new(sequence: u64, steps: u64, token: u64) -> Self {
        Self {
            begun: (sequence + 1) % Self::BEGUN,
            steps,
            token,
        }
    }

    /// Encodes it as the value of a variable.
    #[must_use]
    pub fn encode(self) -> u64 {
        ((self.begun % Self::BEGUN) << Self::STEP_BITS | self.steps) << Self::TOKEN_BITS
            | self.token
    }

    /// Decodes the value of a variable.
    #[must_use]
    pub fn decode(value: u64) -> Self {
        let steps = value >> Self::TOKEN_BITS;
        Self {
            begun: steps >> Self::STEP_BITS,
            steps: steps & Self::REFUSED,
            token: value & ((1 << Self::TOKEN_BITS) - 1),
        }
    }

    /// Returns how many steps of collective `sequence` may be done; `None` once a later one has
    /// begun.
    #[must_use]
    pub fn steps_of(self, sequence: u64) -> Option<u64> {
        match self.begun.wrapping_sub(sequence + 1) % Self::BEGUN {
            0 => Some(self.steps),
            ahead if ahead < Self::BEGUN / 2 => None,
            _ => Some(0),
        }
    }
}

/// The progress of one collective, as its CH or RH follows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepProgress {
    /// Steps done.
    pub done: u64,
}

impl StepProgress {
    /// Returns the steps that `go` newly grants to collective `sequence`, as (step, token).
    pub fn granted(self, go: StepGrant, sequence: u64) -> impl Iterator<Item = (u64, u64)> {
        let upto = match go.steps_of(sequence) {
            Some(steps) if !go.refuses(sequence) => steps.max(self.done),
            _ => self.done,
        };
        (self.done..upto).zip(go.token..)
    }
}

/// Returns the number of steps that these bytes take: at least one, because even an empty
/// collective synchronises.
#[must_use]
pub fn steps(bytes: u64, step_bytes: u64) -> u64 {
    bytes.div_ceil(step_bytes).max(1)
}

/// Returns the bytes of a step: (offset, length).
#[must_use]
pub fn step_range(step: u64, step_bytes: u64, bytes: u64) -> (u64, u64) {
    let offset = (step * step_bytes).min(bytes);
    (offset, step_bytes.min(bytes - offset))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_reaches_every_place_once() {
        let placement = Placement::block(64, 64).unwrap();
        for count in 1..=64u32 {
            let group = NicGroup::new((0..count).collect(), &placement).unwrap();
            let mut reached = vec![0];
            let mut next = 0;
            while next < reached.len() {
                let place = reached[next];
                for (nth, child) in group.children(place).enumerate() {
                    assert_eq!(NicGroup::parent(child), Some((place, nth)), "{count} nodes");
                    reached.push(child);
                }
                next += 1;
            }
            reached.sort_unstable();
            assert_eq!(reached, (0..count as usize).collect::<Vec<_>>());
        }
    }

    #[test]
    fn groups_of_strangers_are_refused() {
        let placement = Placement::block(4, 2).unwrap();
        assert_eq!(NicGroup::new(vec![0, 4], &placement), None);
        assert_eq!(NicGroup::new(vec![1, 1], &placement), None);
        assert_eq!(NicGroup::new(vec![], &placement), None);
        let group = NicGroup::new(vec![3, 0], &placement).unwrap();
        assert_eq!(group.master(), NodeId(1));
    }

    #[test]
    fn grants_are_known_when_their_numbers_come_round() {
        for lap in [1, 5] {
            for sequence in lap * StepGrant::BEGUN - 4..lap * StepGrant::BEGUN + 4 {
                let go = StepGrant::decode(StepGrant::new(sequence, 3, 7).encode());
                assert_eq!(go.steps_of(sequence), Some(3), "{sequence}");
                assert_eq!(go.steps_of(sequence - 1), None, "it is over");
                assert_eq!(go.steps_of(sequence + 1), Some(0), "it has not begun");
                assert!(!go.refuses(sequence));
                let refusal = StepGrant::decode(StepGrant::refusal(sequence).encode());
                assert!(refusal.refuses(sequence) && !refusal.refuses(sequence + 1));
            }
        }
    }

    #[test]
    fn grants_come_back_from_their_variable() {
        let first = StepGrant {
            begun: 1,
            steps: 3,
            token: 63,
        };
        let second = StepGrant {
            begun: 1,
            steps: 4,
            token: 0,
        };
        assert!(second.encode() > first.encode());
        assert_eq!(StepGrant::decode(first.encode()), first);
        let steps = StepProgress { done: 1 };
        assert_eq!(
            steps.granted(first, 0).collect::<Vec<_>>(),
            [(1, 63), (2, 64)]
        );
        assert_eq!(steps.granted(first, 1).count(), 0);
    }
}
