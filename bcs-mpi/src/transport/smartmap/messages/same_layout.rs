//! Messages between data views of one layout: they are copied from piece to piece, without being
//! packed.
//!
//! To pack small pieces and to unpack them costs twice as much as to copy them once. If both ranks
//! have their memory in slots, either can reach the pieces of the other. But it would need the
//! other one's layout, which is an unchecked claim of any length. So no rank reads another one's
//! layout. A message holds the digest of its layout, and a receiver whose own has the same digest
//! uses its own layout to find the sender's pieces. In all other cases the sender packs, and the
//! receiver unpacks.
#![expect(unsafe_code, reason = "messages are named by address")]

use super::envelope::ScatteredSource;
use crate::data::{DataView, copy_alike};
use crate::transport::smartmap::peer_memory::PeerMemory;
use bcs_core::layout::DataLayout;
use std::ops::Range;
use std::sync::Arc;

/// Two places where a message has the same layout.
pub(in crate::transport::smartmap) struct SameLayoutCopy {
    layout: Arc<DataLayout>,
    from: u64,
    to: u64,
    /// The part of the message, as a length.
    len: usize,
}

impl SameLayoutCopy {
    /// Receiver: returns the copy of the first `len` bytes of a message at the address that the
    /// rank at a place has sent, if it has the same layout as its own data view and all pieces can
    /// be reached.
    pub(in crate::transport::smartmap) fn of(
        (peer_memory, place): (&PeerMemory, usize),
        data: ScatteredSource,
        into: &DataView,
        len: usize,
    ) -> Option<Self> {
        let layout = into.layout()?;
        if layout.digest() != data.digest {
            return None;
        }
        reach((peer_memory, place), layout, data.address, len)?;
        Some(Self {
            layout: layout.clone(),
            from: data.address,
            to: into.address(),
            len,
        })
    }

    /// Sender: returns the copy of the first `len` bytes of its own message to the address that the
    /// rank at a place has sent with the same layout, if all pieces can be reached.
    pub(in crate::transport::smartmap) fn to(
        (peer_memory, place): (&PeerMemory, usize),
        data: &DataView,
        into: u64,
        len: usize,
    ) -> Option<Self> {
        let layout = data.layout()?;
        reach((peer_memory, place), layout, into, len)?;
        Some(Self {
            layout: layout.clone(),
            from: data.address(),
            to: into,
            len,
        })
    }

    /// Copies a part of the message.
    pub(in crate::transport::smartmap) fn copy(&self, part: Range<usize>) {
        assert!(part.end <= self.len);
        // SAFETY: on one side is a data view of this rank, with its promise. The other rank has
        // promised that its pieces may be used in this way, and all of them are mapped as long as
        // the slots live.
        unsafe { copy_alike(&self.layout, self.from, self.to, part) };
    }
}

/// Returns whether all pieces from an address on are in the slot of the rank at a place.
fn reach(
    (peer_memory, place): (&PeerMemory, usize),
    layout: &DataLayout,
    address: u64,
    len: usize,
) -> Option<()> {
    let (low, bytes) = layout.span(len as u64)?;
    let bytes = usize::try_from(bytes).ok()?;
    let first = address.checked_add_signed(low)?;
    peer_memory.resolve(place, first, bytes).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;
    use bcs_core::layout::LayoutBuilder;

    /// Three blocks of 8 bytes, and the bytes between them.
    const MESSAGE: usize = 24;
    const MEMORY: usize = 56;

    fn blocks(distance: i64) -> Arc<DataLayout> {
        let mut layout = LayoutBuilder::default();
        for nth in 0..3 {
            layout.push(nth * distance, 8).unwrap();
        }
        Arc::new(layout.finish(3 * distance))
    }

    fn view(memory: &mut [u8; MEMORY], layout: &Arc<DataLayout>) -> DataView {
        let address = memory.as_mut_ptr().expose_provenance() as u64;
        // SAFETY: the memory holds all blocks, and tests keep it until the end.
        unsafe { DataView::new(address, MESSAGE, Some(layout.clone())) }
    }

    fn source(data: &DataView) -> ScatteredSource {
        ScatteredSource {
            address: data.address(),
            digest: data.layout().unwrap().digest(),
        }
    }

    #[test]
    fn equal_layouts_are_copied_without_packing() {
        let (mut data, mut fetched, mut brought) = ([7; MEMORY], [0; MEMORY], [0; MEMORY]);
        let layout = blocks(24);
        let from = view(&mut data, &layout);
        let into = view(&mut fetched, &layout);
        let sender = (&PeerMemory::here(1), 0);
        let copy = SameLayoutCopy::of(sender, source(&from), &into, MESSAGE).unwrap();
        copy.copy(0..MESSAGE);
        let into = view(&mut brought, &layout).address();
        let copy = SameLayoutCopy::to(sender, &from, into, MESSAGE).unwrap();
        copy.copy(0..MESSAGE);
        for found in [fetched, brought] {
            let is_in_a_block = |at: usize| at % 24 < 8;
            assert!((0..MEMORY).all(|at| found[at] == 7 * u8::from(is_in_a_block(at))));
        }
    }

    #[test]
    fn other_messages_are_packed() {
        let (mut data, mut into) = ([7; MEMORY], [0; MEMORY]);
        let (layout, wider) = (blocks(16), blocks(24));
        let from = view(&mut data, &layout);
        let reachable = PeerMemory::here(1);
        let other_layout = view(&mut into, &wider);
        let copy = SameLayoutCopy::of((&reachable, 0), source(&from), &other_layout, MESSAGE);
        assert!(copy.is_none(), "the layouts differ");
        let same = view(&mut into, &layout);
        let copy = SameLayoutCopy::of((&PeerMemory::CLOSED, 0), source(&from), &same, MESSAGE);
        assert!(copy.is_none(), "the sender's memory cannot be reached");
        let copy = SameLayoutCopy::to((&PeerMemory::CLOSED, 0), &from, same.address(), MESSAGE);
        assert!(copy.is_none(), "the receiver's memory cannot be reached");
    }
}
