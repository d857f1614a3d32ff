//! Measures the [`Profile`]: in some ten milliseconds, with two threads on two of the cores that
//! this one may use.

use super::Profile;
use crate::clock::now_ns;
use crate::wake::bell::{self, KernelFutex};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::Duration;

/// The result of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProfileMeasurement {
    /// The profile.
    pub profile: Profile,
    /// Whether all could be measured, and no other thread seems to have wanted the cores meanwhile.
    /// Otherwise the figures are only provisional.
    pub is_undisturbed: bool,
}

/// The number of yields that are timed.
const YIELDS: usize = 400;

/// The number of timed wakes of a thread on the same core.
const SWITCHES: usize = 200;

/// The number of timed wakes of a thread on another core, and how long that core is idle before
/// each.
const WAKES: usize = 24;
const IDLE: Duration = Duration::from_micros(200);

/// Measures this machine. If a thread may not be bound to a core, or if there is only one core, the
/// figures that cannot be measured are derived from those that can. If no thread can be made, they
/// are those [of an unknown machine](Profile::UNKNOWN).
#[must_use]
pub fn measure() -> ProfileMeasurement {
    let others_before = is_busy();
    let cores = some_cores();
    let first = cores.first().copied();
    let alone = on_a_thread(move || {
        bind(first);
        Some(yields(YIELDS))
    });
    let shared = first.and_then(|core| on_a_thread(move || shared_yields(core)));
    let switch = first.and_then(|core| on_a_thread(move || wakes(core, core, SWITCHES, false)));
    let wake = match cores[..] {
        [one, other, ..] => on_a_thread(move || wakes(one, other, WAKES, true)),
        _ => switch.clone(),
    };
    let is_disturbed = alone.as_deref().is_none_or(is_disturbed);
    let figures = [alone, shared, wake, switch].map(|times| times.as_deref().and_then(typical));
    let is_whole = figures.iter().all(Option::is_some);
    let profile = with_what_is_known(figures).within_bounds();
    let is_told_apart = 2 * profile.yield_ns < profile.shared_yield_ns;
    let is_quiet = !others_before && !is_busy() && !is_disturbed;
    ProfileMeasurement {
        profile,
        is_undisturbed: is_whole && is_quiet && is_told_apart,
    }
}

/// Returns a profile from the figures that could be measured.
fn with_what_is_known(figures: [Option<u32>; 4]) -> Profile {
    let unknown = Profile::UNKNOWN.figures();
    let known = |at: usize| figures[at].unwrap_or(unknown[at]);
    Profile::from_figures(std::array::from_fn(known))
}

/// Returns whether other threads run or want to run on more than a quarter of the machine's cores;
/// false if the kernel does not report it.
fn is_busy() -> bool {
    let said = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    running(&said).is_some_and(|(running, cores)| 4 * running.saturating_sub(1) > cores)
}

/// Returns how many threads of the whole machine run or want to run, this one among them, and how
/// many cores it has.
fn running(stat: &str) -> Option<(usize, usize)> {
    let of_core = |line: &&str| {
        let number = line.strip_prefix("cpu");
        number.is_some_and(|number| number.starts_with(|digit: char| digit.is_ascii_digit()))
    };
    let cores = stat.lines().filter(of_core).count();
    let mut lines = stat.lines();
    let running = lines.find_map(|line| line.strip_prefix("procs_running "))?;
    Some((running.trim().parse().ok()?, cores))
}

/// Returns the median, because other threads disturb only a part of a measurement.
fn typical(times: &[u32]) -> Option<u32> {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied()
}

/// Returns whether one in ten took five times the typical time: other threads ran meanwhile.
fn is_disturbed(times: &[u32]) -> bool {
    let long = typical(times).unwrap_or_default().saturating_mul(5);
    let disturbed = times.iter().filter(|&&time| time > long).count();
    disturbed * 10 > times.len()
}

/// Returns two cores that this thread may use, if there are two.
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
    // If the thread may not be bound, it is measured where it is.
    let _it_may_be_anywhere = sched_setaffinity(None, &only);
}

/// Returns what a thread measures, or `None` if a thread cannot be made.
fn on_a_thread(measure: impl FnOnce() -> Option<Vec<u32>> + Send) -> Option<Vec<u32>> {
    std::thread::scope(|scope| on(scope, measure)?.join().ok()?)
}

/// Starts a thread, or returns `None` if it cannot be made.
fn on<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    run: impl FnOnce() -> T + Send + 'scope,
) -> Option<ScopedJoinHandle<'scope, T>> {
    let thread = std::thread::Builder::new().name("bcs-profile".to_owned());
    thread.spawn_scoped(scope, run).ok()
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
fn shared_yields(core: usize) -> Option<Vec<u32>> {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let over = &over;
        on(scope, move || {
            bind(Some(core));
            while !over.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
        })?;
        bind(Some(core));
        // The other thread begins meanwhile.
        rest();
        let times = yields(YIELDS);
        over.store(true, Ordering::Relaxed);
        Some(times)
    })
}

/// Times `count` wakes: from the ring of a bell on one core until its owner runs on another one, or
/// on the same.
fn wakes(ringer: usize, sleeper: usize, count: usize, idles: bool) -> Option<Vec<u32>> {
    let (bell, back) = (AtomicU32::new(0), AtomicU32::new(0));
    let (rung, ran) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let (bell, back, rung, ran) = (&bell, &back, &rung, &ran);
        on(scope, move || {
            bind(Some(sleeper));
            for _ in 0..count {
                while rung.load(Ordering::Acquire) == 0 {
                    bell::sleep(bell, &KernelFutex, None, || {
                        rung.load(Ordering::Acquire) != 0
                    });
                }
                ran.store(now_ns(), Ordering::Release);
                rung.store(0, Ordering::Release);
                bell::ring(back, &KernelFutex, || ());
            }
        })?;
        bind(Some(ringer));
        let woken = |_| {
            if idles {
                rest();
            }
            let start = now_ns();
            rung.store(start, Ordering::Release);
            bell::ring(bell, &KernelFutex, || ());
            while rung.load(Ordering::Acquire) != 0 {
                bell::sleep(back, &KernelFutex, None, || {
                    rung.load(Ordering::Acquire) == 0
                });
            }
            let took = ran.load(Ordering::Acquire).saturating_sub(start);
            u32::try_from(took).unwrap_or(u32::MAX)
        };
        Some((0..count).map(woken).collect())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typical_is_not_moved_by_what_disturbs() {
        assert_eq!(typical(&[]), None);
        assert_eq!(typical(&[5]), Some(5));
        let mut times = vec![100; 90];
        times.extend([10_000; 10]);
        assert_eq!(typical(&times), Some(100));
        assert!(!is_disturbed(&times));
        times.push(10_000);
        assert!(is_disturbed(&times));
    }

    #[test]
    fn how_many_run_is_read_from_what_the_kernel_says() {
        let stat = "cpu  1 2 3\ncpu0 1 2 3\ncpu1 1 2 3\nintr 5\nprocs_running 3\nprocs_blocked 0\n";
        assert_eq!(running(stat), Some((3, 2)));
        for other in ["", "cpu0 1\n", "procs_running many\n"] {
            assert_eq!(running(other), None, "{other}");
        }
    }

    #[test]
    fn what_could_not_be_measured_is_as_of_a_machine_that_nobody_knows() {
        let nothing = with_what_is_known([None; 4]);
        assert_eq!(nothing, Profile::UNKNOWN);
        let some = with_what_is_known([None, None, Some(58_000), None]);
        let expected = Profile {
            wake_ns: 58_000,
            ..Profile::UNKNOWN
        };
        assert_eq!(some, expected);
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
        let ProfileMeasurement { profile, .. } = measure();
        assert!(now_ns() - start < 5_000_000_000, "even on a busy machine");
        assert_eq!(profile, profile.within_bounds());
        assert_eq!(allowed(), before);
    }
}
