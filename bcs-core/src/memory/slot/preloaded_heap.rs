//! The heap that `bcs run` has preloaded into this process, if it has: `libbcs_heap.so`.
//!
//! Several objects of a process may have a copy of this crate: the preloaded library, `libmpi_abi.so`,
//! a program in Rust. One of them makes the process's slot. Where the preloaded library's `malloc` is
//! the one that the process calls, that one does, whoever allocates first; the others ask it by its
//! symbol, and their memory comes from `malloc`, so it lies in the slot as well. Where `malloc` is
//! somebody else's (the program has one of its own), nobody calls the library, it makes no slot, and
//! it does not count here.
#![expect(unsafe_code, reason = "dlsym")]

use std::ffi::{CStr, c_int, c_void};

/// The symbol by which the library is asked: a [`PreloadedHeapQuery`]. The number is that of [`PreloadedHeap`]'s form.
pub const SYMBOL: &CStr = c"bcs_heap_1";

/// What the symbol is: says what the preloaded library has made, after it has made it. The answer
/// stays as it is to the end of the process; it is null where the process calls somebody else's `malloc`.
pub type PreloadedHeapQuery = extern "C" fn() -> *const PreloadedHeap;

/// What the preloaded library says of itself. All copies of this crate in a process know it in the same form.
#[derive(Debug)]
#[repr(C)]
pub struct PreloadedHeap {
    /// Whether it has a slot that is this process's: false where there was to be none, where it could
    /// not make one, and in a forked child.
    pub has_slot: extern "C" fn() -> bool,
    /// The place of that slot.
    pub place: usize,
    /// Its memory.
    pub fd: c_int,
}

/// The preloaded library that is this process's heap.
#[must_use]
pub fn preloaded_heap() -> Option<&'static PreloadedHeap> {
    // A program without a dynamic linker has nothing preloaded.
    if cfg!(target_feature = "crt-static") {
        return None;
    }
    // SAFETY: the name is a string of C's.
    let asked = unsafe { libc::dlsym(libc::RTLD_DEFAULT, SYMBOL.as_ptr()) };
    if asked.is_null() {
        // The program is not to find our error, if it ever asks for one.
        // SAFETY: forgets this thread's last error.
        unsafe { libc::dlerror() };
        return None;
    }
    // SAFETY: whoever has this symbol has it in this form.
    let question = unsafe { std::mem::transmute::<*mut c_void, PreloadedHeapQuery>(asked) };
    // SAFETY: null, or a value that is never freed.
    unsafe { question().as_ref() }
}
