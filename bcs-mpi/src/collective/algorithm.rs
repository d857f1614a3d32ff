//! Which algorithm a collective uses.
//!
//! | what is called | all members on one node | some on this node | each by itself |
//! |---|---|---|---|
//! | what NICs do, up to a record's payload | [`CollectiveAlgorithm::Records`] | [`CollectiveAlgorithm::Hierarchy`] | [`CollectiveAlgorithm::Nic`] |
//! | the same, longer | [`CollectiveAlgorithm::Memory`] | [`CollectiveAlgorithm::Hierarchy`] | [`CollectiveAlgorithm::Nic`] |
//! | blocks | [`CollectiveAlgorithm::Exchange`] | [`CollectiveAlgorithm::Messages`] | [`CollectiveAlgorithm::Messages`] |
//! | equally long blocks, each for one member or the same for all | [`CollectiveAlgorithm::Exchange`] | [`CollectiveAlgorithm::ByLeaders`] | [`CollectiveAlgorithm::ByLeaders`] |
//!
//! All members of a communicator have to choose the same algorithm, so the choice depends only on
//! what they all know: the call, the places of the members, and the settings of the job. It depends
//! on the length only where a wrong length is found out later.
//!
//! **Not decided here**: Collectives among neighbours and between two groups are always messages,
//! since otherwise a rank would wait for others with which it has nothing to do. The caller decides
//! whether an operation is the NIC's or a function of the program by the function that it calls
//! ([`bcs_reduce`], [`bcs_fold`]). The machines in [`crate::transport::smartmap`] find out what is
//! known only when all have entered: whether memory can be reached, and whether a contribution fits
//! its record.
//!
//! [`bcs_reduce`]: crate::bcs::Endpoint::bcs_reduce
//! [`bcs_fold`]: crate::bcs::Endpoint::bcs_fold

use crate::schedules::{Context, Locality};
use crate::transport::smartmap::{GroupId, MAX_MEMBERS};
use bcs_core::job::CollectiveMode;
use bcs_core::smartmap::coll_info::PAYLOAD_BYTES;

/// Longer blocks go from rank to rank, because to copy them three times costs more than the
/// messages (measured on 2 to 4 nodes of 2 to 4 ranks on 2 cores: 8 B and 1 KiB take 0.5 to 1.0
/// times as long by leaders, 16 KiB 1.2 to 1.5 times).
const MAX_BLOCK_BYTES: usize = 4 * 1024;

/// With fewer members per node on average, leaders do not save many messages (measured: 2 nodes of
/// 2 ranks take 1.0 to 1.3 times as long by leaders).
const LEAST_PER_NODE: usize = 3;

/// The call, as far as the algorithm depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CollectiveClass {
    /// A collective that NICs can do: a barrier, a broadcast, a reduction by a predefined
    /// operation.
    OneResult,
    /// Bytes for each pair of members, to be kept or combined. `same` means that a member gives the
    /// same bytes to all that take from it.
    Blocks { same: bool },
    /// Such bytes, of one length on all ranks, which are on this number of nodes.
    EqualBlocks { nodes: usize, same: bool },
}

impl CollectiveClass {
    /// Returns whether the record of a member describes all that it gives, however many take it.
    fn fits_record(self, members: usize) -> bool {
        match self {
            Self::Blocks { same: true } | Self::EqualBlocks { same: true, .. } => true,
            _ => members <= MAX_MEMBERS,
        }
    }
}

/// The algorithm of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CollectiveAlgorithm<G = GroupId> {
    /// Each rank that wants the result takes it from the members' records.
    Records(G),
    /// The members read each other's memory.
    Memory(G),
    /// Each member publishes what it gives, and takes what is given to it.
    Exchange(G),
    /// The members on a node fold their contributions. One of them posts to its NIC for all, and
    /// distributes the result.
    Hierarchy(G),
    /// Each rank posts to its NIC.
    Nic,
    /// A message for each pair of members.
    Messages,
    /// The same within a node, and one message for each pair of nodes. Long blocks go one by one;
    /// the leaders' messages then carry that information, and no blocks.
    ByLeaders { one_by_one: bool },
}

/// Returns which members of a context do collectives in each other's memory. The number of members
/// on this node, where this rank reaches their memory, is `here`. Opens their group if it is
/// needed.
pub(super) fn locality<G>(
    members: usize,
    here: usize,
    collectives: CollectiveMode,
    open: impl FnOnce() -> Option<G>,
) -> Locality<G> {
    // A rank alone has no other members.
    let kind = match collectives {
        _ if here < 2 => return Locality::Apart,
        _ if here == members => Locality::OneNode,
        CollectiveMode::Hierarchical => Locality::SeveralNodes,
        CollectiveMode::Nic => return Locality::Apart,
    };
    open().map_or(Locality::Apart, kind)
}

/// Returns the algorithm for a call on a communicator of this many members. The length is that of
/// the data, or of one block if all are equally long.
#[inline]
fn choose_algorithm<G>(
    call: CollectiveClass,
    locality: Locality<G>,
    members: usize,
    bytes: usize,
) -> CollectiveAlgorithm<G> {
    match (call, locality) {
        (CollectiveClass::OneResult, Locality::OneNode(group)) if bytes <= PAYLOAD_BYTES => {
            CollectiveAlgorithm::Records(group)
        }
        (CollectiveClass::OneResult, Locality::OneNode(group)) => {
            CollectiveAlgorithm::Memory(group)
        }
        (CollectiveClass::OneResult, Locality::SeveralNodes(group)) => {
            CollectiveAlgorithm::Hierarchy(group)
        }
        (CollectiveClass::OneResult, Locality::Apart) => CollectiveAlgorithm::Nic,
        (_, Locality::OneNode(group)) if call.fits_record(members) => {
            CollectiveAlgorithm::Exchange(group)
        }
        (CollectiveClass::EqualBlocks { nodes, .. }, _)
            if nodes > 1 && members >= LEAST_PER_NODE * nodes =>
        {
            CollectiveAlgorithm::ByLeaders {
                one_by_one: bytes > MAX_BLOCK_BYTES,
            }
        }
        _ => CollectiveAlgorithm::Messages,
    }
}

impl Context {
    /// Returns the algorithm of a call on it.
    #[inline]
    pub(super) fn algorithm_for(&self, call: CollectiveClass, bytes: usize) -> CollectiveAlgorithm {
        choose_algorithm(call, self.locality, self.size as usize, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All members, the local members, and the setting of the job.
    type Place = (usize, usize, CollectiveMode);

    const ONE_NODE: Place = (4, 4, CollectiveMode::Hierarchical);
    const MOST: Place = (MAX_MEMBERS, MAX_MEMBERS, CollectiveMode::Hierarchical);
    const MANY: Place = (
        MAX_MEMBERS + 1,
        MAX_MEMBERS + 1,
        CollectiveMode::Hierarchical,
    );
    const TWO_NODES: Place = (6, 3, CollectiveMode::Hierarchical);
    /// `--intranode nic`: no memory of other ranks is reached.
    const BY_NIC: Place = (6, 0, CollectiveMode::Hierarchical);
    /// `--collectives nic`.
    const FLAT: Place = (6, 3, CollectiveMode::Nic);
    const FLAT_ONE_NODE: Place = (4, 4, CollectiveMode::Nic);
    /// The only one on its node.
    const SINGLE: Place = (6, 1, CollectiveMode::Hierarchical);
    const ALONE: Place = (1, 1, CollectiveMode::Hierarchical);

    const BLOCKS: CollectiveClass = CollectiveClass::Blocks { same: false };
    const SAME: CollectiveClass = CollectiveClass::Blocks { same: true };
    const ONE: CollectiveClass = CollectiveClass::EqualBlocks {
        nodes: 1,
        same: false,
    };
    const TWO: CollectiveClass = CollectiveClass::EqualBlocks {
        nodes: 2,
        same: false,
    };
    const TWO_SAME: CollectiveClass = CollectiveClass::EqualBlocks {
        nodes: 2,
        same: true,
    };
    const THREE: CollectiveClass = CollectiveClass::EqualBlocks {
        nodes: 3,
        same: false,
    };
    const WITH_BLOCKS: CollectiveAlgorithm<()> =
        CollectiveAlgorithm::ByLeaders { one_by_one: false };
    const ONE_BY_ONE: CollectiveAlgorithm<()> = CollectiveAlgorithm::ByLeaders { one_by_one: true };

    #[test]
    fn each_call_has_its_way() {
        let table = [
            (
                CollectiveClass::OneResult,
                ONE_NODE,
                0,
                CollectiveAlgorithm::Records(()),
            ),
            (
                CollectiveClass::OneResult,
                ONE_NODE,
                PAYLOAD_BYTES,
                CollectiveAlgorithm::Records(()),
            ),
            (
                CollectiveClass::OneResult,
                ONE_NODE,
                PAYLOAD_BYTES + 1,
                CollectiveAlgorithm::Memory(()),
            ),
            (
                CollectiveClass::OneResult,
                MANY,
                8,
                CollectiveAlgorithm::Records(()),
            ),
            (
                CollectiveClass::OneResult,
                MANY,
                1 << 20,
                CollectiveAlgorithm::Memory(()),
            ),
            (
                CollectiveClass::OneResult,
                FLAT_ONE_NODE,
                8,
                CollectiveAlgorithm::Records(()),
            ),
            (
                CollectiveClass::OneResult,
                FLAT_ONE_NODE,
                1 << 20,
                CollectiveAlgorithm::Memory(()),
            ),
            (
                CollectiveClass::OneResult,
                TWO_NODES,
                0,
                CollectiveAlgorithm::Hierarchy(()),
            ),
            (
                CollectiveClass::OneResult,
                TWO_NODES,
                1 << 20,
                CollectiveAlgorithm::Hierarchy(()),
            ),
            (
                CollectiveClass::OneResult,
                BY_NIC,
                8,
                CollectiveAlgorithm::Nic,
            ),
            (
                CollectiveClass::OneResult,
                FLAT,
                8,
                CollectiveAlgorithm::Nic,
            ),
            (
                CollectiveClass::OneResult,
                SINGLE,
                1 << 20,
                CollectiveAlgorithm::Nic,
            ),
            (
                CollectiveClass::OneResult,
                ALONE,
                8,
                CollectiveAlgorithm::Nic,
            ),
            (BLOCKS, ONE_NODE, 8, CollectiveAlgorithm::Exchange(())),
            (BLOCKS, ONE_NODE, 1 << 20, CollectiveAlgorithm::Exchange(())),
            (BLOCKS, FLAT_ONE_NODE, 8, CollectiveAlgorithm::Exchange(())),
            (BLOCKS, MOST, 8, CollectiveAlgorithm::Exchange(())),
            (BLOCKS, MANY, 8, CollectiveAlgorithm::Messages),
            (BLOCKS, TWO_NODES, 8, CollectiveAlgorithm::Messages),
            (BLOCKS, BY_NIC, 8, CollectiveAlgorithm::Messages),
            (BLOCKS, FLAT, 1 << 20, CollectiveAlgorithm::Messages),
            (BLOCKS, SINGLE, 8, CollectiveAlgorithm::Messages),
            (BLOCKS, ALONE, 8, CollectiveAlgorithm::Messages),
            (ONE, ONE_NODE, 8, CollectiveAlgorithm::Exchange(())),
            (ONE, MANY, 8, CollectiveAlgorithm::Messages),
            (SAME, MANY, 8, CollectiveAlgorithm::Exchange(())),
            (SAME, TWO_NODES, 8, CollectiveAlgorithm::Messages),
            (TWO_SAME, TWO_NODES, MAX_BLOCK_BYTES, WITH_BLOCKS),
            (TWO, TWO_NODES, 0, WITH_BLOCKS),
            (TWO, TWO_NODES, MAX_BLOCK_BYTES, WITH_BLOCKS),
            (TWO, TWO_NODES, MAX_BLOCK_BYTES + 1, ONE_BY_ONE),
            (THREE, TWO_NODES, 8, CollectiveAlgorithm::Messages),
            (
                TWO,
                (5, 3, CollectiveMode::Hierarchical),
                8,
                CollectiveAlgorithm::Messages,
            ),
            // A node with one member uses leaders as all the others do.
            (TWO, SINGLE, 8, WITH_BLOCKS),
        ];
        for (call, (members, here, collectives), bytes, wanted) in table {
            let locality = locality(members, here, collectives, || Some(()));
            let found = choose_algorithm(call, locality, members, bytes);
            assert_eq!(
                found, wanted,
                "{call:?}, {here} of {members} here, {bytes} bytes"
            );
        }
    }

    #[test]
    fn a_group_is_opened_only_where_there_is_something_to_do() {
        for (members, here, collectives) in [BY_NIC, FLAT, SINGLE, ALONE] {
            let open = || -> Option<()> { panic!("nobody needs it") };
            assert_eq!(locality(members, here, collectives, open), Locality::Apart);
        }
    }
}
