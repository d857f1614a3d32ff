//! A message in small pieces. Its sender packs it where its receiver fetches it.
#![expect(unsafe_code, reason = "messages are named by address")]

use super::copier::Copier;
use crate::data::{ByteRange, DataView, gather};
use crate::transport::smartmap::requests::LocalRequestId;
use bcs_core::limits::PACKED_STEP_BYTES;
use bcs_core::smartmap::packing::PackingProgress;

/// A message that is packed where its receiver fetches it.
#[derive(Debug)]
pub(crate) struct Pack {
    pub(in crate::transport::smartmap) copier: Copier,
    pub(in crate::transport::smartmap) id: LocalRequestId,
    pub(in crate::transport::smartmap) to: usize,
    pub(in crate::transport::smartmap) data: DataView,
    pub(in crate::transport::smartmap) into: ByteRange,
}

impl Pack {
    /// Packs it. The caller holds no lock.
    pub(in crate::transport::smartmap) fn run(&self) {
        let Copier {
            node, page, place, ..
        } = &self.copier;
        let packing = PackingProgress::of_transfer(node, *place, self.id)
            .expect("requests have their transfers");
        let mut packed = 0;
        while packed < self.data.len() {
            let step = PACKED_STEP_BYTES.min(self.data.len() - packed);
            // SAFETY: the receiver does not read these bytes before it is notified.
            let into = unsafe { self.into.part(packed..packed + step).bytes_mut() };
            gather(&self.data, packed, into);
            packed += step;
            packing.advance(u32::try_from(packed).expect("what is packed has a bound"));
            page.wake(packing.bell());
            if self.copier.help_alike(self.id, self.to, &self.data) {
                return; // Its receiver needs no packed bytes.
            }
        }
    }
}
