//! Computation that lasts a given time: what the measuring programs do between their messages.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// Steps between two looks at the clock: about a microsecond, so that a look costs little beside
/// them and the time given is overrun by little.
const STEPS_PER_LOOK: u32 = 1000;

/// Computes for `time` and returns how often it went through its unit of work, about a microsecond
/// each. The work is registers only: what it loses to another program is processor time and
/// nothing else.
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

/// Computes until this thread has used `time` of its processor, however long that takes.
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

/// A unit of work.
fn unit(mut value: u64) -> u64 {
    for _ in 0..STEPS_PER_LOOK {
        value = value.wrapping_mul(6_364_136_223_846_793_005) ^ (value >> 29);
    }
    black_box(value)
}

/// Takes no processor time for `time`: what a rank does that others are measured against.
#[expect(clippy::disallowed_methods, reason = "to let time pass is the point")]
pub(crate) fn sleep(time: Duration) {
    std::thread::sleep(time);
}

/// User and system time of this process so far.
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
