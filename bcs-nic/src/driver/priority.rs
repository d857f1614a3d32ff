//! How an OS thread of a NIC gets a core quickly when ranks compute on all of them.
//!
//! Measured (DESIGN section 5a): 1 ns of timer slack takes 50 µs off every timed wake-up, and a
//! short EEVDF slice, which needs no privilege, makes the thread wake some µs late on a busy core
//! in place of milliseconds.
#![expect(unsafe_code, reason = "sched_setattr has no safe wrapper")]

use std::num::NonZeroU64;

/// The EEVDF slice asked for: the kernel's least.
const SLICE_NS: u64 = 100_000;

/// `struct sched_attr` of Linux, first version.
#[repr(C)]
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

/// Asks for both. Where the kernel refuses, the thread runs as any other: later, not wrongly.
pub(super) fn prefer_short_slices() {
    let _slack = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    let attributes = SchedAttr {
        size: u32::try_from(size_of::<SchedAttr>()).expect("a small struct"),
        policy: 0, // SCHED_OTHER
        flags: 0,
        nice: 0,
        priority: 0,
        runtime: SLICE_NS,
        deadline: 0,
        period: 0,
    };
    // SAFETY: the kernel reads `size` bytes of a struct that lives across the call.
    let _refused = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
}
