//! Requests of a job's threads to the kernel's scheduler: to get a core soon when others compute on
//! all of them.
//!
//! Under EEVDF a thread that wakes waits until the running thread has used up the slice that it
//! requested: by default about 1.5 ms on two cores, three of our slices. All threads of a job
//! request the kernel's shortest slice. Then a NIC wakes some µs late on a busy core, and a rank
//! that is released at a strobe runs in that slice (measured: two ranks that exchange beside ranks
//! that compute do so in every slice; with the default in every fourth). The feared cost does not
//! arise: of two threads that both want the core, one gives way at the next tick at the earliest
//! (measured: 32 ranks on 2 cores take a tenth less processor time).
//!
//! None of this needs a privilege. If the kernel refuses, a thread runs as any other: later, not
//! wrongly.
#![expect(unsafe_code, reason = "sched_setattr has no safe wrapper")]

use std::num::NonZeroU64;

/// The EEVDF slice that is requested: the kernel's least.
const SLICE_NS: u64 = 100_000;

/// `struct sched_attr` of Linux, first version.
#[repr(C)]
#[derive(Default)]
struct SchedAttr {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

/// Returns the policy and the slice of this thread, as the kernel reports them.
fn attributes() -> Option<SchedAttr> {
    let mut attributes = SchedAttr::default();
    // SAFETY: the kernel writes at most as many bytes as it is told the struct has.
    let got = unsafe {
        libc::syscall(
            libc::SYS_sched_getattr,
            0,
            &raw mut attributes,
            size_of::<SchedAttr>(),
            0,
        )
    };
    (got == 0).then_some(attributes)
}

/// Returns whether this thread has the short slice. Kernels before Linux 6.12 ignore the request.
#[must_use]
pub fn has_short_slices() -> bool {
    attributes().is_some_and(|attributes| attributes.runtime == SLICE_NS)
}

/// Requests a short slice, for this thread and those that it will start. Nothing else changes: a
/// user's niceness stays, and so does a policy without such slices.
///
/// It makes two system calls, and may run in a child between clone and execve.
pub fn prefer_short_slices() {
    let Some(mut attributes) = attributes() else {
        return;
    };
    let sliced = [libc::SCHED_OTHER, libc::SCHED_BATCH]
        .iter()
        .any(|&policy| u32::try_from(policy) == Ok(attributes.policy));
    if !sliced {
        return;
    }
    attributes.runtime = SLICE_NS;
    // SAFETY: the kernel reads `size` bytes, which the call above has set, of a live struct.
    let _refused = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
}

/// Requests 1 ns of timer slack for this thread, which takes 50 µs off every timed wake-up.
pub fn prefer_exact_timers() {
    let _refused = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_slice_leaves_niceness_as_it_is() {
        std::thread::spawn(|| {
            // SAFETY: about this thread only.
            unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, 7) };
            prefer_short_slices();
            // SAFETY: as above.
            assert_eq!(unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) }, 7);
        })
        .join()
        .unwrap();
    }
}
