//! Sleeping and waking: one bell per OS thread (law 6; ARCHITECTURE, The laws).
//!
//! A bell is one word in shared memory: a [`state`], and the number of the owner's sleep. All
//! sources of work of an OS thread (rings, mailboxes, completions, timers) ring the same bell, so a
//! thread never waits for two things.
//!
//! The sleeper *announces* its sleep, passes a SeqCst fence, and then checks everything once more.
//! Only if there is still nothing, it records that in the word, and waits in the futex for the word
//! to change. The ringer *publishes* its work first, passes a SeqCst fence, and then reads the
//! word. Only if that is not AWAKE, it clears the state and makes the one system call.
//!
//! Why no wake-up is lost: the two SeqCst fences are totally ordered. If the ringer's fence comes
//! first, the sleeper's check, after its own fence, sees the published work (edge **WORK**). If the
//! sleeper's fence comes first, the ringer's read sees the announcement (edge **NAP**), clears the
//! state, and the futex either does not start to wait (the word has changed) or is woken.
//!
//! Many may ring at once: the one that takes the state out of the word makes the system call. A
//! wake-up that comes late only makes the sleeper check once more.
//!
//! **Observers.** A thread that reads a word knows the state of its owner. An owner that is
//! [`ASLEEP`] has looked for work after its announcement and found none, and has not been rung
//! since: it does nothing until it is rung. Only the owner begins a sleep, and each sleep has its
//! own number. So if an observer reads a word twice, and finds it ASLEEP and unchanged, it was
//! ASLEEP all the time in between (edge **LOOKED**; numbers repeat after 2^30 sleeps).

use crate::sync::{AtomicU32, Ordering, full_fence};

/// The owner runs, or will check everything before it sleeps.
pub const AWAKE: u32 = 0;
/// The owner has announced that it is going to sleep, and checks for work once more.
pub const ANNOUNCED: u32 = 1;
/// The owner waits in the futex, until it is rung or its deadline comes.
pub const DOZING: u32 = 2;
/// The owner waits in the futex until it is rung.
pub const ASLEEP: u32 = 3;

const STATES: u32 = 3;
const NEXT: u32 = STATES + 1;

/// Returns the state of a bell's owner, from the bell's word.
#[must_use]
#[inline]
pub fn state(word: u32) -> u32 {
    word & STATES
}

/// Returns the number of the sleep that a bell's word belongs to.
#[must_use]
pub fn number(word: u32) -> u32 {
    word / NEXT
}

/// Returns the number of sleeps so far of the owners of these bells, if all sleep until they are
/// rung. If the number is the same later, all have slept all the time.
#[must_use]
pub fn total_sleeps<'a>(bells: impl IntoIterator<Item = &'a AtomicU32>) -> Option<u64> {
    bells.into_iter().try_fold(0_u64, |naps, bell| {
        let word = bell.load(Ordering::Acquire); // LOOKED
        (state(word) == ASLEEP).then(|| naps + u64::from(number(word)))
    })
}

/// The waiting and waking of threads: the futex, or a model of it.
pub trait Futex {
    /// Waits while `word` holds `expected`, at most until `deadline_ns` on the monotonic clock.
    fn wait(&self, word: &AtomicU32, expected: u32, deadline_ns: Option<u64>);
    /// Wakes the thread that waits on `word`.
    fn wake(&self, word: &AtomicU32);
}

/// Rings the bell. The caller has published the work before. `waking` is called before the system
/// call, if the owner sleeps. Returns whether it had to be woken.
#[inline]
pub fn ring<F: Futex>(word: &AtomicU32, futex: &F, waking: impl FnOnce()) -> bool {
    full_fence(); // WORK: the work was published before the read of the word.
    if state(word.load(Ordering::Relaxed)) == AWAKE {
        return false;
    }
    // Release and Acquire are not needed here: the fences provide WORK and NAP.
    let mine = state(word.fetch_and(!STATES, Ordering::Relaxed)) != AWAKE;
    if mine {
        waking();
        futex.wake(word);
    }
    mine
}

/// The course of a sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SleepOutcome {
    /// No sleep: the check found work, and no ringer came meanwhile.
    Skipped,
    /// A ringer ended it, and cleared the word.
    Rung,
    /// It ended by its deadline, or without reason: check again.
    Unrung,
}

/// Sleeps until the bell rings or the deadline passes, unless `check`, called once the sleep has
/// been announced, finds work.
pub fn sleep<F: Futex>(
    word: &AtomicU32,
    futex: &F,
    deadline_ns: Option<u64>,
    check: impl FnOnce() -> bool,
) -> SleepOutcome {
    // Ringers leave the number as it is.
    let number = word.load(Ordering::Relaxed).wrapping_add(NEXT) & !STATES;
    word.store(number | ANNOUNCED, Ordering::Relaxed);
    full_fence(); // NAP: announced before the last check for work.
    let work = check();
    if !work {
        let sleeps = number
            | if deadline_ns.is_some() {
                DOZING
            } else {
                ASLEEP
            };
        // LOOKED: stored after the check. If a ringer has come meanwhile, there is no sleep.
        let looked = word.compare_exchange(
            number | ANNOUNCED,
            sleeps,
            Ordering::Release,
            Ordering::Relaxed,
        );
        if looked.is_ok() {
            futex.wait(word, sleeps, deadline_ns);
        }
    }
    // Exactly one of sleeper and ringers takes the announcement back.
    let alone = state(word.fetch_and(!STATES, Ordering::Relaxed)) != AWAKE;
    match (alone, work) {
        (false, _) => SleepOutcome::Rung,
        (true, true) => SleepOutcome::Skipped,
        (true, false) => SleepOutcome::Unrung,
    }
}

/// The kernel's futex on memory shared between processes; for threads [in
/// lockstep](crate::lockstep), that of the lockstep.
#[cfg(not(loom))]
#[derive(Clone, Copy, Debug, Default)]
pub struct KernelFutex;

#[cfg(not(loom))]
impl Futex for KernelFutex {
    fn wait(&self, word: &AtomicU32, expected: u32, deadline_ns: Option<u64>) {
        use rustix::thread::futex;
        if crate::lockstep::sleep(word, expected, deadline_ns) {
            return;
        }
        let deadline = deadline_ns.map(|ns| futex::Timespec {
            tv_sec: i64::try_from(ns / 1_000_000_000).unwrap_or(i64::MAX),
            tv_nsec: i64::try_from(ns % 1_000_000_000).expect("below a second"),
        });
        // Every outcome (woken, changed, interrupted, timed out) means: check again. It is
        // wait_bitset because its timeout is absolute, on the monotonic clock.
        let _looked_at_again = futex::wait_bitset(
            word,
            futex::Flags::empty(),
            expected,
            deadline.as_ref(),
            std::num::NonZeroU32::MAX,
        );
    }

    fn wake(&self, word: &AtomicU32) {
        if crate::lockstep::wake(word) {
            return;
        }
        // An error would mean an unmapped word, and then there is no thread to wake.
        let _nobody = rustix::thread::futex::wake(word, rustix::thread::futex::Flags::empty(), 1);
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::sync::{Arc, Condvar, Mutex};

    /// A futex whose lock is the kernel's hash-bucket lock: the comparison and the queueing are
    /// one step against a wake-up.
    struct Model {
        waiting: Mutex<bool>,
        woken: Condvar,
    }

    impl Futex for Model {
        fn wait(&self, word: &AtomicU32, expected: u32, _: Option<u64>) {
            let mut waiting = self.waiting.lock().unwrap();
            if word.load(Ordering::Relaxed) != expected {
                return;
            }
            *waiting = true;
            while *waiting {
                waiting = self.woken.wait(waiting).unwrap();
            }
        }

        fn wake(&self, _: &AtomicU32) {
            *self.waiting.lock().unwrap() = false;
            self.woken.notify_one();
        }
    }

    fn no_wake_up_is_lost_with(ringers: u32) {
        let mut model = loom::model::Builder::new();
        // With two ringers all interleavings would take hours; three preemptions take seconds.
        model.preemption_bound = (ringers > 1).then_some(3);
        model.check(move || {
            let shared = Arc::new((
                AtomicU32::new(AWAKE),
                AtomicU32::new(0),
                Model {
                    waiting: Mutex::new(false),
                    woken: Condvar::new(),
                },
            ));
            let threads: Vec<_> = (0..ringers)
                .map(|_| {
                    let shared = shared.clone();
                    loom::thread::spawn(move || {
                        let (word, work, futex) = &*shared;
                        work.fetch_add(1, Ordering::Release);
                        ring(word, futex, || ());
                    })
                })
                .collect();
            let (word, work, futex) = &*shared;
            // A lost wake-up leaves this thread in the model's wait for ever: loom reports it.
            while work.load(Ordering::Acquire) != ringers {
                sleep(word, futex, None, || {
                    work.load(Ordering::Acquire) == ringers
                });
            }
            for thread in threads {
                thread.join().unwrap();
            }
        });
    }

    /// Edge LOOKED: if a word is ASLEEP after a ring, its owner has seen the work of that ring.
    #[test]
    fn who_is_asleep_has_seen_all_that_was_rung_for() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let shared = Arc::new((
                AtomicU32::new(AWAKE),
                AtomicU32::new(0),
                AtomicU32::new(0),
                Model {
                    waiting: Mutex::new(false),
                    woken: Condvar::new(),
                },
            ));
            let ringer = {
                let shared = shared.clone();
                loom::thread::spawn(move || {
                    let (word, work, seen, futex) = &*shared;
                    work.store(1, Ordering::Release);
                    ring(word, futex, || ());
                    if state(word.load(Ordering::Acquire)) == ASLEEP {
                        assert_eq!(seen.load(Ordering::Relaxed), 1);
                    }
                    // The end, for a sleeper that has seen the work and goes on sleeping.
                    work.store(2, Ordering::Release);
                    ring(word, futex, || ());
                })
            };
            let (word, work, seen, futex) = &*shared;
            while seen.load(Ordering::Relaxed) != 2 {
                sleep(word, futex, None, || {
                    let found = work.load(Ordering::Acquire);
                    let news = found == 2;
                    seen.store(found, Ordering::Relaxed);
                    news
                });
            }
            ringer.join().unwrap();
        });
    }

    #[test]
    fn no_wake_up_is_lost() {
        no_wake_up_is_lost_with(1);
    }

    #[test]
    fn no_wake_up_is_lost_with_two_ringers() {
        no_wake_up_is_lost_with(2);
    }
}
