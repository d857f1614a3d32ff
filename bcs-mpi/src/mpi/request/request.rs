//! Requests (MPI 5.0, 3.7): the operations that non-blocking calls start.

use super::completion::{CompletionKind, LeakedRequest};
use crate::bcs::{self, Blocking, RequestOutcome};
use crate::call_site;
use crate::mpi::buffer_claims::BufferClaims;
use crate::mpi::error::{Error, Operation};
use crate::mpi::{Comm, Process, Result, Status};
use crate::recording::{
    CallInfo, CallTiming, DeliveredMessage, Primitive, RecordedOperation, Site,
};
use bcs_core::request::RequestFailure;
use std::sync::Arc;

/// An operation that a call started. It is active until a wait or test reports that it is done.
/// Then it is inactive, and a wait returns the empty status at once. A failed request keeps its
/// error: a later wait returns the error that a test has returned.
///
/// It keeps its communicator's context alive as long as it needs it. Dropping an active request
/// does not stop the operation: the buffers must stay until the process ends.
#[derive(Debug)]
pub struct Request(RequestState);

/// Two words, which calls pass in registers. A request is passed on several times for each message,
/// and a copy in memory would have to wait until its parts, just written, have reached the cache.
#[derive(Debug)]
enum RequestState {
    Inactive,
    /// It has failed, and the caller got the error.
    Failed(Box<Error>),
    /// The usual state of a send: it was done when it was posted, with the empty status, and has
    /// not been waited for.
    Sent,
    /// The same with another result.
    Over(Box<UnclaimedResult>),
    Active(Box<ActiveRequest>),
    /// It is done when both of its parts are.
    Both(Box<SendReceivePair>),
}

const _: () = assert!(size_of::<Request>() == 2 * size_of::<usize>());

/// The result of a request that has not been waited for.
#[derive(Debug)]
struct UnclaimedResult {
    answer: Result<Status>,
    /// Its communicator, if calls are recorded. The wait is recorded then, too.
    comm: Option<Comm>,
    /// Its buffers, in a checked job.
    claims: Option<Arc<BufferClaims>>,
}

/// A receive and a send that are one request. Each part is complete when a wait or test has seen
/// that it is done.
#[derive(Debug)]
struct SendReceivePair {
    receive: Request,
    send: Request,
    /// The sent data, if they are a copy. It stays until the send is done.
    copy: Vec<u8>,
}

impl SendReceivePair {
    fn parts(&self) -> [&Request; 2] {
        [&self.receive, &self.send]
    }

    /// Returns the part to wait for next.
    fn next(&mut self) -> Option<&mut Request> {
        let parts = [&mut self.receive, &mut self.send];
        parts.into_iter().find(|part| part.handle().is_some())
    }
}

/// The parts free themselves. The copy must not be freed before its send is done.
impl Drop for SendReceivePair {
    fn drop(&mut self) {
        if self.send.handle().is_some() {
            std::mem::forget(std::mem::take(&mut self.copy));
        }
    }
}

#[derive(Debug)]
struct ActiveRequest {
    posted: bcs::Request,
    what: CompletionKind,
    comm: Comm,
    operation: Operation,
    recorded: RecordedOperation,
    /// Its buffers, in a checked job.
    claims: Option<Arc<BufferClaims>>,
    /// In a checked job where a collective was started whose call has yet to be compared.
    uncompared: Option<Site>,
}

/// Dropping a request before it is done frees it. The operation goes on.
impl Drop for Request {
    fn drop(&mut self) {
        if let RequestState::Active(active) = &self.0 {
            active.free();
        }
    }
}

impl ActiveRequest {
    #[cold]
    fn free(&self) {
        let process = self.comm.process();
        // This is also true in a forked child, which has no requests of its parent.
        if !process.is_finalized() {
            // The id of its context is not given to another communicator before it is done.
            process.endpoint().bcs_free(self.posted, self.comm.clone());
        }
    }

    /// Records for the MDS that it is complete.
    fn tell(&self, outcome: &RequestOutcome) {
        let (bytes, message): (u64, Option<DeliveredMessage>) = match &self.what {
            CompletionKind::Receive | CompletionKind::Checked(_) => {
                (outcome.len, self.comm.received_record(outcome))
            }
            CompletionKind::Other(_) => (outcome.len, None),
            CompletionKind::Nothing if outcome.failure == RequestFailure::Cancelled => (0, None),
            CompletionKind::Nothing => {
                let sent = self.comm.sent_record(&self.operation);
                (self.operation.bytes.unwrap_or(0), sent)
            }
        };
        let recording = self.comm.process().recording();
        recording.complete(self.recorded, bytes, message);
    }
}

impl Request {
    pub(in crate::mpi) fn posted(
        posted: bcs::Request,
        what: CompletionKind,
        comm: &Comm,
        operation: &Operation,
        recorded: RecordedOperation,
    ) -> Self {
        if posted.is_complete() && matches!(what, CompletionKind::Nothing) {
            if recorded.begun.is_unknown() {
                return Self(RequestState::Sent);
            }
            let (bytes, sent) = (operation.bytes.unwrap_or(0), comm.sent_record(operation));
            comm.process().recording().complete(recorded, bytes, sent);
            return Self::over(Ok(Status::EMPTY), Some(comm.clone()));
        }
        Self(RequestState::Active(Box::new(ActiveRequest {
            posted,
            what,
            comm: comm.clone(),
            operation: *operation,
            recorded,
            claims: None,
            uncompared: None,
        })))
    }

    /// Returns the same request of a collective. A wait for it compares the calls of its members.
    pub(in crate::mpi) fn comparing(mut self, site: Site) -> Self {
        if let RequestState::Active(active) = &mut self.0 {
            active.uncompared = Some(site);
        }
        self
    }

    /// Makes a completed receive that is not recorded.
    #[inline(always)]
    pub(in crate::mpi) fn from_status(status: Status) -> Self {
        Self::over(Ok(status), None)
    }

    /// Makes a request that was done when it was posted, or has been seen to be done.
    #[inline(always)]
    fn over(answer: Result<Status>, comm: Option<Comm>) -> Self {
        Self(RequestState::Over(Box::new(UnclaimedResult {
            answer,
            comm,
            claims: None,
        })))
    }

    /// Returns the same request, which has these buffers until it is complete.
    #[inline(always)]
    pub(in crate::mpi) fn holding(self, claims: Option<Arc<BufferClaims>>) -> Self {
        match claims {
            None => self,
            Some(_) => self.with_claims(claims),
        }
    }

    #[cold]
    fn with_claims(mut self, claims: Option<Arc<BufferClaims>>) -> Self {
        match &mut self.0 {
            RequestState::Active(active) => active.claims = claims,
            RequestState::Over(over) => over.claims = claims,
            RequestState::Sent => {
                let (answer, comm) = (Ok(Status::EMPTY), None);
                self.0 = RequestState::Over(Box::new(UnclaimedResult {
                    answer,
                    comm,
                    claims,
                }));
            }
            RequestState::Inactive | RequestState::Failed(_) | RequestState::Both(_) => {}
        }
        self
    }

    /// Makes a request that was done at once, with this result and number of bytes.
    pub(in crate::mpi) fn done(
        answer: Result<Status>,
        bytes: u64,
        comm: &Comm,
        recorded: RecordedOperation,
    ) -> Self {
        if recorded.begun.is_unknown() {
            return Self::over(answer, None);
        }
        comm.process().recording().complete(recorded, bytes, None);
        Self::over(answer, Some(comm.clone()))
    }

    /// Makes a receive whose message was there, with this result.
    pub(in crate::mpi) fn received(
        answer: Result<Status>,
        outcome: &RequestOutcome,
        comm: &Comm,
        recorded: RecordedOperation,
    ) -> Self {
        if recorded.begun.is_unknown() {
            return Self::over(answer, None);
        }
        let received = comm.received_record(outcome);
        comm.process()
            .recording()
            .complete(recorded, outcome.len, received);
        Self::over(answer, Some(comm.clone()))
    }

    /// Makes one request of a receive and a send. The sent data may lie in a copy. The status is
    /// the receive's.
    pub(in crate::mpi) fn both(receive: Self, send: Self, copy: Vec<u8>) -> Self {
        let both = SendReceivePair {
            receive,
            send,
            copy,
        };
        Self(RequestState::Both(Box::new(both)))
    }

    /// Makes an inactive request (`MPI_REQUEST_NULL`).
    #[must_use]
    pub fn inactive() -> Self {
        Self(RequestState::Inactive)
    }

    /// Returns whether it is `MPI_REQUEST_NULL`, or its result has been returned without an error.
    #[inline]
    pub(in crate::mpi) fn is_inactive(&self) -> bool {
        matches!(self.0, RequestState::Inactive)
    }

    /// Returns whether it is made of two parts.
    #[inline]
    pub(super) fn is_both(&self) -> bool {
        matches!(self.0, RequestState::Both(_))
    }

    /// Returns its status, if it was done when it was posted and the wait is not recorded. It need
    /// not be waited for then.
    #[must_use]
    #[inline]
    pub fn known(&self) -> Option<Status> {
        match &self.0 {
            RequestState::Sent => Some(Status::EMPTY),
            RequestState::Over(over) if over.comm.is_none() && over.claims.is_none() => {
                over.answer.as_ref().ok().copied()
            }
            _ => None,
        }
    }

    /// Returns whether it must still be waited for.
    #[must_use]
    pub fn is_active(&self) -> bool {
        !matches!(self.0, RequestState::Inactive | RequestState::Failed(_))
    }

    /// Returns the same request, with another name of the call in errors.
    pub(in crate::mpi) fn named(mut self, call: &'static str) -> Self {
        if let RequestState::Active(active) = &mut self.0 {
            active.operation.call = call;
        }
        self
    }

    pub(super) fn process(&self) -> Option<Arc<Process>> {
        let comm = match &self.0 {
            RequestState::Active(active) => &active.comm,
            RequestState::Over(over) => match (&over.comm, &over.claims) {
                (Some(comm), _) => comm,
                (None, claims) => return claims.as_ref().map(|claims| claims.process().clone()),
            },
            RequestState::Both(both) => {
                let parts = both.parts().into_iter();
                return parts.filter_map(Request::process).next();
            }
            RequestState::Inactive | RequestState::Failed(_) | RequestState::Sent => return None,
        };
        Some(comm.process().clone())
    }

    pub(in crate::mpi) fn handle(&self) -> Option<bcs::Request> {
        match &self.0 {
            RequestState::Active(active) => Some(active.posted),
            RequestState::Both(both) => both.parts().into_iter().find_map(Request::handle),
            RequestState::Inactive
            | RequestState::Failed(_)
            | RequestState::Sent
            | RequestState::Over(_) => None,
        }
    }

    /// Returns what remains of it if the program ends without waiting for it.
    pub(in crate::mpi) fn traces(&self) -> Vec<LeakedRequest> {
        match &self.0 {
            RequestState::Inactive | RequestState::Failed(_) => Vec::new(),
            RequestState::Sent | RequestState::Over(_) => vec![LeakedRequest::Over],
            RequestState::Active(active) => vec![LeakedRequest::Active(active.posted)],
            RequestState::Both(both) => both.parts().into_iter().flat_map(Self::traces).collect(),
        }
    }

    /// Returns the result of an inactive request.
    pub(super) fn nothing(&self) -> Result<Status> {
        match &self.0 {
            RequestState::Failed(error) => Err(error.clone()),
            _ => Ok(Status::EMPTY),
        }
    }

    /// Returns the result of a request that is now inactive. An error is kept for later calls.
    #[inline(always)]
    fn deliver(&mut self, answer: Result<Status>) -> Result<Status> {
        if let Err(error) = &answer {
            self.0 = RequestState::Failed(error.clone());
        }
        answer
    }

    /// Returns its result, if it was done when it was posted. It is inactive then.
    #[inline]
    pub(super) fn ready(&mut self) -> Option<Result<Status>> {
        match &self.0 {
            RequestState::Sent => {
                self.0 = RequestState::Inactive;
                Some(Ok(Status::EMPTY))
            }
            RequestState::Over(_) => self.answer_of_over(),
            RequestState::Both(_) => self.both_ready(),
            RequestState::Inactive | RequestState::Failed(_) | RequestState::Active(_) => None,
        }
    }

    #[inline(always)]
    fn answer_of_over(&mut self) -> Option<Result<Status>> {
        let RequestState::Over(over) = std::mem::replace(&mut self.0, RequestState::Inactive)
        else {
            return None;
        };
        if let Some(comm) = &over.comm {
            comm.process().returned().drop_all();
        }
        let answer = settled(over.claims.as_deref(), over.answer);
        Some(self.deliver(answer))
    }

    /// Returns the same for two parts, if both are complete: the receive's status, or the error of
    /// either.
    #[cold]
    fn both_ready(&mut self) -> Option<Result<Status>> {
        if self.handle().is_some() {
            return None;
        }
        let RequestState::Both(mut both) = std::mem::replace(&mut self.0, RequestState::Inactive)
        else {
            return None;
        };
        let [received, sent] = [&mut both.receive, &mut both.send].map(|part| {
            let ready = part.ready();
            ready.unwrap_or_else(|| part.nothing())
        });
        Some(self.deliver(received.and_then(|status| sent.map(|_| status))))
    }

    /// Stores the outcome of the part that was waited for. Returns the result, if that was the last
    /// part.
    #[cold]
    fn finish_part(&mut self, outcome: &RequestOutcome) -> Option<Result<Status>> {
        if let RequestState::Both(both) = &mut self.0
            && let Some(part) = both.next()
        {
            let answer = part.finish_one(outcome);
            *part = Self::over(answer, None);
        }
        self.ready()
    }

    /// Waits for its parts, or polls them. Returns whether all are complete.
    #[cold]
    pub(super) fn advance(&mut self, process: &Process, blocking: Blocking) -> bool {
        while let RequestState::Both(both) = &mut self.0
            && let Some(part) = both.next()
        {
            let outcome = part
                .handle()
                .and_then(|handle| process.endpoint().bcs_test(blocking, handle));
            let Some(outcome) = outcome else {
                return false;
            };
            let answer = part.finish_one(&outcome);
            *part = Self::over(answer, None);
        }
        true
    }

    /// Returns its result; `None` if another part of it is not complete.
    #[inline(always)]
    pub(super) fn finish(&mut self, outcome: &RequestOutcome) -> Option<Result<Status>> {
        match &self.0 {
            RequestState::Both(_) => self.finish_part(outcome),
            _ => Some(self.finish_one(outcome)),
        }
    }

    #[inline(always)]
    pub(super) fn finish_one(&mut self, outcome: &RequestOutcome) -> Result<Status> {
        let RequestState::Active(active) = &self.0 else {
            return self.nothing();
        };
        active.comm.process().returned().drop_all();
        if !active.recorded.begun.is_unknown() {
            active.tell(outcome);
        }
        let answer = match (&active.what, outcome.failure) {
            (CompletionKind::Receive, _) => active.comm.status(outcome, &active.operation),
            (CompletionKind::Checked(expected), _) => {
                let (comm, operation) = (&active.comm, &active.operation);
                comm.status_expected(outcome, operation, expected)
            }
            (CompletionKind::Other(other), _) => {
                other.finish(&active.comm, outcome, active.operation)
            }
            (CompletionKind::Nothing, RequestFailure::None) => Ok(Status::EMPTY),
            (CompletionKind::Nothing, RequestFailure::Cancelled) => Ok(Status {
                cancelled: true,
                ..Status::EMPTY
            }),
            (CompletionKind::Nothing, _) => {
                Err(active.comm.collective_failure(outcome, active.operation))
            }
        };
        let answer = settled(active.claims.as_deref(), answer);
        self.0 = RequestState::Inactive;
        self.deliver(answer)
    }

    /// Waits without being recorded, as a part of blocking calls, which are recorded themselves.
    pub(in crate::mpi) fn wait_unrecorded(&mut self) -> Result<Status> {
        self.complete()
    }

    /// Does the same for a call at this place.
    #[inline]
    pub(in crate::mpi) fn wait_unrecorded_at(&mut self, site: Site) -> Result<Status> {
        let _at = call_site::enter(site);
        self.complete()
    }

    /// Tests without being recorded.
    pub(in crate::mpi) fn test_unrecorded(&mut self) -> Result<Option<Status>> {
        self.answer(Blocking::No).transpose()
    }

    pub(super) fn complete(&mut self) -> Result<Status> {
        self.answer(Blocking::Yes)
            .expect("a blocking test has an answer")
    }

    /// Returns where the operation was started, in a checked job.
    #[inline]
    pub(super) fn start_site(&self) -> Option<Site> {
        match &self.0 {
            RequestState::Active(active) => {
                let claims = active.claims.as_ref().map(|claims| claims.site());
                claims.or(active.uncompared)
            }
            _ => None,
        }
    }

    /// Makes the checks of a checked job before this request is waited for or tested: looks at its
    /// receive buffer, and compares the call that started a collective with those of other members,
    /// as far as that was not done. If they differ, the request has failed.
    pub(super) fn check_before_wait(&mut self, blocking: Blocking) {
        let RequestState::Active(active) = &mut self.0 else {
            return;
        };
        if let Some(claims) = &active.claims {
            claims.look_at_received();
        }
        let Some(site) = active.uncompared else {
            return;
        };
        let _started = call_site::completes(site);
        if let Err(error) = active.comm.compare_open_calls(blocking, active.operation) {
            active.free();
            self.0 = RequestState::Failed(error);
        }
    }

    fn answer(&mut self, blocking: Blocking) -> Option<Result<Status>> {
        self.check_before_wait(blocking);
        if let Some(ready) = self.ready() {
            return Some(ready);
        }
        let Some(process) = self.process() else {
            return Some(self.nothing());
        };
        let _started = self.start_site().map(call_site::completes);
        loop {
            let handle = self.handle()?;
            let outcome = process.endpoint().bcs_test(blocking, handle)?;
            if let Some(answer) = self.finish(&outcome) {
                return Some(answer);
            }
        }
    }

    /// `MPI_Wait`: waits until it is done, and returns its status.
    ///
    /// # Errors
    /// The error of the operation.
    #[track_caller]
    pub fn wait(&mut self) -> Result<Status> {
        let site = Site::here();
        let wait = |request: &mut Self| request.wait_unrecorded_at(site);
        self.record_wait((Primitive::Wait, CallTiming::Waits), wait)
    }

    /// Makes a wait or test, which is recorded if calls are.
    #[inline(always)]
    #[track_caller]
    fn record_wait<T>(
        &mut self,
        call: (Primitive, CallTiming),
        ask: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let Some(process) = self.process() else {
            return ask(self);
        };
        let site = Site::here();
        let _at = process.is_checked().then(|| call_site::enter(site));
        let recording = process.recording();
        if !recording.is_on() {
            return ask(self);
        }
        let (primitive, manner) = call;
        // The record names the operation's peer, but the wait itself moves no data.
        let called = match &self.0 {
            RequestState::Active(active) => active.comm.call_record(primitive, &active.operation),
            _ => CallInfo::plain(primitive, false),
        };
        let blocking = manner == CallTiming::Waits;
        let called = CallInfo {
            bytes: 0,
            blocking,
            ..called
        };
        recording.record_call(Site::here(), manner, called, |_| ask(self))
    }

    /// `MPI_Test`: returns its status; `None` if it is not done.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    #[track_caller]
    pub fn test(&mut self) -> Result<Option<Status>> {
        let test = |request: &mut Self| request.answer(Blocking::No);
        self.record_wait((Primitive::Test, CallTiming::Asks), test)
            .transpose()
    }

    /// `MPI_Request_get_status`: as [`test`](Self::test), but the request stays, and a later wait
    /// or test returns the same.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    #[track_caller]
    pub fn peek(&mut self) -> Result<Option<Status>> {
        match &self.0 {
            RequestState::Inactive => return Ok(Some(Status::EMPTY)),
            RequestState::Failed(error) => return Err(error.clone()),
            RequestState::Sent => return Ok(Some(Status::EMPTY)),
            RequestState::Over(over) if over.claims.is_none() => {
                return over.answer.clone().map(Some);
            }
            RequestState::Over(_) | RequestState::Active(_) | RequestState::Both(_) => {}
        }
        let answer = self.test().transpose();
        if let Some(answer) = &answer {
            *self = Self::over(answer.clone(), None);
        }
        answer.transpose()
    }

    /// Cancels a receive alone. A send goes on: a rank may wait for its message.
    pub(crate) fn cancel_receive(&self) {
        match &self.0 {
            RequestState::Active(active) if !matches!(active.what, CompletionKind::Nothing) => {
                self.cancel()
            }
            RequestState::Both(both) => both.receive.cancel(),
            _ => {}
        }
    }

    /// `MPI_Cancel`: cancels a receive or a send that has not been matched. The request must still
    /// be waited for. That wait ends without another rank, and the status holds whether the request
    /// was cancelled. A send that was copied is complete, and is received. Collectives cannot be
    /// cancelled: for them this does nothing.
    pub fn cancel(&self) {
        if let RequestState::Both(both) = &self.0 {
            both.receive.cancel();
            return both.send.cancel();
        }
        if let (Some(process), Some(handle)) = (self.process(), self.handle()) {
            process.endpoint().bcs_cancel(handle);
        }
    }
}

/// Returns the result of an operation, or the error of its buffers.
#[inline(always)]
fn settled(claims: Option<&BufferClaims>, answer: Result<Status>) -> Result<Status> {
    match claims {
        None => answer,
        Some(claims) => {
            let settled = claims.settle();
            answer.and_then(|status| settled.map(|()| status))
        }
    }
}
