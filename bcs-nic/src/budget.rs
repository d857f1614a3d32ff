//! The budget of a link: how many bytes may enter a node in one slice (docs/slice.md).
//!
//! The data of messages and collectives count. Descriptors with their at most 64 inline bytes are
//! control traffic, bounded by the size of their block. Data in pieces count for more than their
//! bytes, because they take longer to move.
//!
//! Collectives divide their share of the budget into *tokens*. The data of a short one are *put* at
//! the tokens' places in the collective block. The data of a long one are *pulled* from memory to
//! memory by the nodes that need them: there a token is only the permission to move that number of
//! bytes.

use crate::blocks::Board;
use crate::bounds::Bounds;
use crate::collective::{NicGroup, steps};
use bcs_core::descriptor::CollectiveKind;
use bcs_core::job::{CopyMethod, Settings};
use bcs_core::layout::Location;
use bcs_core::limits::{COLLECTIVE_TOKENS, LONGEST_PUT_BYTES, MAX_TOKEN_BYTES};
use bcs_core::memory::slot::Slot;

/// How a slice's budget is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Bytes that may enter a node in one slice.
    pub budget: u64,
    /// Collective tokens a node has in one slice.
    pub tokens: u64,
    /// Bytes that may enter a node for one token.
    pub token_share: u64,
    /// Bytes that can be put at one token's place: its share, limited by the room there.
    pub token_bytes: u64,
    /// Bytes that could move in the extra time that one piece takes, where the kernel has to find
    /// it.
    piece_bytes: u64,
    /// The same for a piece that lies in a slot.
    mapped_piece_bytes: u64,
    /// The longest collective that is put.
    longest_put: u64,
}

/// The smallest share of a token: smaller steps would consist mostly of headers.
const MIN_TOKEN_BYTES: u64 = 1024;

/// The time that the kernel takes to find one more piece of a rank's memory; measured: 115 to 230
/// ns on a busy machine. It need not be exact. Without it a message of single numbers would take a
/// hundred times its share of a slice, and all others would wait for it.
const PIECE_NS: u64 = 100;

/// The time that one more piece takes in a slot, where NICs use loads and stores: its cache line
/// has to come.
const MAPPED_PIECE_NS: u64 = 10;

/// The part of a vector that one node folds for all is a multiple of this number. The size of every
/// element divides it.
const PART_BYTES: u64 = 64;

/// The shortest mean part for which it pays to get a part from every node. With shorter parts, that
/// is with more nodes, a tree needs fewer transfers.
const MIN_PART_BYTES: u64 = 1024;

/// How the data of a collective move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollectivePlan {
    /// Whether nodes pull the data that they need from memory to memory. Otherwise the data are put
    /// through the collective block.
    pub pulled: bool,
    /// Bytes of a step. A step takes one token if one rank of each node arrives for all of its
    /// node.
    pub step_bytes: u64,
    /// Tokens of a step otherwise.
    pub crowded: u64,
}

impl CollectivePlan {
    /// Returns the number of steps that these bytes take.
    #[must_use]
    pub fn steps(&self, bytes: u64) -> u64 {
        steps(bytes, self.step_bytes)
    }
}

impl Quota {
    /// Returns the quota of a job: at most seven eighths of the budget belong to the collectives'
    /// tokens.
    #[must_use]
    pub fn new(settings: &Settings) -> Self {
        let budget = settings.budget();
        let share = budget - budget / 8;
        let tokens = (share / MIN_TOKEN_BYTES).clamp(1, COLLECTIVE_TOKENS);
        let token_share = share / tokens;
        // MAX_LINK_BANDWIDTH keeps this within 64 bits.
        let bytes_in = |ns| settings.link_bandwidth * ns / 1_000_000_000;
        let piece_bytes = bytes_in(PIECE_NS);
        Self {
            budget,
            tokens,
            token_share,
            token_bytes: token_share.min(MAX_TOKEN_BYTES as u64) & !63,
            piece_bytes,
            mapped_piece_bytes: match settings.road {
                CopyMethod::Slots => bytes_in(MAPPED_PIECE_NS),
                _ => piece_bytes,
            },
            longest_put: LONGEST_PUT_BYTES,
        }
    }

    /// Returns the quota of a job whose tables and blocks have these bounds.
    #[must_use]
    pub fn with_bounds(settings: &Settings, bounds: &Bounds) -> Self {
        Self {
            longest_put: bounds.longest_put,
            ..Self::new(settings)
        }
    }

    /// Returns what a byte counts for in addition because its message is in pieces: the smaller the
    /// pieces, the more. The size of the pieces, and whether they lie in a slot, are unchecked
    /// claims of the rank. Nothing else depends on them.
    #[must_use]
    pub fn weight_of_pieces(&self, location: &Location) -> u64 {
        let address = usize::try_from(location.address).unwrap_or(usize::MAX);
        let piece_bytes = match Slot::containing(address) {
            Some(_) => self.mapped_piece_bytes,
            None => self.piece_bytes,
        };
        piece_bytes.checked_div(location.grain.into()).unwrap_or(0)
    }

    /// Returns the bytes of one step of a broadcast that is put.
    #[must_use]
    pub fn broadcast_step(&self) -> u64 {
        self.token_bytes
    }

    /// Returns the bytes of one step of a reduction that is put, over this number of nodes: an
    /// inner node takes in one part from each of its children, and the result.
    #[must_use]
    pub fn reduce_step(&self, nodes: usize) -> u64 {
        let parts = u64::from(nodes.next_power_of_two().trailing_zeros()) + 1;
        (self.token_bytes / parts).max(64) & !63
    }

    /// Returns how the data of a collective move. All its nodes compute the same plan.
    #[must_use]
    pub fn plan(&self, kind: CollectiveKind, bytes: u64, group: &NicGroup) -> CollectivePlan {
        let put = CollectivePlan {
            pulled: false,
            step_bytes: match kind {
                CollectiveKind::Reduce { .. } => self.reduce_step(group.nodes.len()),
                _ => self.broadcast_step(),
            },
            crowded: 1,
        };
        if bytes <= self.longest_put || group.nodes.len() < 2 || !Board::has_room_for(group) {
            return put;
        }
        self.pull(kind, bytes, group).unwrap_or(put)
    }

    fn pull(&self, kind: CollectiveKind, bytes: u64, group: &NicGroup) -> Option<CollectivePlan> {
        let (nodes, members) = (group.nodes.len() as u64, group.members.len() as u64);
        let step_bytes = match kind {
            CollectiveKind::Broadcast { .. } => self.token_share,
            CollectiveKind::Reduce { root: Some(_), .. } => self.token_share / (nodes - 1),
            CollectiveKind::Reduce { root: None, .. } => {
                if bytes / nodes < MIN_PART_BYTES {
                    return None;
                }
                let share = self.token_share.checked_sub((nodes - 2) * PART_BYTES)?;
                share * nodes / (2 * nodes - 2)
            }
            _ => return None,
        };
        let step_bytes = step_bytes & !(PART_BYTES - 1);
        let crowded = max_pulled_bytes(kind, step_bytes, nodes, members).div_ceil(self.token_share);
        (step_bytes > 0 && crowded <= self.tokens).then_some(CollectivePlan {
            pulled: true,
            step_bytes,
            crowded: crowded.max(1),
        })
    }
}

/// Returns the length of the part that one of `nodes` nodes folds for all, of a vector of `bytes`.
#[must_use]
pub fn part_bytes(bytes: u64, nodes: usize) -> u64 {
    let part = bytes.div_ceil(nodes as u64);
    part.next_multiple_of(PART_BYTES)
}

/// Returns the most bytes that enter a node when a step is pulled and all members arrive. Data that
/// members of one node copy from each other do not enter it.
fn max_pulled_bytes(kind: CollectiveKind, step_bytes: u64, nodes: u64, members: u64) -> u64 {
    let offers = (members - nodes) * PART_BYTES;
    offers
        + match kind {
            CollectiveKind::Broadcast { .. } => step_bytes,
            CollectiveKind::Reduce { root: Some(_), .. } => (members - 1) * step_bytes,
            // A node folds its part, for which it gets the others' contributions, and gets the
            // parts that the others have folded.
            _ => step_bytes + (members - 2) * (step_bytes / nodes + PART_BYTES),
        }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bcs_core::job::Placement;
    use bcs_core::limits::{MAX_NODES, MIN_BUDGET};
    use bcs_core::reduction::{Datatype, Op};

    const SUM: CollectiveKind = CollectiveKind::Reduce {
        root: None,
        op: Op::Sum,
        datatype: Datatype::Double,
    };

    #[test]
    fn tokens_never_take_more_than_seven_eighths_of_the_budget() {
        for bandwidth in [1, 10_000_000, 100_000_000, 1_000_000_000, 1 << 40] {
            let settings = Settings {
                link_bandwidth: bandwidth,
                ..Settings::default()
            };
            let quota = Quota::new(&settings);
            assert!(
                quota.tokens * quota.token_share <= quota.budget - quota.budget / 8,
                "{quota:?}"
            );
            assert!(quota.budget >= MIN_BUDGET);
            for nodes in 1..=MAX_NODES {
                let parts = u64::from(nodes.next_power_of_two().trailing_zeros()) + 1;
                assert!(
                    quota.reduce_step(nodes) * parts <= quota.token_bytes,
                    "{nodes} {quota:?}"
                );
            }
        }
    }

    #[test]
    fn a_piece_in_a_slot_counts_less_where_slots_are_mapped() {
        let by = |road| {
            Quota::new(&Settings {
                road,
                ..Settings::default()
            })
        };
        let pieces_at = |address| Location {
            grain: 8,
            ..Location::contiguous(address)
        };
        let (slot, elsewhere) = (Slot::at_place(3).unwrap().base() as u64, 4096);
        let kernel = by(CopyMethod::Slots).weight_of_pieces(&pieces_at(elsewhere));
        let mapped = by(CopyMethod::Slots).weight_of_pieces(&pieces_at(slot));
        assert!(0 < mapped && mapped < kernel, "{mapped} {kernel}");
        let unmapped = by(CopyMethod::Kernel).weight_of_pieces(&pieces_at(slot));
        assert_eq!(unmapped, kernel);
        assert_eq!(
            by(CopyMethod::Slots).weight_of_pieces(&Location::contiguous(slot)),
            0
        );
    }

    #[test]
    fn what_is_pulled_takes_no_more_than_its_tokens() {
        let reduce_to_one = CollectiveKind::Reduce {
            root: Some(0),
            op: Op::Sum,
            datatype: Datatype::Double,
        };
        for bandwidth in [1, 10_000_000, 4_000_000_000, 1 << 40] {
            let settings = Settings {
                link_bandwidth: bandwidth,
                ..Settings::default()
            };
            let quota = Quota::new(&settings);
            for nodes in 2..=40 {
                for members in [nodes, 2 * nodes, 5 * nodes + 1] {
                    let placement = Placement::block(members, nodes).unwrap();
                    let all = 0..u32::try_from(members).unwrap();
                    let group = NicGroup::new(all.collect(), &placement).unwrap();
                    for kind in [CollectiveKind::Broadcast { root: 0 }, reduce_to_one, SUM] {
                        let plan = quota.plan(kind, 1 << 20, &group);
                        if !plan.pulled {
                            continue;
                        }
                        let pulled = |members| {
                            let (nodes, members) = (nodes as u64, members as u64);
                            max_pulled_bytes(kind, plan.step_bytes, nodes, members)
                        };
                        assert!(pulled(nodes) <= quota.token_share, "{kind:?} {plan:?}");
                        let crowded = plan.crowded * quota.token_share;
                        assert!(pulled(members) <= crowded, "{kind:?} {plan:?}");
                        assert!(plan.crowded <= quota.tokens);
                    }
                }
            }
        }
    }

    #[test]
    fn a_long_collective_is_pulled_within_a_slice_and_a_short_one_is_put() {
        let quota = Quota::new(&Settings::default());
        for (members, nodes) in [(2, 2), (4, 4), (8, 4)] {
            let placement = Placement::block(members, nodes).unwrap();
            let all = 0..u32::try_from(members).unwrap();
            let group = NicGroup::new(all.collect(), &placement).unwrap();
            for kind in [CollectiveKind::Broadcast { root: 0 }, SUM] {
                assert!(!quota.plan(kind, LONGEST_PUT_BYTES, &group).pulled);
                let plan = quota.plan(kind, 1 << 20, &group);
                assert!(
                    plan.pulled && plan.steps(1 << 20) <= quota.tokens,
                    "{plan:?}"
                );
            }
        }
    }
}
