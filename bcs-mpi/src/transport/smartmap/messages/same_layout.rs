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
