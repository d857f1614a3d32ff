//! How operations complete, each in its way.

use crate::bcs::{self, RequestOutcome};
use crate::mpi::checks::ExpectedReceive;
use crate::mpi::error::Operation;
use crate::mpi::{Comm, Result, Status};
use std::fmt::Debug;
use std::sync::Arc;

/// The state of a leaked request.
#[derive(Clone, Copy, Debug)]
pub(in crate::mpi) enum LeakedRequest {
    /// It was done when it was posted.
    Over,
    /// This operation was posted.
    Active(bcs::Request),
}

/// The kind of a completion.
#[derive(Debug)]
pub(in crate::mpi) enum CompletionKind {
    /// A send or collective, whose status is empty.
    Nothing,
    /// A receive, whose status describes the message.
    Receive,
    /// A receive in a checked job.
    Checked(Box<ExpectedReceive>),
    /// An operation with a completion handler of its own.
    Other(Arc<dyn CompletionHandler>),
}

/// Computes the result of a request that no call of this module knows.
pub(in crate::mpi) trait CompletionHandler: Debug + Send + Sync {
    /// Returns the result of an operation that was posted on a communicator.
    fn finish(&self, comm: &Comm, outcome: &RequestOutcome, operation: Operation)
    -> Result<Status>;
}
