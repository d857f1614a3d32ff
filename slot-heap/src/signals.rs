//! Blocks a thread's signals while it holds a lock that their handlers may want.
#![expect(unsafe_code, reason = "the mask of signals")]

use libc::sigset_t;
use std::mem::MaybeUninit;

/// A guard: all signals are blocked until it is dropped.
#[derive(Debug)]
pub(crate) struct SignalBlockGuard {
    before: MaybeUninit<sigset_t>,
}

/// Blocks all signals of this thread.
pub(crate) fn block() -> SignalBlockGuard {
    let mut all = MaybeUninit::<sigset_t>::uninit();
    let mut before = MaybeUninit::<sigset_t>::uninit();
    // SAFETY: it writes a set of signals there.
    unsafe { libc::sigfillset(all.as_mut_ptr()) };
    // SAFETY: the set is written, and so is the other one by this.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr()) };
    SignalBlockGuard { before }
}

impl Drop for SignalBlockGuard {
    fn drop(&mut self) {
        let before = self.before.as_ptr();
        // SAFETY: `block` has had it written.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before, std::ptr::null_mut()) };
    }
}
