//! `madvise` of a program or library, as a heap in shared memory needs it.
//!
//! mimalloc gives freed memory back by `madvise(MADV_DONTNEED)`, which frees nothing of a shared
//! mapping, and it offers no other hook for that. So this crate defines the symbol, and passes
//! calls on to the function that is [installed](install), or to the kernel.
//!
//! It is a separate crate because a linker takes the object that defines a symbol into each program
//! that refers to it, with everything else in that object. A program that only calls `madvise` must
//! not get the heap in this way: `bcs run` would take it for a program with its own heap, and would
//! preload none. The symbol is weak, because the preloaded heap has its own.
#![expect(unsafe_code, reason = "a symbol in assembly, a system call")]

use std::ffi::{c_int, c_void};
use std::mem::transmute;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The type of `madvise`: its arguments are the start and length of a range, and the advice.
pub type Advise = unsafe extern "C" fn(start: *mut c_void, len: usize, advice: c_int) -> c_int;

/// An [`Advise`], or null.
static INSTALLED: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

/// Makes this function the `madvise` of this program or library. It must obey the contract of
/// `madvise` and set `errno`.
pub fn install(advise: Advise) {
    INSTALLED.store(advise as *mut c_void, Ordering::Release);
}

#[cfg(target_arch = "x86_64")]
std::arch::global_asm!(
    ".pushsection .text.bcs_own_madvise, \"ax\", @progbits",
    ".weak madvise",
    ".type madvise, @function",
    "madvise:",
    "jmp {pass_on}",
    ".size madvise, . - madvise",
    ".popsection",
    pass_on = sym pass_on,
);

unsafe extern "C" fn pass_on(start: *mut c_void, len: usize, advice: c_int) -> c_int {
    let installed = INSTALLED.load(Ordering::Acquire);
    if !installed.is_null() {
        // SAFETY: nothing else is stored there.
        let installed: Advise = unsafe { transmute::<*mut c_void, Advise>(installed) };
        // SAFETY: the caller's promise.
        return unsafe { installed(start, len, advice) };
    }
    // SAFETY: the caller's promise. It sets `errno`.
    let done = unsafe { libc::syscall(libc::SYS_madvise, start, len, advice) };
    c_int::try_from(done).expect("0 or -1")
}
