//! Computation that lasts a given time. The measuring programs do it between their messages.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// Steps between two reads of the clock: about a microsecond. A read then costs little beside the
/// steps, and the overrun of the given time is small.
const STEPS_PER_LOOK: u32 = 1000;

/// Computes for `time` and returns the number of units of work that it did, about a microsecond
/// each. The work uses registers only, so another program can take only CPU time from it.
pub(crate) fn compute(time: Duration) -> u64 {
    let start = Instant::now();
    let mut units = 0;
    let mut value = 1_u64;
    while start.elapsed() < time {
        value = unit(value);
        units += 1;
    }
    units
}

/// Computes until this thread has used `time` of CPU time, however long that takes.
pub(crate) fn compute_cpu(time: Duration) {
    let used = || {
        let used = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        Duration::try_from(used).unwrap_or_default()
    };
    let end = used() + time;
    let mut value = 1_u64;
    while used() < end {
        value = unit(value);
    }
}

/// Does a unit of work.
fn unit(mut value: u64) -> u64 {
    for _ in 0..STEPS_PER_LOOK {
        value = value.wrapping_mul(6_364_136_223_846_793_005) ^ (value >> 29);
    }
    black_box(value)
}

/// Sleeps for `time`: the ranks with which others are compared use no CPU time.
#[expect(clippy::disallowed_methods, reason = "to let time pass is the point")]
pub(crate) fn sleep(time: Duration) {
    std::thread::sleep(time);
}

/// Returns the user and system time of this process so far.
pub(crate) fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_lasts_as_long_as_asked_and_uses_the_processor() {
        let (start, cpu) = (Instant::now(), processor_time());
        let units = compute(Duration::from_millis(20));
        assert!(units > 0 && start.elapsed() >= Duration::from_millis(20));
        assert!(processor_time() > cpu);
    }

    #[test]
    fn processor_time_is_used_as_asked() {
        let cpu = processor_time();
        compute_cpu(Duration::from_millis(5));
        assert!(processor_time() - cpu >= Duration::from_millis(5));
    }
}
