//! What there is of a collective beyond this node.

use super::order::{Number, Order};
use crate::roads::Outcome;
use crate::steps::Part;
use bcs_core::descriptor::CollectiveKind;

/// Of a collective of several nodes.
#[derive(Debug)]
pub(in crate::roads::smartmap) struct BeyondNode {
    /// What the program posted; that of the collective is what is done on this node.
    pub(super) whole: Part,
    pub(super) number: Number,
    pub(super) leader: usize,
    /// At the leader: where the result of its node is, and what it hands out.
    pub(super) data: u64,
    /// Where that is if the program has no place for it.
    pub(super) room: Vec<u8>,
    /// To the NIC, not yet taken.
    pub(super) order: Option<Order>,
    /// What the NIC has answered.
    pub(super) answer: Option<Outcome>,
    /// It is left to the NICs.
    pub(super) left: bool,
    /// All members have entered, and call the same.
    pub(super) agreed: bool,
    /// This member has its data already.
    pub(super) copied: bool,
}

impl BeyondNode {
    /// Whether the leader has something for the others in the end.
    pub(super) fn hands_out(&self) -> bool {
        let Part { kind, bytes, .. } = self.whole;
        let to_all = matches!(
            kind,
            CollectiveKind::Broadcast { .. } | CollectiveKind::Reduce { root: None, .. }
        );
        to_all && bytes > 0
    }
}
