//! Errands: what a call does without the endpoint's lock, before it returns or sleeps.
//!
//! Under the lock there are only steps that are short and the runtime's own. A long copy, and every call of
//! a function of the program's, becomes an errand: a thread takes it with the lock, runs it without, and brings
//! it back with the lock. What it belongs to is not done before that. So other threads of the rank go on
//! meanwhile, a function may take as long as it likes, and call MPI itself.
//!
//! **Who runs one.** The thread that waits for what it belongs to, if there is one: nobody is to wait for the
//! copy of another thread's message. Otherwise whoever finds it, since a peer may wait for it (law 5).
//! Threads that wait say for what only if there are several ([`OwnerLock::is_shared`]).
//!
//! [`OwnerLock::is_shared`]: bcs_core::wake::owner_lock::OwnerLock::is_shared
#![expect(unsafe_code, reason = "memory is named by address")]

use super::endpoint::{Endpoint, State};
use super::request::{Handle, Request};
use super::schedule::ScheduleId;
use super::whereabouts::What;
use crate::plan::Local;
use crate::roads::{nic, smartmap};
use bcs_core::wake::owner_lock::OwnerGuard;
use std::collections::VecDeque;

/// Errands that a call runs before it returns, whatever comes up meanwhile.
const MOST_IN_A_CALL: usize = 64;

/// What is to be done without the lock.
#[derive(Debug)]
pub(super) enum Errand {
    /// To pack, fetch, or go on with a collective.
    Near(smartmap::Errand),
    /// Steps of a schedule.
    Steps {
        schedule: ScheduleId,
        steps: Vec<Local>,
    },
    /// To unpack what the NIC has brought.
    Unpack(nic::Unpack),
}

/// What is to be done, and who waits for it.
#[derive(Debug, Default)]
pub(super) struct Errands {
    waiting: VecDeque<Errand>,
    /// What threads of this rank wait for.
    waiters: Vec<(Waiter, Vec<Handle>)>,
    waiters_so_far: u64,
    /// How many were brought back.
    pub(super) done: u64,
}

/// A thread that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Waiter(u64);

impl Errands {
    pub(super) fn push(&mut self, errand: Errand) {
        self.waiting.push_back(errand);
    }

    /// A thread waits for this, until it [says](Self::waits_no_more) otherwise.
    pub(super) fn waits(&mut self, what: What<'_>) -> Waiter {
        let handles = match what {
            What::Request(request) => vec![request.0],
            What::All(requests) | What::Any(requests) => {
                requests.iter().map(|Request(handle)| *handle).collect()
            }
            What::Wait(_) => Vec::new(),
        };
        self.waiters_so_far += 1;
        let waiter = Waiter(self.waiters_so_far);
        self.waiters.push((waiter, handles));
        waiter
    }

    pub(super) fn waits_no_more(&mut self, waiter: Waiter) {
        self.waiters.retain(|(known, _)| *known != waiter);
    }

    fn is_anothers(&self, handle: Handle, waiter: Option<Waiter>) -> bool {
        let mut others = self.waiters.iter();
        others.any(|(other, handles)| Some(*other) != waiter && handles.contains(&handle))
    }
}

impl Errand {
    fn belongs_to(&self) -> Option<Handle> {
        match self {
            Self::Near(_) => None,
            Self::Steps { schedule, .. } => Some(Handle::Schedule(*schedule)),
            Self::Unpack(unpack) => Some(Handle::Nic(unpack.request())),
        }
    }

    /// Does it. No lock is held.
    fn run(&mut self) {
        match self {
            Self::Near(errand) => errand.run(),
            Self::Steps { steps, .. } => {
                for step in steps.drain(..) {
                    // SAFETY: whoever posted the schedule promised that the memory stays until it is
                    // done; what was to be received has come.
                    unsafe { step.run() };
                }
            }
            Self::Unpack(unpack) => unpack.run(),
        }
    }
}

impl State {
    /// The next errand that no other thread waits for.
    pub(super) fn take_errand(&mut self, waiter: Option<Waiter>) -> Option<Errand> {
        let Self {
            errands, near, nic, ..
        } = self;
        let is_mine = |handle| !errands.is_anothers(handle, waiter);
        if let Some(near) = near.as_mut().filter(|near| near.has_errands())
            && let Some(errand) = near.take_errand(|id| is_mine(Handle::Near(id)))
        {
            return Some(Errand::Near(errand));
        }
        if let Some(unpack) = nic.take_errand(|id| is_mine(Handle::Nic(id))) {
            return Some(Errand::Unpack(unpack));
        }
        let mine = |errand: &Errand| errand.belongs_to().is_none_or(is_mine);
        let next = errands.waiting.iter().position(mine)?;
        errands.waiting.remove(next)
    }

    /// Whether there is something to do without the lock.
    #[inline]
    pub(super) fn has_errands(&self) -> bool {
        let near = self.near.as_ref();
        near.is_some_and(smartmap::SmartMap::has_errands)
            || self.nic.has_errands()
            || !self.errands.waiting.is_empty()
    }

    fn bring_back(&mut self, errand: Errand) {
        self.errands.done += 1;
        self.schedules.look_again();
        match errand {
            Errand::Near(errand) => {
                let near = self.near.as_mut().expect("it is its errand");
                near.brought(errand);
            }
            Errand::Steps { schedule, .. } => self.schedules.stepped(schedule),
            Errand::Unpack(unpack) => self.nic.brought(unpack),
        }
    }
}

impl Endpoint {
    /// Ends a call: does what is to be done without the lock.
    #[inline]
    pub(super) fn leave<'a>(&'a self, state: OwnerGuard<'a, State>) {
        if state.has_errands() {
            self.run_errands(state);
        }
    }

    /// Does what is to be done without the lock, as long as there is something that no other thread waits for.
    #[cold]
    pub(super) fn run_errands<'a>(&'a self, mut state: OwnerGuard<'a, State>) {
        for _ in 0..MOST_IN_A_CALL {
            let Some(errand) = state.take_errand(None) else {
                return;
            };
            state = self.run_errand(state, errand);
        }
    }

    /// Does this without the lock.
    #[cold]
    pub(super) fn run_errand<'a>(
        &'a self,
        state: OwnerGuard<'a, State>,
        mut errand: Errand,
    ) -> OwnerGuard<'a, State> {
        drop(state);
        errand.run();
        let mut state = self.lock();
        state.bring_back(errand);
        self.progress(&mut state);
        state
    }
}
