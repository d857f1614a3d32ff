//! The ordinary heap, for processes that have no slot: the C library's.
//!
//! mimalloc cannot serve here because of the addresses it uses: between 2 and 30 TiB, where the
//! slots of other ranks must be mapped.
#![expect(unsafe_code, reason = "an allocator")]

use std::alloc::{GlobalAlloc as _, Layout, System};

/// Returns the layout of a block; `None` if no block can be so large.
fn layout(size: usize, alignment: usize) -> Option<Layout> {
    Layout::from_size_align(size, alignment).ok()
}

pub(crate) fn allocate(size: usize, alignment: usize) -> *mut u8 {
    let Some(layout) = layout(size, alignment) else {
        return std::ptr::null_mut();
    };
    // SAFETY: the C library's allocator takes a size of zero, too.
    unsafe { System.alloc(layout) }
}

pub(crate) fn allocate_zeroed(size: usize, alignment: usize) -> *mut u8 {
    let Some(layout) = layout(size, alignment) else {
        return std::ptr::null_mut();
    };
    // SAFETY: as above.
    unsafe { System.alloc_zeroed(layout) }
}

/// # Safety
/// As for [`crate::heap::reallocate_aligned`], and the block is not null.
pub(crate) unsafe fn reallocate(block: *mut u8, size: usize, alignment: usize) -> *mut u8 {
    // SAFETY: the caller's promise.
    let held = unsafe { usable_size(block) };
    let Some(layout) = layout(held, alignment) else {
        return std::ptr::null_mut();
    };
    // SAFETY: the caller's promise; the block has that many bytes.
    unsafe { System.realloc(block, layout, size) }
}

/// # Safety
/// As for [`crate::heap::reallocate_aligned`].
pub(crate) unsafe fn free(block: *mut u8) {
    // SAFETY: the caller's promise; all blocks are `malloc`'s or `posix_memalign`'s.
    unsafe { libc::free(block.cast()) };
}

/// # Safety
/// As for [`crate::heap::reallocate_aligned`].
pub(crate) unsafe fn usable_size(block: *const u8) -> usize {
    // SAFETY: the caller's promise; the block is not changed.
    unsafe { libc::malloc_usable_size(block.cast_mut().cast()) }
}
