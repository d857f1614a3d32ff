//! Measures the cost of waking alone: a thread wakes at every multiple of a period, like the NICs
//! at every strobe, and does nothing else.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use bcs_core::clock::now_ns;
use bcs_core::wake::bell::{Futex, KernelFutex};
use bcs_core::wake::scheduling;
use rustix::time::{ClockId, clock_gettime};

/// The word on which the thread sleeps until it is stopped.
const RUNS: u32 = 0;
const STOPS: u32 = 1;

/// The thread, which wakes periodically until [`stop`](Self::stop).
#[derive(Debug)]
pub struct BareTimer {
    word: Arc<AtomicU32>,
    thread: JoinHandle<WakeCost>,
}

/// The resources that the thread used.
#[derive(Debug, Clone, Copy)]
struct WakeCost {
    wakes: u32,
    cpu: Duration,
}

impl BareTimer {
    /// Starts the thread. It has the scheduler settings of the NICs' OS threads, and sleeps in the
    /// same call with the same timer.
    #[must_use]
    pub fn start(period: Duration) -> Self {
        let word = Arc::new(AtomicU32::new(RUNS));
        let of_thread = word.clone();
        let thread = std::thread::spawn(move || {
            scheduling::prefer_short_slices();
            scheduling::prefer_exact_timers();
            wake_and_sleep(&of_thread, period)
        });
        Self { word, thread }
    }

    /// Stops the thread. Returns the CPU time of a wake-up with its sleep, in microseconds.
    ///
    /// # Errors
    ///
    /// There were too few wake-ups for a reliable result.
    pub fn stop(self) -> Result<f64> {
        self.word.store(STOPS, Ordering::Release);
        KernelFutex.wake(&self.word);
        let cost = self.thread.join().ok().context("the bare timer panicked")?;
        let WakeCost { wakes, cpu } = cost;
        ensure!(wakes > 100, "the bare timer woke {wakes} times only");
        Ok(cpu.as_secs_f64() * 1e6 / f64::from(wakes))
    }
}

fn wake_and_sleep(word: &AtomicU32, period: Duration) -> WakeCost {
    let period_ns = u64::try_from(period.as_nanos()).expect("a period is short");
    let start_ns = now_ns();
    let (mut due_ns, mut wakes, before) = (start_ns, 0, own_cpu());
    while word.load(Ordering::Acquire) == RUNS {
        let now_ns = now_ns();
        if now_ns >= due_ns {
            wakes += 1;
            due_ns = start_ns + ((now_ns - start_ns) / period_ns + 1) * period_ns;
        }
        KernelFutex.wait(word, RUNS, Some(due_ns));
    }
    WakeCost {
        wakes,
        cpu: own_cpu().saturating_sub(before),
    }
}

/// Returns the CPU time of this thread.
fn own_cpu() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_wakes_at_every_period_and_says_what_that_costs() {
        let period = Duration::from_micros(500);
        let word = AtomicU32::new(RUNS);
        let start_ns = now_ns();
        let cost = std::thread::scope(|scope| {
            let thread = scope.spawn(|| wake_and_sleep(&word, period));
            // The end of another timer thread is the event at which this one is stopped.
            let other = AtomicU32::new(RUNS);
            KernelFutex.wait(&other, RUNS, Some(now_ns() + 100_000_000));
            word.store(STOPS, Ordering::Release);
            KernelFutex.wake(&word);
            thread.join().unwrap()
        });
        // On a busy machine it may miss some of its 200 wake-ups, or have time for more.
        let most = (now_ns() - start_ns).div_ceil(500_000) + 1;
        assert!((20..=most).contains(&u64::from(cost.wakes)), "{cost:?}");
        let us = cost.cpu.as_secs_f64() * 1e6 / f64::from(cost.wakes);
        assert!(us > 0.0 && us < 200.0, "{us}");
    }

    #[test]
    fn too_few_wakes_are_no_figure() {
        assert!(BareTimer::start(Duration::from_secs(10)).stop().is_err());
    }
}
