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

use super::request::{OperationId, Request};
use super::wait_target::WaitTarget;
use crate::schedules::DeferredSteps;
use crate::transport::{TransportHandle, nic, smartmap};
use std::collections::VecDeque;

/// What is to be done without the lock.
#[derive(Debug)]
pub(crate) enum DeferredCopy {
    /// To pack, fetch, or go on with a collective.
    Local(smartmap::LocalDeferredCopy),
    /// Steps of a schedule.
    Steps(DeferredSteps),
    /// To unpack what the NIC has brought.
    Unpack(nic::DeferredUnpack),
}

/// What is to be done, and who waits for it.
#[derive(Debug, Default)]
pub(crate) struct DeferredCopies {
    pub(crate) waiting: VecDeque<DeferredCopy>,
    /// What threads of this rank wait for.
    waiters: Vec<(Waiter, Vec<OperationId>)>,
    waiters_so_far: u64,
    /// How many were brought back.
    pub(crate) done: u64,
}

/// A thread that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waiter(u64);

impl DeferredCopies {
    pub(crate) fn push(&mut self, errand: DeferredCopy) {
        self.waiting.push_back(errand);
    }

    /// A thread waits for this, until it [says](Self::waits_no_more) otherwise.
    pub(crate) fn waits(&mut self, what: WaitTarget<'_>) -> Waiter {
        let handles = match what {
            WaitTarget::Request(request) => vec![request.0],
            WaitTarget::All(requests, _) | WaitTarget::Any(requests) => {
                requests.iter().map(|Request(kind)| *kind).collect()
            }
            WaitTarget::Wait(_) => Vec::new(),
        };
        self.waiters_so_far += 1;
        let waiter = Waiter(self.waiters_so_far);
        self.waiters.push((waiter, handles));
        waiter
    }

    pub(crate) fn waits_no_more(&mut self, waiter: Waiter) {
        self.waiters.retain(|(known, _)| *known != waiter);
    }

    pub(crate) fn is_anothers(&self, kind: OperationId, waiter: Option<Waiter>) -> bool {
        let mut others = self.waiters.iter();
        others.any(|(other, handles)| Some(*other) != waiter && handles.contains(&kind))
    }
}

impl DeferredCopy {
    pub(crate) fn belongs_to(&self) -> Option<OperationId> {
        match self {
            Self::Local(_) => None,
            Self::Steps(DeferredSteps { schedule, .. }) => Some(OperationId::Schedule(*schedule)),
            Self::Unpack(unpack) => Some(OperationId::Transport(TransportHandle::Nic(
                unpack.request(),
            ))),
        }
    }

    /// Does it. No lock is held.
    pub(crate) fn run(&mut self) {
        match self {
            Self::Local(errand) => errand.run(),
            Self::Steps(DeferredSteps { steps, .. }) => {
                for step in steps.drain(..) {
                    step.run();
                }
            }
            Self::Unpack(unpack) => unpack.run(),
        }
    }
}
