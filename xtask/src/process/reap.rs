//! Takes the exit status of a child together with its resource usage.
#![expect(
    unsafe_code,
    reason = "neither std nor rustix offers wait4 with its resource usage"
)]

use std::io;
use std::mem::MaybeUninit;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::process::Pid;

/// The exit status of a child, and the resource usage of it and of all descendants that their
/// parents waited for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReapedChild {
    pub(crate) status: ExitStatus,
    /// User and system time of all together.
    pub(crate) cpu: Duration,
    /// The most memory of any one of them, in bytes.
    pub(crate) peak_memory: u64,
    /// How often any of their OS threads went to sleep.
    pub(crate) sleeps: u64,
}

/// Waits for the child `pid` to end.
pub(crate) fn reap(pid: Pid) -> io::Result<ReapedChild> {
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::uninit();
    loop {
        // SAFETY: both pointers are to locals of the types that wait4 writes, and outlive the call.
        let got = unsafe { libc::wait4(pid.as_raw_pid(), &mut status, 0, usage.as_mut_ptr()) };
        if got == pid.as_raw_pid() {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    // SAFETY: wait4 succeeded, so it has filled in the usage.
    let usage = unsafe { usage.assume_init() };
    Ok(ReapedChild {
        status: ExitStatus::from_raw(status),
        cpu: duration(usage.ru_utime) + duration(usage.ru_stime),
        peak_memory: u64::try_from(usage.ru_maxrss).unwrap_or_default() * 1024, // in KiB
        sleeps: u64::try_from(usage.ru_nvcsw).unwrap_or_default(),
    })
}

/// Converts a time. The kernel gives no negative part; a negative one would count as no time.
fn duration(time: libc::timeval) -> Duration {
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    let micros = u64::try_from(time.tv_usec).unwrap_or_default();
    Duration::from_secs(seconds) + Duration::from_micros(micros)
}
