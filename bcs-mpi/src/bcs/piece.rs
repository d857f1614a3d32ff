//! Memory of a rank as messages name it, and the bytes in it.

use super::buffer;
use bcs_core::layout::{Layout, Location};
use std::sync::Arc;

/// Memory for a message: bytes side by side, or as a layout says. Whoever has posted it holds the
/// layout until the NIC is done with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Where it is; with a layout, what its offsets are counted from.
    pub address: u64,
    /// How many bytes of a message it holds.
    pub len: usize,
    /// Where they are, if not side by side.
    pub layout: Option<Arc<Layout>>,
}

impl Piece {
    /// No memory.
    pub const EMPTY: Self = Self::new(0, 0);

    /// Bytes side by side.
    #[must_use]
    pub const fn new(address: u64, len: usize) -> Self {
        Self {
            address,
            len,
            layout: None,
        }
    }

    /// As descriptors name it.
    pub(super) fn location(&self) -> Location {
        match &self.layout {
            None => Location::at(self.address),
            Some(layout) => layout.location(self.address),
        }
    }
}

/// Bytes that are copied at a time between two pieces that both have a layout.
const BOUNCE_BYTES: usize = 16 * 1024;

/// Copies the bytes of a piece from `offset` on, as they are in a message.
///
/// # Safety
/// They are initialised and nobody writes them.
///
/// # Panics
/// If the piece does not have as many.
#[expect(unsafe_code, reason = "data are named by address")]
pub(crate) unsafe fn gather(from: &Piece, offset: usize, into: &mut [u8]) {
    assert!(offset <= from.len && into.len() <= from.len - offset);
    let Some(layout) = &from.layout else {
        let address = from.address.wrapping_add(offset as u64);
        // SAFETY: the caller's promise.
        into.copy_from_slice(unsafe { buffer::bytes(address, into.len()) });
        return;
    };
    let mut rest = into;
    let end = offset + rest.len();
    for strip in layout.pieces(offset as u64, end as u64) {
        let len = usize::try_from(strip.block * strip.count).expect("at most all bytes");
        let (bytes, after) = rest.split_at_mut(len);
        // SAFETY: the caller's promise, for each block of the layout.
        unsafe { buffer::gather(from.address, strip, bytes) };
        rest = after;
    }
}

/// Fills a piece from `offset` on with bytes of a message. What lies between them stays untouched.
///
/// # Safety
/// The piece may be written, nobody else uses it, and `bytes` are not in it.
///
/// # Panics
/// If the piece does not have as many.
#[expect(unsafe_code, reason = "data are named by address")]
pub(crate) unsafe fn scatter(into: &Piece, offset: usize, bytes: &[u8]) {
    assert!(offset <= into.len && bytes.len() <= into.len - offset);
    let Some(layout) = &into.layout else {
        // SAFETY: the caller's promise.
        unsafe { buffer::fill(into.address.wrapping_add(offset as u64), bytes) };
        return;
    };
    let mut rest = bytes;
    let end = offset + rest.len();
    for strip in layout.pieces(offset as u64, end as u64) {
        let len = usize::try_from(strip.block * strip.count).expect("at most all bytes");
        let (bytes, after) = rest.split_at(len);
        // SAFETY: the caller's promise, for each block of the layout.
        unsafe { buffer::scatter(into.address, strip, bytes) };
        rest = after;
    }
}

/// Copies one piece to the start of another. Pieces without a layout may overlap.
///
/// # Safety
/// What is read is initialised, what is written may be, and nobody else uses either.
///
/// # Panics
/// If the other has fewer bytes.
#[expect(unsafe_code, reason = "data are named by address")]
pub(crate) unsafe fn copy(from: &Piece, to: &Piece) {
    assert!(from.len <= to.len);
    if from.layout.is_none() && to.layout.is_none() {
        // SAFETY: the caller's promise.
        unsafe { buffer::copy(from.address, to.address, from.len) };
        return;
    }
    let mut bounce = [0; BOUNCE_BYTES];
    let mut offset = 0;
    while offset < from.len {
        let bytes = &mut bounce[..(from.len - offset).min(BOUNCE_BYTES)];
        // SAFETY: the caller's promise.
        unsafe { gather(from, offset, bytes) };
        // SAFETY: the caller's promise.
        unsafe { scatter(to, offset, bytes) };
        offset += bytes.len();
    }
}
