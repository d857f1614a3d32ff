//! The program's memory: the only place of this layer that touches it.
#![expect(
    unsafe_code,
    reason = "buffers are named by address, as the NIC needs them"
)]

use bcs_core::layout::Strip;

/// The bytes of a buffer.
///
/// # Safety
/// `len` bytes at `address` are initialised and nobody writes them while the slice lives.
pub(crate) unsafe fn bytes<'a>(address: u64, len: usize) -> &'a [u8] {
    if len == 0 {
        return &[]; // The address of an empty buffer means nothing.
    }
    let start = std::ptr::with_exposed_provenance(to_usize(address));
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(start, len) }
}

/// Copies blocks of memory to bytes side by side.
///
/// # Safety
/// The blocks are initialised and nobody writes them; `into` has as many bytes.
pub(super) unsafe fn gather(base: u64, strip: Strip, into: &mut [u8]) {
    let block = |address: u64, at: usize, len: usize| {
        let from: *const u8 = std::ptr::with_exposed_provenance(to_usize(address));
        // SAFETY: the caller's promise; `into` is borrowed, so nobody's message.
        unsafe { std::ptr::copy_nonoverlapping(from, into[at..at + len].as_mut_ptr(), len) };
    };
    each_block(base, strip, block);
}

/// Copies bytes side by side to blocks of memory.
///
/// # Safety
/// The blocks may be written and nobody else uses them; `from` has as many bytes, elsewhere.
pub(super) unsafe fn scatter(base: u64, strip: Strip, from: &[u8]) {
    let block = |address: u64, at: usize, len: usize| {
        let to = std::ptr::with_exposed_provenance_mut(to_usize(address));
        // SAFETY: the caller's promise.
        unsafe { std::ptr::copy_nonoverlapping(from[at..at + len].as_ptr(), to, len) };
    };
    each_block(base, strip, block);
}

/// Goes through the blocks of a strip: address, place in the message, length. Copies of the usual
/// lengths become moves of a register, because the compiler knows them.
fn each_block(base: u64, strip: Strip, mut copy: impl FnMut(u64, usize, usize)) {
    let first = base.wrapping_add_signed(strip.offset);
    let count = to_usize(strip.count);
    let mut all = |len: usize| {
        let mut address = first;
        for nth in 0..count {
            copy(address, nth * len, len);
            address = address.wrapping_add_signed(strip.stride);
        }
    };
    match strip.block {
        4 => all(4),
        8 => all(8),
        16 => all(16),
        block => all(to_usize(block)),
    }
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
pub(crate) unsafe fn bytes_mut<'a>(address: u64, len: usize) -> &'a mut [u8] {
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
