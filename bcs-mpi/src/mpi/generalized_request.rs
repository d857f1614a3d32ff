//! Generalized requests (MPI 5.0, 13.2): the program performs the operation, and reports its
//! completion.

use super::error::Operation;
use super::request::CompletionKind;
use super::{Process, Request};
use crate::bcs::RequestOutcome;
use crate::endpoint::{AsyncOperation, OperationContext};
use crate::recording::RecordedOperation;
use crate::transport::TransportHandle;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

/// The handle by which the program completes its operation (`MPI_Grequest_complete`).
#[derive(Clone, Debug)]
pub struct GeneralizedCompletion {
    process: Weak<Process>,
    over: Arc<AtomicBool>,
}

impl GeneralizedCompletion {
    /// Completes the operation.
    pub fn complete(&self) {
        self.over.store(true, Ordering::Release);
        if let Some(process) = self.process.upgrade() {
            process.endpoint().nudge();
        }
    }
}

/// An operation that the program performs.
#[derive(Debug)]
struct GeneralizedOperation(Arc<AtomicBool>);

impl AsyncOperation for GeneralizedOperation {
    fn advance(&mut self, _: &mut dyn OperationContext, _: &mut bool) -> Option<RequestOutcome> {
        let over = self.0.load(Ordering::Acquire);
        over.then(RequestOutcome::default)
    }

    fn awaits(&self) -> Vec<TransportHandle> {
        Vec::new()
    }
}

impl Process {
    /// `MPI_Grequest_start`: returns a request that is done when any thread of the program
    /// completes it.
    #[must_use]
    pub fn external(self: &Arc<Self>) -> (GeneralizedCompletion, Request) {
        let over = Arc::new(AtomicBool::new(false));
        let posted = self
            .endpoint()
            .undertake(Box::new(GeneralizedOperation(over.clone())));
        let operation = Operation::plain("MPI_Grequest_start");
        let (what, comm) = (CompletionKind::Nothing, self.itself());
        let request = Request::posted(posted, what, &comm, &operation, RecordedOperation::NOT);
        let process = Arc::downgrade(self);
        (GeneralizedCompletion { process, over }, request)
    }
}
