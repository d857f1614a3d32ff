//! What a rank's NIC is to do for the members of a node.

use super::group::GroupId;
use crate::steps::CollectiveArguments;

/// Which collective it is, here and to the NICs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CollectiveNumber {
    pub(crate) group: GroupId,
    pub(crate) context: u32,
    pub(crate) sequence: u64,
}

/// What a rank is to post to its NIC.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NicOrder {
    pub(crate) number: CollectiveNumber,
    pub(crate) part: CollectiveArguments,
    /// For all members of the node,
    pub(crate) for_node: bool,
    /// which have nothing to give, because memory that this world rank named is not there.
    pub(crate) faulty_rank: Option<u32>,
}
