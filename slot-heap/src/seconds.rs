//! The system's clock, for delays of seconds.
#![expect(unsafe_code, reason = "clock_gettime")]

use std::mem::MaybeUninit;

/// Returns the time of the system's clock, from the C library. rustix would look its clock up by
/// `dlsym` at its first use, and that waits for the dynamic linker's lock. A thread may hold that
/// lock while its constructor waits for this thread.
pub(crate) fn now() -> i64 {
    let mut now = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: it writes the time there.
    match unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_COARSE, now.as_mut_ptr()) } {
        // SAFETY: the call has written it.
        0 => unsafe { now.assume_init() }.tv_sec,
        _ => 0,
    }
}
