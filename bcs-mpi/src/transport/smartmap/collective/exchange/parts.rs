//! An exchange in which not all memory can be reached: each giver's stream goes through its record,
//! some bytes at a time, and takers take their data. There are as many parts as the longest stream
//! needs, and all members enter each part like a collective of its own.
//!
//! Data that are to be folded in rounds come all at once here, so they need memory of their own.

use super::offered_block::Giver;
use crate::data::{DataView, copy, scatter};
use crate::steps::Round;
use crate::transport::smartmap::collective::group::LocalGroup;
use bcs_core::smartmap::coll_info::PAYLOAD_BYTES;
use std::collections::VecDeque;
use std::ops::Range;

/// The data that go through the records.
#[derive(Debug, Default)]
pub(super) struct PartwiseExchange {
    /// Bytes of each stream that have gone through.
    pub(super) gone: usize,
    /// The length of this rank's stream, and of the longest one.
    pub(super) own: usize,
    pub(super) longest: u64,
    pub(super) taking: Vec<StreamReceive>,
    /// The steps that follow, and where the data for them are then.
    pub(super) rounds: VecDeque<Round>,
    pub(super) staged: VecDeque<DataView>,
}

/// The data that this rank takes from one member.
#[derive(Debug)]
pub(super) struct StreamReceive {
    pub(super) giver: usize,
    /// Their offset in the stream.
    pub(super) at: u64,
    pub(super) into: DataView,
}

impl PartwiseExchange {
    /// Returns the bytes of its stream that this rank puts in its record for this part.
    pub(super) fn given(&self) -> Range<usize> {
        let from = self.gone.min(self.own);
        from..(from + PAYLOAD_BYTES).min(self.own)
    }

    /// Takes the data of a part, when all have published it.
    pub(super) fn take(&mut self, group: &LocalGroup) {
        let (first, last) = (self.gone as u64, (self.gone + PAYLOAD_BYTES) as u64);
        for StreamReceive { giver, at, into } in &self.taking {
            let end = at.saturating_add(into.len() as u64);
            let (from, to) = (first.max(*at), last.min(end));
            if from >= to {
                continue;
            }
            let offset = |of: u64| usize::try_from(of).expect("within a part, or a piece");
            let mut bytes = [0; PAYLOAD_BYTES];
            let bytes = &mut bytes[..offset(to - from)];
            let giver = Giver::of(group, *giver);
            let place = offset(from - first);
            giver
                .info
                .read_given(giver.number, PAYLOAD_BYTES, place, bytes);
            scatter(into, offset(from - at), bytes);
        }
        self.gone += PAYLOAD_BYTES;
    }

    /// Returns whether all has gone through.
    pub(super) fn is_over(&self) -> bool {
        self.gone as u64 >= self.longest
    }

    /// Does the steps that follow, unless something has `failed`.
    pub(super) fn finish(mut self, failed: bool) {
        for round in std::mem::take(&mut self.rounds) {
            if failed {
                return;
            }
            for (_, into) in round.receives {
                let staged = self.staged.pop_front().expect("there is one for each");
                copy(&staged, &into);
            }
            for local in round.then {
                local.run();
            }
        }
    }
}
