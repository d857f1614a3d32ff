//! The state that the threads of a lockstep share with its driver.

use crate::fingerprint::fingerprint;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The turn belongs to the driver.
pub(super) const DRIVER: usize = usize::MAX;

/// The longest time that a woken thread needs until it runs.
pub(super) const WAKE_NS: u64 = 20_000;
/// The state of a thread, with what it waits for.
#[derive(Debug)]
pub(super) enum ThreadState {
    /// It becomes ready at this time.
    Ready { at_ns: u64 },
    /// It sleeps until this word is rung, or until this time.
    Asleep {
        word: usize,
        deadline_ns: Option<u64>,
    },
    /// It has ended, by a panic with this message if there is one.
    Ended { panic: Option<String> },
    /// It was killed.
    Dead,
}

pub(super) struct Thread {
    pub(super) name: String,
    /// The first thread of its process: to kill one thread of a process kills all.
    pub(super) process: usize,
    pub(super) state: ThreadState,
    pub(super) os: std::thread::Thread,
}

pub(super) struct LockstepState {
    pub(super) now_ns: u64,
    pub(super) threads: Vec<Thread>,
    /// Draws a number below another one. This code is also part of programs, so the driver supplies
    /// the random numbers.
    pub(super) draw: Box<dyn FnMut(u64) -> u64 + Send>,
    pub(super) trace: u64,
    pub(super) steps: u64,
}

pub(super) struct Shared {
    pub(super) inner: Mutex<LockstepState>,
    /// The owner of the turn: a thread's number, or the driver.
    pub(super) turn: AtomicUsize,
    pub(super) driver: std::thread::Thread,
}

impl Shared {
    pub(super) fn lock(&self) -> MutexGuard<'_, LockstepState> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a thread that has just been started.
    pub(super) fn join_in(
        &self,
        name: &str,
        process: Option<usize>,
        os: &std::thread::Thread,
    ) -> ThreadNumber {
        let mut inner = self.lock();
        let at_ns = inner.now_ns;
        let process = process.map_or(inner.threads.len(), |first| inner.threads[first].process);
        inner.threads.push(Thread {
            name: name.to_owned(),
            process,
            state: ThreadState::Ready { at_ns },
            os: os.clone(),
        });
        ThreadNumber(inner.threads.len() - 1)
    }

    pub(super) fn await_turn(&self, number: usize) {
        while self.turn.load(Ordering::Acquire) != number {
            std::thread::park();
        }
    }

    /// Hands the turn to the driver, and waits until it comes back.
    pub(super) fn hand_back(&self, number: usize) {
        self.turn.store(DRIVER, Ordering::Release);
        self.driver.unpark();
        self.await_turn(number);
    }
}

/// A thread in lockstep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadNumber(pub(super) usize);

impl LockstepState {
    pub(super) fn note(&mut self, words: [u64; 3]) {
        self.trace = fingerprint([self.trace].into_iter().chain(words));
    }

    pub(super) fn kill(&mut self, number: usize) {
        let process = self.threads[number].process;
        for thread in &mut self.threads {
            if thread.process == process && !matches!(thread.state, ThreadState::Ended { .. }) {
                thread.state = ThreadState::Dead;
            }
        }
    }

    /// Wakes the threads that sleep on this word.
    pub(super) fn wake(&mut self, word: usize) {
        let at_ns = self.now_ns + (self.draw)(WAKE_NS + 1);
        for thread in &mut self.threads {
            if matches!(thread.state, ThreadState::Asleep { word: on, .. } if on == word) {
                thread.state = ThreadState::Ready { at_ns };
            }
        }
    }
}
