//! A collective that is long, or goes to other nodes: what it consists of. It goes through [`Phase`]s.

use super::beyond_node::BeyondNode;
use super::direction::Direction;
use super::phase::{Look, Phase};
use crate::steps::Part;
use bcs_core::reduction::arithmetic::{Path, combine};
use bcs_core::reduction::{Datatype, Op};
use bcs_core::request::Failure;
use bcs_core::smartmap::coll_info::PAYLOAD_BYTES;

/// A collective of this rank's.
#[derive(Debug)]
pub(in crate::roads::smartmap) struct Phased {
    pub(super) part: Part,
    pub(super) phase: Phase,
    /// Of data that go through the records in parts: where the part begins.
    pub(super) offset: Option<usize>,
    /// Partial results that another member copies from here.
    pub(super) partial: Vec<u8>,
    /// From how many other members it has copied what they had folded.
    pub(super) copied: usize,
    /// How it goes over its data, if it is long.
    pub(super) direction: Direction,
    pub(super) failure: Failure,
    /// Of a mismatch: what another rank called.
    pub(super) said: u64,
    /// If it is one of several nodes: what there is beyond this one.
    pub(super) beyond: Option<Box<BeyondNode>>,
}

impl Phased {
    pub(in crate::roads::smartmap) fn new(part: Part) -> Self {
        Self {
            part,
            phase: Phase::Posted,
            offset: None,
            partial: Vec::new(),
            copied: 0,
            direction: Direction::Forth,
            failure: Failure::None,
            said: 0,
            beyond: None,
        }
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
        if combine(op, datatype, Path::Host, accumulator, operand).is_err() {
            self.failure = Failure::BadDescriptor;
        }
    }

    /// Not all memory can be reached: from here on the data go through the records.
    pub(super) fn in_parts(&mut self) -> Look {
        self.offset = Some(0);
        Look::Goes(Phase::Posted)
    }
}
