//! The program's memory: the only place of this layer that touches it.
#![expect(
    unsafe_code,
    reason = "buffers are named by address, as the NIC needs them"
)]

use bcs_core::limits::INLINE_BYTES;

/// The bytes of a buffer.
///
/// # Safety
/// `len` bytes at `address` are initialised and nobody writes them while the slice lives.
pub(super) unsafe fn bytes<'a>(address: u64, len: usize) -> &'a [u8] {
    if len == 0 {
        return &[]; // The address of an empty buffer means nothing.
    }
    let start = std::ptr::with_exposed_provenance(to_usize(address));
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(start, len) }
}

/// The bytes of a small buffer, as they travel in a descriptor.
///
/// # Safety
/// As for [`bytes`]; `len` is at most [`INLINE_BYTES`].
pub(super) unsafe fn inline(address: u64, len: usize) -> [u8; INLINE_BYTES] {
    let mut inline = [0; INLINE_BYTES];
    // SAFETY: the caller's promise.
    inline[..len].copy_from_slice(unsafe { bytes(address, len) });
    inline
}

/// Fills the start of a buffer.
///
/// # Safety
/// `bytes.len()` bytes at `address` may be written and nobody else looks at them.
pub(super) unsafe fn fill(address: u64, bytes: &[u8]) {
    if bytes.is_empty() {
        return;
    }
    let start = std::ptr::with_exposed_provenance_mut(to_usize(address));
    // SAFETY: the caller's promise; `bytes` is a copy from NIC memory, so it does not overlap.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), start, bytes.len()) };
}

/// The bytes of a buffer that is being filled.
///
/// # Safety
/// `len` bytes at `address` are initialised and may be written, and nobody else uses them while
/// the slice lives.
pub(super) unsafe fn bytes_mut<'a>(address: u64, len: usize) -> &'a mut [u8] {
    if len == 0 {
        return &mut [];
    }
    let start = std::ptr::with_exposed_provenance_mut(to_usize(address));
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts_mut(start, len) }
}

/// Copies bytes, also between buffers that overlap.
///
/// # Safety
/// `len` bytes at `from` are initialised, those at `to` may be written, and nobody else uses them.
pub(super) unsafe fn copy(from: u64, to: u64, len: usize) {
    if len == 0 || from == to {
        return;
    }
    let source: *const u8 = std::ptr::with_exposed_provenance(to_usize(from));
    let destination = std::ptr::with_exposed_provenance_mut(to_usize(to));
    // SAFETY: the caller's promise.
    unsafe { std::ptr::copy(source, destination, len) };
}

/// An address of the program's memory as a pointer, for whoever may use it.
pub(super) fn start(address: u64) -> *mut u8 {
    std::ptr::with_exposed_provenance_mut(to_usize(address))
}

fn to_usize(address: u64) -> usize {
    usize::try_from(address).expect("addresses have 64 bits here")
}
