//! Which way a collective takes.
//!
//! | what is called | all members on one node | some on this node | each by itself |
//! |---|---|---|---|
//! | what NICs do, up to a record's payload | [`CollectiveAlgorithm::Records`] | [`CollectiveAlgorithm::HierarchicalAlltoall`] | [`CollectiveAlgorithm::NicTransport`] |
//! | the same, longer | [`CollectiveAlgorithm::Memory`] | [`CollectiveAlgorithm::HierarchicalAlltoall`] | [`CollectiveAlgorithm::NicTransport`] |
//! | blocks | [`CollectiveAlgorithm::LocalExchange`] | [`CollectiveAlgorithm::CommunicationStyle`] | [`CollectiveAlgorithm::CommunicationStyle`] |
//! | equally long blocks | [`CollectiveAlgorithm::LocalExchange`] | [`CollectiveAlgorithm::ByLeaders`] | [`CollectiveAlgorithm::ByLeaders`] |
//!
//! All members of a communicator have to find the same, so what is looked at is what they all know: what is
//! called, where the members are, how the job was started, and the length only where a wrong one is found out
//! on the way.
//!
//! **Not decided here**, because it is no question: collectives among neighbours and between two groups are
//! messages, since a rank would wait for others with which it has nothing to do. Whether an operation is the
//! NIC's or a function of the program's is said by what the caller calls ([`bcs_reduce`], [`bcs_fold`]). And what
//! is found out only when all have entered, whether memory can be reached and whether what a member gives fits
//! its record, is the affair of the machines in [`crate::roads::smartmap`].
//!
//! [`bcs_reduce`]: crate::bcs::Endpoint::bcs_reduce
//! [`bcs_fold`]: crate::bcs::Endpoint::bcs_fold

use crate::schedules::{Context, Locality};
use crate::transport::smartmap::{GroupId, MAX_MEMBERS};
use bcs_core::job::CollectiveMode;
use bcs_core::smartmap::coll_info::PAYLOAD_BYTES;

/// Longer blocks go from rank to rank: to copy them thrice costs more than the messages (measured on 2 to 4 nodes
/// of 2 to 4 ranks on 2 cores: 8 B and 1 KiB take 0.5 to 1.0 times as long by leaders, 16 KiB 1.2 to 1.5 times).
const MAX_BLOCK_BYTES: usize = 4 * 1024;

/// With fewer members on a node, in the mean, there are not many more messages one by one (measured: 2 nodes of 2
/// ranks take 1.0 to 1.3 times as long by leaders).
const LEAST_PER_NODE: usize = 3;

/// What is called, as far as the way depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CollectiveClass {
    /// What NICs can do: a barrier, a broadcast, a reduction by a predefined operation.
    OneResult,
    /// Other bytes between each pair of members, to be kept or combined.
    Blocks,
    /// The same, of one length on all ranks, which are on so many nodes.
    EqualBlocks { nodes: usize },
}

/// Which way a collective takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CollectiveAlgorithm<G = GroupId> {
    /// Whoever wants the result takes it from the members' records.
    Records(G),
    /// The members read each other's memory.
    Memory(G),
    /// Each member says what it gives, and takes what is given to it.
    Exchange(G),
    /// The members on a node fold, one of them goes to its NIC for all, and hands out.
    Hierarchy(G),
    /// Each rank goes to its NIC.
    Nic,
    /// A message for each pair of members.
    Messages,
    /// The same within a node, and one for each pair of nodes. Long blocks go one by one: these messages say
    /// so, and have no blocks.
    ByLeaders { one_by_one: bool },
}

/// Which members of a context do collectives in each other's memory, of so many, of which so many are `here`:
/// on this node, where this rank reaches their memory. Their group is opened if it is needed.
pub(super) fn locality<G>(
    members: usize,
    here: usize,
    collectives: CollectiveMode,
    open: impl FnOnce() -> Option<G>,
) -> Locality<G> {
    // A rank alone has nobody to do them with.
    let kind = match collectives {
        _ if here < 2 => return Locality::Apart,
        _ if here == members => Locality::OneNode,
        CollectiveMode::Hierarchical => Locality::SeveralNodes,
        CollectiveMode::Nic => return Locality::Apart,
    };
    open().map_or(Locality::Apart, kind)
}

/// The way of a call, on a communicator of so many members, of so many bytes: with equally long blocks, of one.
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
        (_, Locality::OneNode(group)) if members <= MAX_MEMBERS => {
            CollectiveAlgorithm::Exchange(group)
        }
        (CollectiveClass::EqualBlocks { nodes }, _)
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
    /// The way of a call on it.
    #[inline]
    pub(super) fn algorithm_for(&self, call: CollectiveClass, bytes: usize) -> CollectiveAlgorithm {
        choose_algorithm(call, self.locality, self.size as usize, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Members, those of them here, and how the job was started.
    type Place = (usize, usize, CollectiveMode);

    const ONE_NODE: Place = (4, 4, CollectiveMode::Hierarchical);
    const MOST: Place = (MAX_MEMBERS, MAX_MEMBERS, CollectiveMode::Hierarchical);
    const MANY: Place = (
        MAX_MEMBERS + 1,
        MAX_MEMBERS + 1,
        CollectiveMode::Hierarchical,
    );
    const TWO_NODES: Place = (6, 3, CollectiveMode::Hierarchical);
    /// `--intranode nic`: nobody's memory is reached.
    const BY_NIC: Place = (6, 0, CollectiveMode::Hierarchical);
    /// `--collectives nic`.
    const FLAT: Place = (6, 3, CollectiveMode::Nic);
    const FLAT_ONE_NODE: Place = (4, 4, CollectiveMode::Nic);
    /// The only one on its node.
    const SINGLE: Place = (6, 1, CollectiveMode::Hierarchical);
    const ALONE: Place = (1, 1, CollectiveMode::Hierarchical);

    const TWO: CollectiveClass = CollectiveClass::EqualBlocks { nodes: 2 };
    const THREE: CollectiveClass = CollectiveClass::EqualBlocks { nodes: 3 };
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
            (
                CollectiveClass::Blocks,
                ONE_NODE,
                8,
                CollectiveAlgorithm::Exchange(()),
            ),
            (
                CollectiveClass::Blocks,
                ONE_NODE,
                1 << 20,
                CollectiveAlgorithm::Exchange(()),
            ),
            (
                CollectiveClass::Blocks,
                FLAT_ONE_NODE,
                8,
                CollectiveAlgorithm::Exchange(()),
            ),
            (
                CollectiveClass::Blocks,
                MOST,
                8,
                CollectiveAlgorithm::Exchange(()),
            ),
            (
                CollectiveClass::Blocks,
                MANY,
                8,
                CollectiveAlgorithm::Messages,
            ),
            (
                CollectiveClass::Blocks,
                TWO_NODES,
                8,
                CollectiveAlgorithm::Messages,
            ),
            (
                CollectiveClass::Blocks,
                BY_NIC,
                8,
                CollectiveAlgorithm::Messages,
            ),
            (
                CollectiveClass::Blocks,
                FLAT,
                1 << 20,
                CollectiveAlgorithm::Messages,
            ),
            (
                CollectiveClass::Blocks,
                SINGLE,
                8,
                CollectiveAlgorithm::Messages,
            ),
            (
                CollectiveClass::Blocks,
                ALONE,
                8,
                CollectiveAlgorithm::Messages,
            ),
            (
                CollectiveClass::EqualBlocks { nodes: 1 },
                ONE_NODE,
                8,
                CollectiveAlgorithm::Exchange(()),
            ),
            (
                CollectiveClass::EqualBlocks { nodes: 1 },
                MANY,
                8,
                CollectiveAlgorithm::Messages,
            ),
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
            // A node with one member goes by leaders as all the others do.
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
