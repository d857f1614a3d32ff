//! Records which of the standard streams were closed when this process was started (`bcs run ...
//! >&-`).
//!
//! The standard library opens /dev/null in their place before `main`, so that no file that is
//! opened later takes their numbers. That is right, but output to them is then lost without a
//! message. So we look before the standard library does. Later, descriptors that a user has opened
//! on /dev/null would look the same.
#![expect(
    unsafe_code,
    reason = "a function that runs before main, and asks about descriptors that may not be open"
)]

use std::sync::atomic::{AtomicBool, Ordering};

static CLOSED: [AtomicBool; 3] = [const { AtomicBool::new(false) }; 3];

// SAFETY: the linker runs the functions of this section once, on the only OS thread. The function
// needs nothing of the standard library that is initialised later.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

extern "C" fn look() {
    for (number, closed) in (0..).zip(&CLOSED) {
        // SAFETY: only tests whether the descriptor is open.
        let flags = unsafe { libc::fcntl(number, libc::F_GETFD) };
        closed.store(flags < 0, Ordering::Relaxed);
    }
}

/// Returns whether the standard output was closed.
#[must_use]
pub(crate) fn output() -> bool {
    CLOSED[1].load(Ordering::Relaxed)
}

/// Returns whether the standard error was closed.
#[must_use]
pub(crate) fn error() -> bool {
    CLOSED[2].load(Ordering::Relaxed)
}
