//! The answer to other objects of the process ([`bcs_core::memory::slot::preloaded_heap`]).
#![expect(unsafe_code, reason = "an exported symbol")]

use crate::c_allocator;
use bcs_core::memory::slot::own;
use bcs_core::memory::slot::preloaded_heap::{PreloadedHeap, PreloadedHeapQuery};
use slot_heap::heap;
use std::ffi::c_void;
use std::os::fd::AsRawFd as _;
use std::sync::OnceLock;

static ANSWER: OnceLock<PreloadedHeap> = OnceLock::new();

extern "C" fn has_slot() -> bool {
    own_slot().is_some()
}

fn own_slot() -> Option<&'static bcs_core::memory::OwnSlot> {
    if heap::finish_preloaded() {
        own()?.ok()
    } else {
        None
    }
}

/// Returns whether the process calls this library's `malloc`: a program may have its own.
fn is_called() -> bool {
    // SAFETY: the name is a string of C's.
    let called = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"malloc".as_ptr()) };
    std::ptr::eq(called, c_allocator::malloc as *const c_void)
}

/// Returns what this library is and what it has made, or null if nobody calls its `malloc`. In that
/// case it makes no slot, because another object may want to.
#[unsafe(no_mangle)]
pub extern "C" fn bcs_heap_1() -> *const PreloadedHeap {
    let _has_this_form: PreloadedHeapQuery = bcs_heap_1;
    if !is_called() {
        return std::ptr::null();
    }
    ANSWER.get_or_init(|| PreloadedHeap {
        has_slot,
        place: own_slot().map_or(0, |own| own.slot().place()),
        fd: own_slot().map_or(-1, |own| own.fd().as_raw_fd()),
    })
}
