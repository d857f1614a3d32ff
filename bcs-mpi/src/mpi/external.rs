//! Generalized requests (MPI 5.0, 13.2): the program does what they stand for, and says when it is over.

use super::error::Operation;
use super::request::What;
use super::{Process, Request};
use crate::bcs::Outcome;
use crate::endpoint::{Grounds, Undertaking};
use crate::recording::Recorded;
use crate::roads::Handle;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

/// How the program says that something is over which it does itself (`MPI_Grequest_complete`).
#[derive(Clone, Debug)]
pub struct Completion {
    process: Weak<Process>,
    over: Arc<AtomicBool>,
}

impl Completion {
    /// It is over.
    pub fn complete(&self) {
        self.over.store(true, Ordering::Release);
        if let Some(process) = self.process.upgrade() {
            process.endpoint().nudge();
        }
    }
}

/// What the program does itself.
#[derive(Debug)]
struct External(Arc<AtomicBool>);

impl Undertaking for External {
    fn advance(&mut self, _: &mut dyn Grounds, _: &mut bool) -> Option<Outcome> {
        let over = self.0.load(Ordering::Acquire);
        over.then(Outcome::default)
    }

    fn awaits(&self) -> Vec<Handle> {
        Vec::new()
    }
}

impl Process {
    /// `MPI_Grequest_start`: a request that is done when the program says so, whatever thread does.
    #[must_use]
    pub fn external(self: &Arc<Self>) -> (Completion, Request) {
        let over = Arc::new(AtomicBool::new(false));
        let posted = self.endpoint().undertake(Box::new(External(over.clone())));
        let operation = Operation::plain("MPI_Grequest_start");
        let (what, comm) = (What::Nothing, self.itself());
        let request = Request::posted(posted, what, &comm, &operation, Recorded::NOT);
        let process = Arc::downgrade(self);
        (Completion { process, over }, request)
    }
}
