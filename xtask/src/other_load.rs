//! The load of other programs while a check ran. A reader needs it to judge times.
#![expect(unsafe_code, reason = "neither std nor rustix offers getrusage")]

use std::fs;
use std::mem::MaybeUninit;
use std::time::Instant;

/// An observed time span.
#[derive(Debug)]
pub struct OtherLoad {
    start: Instant,
    /// CPU time of the whole machine, and of this program with its descendants, in seconds.
    before: Option<(f64, f64)>,
}

impl OtherLoad {
    /// Begins the observation.
    #[must_use]
    pub fn watch() -> Self {
        Self {
            start: Instant::now(),
            before: machine_s().zip(own_s()),
        }
    }

    /// Returns how many cores other programs kept busy since [`watch`](Self::watch), on average;
    /// `None` if the machine does not report it. Programs that the check started count as other
    /// load until they have ended.
    #[must_use]
    pub fn cores(&self) -> Option<f64> {
        let (machine_before, own_before) = self.before?;
        let (machine, own) = machine_s().zip(own_s())?;
        let others_s = (machine - machine_before) - (own - own_before);
        Some((others_s / self.start.elapsed().as_secs_f64()).max(0.0))
    }
}

/// Returns the busy CPU time of the machine. The first line of `/proc/stat` counts in hundredths of
/// a second: user, nice, system, idle, waiting for input/output, interrupts, soft interrupts,
/// stolen.
fn machine_s() -> Option<f64> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    let counts: Vec<f64> = text
        .lines()
        .next()?
        .split_whitespace()
        .skip(1)
        .map_while(|count| count.parse().ok())
        .collect();
    let busy = [0, 1, 2, 5, 6, 7].map(|column| counts.get(column).copied().unwrap_or_default());
    Some(busy.iter().sum::<f64>() / 100.0)
}

/// Returns the CPU time of this program and of all descendants that were waited for.
fn own_s() -> Option<f64> {
    let of = |who| {
        let mut usage = MaybeUninit::<libc::rusage>::uninit();
        // SAFETY: the pointer is to a local of the type that the call writes, and outlives it.
        if unsafe { libc::getrusage(who, usage.as_mut_ptr()) } != 0 {
            return None;
        }
        // SAFETY: getrusage succeeded, so it has filled in the usage.
        let usage = unsafe { usage.assume_init() };
        let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
        Some(seconds(usage.ru_utime) + seconds(usage.ru_stime))
    };
    Some(of(libc::RUSAGE_SELF)? + of(libc::RUSAGE_CHILDREN)?)
}
