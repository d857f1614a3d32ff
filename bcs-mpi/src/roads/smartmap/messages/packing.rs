//! A message in small pieces, which its sender packs where its receiver looks for it.
#![expect(unsafe_code, reason = "messages are named by address")]

use super::copier::Copier;
use crate::data::{Piece, Plain, gather};
use crate::roads::smartmap::requests::Id;
use bcs_core::limits::PACKED_STEP_BYTES;
use bcs_core::smartmap::packing::Packing;

/// A message that is packed where its receiver looks for it.
#[derive(Debug)]
pub(crate) struct Pack {
    pub(in crate::roads::smartmap) copier: Copier,
    pub(in crate::roads::smartmap) id: Id,
    pub(in crate::roads::smartmap) to: usize,
    pub(in crate::roads::smartmap) data: Piece,
    pub(in crate::roads::smartmap) into: Plain,
}

impl Pack {
    /// Packs it. No lock is held.
    pub(in crate::roads::smartmap) fn run(&self) {
        let Copier {
            node, page, place, ..
        } = &self.copier;
        let packing = Packing::of(node, *place, self.id).expect("requests have their transfers");
        let mut packed = 0;
        while packed < self.data.len() {
            let step = PACKED_STEP_BYTES.min(self.data.len() - packed);
            // SAFETY: nobody reads it before it is told to.
            let into = unsafe { self.into.part(packed..packed + step).bytes_mut() };
            gather(&self.data, packed, into);
            packed += step;
            packing.advance(u32::try_from(packed).expect("what is packed has a bound"));
            page.wake(packing.bell());
            if self.copier.help_alike(self.id, self.to, &self.data) {
                return; // Its receiver needs nothing that is packed.
            }
        }
    }
}
