//! Messages between pieces of one layout: they are copied from piece to piece, without being packed.
//!
//! To pack small pieces and to unpack them again costs twice what it costs to copy them once, and where both ranks
//! have their memory in slots either can reach the pieces of the other. What would be in the way is the other one's
//! layout, an allegation of as many words as it likes. So nobody reads another rank's: a message says the digest of its
//! layout, and a receiver whose own has the same looks for the pieces where its own layout says. Anything else goes
//! as before: the sender packs, the receiver unpacks.
#![expect(unsafe_code, reason = "messages are named by address")]

use super::envelope::ScatteredSource;
use crate::data::{DataView, copy_alike};
use crate::transport::smartmap::peer_memory::PeerMemory;
use bcs_core::layout::DataLayout;
use std::ops::Range;
use std::sync::Arc;

/// Two places where a message lies in the same pieces.
pub(in crate::transport::smartmap) struct SameLayoutCopy {
    layout: Arc<DataLayout>,
    from: u64,
    to: u64,
    /// How much of the message.
    len: usize,
}

impl SameLayoutCopy {
    /// Receiver: the first `len` bytes of a message that the rank at a place alleges to lie there, if they lie like
    /// its own piece and all can be reached.
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

    /// Sender: the first `len` bytes of its own message, and where the rank at a place, which says that its layout is
    /// the same, wants them, if all can be reached.
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
        // SAFETY: on one side is a piece of this rank's, and its promise. The other rank has said that its pieces may
        // be used so, and all of them are mapped as long as the slots live.
        unsafe { copy_alike(&self.layout, self.from, self.to, part) };
    }
}

/// Whether all pieces from an address on are in the slot of the rank at a place.
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
