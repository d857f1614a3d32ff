//! Moving bytes between ranks that are all in this process.
#![expect(unsafe_code, reason = "ranks name their buffers by address")]

use bcs_core::layout::{Location, RemoteRuns};

fn at(address: u64) -> *mut u8 {
    std::ptr::with_exposed_provenance_mut(usize::try_from(address).expect("64 bits"))
}

/// Bytes that are copied at a time where they do not lie side by side.
const BOUNCE_BYTES: usize = 16 * 1024;

/// Copies a message from its sender's buffer to its receiver's, which may overlap.
pub(super) fn copy(from: Location, to: Location, len: usize) {
    if from.layout.is_none() && to.layout.is_none() {
        if len > 0 {
            // SAFETY: the ranks are endpoints of this process, and whoever posted the two requests
            // promised the endpoint that the memory stays until they are done, which they are not.
            unsafe { std::ptr::copy(at(from.address), at(to.address), len) };
        }
        return;
    }
    let mut bounce = [0; BOUNCE_BYTES];
    let mut offset = 0;
    while offset < len {
        let bytes = &mut bounce[..(len - offset).min(BOUNCE_BYTES)];
        each_piece(from, offset, bytes, |address, piece| {
            // SAFETY: as above; the bounce buffer is the NIC's own.
            unsafe { std::ptr::copy_nonoverlapping(at(address), piece.as_mut_ptr(), piece.len()) };
        });
        each_piece(to, offset, bytes, |address, piece| write(address, piece));
        offset += bytes.len();
    }
}

/// Says of each piece of a message, from `offset` on, where it is.
fn each_piece(of: Location, offset: usize, bytes: &mut [u8], mut tell: impl FnMut(u64, &mut [u8])) {
    let Some(layout) = of.layout else {
        return tell(of.address + offset as u64, bytes);
    };
    let read = |address, into: &mut [u8]| {
        // SAFETY: as for copy; a request keeps its layout as it keeps its buffer.
        unsafe { std::ptr::copy_nonoverlapping(at(address), into.as_mut_ptr(), into.len()) };
        true
    };
    let end = offset + bytes.len();
    let walk = RemoteRuns::pieces(read, layout.get(), offset as u64, end as u64);
    let mut walk = walk.expect("the layout is this library's");
    let mut rest = bytes;
    while let Some(strip) = walk.advance().expect("the layout is this library's") {
        let len = usize::try_from(strip.block).expect("64 bits");
        for place in strip.offsets() {
            let (piece, after) = rest.split_at_mut(len);
            tell(of.address.wrapping_add_signed(place), piece);
            rest = after;
        }
    }
}

/// A copy of a rank's buffer.
pub(super) fn read(from: u64, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    if len > 0 {
        // SAFETY: as for copy; the vector is new.
        unsafe { std::ptr::copy_nonoverlapping(at(from), bytes.as_mut_ptr(), len) };
    }
    bytes
}

/// Fills a rank's buffer.
pub(super) fn write(to: u64, bytes: &[u8]) {
    if !bytes.is_empty() {
        // SAFETY: as for copy; the slice is the NIC's own.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), at(to), bytes.len()) };
    }
}
