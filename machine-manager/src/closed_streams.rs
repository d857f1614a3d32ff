//! Which of the standard streams were closed when this process was started (`bcs run ... >&-`).
//!
//! The standard library opens /dev/null in their place before `main`, so that no file that is opened later takes
//! their numbers. That is as it should be, but for one thing: what is written there is lost without a word. So this looks
//! before the standard library does. Descriptors that somebody has opened on /dev/null look the same after it.
#![expect(
    unsafe_code,
    reason = "a function that runs before main, and asks about descriptors that may not be open"
)]

use std::sync::atomic::{AtomicBool, Ordering};

static CLOSED: [AtomicBool; 3] = [const { AtomicBool::new(false) }; 3];

// SAFETY: the linker runs what stands in this section once, on the only OS thread; the function needs nothing of the
// standard library that is made ready later.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

extern "C" fn look() {
    for (number, closed) in (0..).zip(&CLOSED) {
        // SAFETY: only finds out whether the descriptor is open.
        let flags = unsafe { libc::fcntl(number, libc::F_GETFD) };
        closed.store(flags < 0, Ordering::Relaxed);
    }
}

/// Whether the standard output was closed.
#[must_use]
pub(crate) fn output() -> bool {
    CLOSED[1].load(Ordering::Relaxed)
}

/// Whether the standard error was closed.
#[must_use]
pub(crate) fn error() -> bool {
    CLOSED[2].load(Ordering::Relaxed)
}
