//! The kernel's account of this thread and process, for the MDS: CPU time, switches of the core,
//! bytes of files; and how fast the core is.
#![expect(unsafe_code, reason = "neither std nor rustix offers getrusage")]

use bcs_core::clock::now_ns;
use mmds::ThreadUsage;
use std::hint::black_box;
use std::mem::MaybeUninit;

thread_local! {
    /// Its address tells threads apart.
    static THREAD: u8 = const { 0 };
}

/// Reads the account of this thread. Returns an empty one if the kernel keeps none.
pub(crate) fn read() -> ThreadUsage {
    let mut usage = MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: the pointer is to memory for one usage, which the call only writes.
    if unsafe { libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) } != 0 {
        return ThreadUsage::default();
    }
    // SAFETY: getrusage succeeded, so it has filled in the usage.
    let usage = unsafe { usage.assume_init() };
    let nanoseconds = |time: libc::timeval| {
        let [seconds, rest] =
            [time.tv_sec, time.tv_usec].map(|part| u64::try_from(part).unwrap_or(0));
        seconds * 1_000_000_000 + rest * 1_000
    };
    ThreadUsage {
        thread: THREAD.with(|here| std::ptr::from_ref(here).addr() as u64),
        cpu_ns: nanoseconds(usage.ru_utime) + nanoseconds(usage.ru_stime),
        sleeps: u64::try_from(usage.ru_nvcsw).unwrap_or(0),
        preemptions: u64::try_from(usage.ru_nivcsw).unwrap_or(0),
    }
}

/// The facts that are read only when the recorder begins and ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Surroundings {
    /// Bytes that this process has read and written by system calls.
    pub(crate) file_bytes: u64,
    /// The shortest time of a fixed loop.
    pub(crate) core_loop_ns: u64,
}

impl Surroundings {
    pub(crate) fn of_this_process() -> Self {
        Self {
            file_bytes: file_bytes().unwrap_or(0),
            core_loop_ns: core_loop_ns(),
        }
    }
}

/// Returns `None` if the kernel does not count bytes, or hides them from this process.
fn file_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/io").ok()?;
    let figure = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().parse::<u64>().ok()
    };
    Some(figure("rchar:")?.saturating_add(figure("wchar:")?))
}

/// Returns the time of a chain of multiplications, each of which needs the one before, so that it
/// depends on the clock rate of the core and on nothing else. The shortest of a few times has no
/// interruption in it. All together take some 0.2 ms.
fn core_loop_ns() -> u64 {
    const STEPS: u64 = 10_000;
    const TRIES: usize = 8;
    let time_ns = || {
        let begun_ns = now_ns();
        let mut chain = black_box(1_u64);
        for step in 0..STEPS {
            chain = chain.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(step);
        }
        black_box(chain);
        now_ns().saturating_sub(begun_ns)
    };
    (0..TRIES).map(|_| time_ns()).min().unwrap_or(0)
}
