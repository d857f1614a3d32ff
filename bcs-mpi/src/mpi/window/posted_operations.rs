//! The operations of a window that are under way.

use crate::bcs;
use crate::mpi::error::Operation;
use bcs_core::lockstep;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// The most operations at one target. When there are more, the next one waits for the oldest.
pub(super) const MOST_PER_TARGET: usize = 1024;

/// The operations that are under way, by target.
#[derive(Debug, Default)]
pub(super) struct Outstanding {
    by_target: Mutex<BTreeMap<usize, VecDeque<Posted>>>,
    /// How many there are, so that nobody takes the lock if there are none.
    count: AtomicUsize,
    /// Held by the thread that waits for operations, so that others do not find them gone before
    /// they are complete.
    pub(super) completing: Mutex<()>,
}

#[derive(Debug)]
pub(super) struct Posted {
    pub(super) what: PostedOperation,
    pub(super) operation: Operation,
}

/// The operation to wait for.
#[derive(Debug)]
pub(super) enum PostedOperation {
    Request(bcs::Request),
    /// An operation that has a request of the program, which takes its outcome.
    OfProgram(Arc<AtomicBool>),
}

impl Outstanding {
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }

    pub(super) fn push(&self, target: usize, posted: Posted) -> usize {
        self.count.fetch_add(1, Ordering::AcqRel);
        let mut all = lockstep::lock(&self.by_target);
        let queue = all.entry(target).or_default();
        queue.push_back(posted);
        queue.len()
    }

    pub(super) fn pop(&self, target: usize) -> Option<Posted> {
        let mut all = lockstep::lock(&self.by_target);
        let queue = all.get_mut(&target)?;
        let oldest = queue.pop_front();
        if queue.is_empty() {
            all.remove(&target);
        }
        oldest
    }

    pub(super) fn ended(&self) {
        self.count.fetch_sub(1, Ordering::AcqRel);
    }

    pub(super) fn any_target(&self) -> Option<usize> {
        lockstep::lock(&self.by_target).keys().next().copied()
    }
}
