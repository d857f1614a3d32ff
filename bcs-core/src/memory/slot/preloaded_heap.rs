//! The heap that `bcs run` preloads into a process: `libbcs_heap.so`.
//!
//! Several objects of a process may have a copy of this crate: the preloaded library,
//! `libmpi_abi.so`, a program in Rust. One of them makes the process's slot. If the process calls
//! the preloaded library's `malloc`, that library makes the slot, whichever object allocates first.
//! The others find it by its symbol; their memory comes from `malloc`, so it lies in the slot as
//! well. If the process calls another `malloc` (the program has its own), no code calls the
//! library. Then it makes no slot, and the other objects ignore it.
#![expect(unsafe_code, reason = "dlsym")]

use std::ffi::{CStr, c_int, c_void};

/// The symbol of the library's query function, a [`PreloadedHeapQuery`]. The number is the version
/// of [`PreloadedHeap`].
pub const SYMBOL: &CStr = c"bcs_heap_1";

/// The type of the symbol: a function that makes the slot if necessary, and returns its
/// description. The answer stays the same until the process ends. It is null if the process calls
/// another `malloc`.
pub type PreloadedHeapQuery = extern "C" fn() -> *const PreloadedHeap;

/// The description of the preloaded library. All copies of this crate in a process use this form.
#[derive(Debug)]
#[repr(C)]
pub struct PreloadedHeap {
    /// Returns whether it has a slot that belongs to this process: false if there should be none,
    /// if it could not make one, and in a forked child.
    pub has_slot: extern "C" fn() -> bool,
    /// The place of that slot.
    pub place: usize,
    /// Its memory.
    pub fd: c_int,
}

/// Returns the preloaded library that is this process's heap.
#[must_use]
pub fn preloaded_heap() -> Option<&'static PreloadedHeap> {
    // A program without a dynamic linker has nothing preloaded.
    if cfg!(target_feature = "crt-static") {
        return None;
    }
    // SAFETY: the name is a string of C's.
    let asked = unsafe { libc::dlsym(libc::RTLD_DEFAULT, SYMBOL.as_ptr()) };
    if asked.is_null() {
        // The program should not see our error if it calls dlerror later. SAFETY: forgets this
        // thread's last error.
        unsafe { libc::dlerror() };
        return None;
    }
    // SAFETY: every library with this symbol defines it in this form.
    let question = unsafe { std::mem::transmute::<*mut c_void, PreloadedHeapQuery>(asked) };
    // SAFETY: null, or a value that is never freed.
    unsafe { question().as_ref() }
}
