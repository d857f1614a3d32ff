//! Moving bytes between ranks that are all in this process.
#![expect(unsafe_code, reason = "ranks name their buffers by address")]

fn at(address: u64) -> *mut u8 {
    std::ptr::with_exposed_provenance_mut(usize::try_from(address).expect("64 bits"))
}

/// Copies a message from its sender's buffer to its receiver's, which may overlap.
pub(super) fn copy(from: u64, to: u64, len: usize) {
    if len > 0 {
        // SAFETY: the ranks are endpoints of this process, and whoever posted the two requests
        // promised the endpoint that the memory stays until they are done, which they are not.
        unsafe { std::ptr::copy(at(from), at(to), len) };
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
