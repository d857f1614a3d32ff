//! `libbcs_heap.so`: `malloc` and its like from the rank's slot ([`slot_heap`]). `bcs run` preloads it into
//! programs, so that other ranks of the node reach what they allocate.
//!
//! | module | is |
//! |---|---|
//! | `functions` | what C calls: `malloc`, `free` and their like |
//! | `libc_heap` | the C library's own heap, beside the slot |
//! | `pages` | `mmap` and its like, where they are about the heap |
//! | `processes` | `_Fork` and `clone`, whose child has a copy of the heap |
//! | `system_call` | `syscall`, by which these come, too |
//! | `answer` | what other objects of the process ask: whether there is a slot, and which |
//!
//! **Two heaps.** What is allocated before the process has its slot, or while it is made, or in a process that
//! has none (whatever a rank starts), is the C library's. Whoever frees a block looks where it lies, so at no
//! time two parts of a process have to agree on more than that.
//!
//! **One slot.** In this process this library makes the slot, and objects that have the heap in themselves
//! (`libmpi_abi.so`, programs in Rust) take their blocks from `malloc`. The other way round, with their entry
//! points found here, the library would have to know before its first block whether there will be such an
//! object, which may be loaded later.
//!
//! **Nothing here allocates for itself.** The dynamic linker calls `malloc` before the C library is ready; then
//! that answers alone. Variables of threads have a fixed place (`slot-heap/src/mine.rs` says why). Should
//! Rust's own library ever allocate here, it takes a block as C does.
//!
//! `mallinfo`, `mallopt` and `malloc_stats` stay the C library's, and tell of its heap.

#![expect(unreachable_pub, reason = "C calls these functions by their names")]

mod c_allocator;
mod libc_heap;
mod pages;
mod processes;
mod slot_query;
mod system_call;

use std::alloc::{GlobalAlloc, Layout};

/// The heap for what of Rust's library is in here: what C has.
struct CAllocator;

#[global_allocator]
static HEAP: CAllocator = CAllocator;

// SAFETY: blocks are those of `functions`, as large and aligned as asked for.
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
