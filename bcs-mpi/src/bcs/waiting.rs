//! Waiting: one thread of the rank listens to the bell, the others to it.
//!
//! A wait looks at what it is for, under the lock; if it is not there, the thread sleeps, without
//! the lock, until the NIC has done something since *before* that look. What the NIC has done is
//! the count of completions, and, for who waits for room in a ring or for the end of its sends,
//! also how much the NIC has taken.
//!
//! The bell has room for one sleeper. The first thread that waits takes the [`Turn`] and sleeps on
//! the bell; others sleep on a condition variable. Whoever held the turn wakes them all when it
//! wakes. None is missed: a thread decides to sleep behind the holder of the turn under the turn's
//! lock, after it has seen that the count is still what it was before its look; the holder sleeps
//! at most until the count changes, and then needs that lock to wake the others.

use super::Blocking;
use super::endpoint::{Endpoint, State};
use bcs_core::clock::now_ns;
use bcs_core::memory::{MachinePage, NicMemory};
use bcs_core::ring::Words;
use bcs_core::waiting::Patience;
use std::sync::atomic::Ordering;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// A NIC rings when a request is complete, not when it has only taken descriptors or delivered what
/// it held back. Who waits for that looks again after this time, and then after twice the time.
const FIRST_PATIENCE_NS: u64 = 50_000;
/// The longest time between two such looks: a hundred a second cost nothing.
const LAST_PATIENCE_NS: u64 = 10_000_000;

/// Whose turn it is to listen to the bell.
#[derive(Debug, Default)]
pub(super) struct Turn {
    taken: Mutex<bool>,
    passed: Condvar,
}

/// What a wait wants to be woken by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Watch {
    /// Completions.
    Completions,
    /// Also that the NIC took descriptors, and that it delivered what it held back.
    Rings,
}

/// What the NIC has done so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Done {
    completions: u64,
    heads: [u64; 3],
    held_back: u64,
}

/// The job knows that this rank is blocked (law 2's hunger) while this lives.
#[derive(Debug)]
struct Hungry<'a>(&'a MachinePage);

impl<'a> Hungry<'a> {
    fn new(page: &'a MachinePage) -> Self {
        page.block(true);
        Self(page)
    }
}

impl Drop for Hungry<'_> {
    fn drop(&mut self) {
        self.0.block(false);
    }
}

impl Endpoint {
    /// Looks once, or until there is something.
    pub(super) fn look<T>(
        &self,
        blocking: Blocking,
        mut look: impl FnMut(&mut State) -> Option<T>,
    ) -> Option<T> {
        match blocking {
            Blocking::Yes => Some(self.wait_for(Watch::Completions, look)),
            Blocking::No => {
                let mut state = self.lock();
                self.progress(&mut state);
                let found = look(&mut state);
                if found.is_none() {
                    self.found_nothing(&mut state);
                    drop(state);
                    // Law 7: a program that polls while cores are short lets others run.
                    if !self.page.cores_suffice() {
                        std::thread::yield_now();
                    }
                }
                found
            }
        }
    }

    /// Looks until there is something.
    pub(super) fn wait_for<T>(
        &self,
        watch: Watch,
        mut look: impl FnMut(&mut State) -> Option<T>,
    ) -> T {
        let mut hungry = None;
        let mut patience_ns = FIRST_PATIENCE_NS;
        loop {
            let mut state = self.lock();
            let seen = self.done();
            self.progress(&mut state);
            if let Some(found) = look(&mut state) {
                return found;
            }
            if hungry.is_none() {
                hungry = Some(Hungry::new(&self.page));
                self.about_to_block(&mut state);
            } else {
                self.found_nothing(&mut state);
            }
            // Law 5: room in a ring is a reason to go on, whatever this wait is for.
            let holds = state.sends.holds() || state.receives.holds() || state.collectives.holds();
            drop(state);
            self.sleep(if holds { Watch::Rings } else { watch }, &seen, patience_ns);
            patience_ns = (patience_ns * 2).min(LAST_PATIENCE_NS);
        }
    }

    fn done(&self) -> Done {
        let words = self.memory.words();
        let heads = [
            NicMemory::send_ring(),
            NicMemory::receive_ring(),
            NicMemory::collective_ring(),
        ]
        .map(|ring| words.word(ring.head_word).load(Ordering::Acquire));
        let held_back = self.memory.held_back().load(Ordering::Acquire);
        Done {
            completions: self.completions(),
            heads,
            held_back,
        }
    }

    fn more_than(&self, seen: &Done, watch: Watch) -> bool {
        match watch {
            Watch::Completions => self.completions() != seen.completions,
            Watch::Rings => self.done() != *seen,
        }
    }

    fn sleep(&self, watch: Watch, seen: &Done, patience_ns: u64) {
        let patience_ns = (watch == Watch::Rings).then_some(patience_ns);
        let mut taken = self
            .turn
            .taken
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if self.more_than(seen, watch) {
            return;
        }
        if *taken {
            let passed = &self.turn.passed;
            if let Some(patience_ns) = patience_ns {
                drop(passed.wait_timeout(taken, Duration::from_nanos(patience_ns)));
            } else {
                drop(passed.wait(taken));
            }
            return;
        }
        *taken = true;
        drop(taken);
        let deadline = patience_ns.map(|patience_ns| now_ns() + patience_ns);
        bcs_core::waiting::wait(
            self.memory.bell(),
            &self.page,
            deadline,
            Patience::RANK,
            || self.more_than(seen, watch),
        );
        *self
            .turn
            .taken
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = false;
        self.turn.passed.notify_all();
    }
}
