//! The orders of a node's members for a rank's NIC.

use super::group::GroupId;
use crate::steps::CollectiveArguments;

/// The numbers of a collective, here and at the NICs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CollectiveNumber {
    pub(crate) group: GroupId,
    pub(crate) context: u32,
    pub(crate) sequence: u64,
}

/// An order: what a rank has to post to its NIC.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NicOrder {
    pub(crate) number: CollectiveNumber,
    pub(crate) part: CollectiveArguments,
    /// Whether it is for all members of the node.
    pub(crate) for_node: bool,
    /// They have no contribution, because memory that this world rank named is not mapped.
    pub(crate) faulty_rank: Option<u32>,
}
