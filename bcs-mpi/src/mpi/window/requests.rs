//! Operations with requests (MPI 5.0, 12.3.5).

use super::checked_operation::CheckedOperation;
use super::operands::TargetData;
use super::operations::{AccumulateOp, at_target};
use super::state::Window;
use crate::bcs::{self, RequestOutcome};
use crate::call_site;
use crate::endpoint::{AsyncOperation, OperationContext};
use crate::mpi::error::{Operation, Result};
use crate::mpi::request::{CompletionHandler, CompletionKind};
use crate::mpi::{Buffer, Comm, Request, Status};
use crate::recording::{CallTiming, Primitive, RecordedOperation, Site};
use crate::transport::TransportHandle;
use bcs_core::request::RequestFailure;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The pieces of an operation that are under way.
#[derive(Debug)]
struct PiecesUnderWay {
    pieces: Vec<bcs::Request>,
    failure: RequestFailure,
    over: Arc<AtomicBool>,
}

impl AsyncOperation for PiecesUnderWay {
    fn advance(&mut self, at: &mut dyn OperationContext, _: &mut bool) -> Option<RequestOutcome> {
        let failure = &mut self.failure;
        self.pieces.retain(|&piece| {
            // A piece may be an async operation itself. One that is not over cannot be taken here.
            let outcome = match at.is_done(piece) {
                true => at.take(piece),
                false => return true,
            };
            if let Some(outcome) = outcome
                && *failure == RequestFailure::None
            {
                *failure = outcome.failure;
            }
            false
        });
        if !self.pieces.is_empty() {
            return None;
        }
        self.over.store(true, Ordering::Release);
        Some(RequestOutcome {
            failure: self.failure,
            ..RequestOutcome::default()
        })
    }

    fn awaits(&self) -> Vec<TransportHandle> {
        self.pieces
            .iter()
            .filter_map(|piece| piece.handle())
            .collect()
    }
}

/// Makes the result of a request.
#[derive(Debug)]
struct OfWindow {
    window: Window,
    target: usize,
}

impl CompletionHandler for OfWindow {
    fn finish(&self, _: &Comm, outcome: &RequestOutcome, operation: Operation) -> Result<Status> {
        self.window.check_outcome(outcome, self.target, operation)?;
        Ok(Status::EMPTY)
    }
}

impl Window {
    /// `MPI_Rput`: as [`put`](Self::put), with a request.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    #[track_caller]
    pub fn rput(&self, origin: &Buffer, target: i32, data: TargetData<'_>) -> Result<Request> {
        let operation = at_target("MPI_Rput", origin.bytes(), target);
        let _at = call_site::enter(Site::here());
        self.record((Primitive::Rput, CallTiming::Asks), &operation, || {
            let checked = self.checked_put(origin, target, data, operation)?;
            self.requested(checked)
        })
    }

    /// `MPI_Rget`: as [`get`](Self::get), with a request.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    #[track_caller]
    pub fn rget(&self, into: &Buffer, target: i32, data: TargetData<'_>) -> Result<Request> {
        let operation = at_target("MPI_Rget", into.bytes(), target);
        let _at = call_site::enter(Site::here());
        self.record((Primitive::Rget, CallTiming::Asks), &operation, || {
            let checked = self.checked_get(into, target, data, operation)?;
            self.requested(checked)
        })
    }

    /// `MPI_Raccumulate`: as [`accumulate`](Self::accumulate), with a request.
    ///
    /// # Errors
    /// As [`accumulate`](Self::accumulate).
    #[track_caller]
    pub fn raccumulate(
        &self,
        origin: &Buffer,
        target: i32,
        data: TargetData<'_>,
        op: impl Into<AccumulateOp>,
    ) -> Result<Request> {
        let (operation, op) = (
            at_target("MPI_Raccumulate", origin.bytes(), target),
            op.into(),
        );
        let _at = call_site::enter(Site::here());
        self.record(
            (Primitive::Raccumulate, CallTiming::Asks),
            &operation,
            || {
                let checked = self.checked_update((origin, None), target, data, op, operation)?;
                self.requested(checked)
            },
        )
    }

    /// `MPI_Rget_accumulate`: as [`get_accumulate`](Self::get_accumulate), with a request.
    ///
    /// # Errors
    /// As [`accumulate`](Self::accumulate).
    #[track_caller]
    pub fn rget_accumulate(
        &self,
        origin: &Buffer,
        result: &Buffer,
        target: i32,
        data: TargetData<'_>,
        op: impl Into<AccumulateOp>,
    ) -> Result<Request> {
        let operation = at_target("MPI_Rget_accumulate", result.bytes(), target);
        let _at = call_site::enter(Site::here());
        let op = op.into();
        self.record(
            (Primitive::RgetAccumulate, CallTiming::Asks),
            &operation,
            || {
                let both = (origin, Some(result));
                let checked = self.checked_update(both, target, data, op, operation)?;
                self.requested(checked)
            },
        )
    }

    /// Begins an operation, and returns its request. Such operations are for passive epochs alone.
    fn requested(&self, checked: Option<CheckedOperation>) -> Result<Request> {
        let comm = &self.0.comm;
        let done = || Request::done(Ok(Status::EMPTY), 0, comm, RecordedOperation::NOT);
        let Some(checked) = checked else {
            return Ok(done());
        };
        let (target, operation) = (checked.target, checked.operation);
        self.check_passive(Some(target), operation)?;
        self.admit(&checked, true)?;
        let mut pieces = Vec::new();
        let posted = self.post_pieces(&checked, |request| {
            pieces.push(request);
            Ok(())
        });
        if pieces.is_empty() {
            posted?;
            return Ok(done());
        }
        let over = Arc::new(AtomicBool::new(false));
        let under_way = PiecesUnderWay {
            pieces,
            failure: RequestFailure::None,
            over: over.clone(),
        };
        let request = self.process().endpoint().undertake(Box::new(under_way));
        self.keep_of_program(target, over, operation);
        posted?;
        let window = self.clone();
        let what = CompletionKind::Other(Arc::new(OfWindow { window, target }));
        let recorded = RecordedOperation::NOT;
        Ok(Request::posted(request, what, comm, &operation, recorded))
    }
}
