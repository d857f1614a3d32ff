//! The heap as Rust's global allocator.
#![expect(unsafe_code, reason = "an allocator")]

use crate::heap;
use std::alloc::{GlobalAlloc, Layout};

/// The heap in the slot: `#[global_allocator] static HEAP: SlotHeap = SlotHeap;`
#[derive(Clone, Copy, Debug, Default)]
pub struct SlotHeap;

// SAFETY: blocks are mimalloc's, as large and aligned as requested. Nobody else uses a block until
// it is freed. Nothing here unwinds.
unsafe impl GlobalAlloc for SlotHeap {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        heap::allocate_aligned(layout.size(), layout.align())
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        heap::allocate_zeroed_aligned(layout.size(), layout.align())
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise: the block is one of ours, of this size.
        unsafe { heap::free_sized(block, layout.size()) };
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: the caller's promise, as above.
        unsafe { heap::reallocate_aligned(block, new_size, layout.align()) }
    }
}
