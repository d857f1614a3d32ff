//! The end of a process whose heap cannot go on.
#![expect(unsafe_code, reason = "_exit, standard error")]

use std::io::Write as _;
use std::os::fd::BorrowedFd;

/// The exit code of such a process: `EX_OSERR` of sysexits.h.
const NO_HEAP: i32 = 71;

/// Ends the process with a message, without touching the heap.
pub(crate) fn die_with_message(what: &str, errno: i32) -> ! {
    let mut text = [0_u8; 256];
    let mut rest = &mut text[..];
    let pid = rustix::process::getpid().as_raw_nonzero();
    let _ = writeln!(rest, "bcs: process {pid}: {what} (errno {errno})");
    let unused = rest.len();
    let len = text.len() - unused;
    // SAFETY: standard error may be closed. Then the message is lost.
    let stderr = unsafe { BorrowedFd::borrow_raw(2) };
    let _ = rustix::io::write(stderr, &text[..len]);
    // SAFETY: this ends the process and runs no more of its code.
    unsafe { libc::_exit(NO_HEAP) }
}
