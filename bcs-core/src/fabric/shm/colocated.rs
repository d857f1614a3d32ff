//! Ports that one OS thread works with, those of all NICs of a job and of the Strobe Sender among them.
//!
//! Nobody else is on the fabric then, and between two calls nothing changes. So a Compare-And-Write is decided
//! where it is asked for, which is the one order that all of them have; and who is signalled is noted here, in
//! the place of a bell.

use super::segment::{RawRequest, Segment};
use super::sequencer::judge;
use crate::job::{NicThreadId, NodeId};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// What such ports share.
#[derive(Clone, Debug, Default)]
pub struct Colocated(Rc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    /// The NIC threads that were signalled and have not been told.
    signalled: RefCell<Vec<(NodeId, NicThreadId)>>,
    /// How often a node has reported progress.
    reports: Cell<u64>,
    /// Evaluations of waiting requests that came out false (paper Table 5.1).
    retries: Cell<u64>,
}

impl Colocated {
    /// The next NIC thread that was signalled.
    #[must_use]
    pub fn take_signalled(&self) -> Option<(NodeId, NicThreadId)> {
        self.0.signalled.borrow_mut().pop()
    }

    /// Evaluations of waiting requests that came out false.
    #[must_use]
    pub fn retries(&self) -> u64 {
        self.0.retries.get()
    }

    pub(super) fn signal(&self, node: NodeId, thread: NicThreadId) {
        self.0.signalled.borrow_mut().push((node, thread));
    }

    pub(super) fn report(&self) {
        self.0.reports.set(self.0.reports.get() + 1);
    }

    pub(super) fn reports(&self) -> u64 {
        self.0.reports.get()
    }

    /// The verdict of a Compare-And-Write, if it need not wait.
    pub(super) fn judge(&self, segment: &Segment, request: &RawRequest) -> Option<bool> {
        let verdict = judge(segment, request);
        if verdict.is_none() {
            self.0.retries.set(self.0.retries.get() + 1);
        }
        verdict
    }
}
