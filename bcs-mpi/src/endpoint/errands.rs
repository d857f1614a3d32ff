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

use super::request::{Kind, Request};
use super::what::What;
use crate::roads::{Handle, nic, smartmap};
use crate::schedules::Steps;
use std::collections::VecDeque;

/// What is to be done without the lock.
#[derive(Debug)]
pub(crate) enum Errand {
    /// To pack, fetch, or go on with a collective.
    Near(smartmap::Errand),
    /// Steps of a schedule.
    Steps(Steps),
    /// To unpack what the NIC has brought.
    Unpack(nic::Unpack),
}

/// What is to be done, and who waits for it.
#[derive(Debug, Default)]
pub(crate) struct Errands {
    pub(crate) waiting: VecDeque<Errand>,
    /// What threads of this rank wait for.
    waiters: Vec<(Waiter, Vec<Kind>)>,
    waiters_so_far: u64,
    /// How many were brought back.
    pub(crate) done: u64,
}

/// A thread that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waiter(u64);

impl Errands {
    pub(crate) fn push(&mut self, errand: Errand) {
        self.waiting.push_back(errand);
    }

    /// A thread waits for this, until it [says](Self::waits_no_more) otherwise.
    pub(crate) fn waits(&mut self, what: What<'_>) -> Waiter {
        let handles = match what {
            What::Request(request) => vec![request.0],
            What::All(requests, _) | What::Any(requests) => {
                requests.iter().map(|Request(kind)| *kind).collect()
            }
            What::Wait(_) => Vec::new(),
        };
        self.waiters_so_far += 1;
        let waiter = Waiter(self.waiters_so_far);
        self.waiters.push((waiter, handles));
        waiter
    }

    pub(crate) fn waits_no_more(&mut self, waiter: Waiter) {
        self.waiters.retain(|(known, _)| *known != waiter);
    }

    pub(crate) fn is_anothers(&self, kind: Kind, waiter: Option<Waiter>) -> bool {
        let mut others = self.waiters.iter();
        others.any(|(other, handles)| Some(*other) != waiter && handles.contains(&kind))
    }
}

impl Errand {
    pub(crate) fn belongs_to(&self) -> Option<Kind> {
        match self {
            Self::Near(_) => None,
            Self::Steps(Steps { schedule, .. }) => Some(Kind::Schedule(*schedule)),
            Self::Unpack(unpack) => Some(Kind::Road(Handle::Nic(unpack.request()))),
        }
    }

    /// Does it. No lock is held.
    pub(crate) fn run(&mut self) {
        match self {
            Self::Near(errand) => errand.run(),
            Self::Steps(Steps { steps, .. }) => {
                for step in steps.drain(..) {
                    step.run();
                }
            }
            Self::Unpack(unpack) => unpack.run(),
        }
    }
}
