//! A collective that is long, or the first of several nodes': what it consists of. It goes through [`Phase`]s.

use super::direction::Direction;
use super::phase::Phase;
use crate::steps::CollectiveArguments;
use bcs_core::descriptor::CollectiveKind;
use bcs_core::reduction::arithmetic::{ArithmeticPath, CombineError, combine};
use bcs_core::reduction::{Datatype, Op};
use bcs_core::request::RequestFailure;
use bcs_core::smartmap::coll_info::PAYLOAD_BYTES;

/// A collective of this rank's.
#[derive(Debug)]
pub(in crate::transport::smartmap) struct PhasedCollective {
    pub(super) part: CollectiveArguments,
    pub(super) phase: Phase,
    /// Of data that go through the records in parts: where the part begins.
    pub(super) offset: Option<usize>,
    /// Partial results that another member copies from here.
    pub(super) partial: Vec<u8>,
    /// From how many other members it has copied what they had folded.
    pub(super) copied: usize,
    /// All of those and this one have put it where it goes, in a reduction to all.
    pub(super) all_placed: bool,
    /// How it goes over its data, if it is long.
    pub(super) direction: Direction,
    pub(super) failure: RequestFailure,
    /// Of a mismatch: what another rank called.
    pub(super) said: u64,
    pub(super) for_leader: Option<LeaderDelivery>,
}

/// Of several nodes, the members on one do it for their leader: it is over when that can go to its NIC.
#[derive(Debug)]
pub(super) struct LeaderDelivery {
    /// What the program posted.
    pub(super) whole: CollectiveArguments,
    pub(super) leader: usize,
}

/// Whether all members have something of what comes out of it.
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

    /// What the members of a node do for their leader.
    pub(super) fn for_leader(part: CollectiveArguments, for_leader: LeaderDelivery) -> Self {
        Self {
            for_leader: Some(for_leader),
            ..Self::new(part)
        }
    }

    /// The leader hands out this, through its record.
    pub(super) fn broadcast_in_parts(&mut self, part: CollectiveArguments) {
        self.part = part;
        self.for_leader = None;
        self.offset = Some(0);
        self.phase = Phase::Posted;
    }

    /// Whether its data stay in the members' memory.
    pub(super) fn is_in_memory(&self) -> bool {
        self.part.bytes > PAYLOAD_BYTES && self.offset.is_none()
    }

    /// `accumulator = accumulator OP operand`. The processor's path gives the bits of the NIC's.
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

    /// Something has been folded, if there is such an operation.
    pub(super) fn folded(&mut self, folded: Result<(), CombineError>) {
        if folded.is_err() {
            self.failure = RequestFailure::BadDescriptor;
        }
    }
}
