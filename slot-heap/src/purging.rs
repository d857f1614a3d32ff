//! Freed memory of the heap goes back to the system.
//!
//! mimalloc gives back the pages of what was freed (it *purges* them) by `madvise(MADV_DONTNEED)`, after a delay. Of a
//! shared mapping that call frees nothing. So in each program and library that has this heap in itself, `madvise` is
//! ours ([`own_madvise`]), as it is in the preloaded heap: it punches the pages out of the slot's file
//! ([`remapping::advise`]).
//!
//! mimalloc begins the delay of a whole segment (32 MiB) anew whenever it uses free pages of that segment again. A
//! thread that always does so would never give back what it has touched once. Therefore each thread that allocates
//! purges all of its free pages once in [`DELAY`], and those of ended threads with them. A program that takes and frees
//! the same block again and again so faults on its pages once a second, and not each time.
//!
//! An idle thread gives nothing back: what it has freed last stays resident until it allocates again or ends.
#![expect(unsafe_code, reason = "mimalloc's options, madvise")]

use crate::gate::{self, GatePass};
use crate::{heap, large, remapping};
use libmimalloc_sys as mi;
use std::ffi::{c_int, c_long, c_ulonglong, c_void};
use std::mem::MaybeUninit;
use std::time::Duration;

/// How long freed memory may stay resident: long enough that faults on it cost next to nothing (32 MiB fault in about
/// 10 ms), short enough that memory follows what is in use.
const DELAY: Duration = Duration::from_secs(1);

/// Options of mimalloc that its bindings do not name.
const ABANDONED_PAGE_PURGE: mi::mi_option_t = 12;
const PURGE_DELAY: mi::mi_option_t = 15;
const ARENA_PURGE_MULT: mi::mi_option_t = 24;
const PURGE_EXTEND_DELAY: mi::mi_option_t = 25;

/// Has mimalloc purge. It has its memory already.
pub(crate) fn install() {
    own_madvise::install(advise);
    let milliseconds = c_long::try_from(DELAY.as_millis()).expect("a second");
    for (option, value) in [
        (PURGE_DELAY, milliseconds),
        // Whole segments wait no longer than parts of them.
        (ARENA_PURGE_MULT, 1),
        // A thread that ends gives its free pages back at once. Its segment is another thread's next.
        (ABANDONED_PAGE_PURGE, 1),
        // By default each free prolongs the delay by 1 ms: 1,000 frees a second would prolong it for ever.
        (PURGE_EXTEND_DELAY, 0),
    ] {
        // SAFETY: options of this version of mimalloc.
        unsafe { mi::mi_option_set(option, value) };
    }
    // SAFETY: the function may be called by all threads, to the end of the process.
    unsafe { mi::mi_register_deferred_free(Some(heartbeat), std::ptr::null_mut()) };
}

/// mimalloc calls this once in 100 times that a thread's lists of free blocks are empty, before it looks for more. The
/// thread is inside the gate.
unsafe extern "C" fn heartbeat(collects: bool, _: c_ulonglong, _: *mut c_void) {
    if collects {
        return;
    }
    let (now, delay) = (seconds(), DELAY.as_secs().cast_signed());
    if gate::is_due(now, delay) {
        let inside = gate::enter();
        large::free_expired(now);
        purge(&inside);
    }
}

/// The system's clock, by the C library: rustix looks its clock up by `dlsym` when it is first asked, and that waits for
/// the dynamic linker's lock, which a thread may hold whose constructor waits for this one.
pub(crate) fn seconds() -> i64 {
    let mut now = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: it writes the time there.
    match unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_COARSE, now.as_mut_ptr()) } {
        // SAFETY: it has.
        0 => unsafe { now.assume_init() }.tv_sec,
        _ => 0,
    }
}

/// Gives back all free pages of this thread and of ended ones.
pub(crate) fn purge(inside: &GatePass) {
    heap::free_cached_block(inside);
    // SAFETY: no precondition.
    unsafe { mi::mi_collect(true) };
}

/// `madvise`.
unsafe extern "C" fn advise(start: *mut c_void, len: usize, advice: c_int) -> c_int {
    // SAFETY: the caller's promise.
    match unsafe { remapping::advise(start.addr(), len, advice) } {
        Ok(_) => 0,
        Err(errno) => {
            // SAFETY: no precondition.
            let place = unsafe { libc::__errno_location() };
            // SAFETY: this thread's own.
            unsafe { place.write(errno.raw_os_error()) };
            -1
        }
    }
}
