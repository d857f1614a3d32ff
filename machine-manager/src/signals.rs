//! Signals as events, and their names.
#![expect(
    unsafe_code,
    reason = "signal masks and signalfd, which rustix does not have"
)]

use std::io;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};

/// The signals that end a job and those that are passed on to it, as readable events.
///
/// They stay blocked in all OS threads that are started later, so that none is interrupted. A
/// signal that was ignored when `bcs` was started (nohup) stays ignored.
#[derive(Debug)]
pub struct Signals {
    fd: OwnedFd,
}

impl Signals {
    /// Takes SIGINT, SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2 over. Call it before any OS thread is
    /// started.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn take_over() -> io::Result<Self> {
        let mut set = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: sigemptyset initialises the set it is given.
        unsafe { libc::sigemptyset(set.as_mut_ptr()) };
        // SAFETY: initialised by the line above.
        let mut set = unsafe { set.assume_init() };
        let taken = [
            libc::SIGINT,
            libc::SIGTERM,
            libc::SIGHUP,
            libc::SIGUSR1,
            libc::SIGUSR2,
        ];
        for signal in taken {
            // SAFETY: the set is initialised and the signal exists.
            unsafe { libc::sigaddset(&raw mut set, signal) };
        }
        // SAFETY: the set is initialised; the old mask is not asked for.
        let failed =
            unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) };
        if failed != 0 {
            return Err(io::Error::from_raw_os_error(failed));
        }
        let flags = libc::SFD_CLOEXEC | libc::SFD_NONBLOCK;
        // SAFETY: the set is initialised.
        let fd = unsafe { libc::signalfd(-1, &raw const set, flags) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a fresh descriptor that nobody else owns.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Self { fd })
    }

    /// Returns a descriptor that is readable when a signal has come.
    #[must_use]
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Returns the next signal that has come.
    #[must_use]
    pub fn next(&self) -> Option<i32> {
        let mut info = [0; size_of::<libc::signalfd_siginfo>()];
        let len = rustix::io::read(&self.fd, &mut info).ok()?;
        // The first field is the signal's number, 32 bits wide.
        let number = info[..len].first_chunk::<4>()?;
        i32::try_from(u32::from_ne_bytes(*number)).ok()
    }
}

/// Makes a write beyond the limit of file sizes (`ulimit -f`) an error that we can report, instead
/// of a signal that ends this process without a message. Ranks have the signal again
/// (`node_manager::spawn`).
pub fn fail_beyond_file_size() {
    // SAFETY: no handler is set; nothing else in this process uses this signal.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// Formats a signal for the user: `9 (SIGKILL)`.
#[must_use]
pub fn describe(signal: i32) -> String {
    const NAMES: [(i32, &str); 20] = [
        (libc::SIGHUP, "SIGHUP"),
        (libc::SIGINT, "SIGINT"),
        (libc::SIGQUIT, "SIGQUIT"),
        (libc::SIGILL, "SIGILL"),
        (libc::SIGTRAP, "SIGTRAP"),
        (libc::SIGABRT, "SIGABRT"),
        (libc::SIGBUS, "SIGBUS"),
        (libc::SIGFPE, "SIGFPE"),
        (libc::SIGKILL, "SIGKILL"),
        (libc::SIGUSR1, "SIGUSR1"),
        (libc::SIGSEGV, "SIGSEGV"),
        (libc::SIGUSR2, "SIGUSR2"),
        (libc::SIGPIPE, "SIGPIPE"),
        (libc::SIGALRM, "SIGALRM"),
        (libc::SIGTERM, "SIGTERM"),
        (libc::SIGXCPU, "SIGXCPU"),
        (libc::SIGXFSZ, "SIGXFSZ"),
        (libc::SIGVTALRM, "SIGVTALRM"),
        (libc::SIGPROF, "SIGPROF"),
        (libc::SIGSYS, "SIGSYS"),
    ];
    match NAMES.iter().find(|&&(number, _)| number == signal) {
        Some((_, name)) => format!("signal {signal} ({name})"),
        None => format!("signal {signal}"),
    }
}
