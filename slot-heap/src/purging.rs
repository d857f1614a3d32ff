//! Returns freed memory of the heap to the system.
//!
//! mimalloc gives back the pages of freed blocks (it *purges* them) by `madvise(MADV_DONTNEED)`,
//! after a delay. On a shared mapping that call frees nothing. So in each program and library that
//! contains this heap, `madvise` is ours ([`own_madvise`]), as it is in the preloaded heap. It
//! punches the pages out of the slot's file ([`remapping::advise`]).
//!
//! mimalloc restarts the delay of a whole segment (32 MiB) whenever it uses free pages of that
//! segment again. A thread that always does so would never give back any page that it has touched
//! once. Therefore each thread that allocates purges all of its free pages once in [`DELAY`], and
//! those of ended threads with them. So a program that allocates and frees the same block again and
//! again faults on its pages once a second, and not each time.
//!
//! An idle thread gives nothing back: what it has freed last stays resident until it allocates
//! again or ends.
#![expect(unsafe_code, reason = "mimalloc's options, madvise")]

use crate::gate::{self, GatePass};
use crate::{large, remapping, seconds};
use libmimalloc_sys as mi;
use std::ffi::{c_int, c_long, c_ulonglong, c_void};
use std::time::Duration;

/// How long freed memory may stay resident. It is long enough that new faults cost almost nothing
/// (32 MiB fault in about 10 ms), and short enough that resident memory follows use.
const DELAY: Duration = Duration::from_secs(1);

/// Options of mimalloc that its bindings do not name.
const ABANDONED_PAGE_PURGE: mi::mi_option_t = 12;
const PURGE_DELAY: mi::mi_option_t = 15;
const ARENA_PURGE_MULT: mi::mi_option_t = 24;
const PURGE_EXTEND_DELAY: mi::mi_option_t = 25;

/// Configures when and how mimalloc purges. mimalloc already has its memory.
pub(crate) fn install() {
    own_madvise::install(advise);
    let milliseconds = c_long::try_from(DELAY.as_millis()).expect("a second");
    for (option, value) in [
        (PURGE_DELAY, milliseconds),
        // Whole segments wait no longer than parts of them.
        (ARENA_PURGE_MULT, 1),
        // A thread that ends gives its free pages back at once. Another thread gets its segment
        // next.
        (ABANDONED_PAGE_PURGE, 1),
        // By default each free prolongs the delay by 1 ms: 1,000 frees a second would prolong it
        // for ever.
        (PURGE_EXTEND_DELAY, 0),
    ] {
        // SAFETY: options of this version of mimalloc.
        unsafe { mi::mi_option_set(option, value) };
    }
    // SAFETY: all threads may call the function, to the end of the process.
    unsafe { mi::mi_register_deferred_free(Some(heartbeat), std::ptr::null_mut()) };
}

/// Purges when the delay is over. mimalloc calls this once in 100 times that a thread's lists of
/// free blocks are empty, before it searches for more. The thread is inside the gate.
unsafe extern "C" fn heartbeat(collects: bool, _: c_ulonglong, _: *mut c_void) {
    if collects {
        return;
    }
    let (now, delay) = (seconds::now(), DELAY.as_secs().cast_signed());
    if gate::is_due(now, delay) {
        let inside = gate::enter();
        large::free_expired(now);
        purge(&inside);
    }
}

/// Gives back all free pages of this thread and of ended ones.
pub(crate) fn purge(inside: &GatePass) {
    inside.free_kept();
    // SAFETY: no precondition.
    unsafe { mi::mi_collect(true) };
}

/// The `madvise` of programs and libraries that contain this heap.
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
