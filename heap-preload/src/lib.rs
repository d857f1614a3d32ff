//! `libbcs_heap.so`: `malloc` and related functions from the rank's slot ([`slot_heap`]). `bcs run`
//! preloads it into programs, so that other ranks of the node can reach the memory that they
//! allocate.
//!
//! | module | is |
//! |---|---|
//! | `c_allocator` | the functions that C calls: `malloc`, `free` and others |
//! | `libc_heap` | the C library's own heap, beside the slot |
//! | `pages` | `mmap` and related functions, where they affect the heap |
//! | `processes` | `_Fork` and `clone`, whose child has a copy of the heap |
//! | `system_call` | `syscall`, by which programs can make the same calls |
//! | `slot_query` | the answer to other objects of the process: whether there is a slot, and which |
//!
//! **Two heaps.** Some blocks come from the C library: those allocated before the process has its
//! slot, or while it is made, or in a process that has none (any program that a rank starts).
//! `free` checks where a block lies, so two parts of a process never have to agree on anything
//! else.
//!
//! **One slot.** In this process this library makes the slot, and objects that contain the heap
//! (`libmpi_abi.so`, programs in Rust) take their blocks from `malloc`. The opposite design, in
//! which this library uses their entry points, would not work: the library would have to know
//! before its first block whether there will be such an object, which may be loaded later.
//!
//! **Nothing here allocates for itself.** The dynamic linker calls `malloc` before the C library is
//! ready; then only this library's code may run. Thread-local variables have a fixed place
//! (`slot-heap/src/thread_turnstile.rs` explains why). Should Rust's own library ever allocate
//! here, it takes a block as C does.
//!
//! `mallinfo`, `mallopt` and `malloc_stats` stay the C library's, and describe its heap.

#![expect(unreachable_pub, reason = "C calls these functions by their names")]

mod c_allocator;
mod libc_heap;
mod pages;
mod processes;
mod slot_query;
mod system_call;

use std::alloc::{GlobalAlloc, Layout};

/// The heap for the parts of Rust's library in here: the same as C's.
struct CAllocator;

#[global_allocator]
static HEAP: CAllocator = CAllocator;

// SAFETY: blocks are those of `c_allocator`, as large and aligned as requested.
#[expect(unsafe_code, reason = "an allocator")]
unsafe impl GlobalAlloc for CAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        c_allocator::aligned(layout.size(), layout.align()).cast()
    }

    unsafe fn dealloc(&self, block: *mut u8, _: Layout) {
        // SAFETY: the caller's promise.
        unsafe { c_allocator::free(block.cast()) };
    }
}
