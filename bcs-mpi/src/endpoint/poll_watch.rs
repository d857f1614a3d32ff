//! Whether this rank does nothing but ask for what does not come.
//!
//! A rank that tests or probes in a loop is awake, so the deadlock detector cannot prove that it
//! never goes on: only its program knows when the loop ends. But if all other ranks sleep, nothing
//! that the loop asks for can come any more. So a rank that has polled in vain for some time, at a
//! high and steady rate, publishes a wait state that says so. Each further such period publishes it
//! again, with a new number: the number shows that the loop goes on.
//!
//! A rank that computes or sleeps between its polls has a lower rate or pauses, and publishes
//! nothing. A pause is a sleep of the thread, or a time for which it computes, as the kernel counts
//! them; a loaded machine that gives the core to another process makes none. After a pause the
//! count begins anew, and the wait state is withdrawn for so long that the detector sees it.
#![expect(unsafe_code, reason = "asks the kernel about this thread")]

/// The time for which polls are counted.
const PERIOD_NS: u64 = 200_000_000;

/// A rank that does nothing else polls at least once in this time of its thread on the average. The
/// time in which others have its core does not count.
const MOST_NS_PER_POLL: u64 = 50_000;

/// A rank that has computed for this time without a poll has done something else.
const LONGEST_PAUSE_NS: u64 = 20_000_000;

/// The clocks are read once in this many polls.
const POLLS_PER_LOOK: u64 = 64;

/// The periods after which a rank is said to poll in vain.
const LEAST_PERIODS: u32 = 2;

/// The polls in vain since one was not, or since the rank did something else.
#[derive(Debug, Default)]
pub(crate) struct PollWatch {
    polls: u64,
    since_ns: u64,
    since_ran_ns: u64,
    seen: ThreadTimes,
    periods: u32,
    /// The number of the published wait state.
    pub(super) published: Option<u64>,
}

/// The kernel's counts of this thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ThreadTimes {
    /// How long it has run.
    ran_ns: u64,
    /// How often it has slept. To yield is no sleep.
    sleeps: i64,
}

impl ThreadTimes {
    pub(super) fn now() -> Self {
        let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: the kernel writes the structure, or nothing.
        let _never_fails = unsafe { libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) };
        // SAFETY: zeros are valid, too.
        let usage = unsafe { usage.assume_init() };
        let ns = |time: libc::timeval| time.tv_sec * 1_000_000_000 + time.tv_usec * 1_000;
        Self {
            ran_ns: u64::try_from(ns(usage.ru_utime) + ns(usage.ru_stime)).unwrap_or(0),
            sleeps: usage.ru_nvcsw,
        }
    }
}

/// The effect of a poll in vain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PollFinding {
    Nothing,
    /// The rank has polled in vain for another period.
    Vain,
    /// It has done something else.
    Pause,
}

impl PollWatch {
    /// Returns whether the clock is to be read after another poll in vain.
    #[inline(always)]
    pub(super) fn count(&mut self) -> bool {
        self.polls += 1;
        self.polls.is_multiple_of(POLLS_PER_LOOK)
    }

    pub(super) fn judge(&mut self, now_ns: u64, now: ThreadTimes) -> PollFinding {
        let computed_ns = now.ran_ns.abs_diff(self.seen.ran_ns);
        let slept = now.sleeps != self.seen.sleeps;
        self.seen = now;
        let period_ns = now_ns.saturating_sub(self.since_ns);
        if slept || computed_ns > LONGEST_PAUSE_NS {
            self.begin(now_ns, now);
            self.periods = 0;
            return PollFinding::Pause;
        }
        if period_ns < PERIOD_NS {
            return PollFinding::Nothing;
        }
        let ran_ns = now.ran_ns.abs_diff(self.since_ran_ns);
        let is_steady = self.polls.saturating_mul(MOST_NS_PER_POLL) >= ran_ns;
        self.begin(now_ns, now);
        self.periods = if is_steady { self.periods + 1 } else { 0 };
        match self.periods {
            0 => PollFinding::Pause,
            LEAST_PERIODS.. => PollFinding::Vain,
            _ => PollFinding::Nothing,
        }
    }

    fn begin(&mut self, now_ns: u64, now: ThreadTimes) {
        self.polls = 0;
        self.since_ns = now_ns;
        self.since_ran_ns = now.ran_ns;
    }

    /// Returns whether anything is counted or published.
    #[inline(always)]
    pub(super) fn is_new(&self) -> bool {
        self.polls == 0 && self.periods == 0 && self.published.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bcs_core::clock::now_ns;

    const MS: u64 = 1_000_000;

    /// A rank that polls in virtual time.
    struct Poller {
        watch: PollWatch,
        now_ns: u64,
        times: ThreadTimes,
    }

    impl Poller {
        /// Polls for this time, once in `each_ns`. Returns the number of periods in vain.
        fn vain(&mut self, for_ms: u64, each_ns: u64) -> usize {
            let end = self.now_ns + for_ms * MS;
            let mut found = 0;
            while self.now_ns < end {
                self.now_ns += each_ns;
                self.times.ran_ns += each_ns;
                if self.watch.count() {
                    let judged = self.watch.judge(self.now_ns, self.times);
                    found += usize::from(judged == PollFinding::Vain);
                }
            }
            found
        }
    }

    #[test]
    fn only_steady_polls_are_in_vain() {
        let mut poller = Poller {
            watch: PollWatch::default(),
            now_ns: 5 * MS,
            times: ThreadTimes::default(),
        };
        poller.vain(300, 1_000);
        assert!(poller.vain(1_000, 1_000) >= 4);
        poller.now_ns += 30 * MS;
        assert!(poller.vain(400, 1_000) > 0, "another process had the core");
        for _ in 0..500 {
            poller.now_ns += 10 * MS;
            poller.vain(1, 5_000);
        }
        assert!(
            poller.watch.periods > LEAST_PERIODS,
            "it has the core for a tenth of the time"
        );
        poller.times.ran_ns += 30 * MS;
        assert_eq!(poller.vain(390, 1_000), 0, "it computed");
        assert!(poller.vain(1_000, 1_000) >= 4);
        poller.times.sleeps += 1;
        assert_eq!(poller.vain(390, 1_000), 0, "it slept");
        poller.vain(500, 60_000);
        assert_eq!(poller.vain(5_000, 60_000), 0, "it computes between polls");
    }

    #[test]
    fn a_sleep_is_counted_and_a_computation_takes_time() {
        let before = ThreadTimes::now();
        let child = std::process::Command::new("true").status();
        assert!(child.is_ok_and(|ended| ended.success()));
        assert!(
            ThreadTimes::now().sleeps > before.sleeps,
            "it has waited for a child"
        );
        let start = now_ns();
        while now_ns() - start < 30 * MS {}
        assert!(ThreadTimes::now().ran_ns > before.ran_ns);
    }
}
