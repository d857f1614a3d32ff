//! Measuring the [`Profile`]: some ten milliseconds, with two threads on two of the cores that this one may use.

use super::Profile;
use crate::clock::now_ns;
use crate::wake::bell::{self, KernelFutex};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// What was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measured {
    /// The figures.
    pub profile: Profile,
    /// Whether nobody else seems to have wanted the cores meanwhile. Otherwise the figures are good enough for a job,
    /// and not worth remembering.
    pub is_undisturbed: bool,
}

/// Yields that are timed.
const YIELDS: usize = 400;

/// Wakes of a thread on the same core that are timed.
const SWITCHES: usize = 200;

/// Wakes of a thread on another core that are timed, and how long that core is idle before each.
const WAKES: usize = 24;
const IDLE: Duration = Duration::from_micros(200);

/// Measures this machine. Where a thread may not be bound to a core, or there is only one, what cannot be measured
/// is derived from what can.
#[must_use]
pub fn measure() -> Measured {
    let others_before = others_running();
    let cores = some_cores();
    let first = cores.first().copied();
    let alone = on_a_thread(move || {
        bind(first);
        yields(YIELDS)
    });
    let shared = first.map(|core| on_a_thread(move || shared_yields(core)));
    let switch = first.map(|core| on_a_thread(move || wakes(core, core, SWITCHES, false)));
    let wake = match cores[..] {
        [one, other, ..] => Some(on_a_thread(move || wakes(one, other, WAKES, true))),
        _ => None,
    };
    let yield_ns = typical(&alone);
    let shared_yield_ns = shared.as_deref().map_or(4 * yield_ns, typical);
    let switch_ns = switch.as_deref().map_or(shared_yield_ns, typical);
    let profile = Profile {
        yield_ns,
        shared_yield_ns,
        wake_ns: wake.as_deref().map_or(switch_ns, typical),
        switch_ns,
    };
    let profile = profile.within_bounds();
    let others = others_before.max(others_running());
    let is_busy = 4 * others > std::thread::available_parallelism().map_or(1, usize::from);
    let is_told_apart = 2 * profile.yield_ns < profile.shared_yield_ns;
    Measured {
        profile,
        is_undisturbed: !is_busy && !is_disturbed(&alone) && is_told_apart,
    }
}

/// How many threads of the whole machine run now or want to, but for this one; none where the kernel does not say.
fn others_running() -> usize {
    let said = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    running(&said).unwrap_or_default().saturating_sub(1)
}

/// The fourth word is as `2/345`: so many of so many.
fn running(load: &str) -> Option<usize> {
    let (running, _) = load.split(' ').nth(3)?.split_once('/')?;
    running.parse().ok()
}

/// The median: whoever disturbs a measurement disturbs a part of it.
fn typical(times: &[u32]) -> u32 {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}

/// Whether one in ten took five times as long as is typical: somebody else ran meanwhile.
fn is_disturbed(times: &[u32]) -> bool {
    let long = typical(times).saturating_mul(5);
    let disturbed = times.iter().filter(|&&time| time > long).count();
    disturbed * 10 > times.len()
}

/// Two cores that this thread may use, as far as there are two.
fn some_cores() -> Vec<usize> {
    let Ok(allowed) = sched_getaffinity(None) else {
        return Vec::new();
    };
    let cores = (0..CpuSet::MAX_CPU).filter(|&core| allowed.is_set(core));
    cores.take(2).collect()
}

fn bind(core: Option<usize>) {
    let Some(core) = core else { return };
    let mut only = CpuSet::new();
    only.set(core);
    // Where it may not be bound it is measured where it is.
    let _it_may_be_anywhere = sched_setaffinity(None, &only);
}

/// What it gives is worth nothing if the thread cannot be made.
fn on_a_thread(measure: impl FnOnce() -> Vec<u32> + Send) -> Vec<u32> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("bcs-profile".to_owned());
        let thread = thread.spawn_scoped(scope, measure);
        thread.map_or_else(|_| Vec::new(), |thread| thread.join().unwrap_or_default())
    })
}

/// Leaves its core idle for a while.
#[expect(
    clippy::disallowed_methods,
    reason = "it waits for no event: a core goes idle when nothing happens"
)]
fn rest() {
    std::thread::sleep(IDLE);
}

fn since(start: u64) -> u32 {
    u32::try_from(now_ns().saturating_sub(start)).unwrap_or(u32::MAX)
}

fn yields(count: usize) -> Vec<u32> {
    let yielded = |_| {
        let start = now_ns();
        std::thread::yield_now();
        since(start)
    };
    (0..count).map(yielded).collect()
}

/// Yields while another thread on the same core yields, too.
fn shared_yields(core: usize) -> Vec<u32> {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            bind(Some(core));
            while !over.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
        });
        bind(Some(core));
        // The other one begins meanwhile.
        rest();
        let times = yields(YIELDS);
        over.store(true, Ordering::Relaxed);
        times
    })
}

/// How long it takes each time from the ring of a bell on one core until its owner runs on another one, or the same.
fn wakes(ringer: usize, sleeper: usize, count: usize, idles: bool) -> Vec<u32> {
    let (bell, back) = (AtomicU32::new(0), AtomicU32::new(0));
    let (rung, ran) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            bind(Some(sleeper));
            for _ in 0..count {
                while rung.load(Ordering::Acquire) == 0 {
                    bell::sleep(&bell, &KernelFutex, None, || {
                        rung.load(Ordering::Acquire) != 0
                    });
                }
                ran.store(now_ns(), Ordering::Release);
                rung.store(0, Ordering::Release);
                bell::ring(&back, &KernelFutex, || ());
            }
        });
        bind(Some(ringer));
        let woken = |_| {
            if idles {
                rest();
            }
            let start = now_ns();
            rung.store(start, Ordering::Release);
            bell::ring(&bell, &KernelFutex, || ());
            while rung.load(Ordering::Acquire) != 0 {
                bell::sleep(&back, &KernelFutex, None, || {
                    rung.load(Ordering::Acquire) == 0
                });
            }
            let took = ran.load(Ordering::Acquire).saturating_sub(start);
            u32::try_from(took).unwrap_or(u32::MAX)
        };
        (0..count).map(woken).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typical_is_not_moved_by_what_disturbs() {
        assert_eq!(typical(&[]), 0);
        assert_eq!(typical(&[5]), 5);
        let mut times = vec![100; 90];
        times.extend([10_000; 10]);
        assert_eq!(typical(&times), 100);
        assert!(!is_disturbed(&times));
        times.push(10_000);
        assert!(is_disturbed(&times));
    }

    #[test]
    fn how_many_run_is_read_from_what_the_kernel_says() {
        assert_eq!(running("0.20 0.18 0.12 3/80 11206\n"), Some(3));
        for other in ["", "0.20 0.18 0.12", "a b c d e", "1 2 3 x/4 5"] {
            assert_eq!(running(other), None, "{other}");
        }
    }

    /// Figures within their bounds, in a moment, and this thread may use the same cores as before.
    #[test]
    fn this_machine_has_a_profile() {
        let allowed = || {
            let set = sched_getaffinity(None).unwrap();
            (0..CpuSet::MAX_CPU)
                .filter(|&core| set.is_set(core))
                .collect::<Vec<_>>()
        };
        let before = allowed();
        let start = now_ns();
        let Measured { profile, .. } = measure();
        assert!(now_ns() - start < 5_000_000_000, "even on a busy machine");
        assert_eq!(profile, profile.within_bounds());
        assert_eq!(allowed(), before);
    }
}
