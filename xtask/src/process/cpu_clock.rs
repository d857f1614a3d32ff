//! The CPU time of another process, to the nanosecond.
#![expect(
    unsafe_code,
    reason = "neither std nor rustix reads the processor-time clock of another process"
)]

use std::io;
use std::mem::MaybeUninit;
use std::time::Duration;

use rustix::process::Pid;

/// Returns the user and system time of all threads of `pid`, with ended threads, but without its
/// children.
///
/// # Errors
///
/// There is no such process.
pub fn processor_time(pid: Pid) -> io::Result<Duration> {
    let mut clock = 0;
    // SAFETY: the pointer is to a local of the type that the call writes, and outlives it.
    let error = unsafe { libc::clock_getcpuclockid(pid.as_raw_pid(), &mut clock) };
    if error != 0 {
        return Err(io::Error::from_raw_os_error(error));
    }
    let mut time = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: as above.
    if unsafe { libc::clock_gettime(clock, time.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: clock_gettime succeeded, so it has filled in the time.
    let time = unsafe { time.assume_init() };
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    let nanos = u64::try_from(time.tv_nsec).unwrap_or_default();
    Ok(Duration::from_secs(seconds) + Duration::from_nanos(nanos))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn computing_moves_the_clock_and_a_process_that_is_gone_has_none() {
        let own = rustix::process::getpid();
        let before = processor_time(own).unwrap();
        let burn = (0..10_000_000_u64).map(std::hint::black_box).sum::<u64>();
        assert!(burn > 0 && processor_time(own).unwrap() > before);
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = Pid::from_child(&child);
        child.wait().unwrap();
        assert!(processor_time(pid).is_err());
    }
}
