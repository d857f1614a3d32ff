//! `madvise` of a program or library, as a heap in shared memory needs it.
//!
//! mimalloc gives back what was freed by `madvise(MADV_DONTNEED)`, which frees nothing of a shared mapping, and it has
//! no other way to be told how. So the symbol is defined here, and passes calls on to the function that is
//! [installed](install), or to the kernel.
//!
//! It is a crate by itself because a linker takes the object that defines a symbol into each program that names it, with
//! all that the object holds. A program that calls `madvise` must not get the heap by that: it would be taken for one that
//! has brought its own heap, and none would be preloaded into it. The symbol is weak, for the preloaded heap has its own.
#![expect(unsafe_code, reason = "a symbol in assembly, a system call")]

use std::ffi::{c_int, c_void};
use std::mem::transmute;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

/// What `madvise` is: the start and length of a range, and what of it.
pub type Advise = unsafe extern "C" fn(start: *mut c_void, len: usize, advice: c_int) -> c_int;

/// An [`Advise`], or null.
static INSTALLED: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

/// From now on `madvise` of this program or library is this function, which keeps what it has promised, and sets `errno`.
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
