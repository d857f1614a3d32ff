//! The state of a long collective, or of the first part of one of several nodes. It goes through
//! [`Phase`]s.

use super::direction::Direction;
use super::phase::Phase;
use crate::steps::CollectiveArguments;
use bcs_core::descriptor::CollectiveKind;
use bcs_core::reduction::arithmetic::{ArithmeticPath, CombineError, combine};
use bcs_core::reduction::{Datatype, Op};
use bcs_core::request::RequestFailure;
use bcs_core::smartmap::coll_info::PAYLOAD_BYTES;

/// A collective of this rank.
#[derive(Debug)]
pub(in crate::transport::smartmap) struct PhasedCollective {
    pub(super) part: CollectiveArguments,
    pub(super) phase: Phase,
    /// If the data go through the records in parts: the offset of the part.
    pub(super) offset: Option<usize>,
    /// Partial results that another member copies from here.
    pub(super) partial: Vec<u8>,
    /// The number of other members whose shares it has copied.
    pub(super) copied: usize,
    /// Whether all of those and this one have written their shares to the destinations, in a
    /// reduction to all.
    pub(super) all_placed: bool,
    /// The direction in which it goes over its data, if it is long.
    pub(super) direction: Direction,
    pub(super) failure: RequestFailure,
    /// In a mismatch: the call of another rank.
    pub(super) said: u64,
    pub(super) for_leader: Option<LeaderDelivery>,
}

/// In a collective of several nodes, the members on one node work for their leader. It is over when
/// the leader can post to its NIC.
#[derive(Debug)]
pub(super) struct LeaderDelivery {
    /// The arguments that the program posted.
    pub(super) whole: CollectiveArguments,
    pub(super) leader: usize,
}

/// Returns whether all members get a part of the result.
pub(super) fn hands_out(part: &CollectiveArguments) -> bool {
    let to_all = matches!(
        part.kind,
        CollectiveKind::Broadcast { .. } | CollectiveKind::Reduce { root: None, .. }
    );
    to_all && part.bytes > 0
}

impl PhasedCollective {
    pub(in crate::transport::smartmap) fn new(part: CollectiveArguments) -> Self {
        Self {
            part,
            phase: Phase::Posted,
            offset: None,
            partial: Vec::new(),
            copied: 0,
            all_placed: false,
            direction: Direction::Forth,
            failure: RequestFailure::None,
            said: 0,
            for_leader: None,
        }
    }

    /// Makes the part of a node's members for their leader.
    pub(super) fn for_leader(part: CollectiveArguments, for_leader: LeaderDelivery) -> Self {
        Self {
            for_leader: Some(for_leader),
            ..Self::new(part)
        }
    }

    /// Makes the broadcast of the leader's data through its record.
    pub(super) fn broadcast_in_parts(&mut self, part: CollectiveArguments) {
        self.part = part;
        self.for_leader = None;
        self.offset = Some(0);
        self.phase = Phase::Posted;
    }

    /// Returns whether its data stay in the members' memory.
    pub(super) fn is_in_memory(&self) -> bool {
        self.part.bytes > PAYLOAD_BYTES && self.offset.is_none()
    }

    /// Computes `accumulator = accumulator OP operand`. The processor's code gives the same bits as
    /// the NIC's.
    pub(super) fn combine(
        &mut self,
        (op, datatype): (Op, Datatype),
        accumulator: &mut [u8],
        operand: &[u8],
    ) {
        self.folded(combine(
            op,
            datatype,
            ArithmeticPath::Host,
            accumulator,
            operand,
        ));
    }

    /// Records the result of a fold, which fails if there is no such operation.
    pub(super) fn folded(&mut self, folded: Result<(), CombineError>) {
        if folded.is_err() {
            self.failure = RequestFailure::BadDescriptor;
        }
    }
}
