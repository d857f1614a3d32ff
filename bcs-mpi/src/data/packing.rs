//! Data in small pieces pass through contiguous memory of the rank.
//!
//! To find a piece in the memory of another process costs the kernel 115 to 230 ns (measured),
//! however small the piece is. To copy it here costs a few. So a rank packs data in small pieces
//! when it posts a send, and unpacks them when it takes the completion of a receive. The NIC sees
//! contiguous bytes, and charges them as such. Each side decides for itself, because it does not
//! know the layout of the other one's data.
//!
//! Larger pieces stay in place. The NIC moves them while the rank computes. Within the node the
//! receiver would fetch them, with a call of the kernel each. There the sender packs pieces up to a
//! larger size, and packs while the receiver unpacks what is already packed
//! ([`crate::transport::smartmap`], `deferred_copy`).
#![expect(unsafe_code, reason = "memory is named by address")]

use super::copying::gather;
use super::data_view::{ByteRange, DataView};
use bcs_core::layout::Location;
use bcs_core::limits::INLINE_BYTES;

/// Pieces that are smaller on average are packed: to find one takes as long as to copy about this
/// many bytes.
pub(crate) const SMALL_PIECE_BYTES: u32 = 512;

/// The same within a node, where a rank that packs is no bottleneck for others.
pub(crate) const LOCAL_SMALL_PIECE_BYTES: u32 = 8 * 1024;

/// The longest message that is packed. A longer one would need as much memory again. The NIC moves
/// its pieces, and within a node they go through the queue.
const MAX_PACKED_BYTES: usize = 64 << 20;

/// Memory that is kept for later messages, because fresh memory costs more than the copy.
const MAX_POOLED_BYTES: usize = 8 << 20;

/// The number of buffers that are kept. A request for one looks at each.
const MAX_POOLED_BUFFERS: usize = 64;

/// Memory for the bytes of one message. It stays where it is while the NIC knows its address.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PackBuffer(Vec<u8>);

impl PackBuffer {
    /// Returns its location, for a NIC.
    pub(crate) fn location(&mut self) -> Location {
        Location::contiguous(self.0.as_mut_ptr().expose_provenance() as u64)
    }

    /// Returns its capacity in bytes.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns its first bytes, as memory for a message.
    pub(crate) fn plain(&mut self, len: usize) -> ByteRange {
        let address = self.bytes(len).as_mut_ptr().expose_provenance() as u64;
        // SAFETY: only its message uses it, which keeps it until the message is over.
        unsafe { ByteRange::new(address, len) }
    }

    /// Returns its first bytes.
    pub(crate) fn bytes(&mut self, len: usize) -> &mut [u8] {
        &mut self.0[..len]
    }
}

/// Free buffers.
#[derive(Debug, Default)]
pub(crate) struct PackBufferPool {
    free: Vec<PackBuffer>,
    /// Bytes of all free buffers.
    kept: usize,
}

impl PackBufferPool {
    /// Returns a buffer for a message of these data, if they should be packed because their pieces
    /// are smaller than `small`. Its contents are undefined.
    pub(crate) fn wanted(&mut self, data: &DataView, small: u32) -> Option<PackBuffer> {
        // Inline data need no buffer.
        let lengths = INLINE_BYTES + 1..=MAX_PACKED_BYTES;
        if !data.is_in_pieces_below(small) || !lengths.contains(&data.len()) {
            return None;
        }
        Some(self.allocate(data.len()))
    }

    /// Returns a buffer of this size. Its contents are undefined.
    pub(crate) fn allocate(&mut self, len: usize) -> PackBuffer {
        let fits = |room: &PackBuffer| room.0.len() >= len;
        let tightest = |&at: &usize| self.free[at].0.len();
        let found = (0..self.free.len()).filter(|&at| fits(&self.free[at]));
        let Some(at) = found.min_by_key(tightest) else {
            return PackBuffer(vec![0; len]);
        };
        let room = self.free.swap_remove(at);
        self.kept -= room.0.len();
        room
    }

    /// Returns a copy of the data of a message.
    pub(crate) fn copy_of(&mut self, data: &DataView) -> PackBuffer {
        let mut copy = self.allocate(data.len());
        gather(data, 0, copy.bytes(data.len()));
        copy
    }

    /// Takes back a buffer that has no other user any more.
    pub(crate) fn give_back(&mut self, room: Option<PackBuffer>) {
        let Some(room) = room else { return };
        let kept = self.kept + room.0.len();
        if kept <= MAX_POOLED_BYTES && self.free.len() < MAX_POOLED_BUFFERS {
            self.kept = kept;
            self.free.push(room);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bcs_core::layout::LayoutBuilder;
    use std::sync::Arc;

    fn data(len: usize, block: u64) -> DataView {
        let blocks = LayoutBuilder::block(0, block).repeat(3, 10_000).unwrap();
        // SAFETY: this address is never accessed.
        unsafe { DataView::new(0, len, Some(Arc::new(blocks.finish(0)))) }
    }

    #[test]
    fn rooms_are_used_again_and_not_too_many_are_kept() {
        let mut rooms = PackBufferPool::default();
        // SAFETY: this address is never accessed.
        let plain = unsafe { DataView::new(8, 100, None) };
        assert_eq!(
            rooms.wanted(&plain, SMALL_PIECE_BYTES),
            None,
            "side by side"
        );
        assert_eq!(
            rooms.wanted(&data(3_000, 1_000), SMALL_PIECE_BYTES),
            None,
            "large pieces"
        );
        assert_eq!(
            rooms.wanted(&data(MAX_PACKED_BYTES + 1, 8), SMALL_PIECE_BYTES),
            None
        );
        let [mut long, mut short] =
            [9_000, 900].map(|len| rooms.wanted(&data(len, 8), SMALL_PIECE_BYTES).unwrap());
        let (far, near) = (long.location(), short.location());
        assert_ne!(far, near);
        rooms.give_back(Some(long));
        rooms.give_back(Some(short));
        assert_eq!(
            rooms
                .wanted(&data(800, 8), SMALL_PIECE_BYTES)
                .unwrap()
                .location(),
            near
        );
        assert_eq!(
            rooms
                .wanted(&data(800, 8), SMALL_PIECE_BYTES)
                .unwrap()
                .location(),
            far
        );
        assert_eq!(rooms.kept, 0);
        for _ in 0..3 {
            rooms.give_back(Some(PackBuffer(vec![0; MAX_POOLED_BYTES / 2])));
        }
        assert_eq!((rooms.free.len(), rooms.kept), (2, MAX_POOLED_BYTES));
        let mut rooms = PackBufferPool::default();
        for _ in 0..=MAX_POOLED_BUFFERS {
            rooms.give_back(Some(PackBuffer(vec![0; 10])));
        }
        assert_eq!(
            (rooms.free.len(), rooms.kept),
            (MAX_POOLED_BUFFERS, 10 * MAX_POOLED_BUFFERS)
        );
        assert_eq!(
            rooms.wanted(&data(INLINE_BYTES, 8), SMALL_PIECE_BYTES),
            None,
            "inline"
        );
    }
}
