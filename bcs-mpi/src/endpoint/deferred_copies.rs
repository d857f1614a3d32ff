//! Deferred copies: what a call does without the endpoint's lock, before it returns or sleeps.
//!
//! Under the lock there are only short steps of the runtime itself. A long copy, or a call of a
//! function of the program, becomes a deferred copy: a thread takes it with the lock, runs it
//! without, and returns it with the lock. The operation that it belongs to is not done before that.
//! So other threads of the rank go on meanwhile. A function may take as long as it likes, and may
//! call MPI itself.
//!
//! **Which thread runs one.** The thread that waits for its operation, if there is one, so that no
//! thread waits for the copy of another thread's message. Otherwise the thread that finds it, since
//! a peer may wait for it (law 5). Threads that wait record their target only if there are several
//! threads ([`OwnerLock::is_shared`]).
//!
//! [`OwnerLock::is_shared`]: bcs_core::wake::owner_lock::OwnerLock::is_shared

use super::request::{OperationId, Request};
use super::wait_target::WaitTarget;
use crate::schedules::DeferredSteps;
use crate::transport::{TransportHandle, nic, smartmap};
use std::collections::VecDeque;

/// Work for a thread without the lock.
#[derive(Debug)]
pub(crate) enum DeferredCopy {
    /// Packs, fetches, or continues a collective.
    Local(smartmap::LocalDeferredCopy),
    /// Steps of a schedule.
    Steps(DeferredSteps),
    /// Unpacks what the NIC has brought.
    Unpack(nic::DeferredUnpack),
}

/// Deferred copies that wait to be run, and the threads that wait for them.
#[derive(Debug, Default)]
pub(crate) struct DeferredCopies {
    pub(crate) waiting: VecDeque<DeferredCopy>,
    /// The operations that threads of this rank wait for.
    waiters: Vec<(Waiter, Vec<OperationId>)>,
    waiters_so_far: u64,
    /// How many were run and returned.
    pub(crate) done: u64,
}

/// A thread that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waiter(u64);

impl DeferredCopies {
    pub(crate) fn push(&mut self, errand: DeferredCopy) {
        self.waiting.push_back(errand);
    }

    /// Records what a thread waits for, until [`waits_no_more`](Self::waits_no_more).
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

    /// Does the work. The caller holds no lock.
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
