//! Requests (MPI 5.0, 3.7): what a non-blocking call started.

use super::error::{Error, Operation};
use super::{Comm, Process, Result, Status};
use crate::bcs::{self, Blocking, Outcome};
use crate::recording::{Begun, Primitive};
use bcs_core::request::Failure;
use std::sync::Arc;

/// What a call started. It is active until a wait or test says that it is done; then it is
/// inactive, and waiting for it gives the empty status at once. One that has failed says so to whoever asks: an
/// error that a test has told is not taken back by a later wait.
///
/// It keeps its communicator's context alive as long as it needs it. Dropping an active request does not
/// stop what it started: the buffers must stay until the process ends.
#[derive(Debug)]
pub struct Request(State);

#[derive(Debug)]
enum State {
    Inactive,
    /// It has failed, and somebody was told.
    Failed(Box<Error>),
    /// It was done when it was posted, and nobody has asked yet. It has its communicator only if calls are
    /// recorded: then so is the one that asks.
    Over(Result<Status>, Option<Comm>),
    Active(Active),
}

#[derive(Debug)]
struct Active {
    posted: bcs::Request,
    what: What,
    comm: Comm,
    operation: Operation,
    begun: Begun,
    primitive: Primitive,
}

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// A send or collective: the status is empty.
    Nothing,
    /// A receive: the status says what came.
    Receive,
}

impl Request {
    pub(super) fn posted(
        posted: bcs::Request,
        what: What,
        comm: &Comm,
        operation: Operation,
        (begun, primitive): (Begun, Primitive),
    ) -> Self {
        if posted.is_complete() && what == What::Nothing {
            let bytes = operation.bytes.unwrap_or(0);
            return Self::done(Ok(Status::EMPTY), bytes, comm, (begun, primitive));
        }
        let comm = comm.clone();
        Self(State::Active(Active {
            posted,
            what,
            comm,
            operation,
            begun,
            primitive,
        }))
    }

    /// What was done at once, with so many bytes, and has come to this.
    pub(super) fn done(
        answer: Result<Status>,
        bytes: u64,
        comm: &Comm,
        (begun, primitive): (Begun, Primitive),
    ) -> Self {
        if begun.is_unknown() {
            return Self(State::Over(answer, None));
        }
        comm.process().recording().end(begun, primitive, bytes);
        Self(State::Over(answer, Some(comm.clone())))
    }

    /// One that is inactive (`MPI_REQUEST_NULL`).
    #[must_use]
    pub fn inactive() -> Self {
        Self(State::Inactive)
    }

    /// Whether it is `MPI_REQUEST_NULL`, or nobody has to be told anything any more.
    #[inline]
    pub(super) fn is_inactive(&self) -> bool {
        matches!(self.0, State::Inactive)
    }

    /// Whether it has yet to be waited for.
    #[must_use]
    pub fn is_active(&self) -> bool {
        !matches!(self.0, State::Inactive | State::Failed(_))
    }

    /// The same, with another name of the call that it stands for in errors.
    pub(super) fn named(mut self, call: &'static str) -> Self {
        if let State::Active(active) = &mut self.0 {
            active.operation.call = call;
        }
        self
    }

    fn process(&self) -> Option<Arc<Process>> {
        let comm = match &self.0 {
            State::Active(active) => &active.comm,
            State::Over(_, comm) => comm.as_ref()?,
            State::Inactive | State::Failed(_) => return None,
        };
        Some(comm.process().clone())
    }

    fn handle(&self) -> Option<bcs::Request> {
        match &self.0 {
            State::Active(active) => Some(active.posted),
            State::Inactive | State::Failed(_) | State::Over(..) => None,
        }
    }

    /// What an inactive request comes to.
    fn nothing(&self) -> Result<Status> {
        match &self.0 {
            State::Failed(error) => Err(error.clone()),
            _ => Ok(Status::EMPTY),
        }
    }

    /// It is over and inactive; its caller is told, and an error is kept for whoever asks again.
    #[inline(always)]
    fn over(&mut self, answer: Result<Status>) -> Result<Status> {
        if let Err(error) = &answer {
            self.0 = State::Failed(error.clone());
        }
        answer
    }

    /// What it came to, if it was done when it was posted; it is inactive then.
    #[inline]
    fn ready(&mut self) -> Option<Result<Status>> {
        let State::Over(..) = &self.0 else {
            return None;
        };
        let State::Over(answer, comm) = std::mem::replace(&mut self.0, State::Inactive) else {
            return None;
        };
        if let Some(comm) = comm {
            comm.process().returned().drop_all();
        }
        Some(self.over(answer))
    }

    #[inline(always)]
    fn finish(&mut self, outcome: &Outcome) -> Result<Status> {
        let State::Active(active) = &self.0 else {
            return self.nothing();
        };
        active.comm.process().returned().drop_all();
        let bytes = match active.what {
            What::Receive => outcome.len,
            What::Nothing => active.operation.bytes.unwrap_or(0),
        };
        let recording = active.comm.process().recording();
        recording.end(active.begun, active.primitive, bytes);
        let answer = match (active.what, outcome.failure) {
            (What::Receive, _) => active.comm.status(outcome, &active.operation),
            (What::Nothing, Failure::None) => Ok(Status::EMPTY),
            (What::Nothing, _) => Err(active.comm.collective_failure(outcome, active.operation)),
        };
        self.0 = State::Inactive;
        self.over(answer)
    }

    /// Waits without being recorded: blocking calls are made of this, and are themselves.
    pub(super) fn silent(&mut self) -> Result<Status> {
        self.forget_beginning();
        self.complete()
    }

    /// Tests without being recorded.
    pub(super) fn silent_test(&mut self) -> Result<Option<Status>> {
        self.forget_beginning();
        self.answer(Blocking::No).transpose()
    }

    fn forget_beginning(&mut self) {
        if let State::Active(active) = &mut self.0 {
            active.begun = Begun::UNKNOWN;
        }
    }

    fn complete(&mut self) -> Result<Status> {
        self.answer(Blocking::Yes)
            .expect("a blocking test has an answer")
    }

    fn answer(&mut self, blocking: Blocking) -> Option<Result<Status>> {
        if let Some(ready) = self.ready() {
            return Some(ready);
        }
        let Some(process) = self.process() else {
            return Some(self.nothing());
        };
        let handle = self.handle()?;
        let outcome = process.endpoint().bcs_test(blocking, handle)?;
        Some(self.finish(&outcome))
    }

    /// `MPI_Wait`.
    ///
    /// # Errors
    /// What the call that started it failed with.
    pub fn wait(&mut self) -> Result<Status> {
        let Some(process) = self.process() else {
            return self.complete();
        };
        process
            .recording()
            .blocking(Primitive::Wait, 0, || self.complete())
    }

    /// `MPI_Test`: `None` if it is not done.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    pub fn test(&mut self) -> Result<Option<Status>> {
        let Some(process) = self.process() else {
            return self.complete().map(Some);
        };
        let begun = process.recording().begin();
        let answer = self.answer(Blocking::No);
        process.recording().end(begun, Primitive::Test, 0);
        answer.transpose()
    }

    /// `MPI_Cancel` of a receive; it has still to be waited for, and its status says whether it
    /// was cancelled. Sends and collectives cannot be cancelled: for them this does nothing.
    pub fn cancel(&self) {
        if let (Some(process), Some(handle)) = (self.process(), self.handle()) {
            process.endpoint().bcs_cancel(handle);
        }
    }
}

/// `MPI_Waitall`: waits for all of them, and says how each went. They are of one process.
pub fn waitall(requests: &mut [Request]) -> Vec<Result<Status>> {
    let Some(process) = process_of(requests) else {
        return requests.iter_mut().map(Request::complete).collect();
    };
    process.recording().blocking(Primitive::Waitall, 0, || {
        all(&process, Blocking::Yes, requests).expect("a blocking test has an answer")
    })
}

/// `MPI_Testall`: `None`, and nothing done, unless all of them are done.
pub fn testall(requests: &mut [Request]) -> Option<Vec<Result<Status>>> {
    let Some(process) = process_of(requests) else {
        return Some(requests.iter_mut().map(Request::complete).collect());
    };
    let begun = process.recording().begin();
    let answer = all(&process, Blocking::No, requests);
    process.recording().end(begun, Primitive::Testall, 0);
    answer
}

/// `MPI_Waitany`: waits until one of them is done: its index and how it went. `None` if none is
/// active.
pub fn waitany(requests: &mut [Request]) -> Option<(usize, Result<Status>)> {
    let Some(process) = process_of(requests) else {
        return first_ready(requests);
    };
    let call = || any(&process, Blocking::Yes, requests);
    process.recording().blocking(Primitive::Waitany, 0, call)
}

/// `MPI_Testany`: the index of one that is done, and how it went. `None` if none is.
pub fn testany(requests: &mut [Request]) -> Option<(usize, Result<Status>)> {
    let Some(process) = process_of(requests) else {
        return first_ready(requests);
    };
    let begun = process.recording().begin();
    let answer = any(&process, Blocking::No, requests);
    process.recording().end(begun, Primitive::Testany, 0);
    answer
}

/// `MPI_Waitsome`: waits until one of them is done and gives all that are. Empty if none is
/// active.
pub fn waitsome(requests: &mut [Request]) -> Vec<(usize, Result<Status>)> {
    let Some(process) = process_of(requests) else {
        return std::iter::from_fn(|| first_ready(requests)).collect();
    };
    process.recording().blocking(Primitive::Waitsome, 0, || {
        let first = any(&process, Blocking::Yes, requests);
        let others = std::iter::from_fn(|| any(&process, Blocking::No, requests));
        first.into_iter().chain(others).collect()
    })
}

/// `MPI_Testsome`: all that are done.
pub fn testsome(requests: &mut [Request]) -> Vec<(usize, Result<Status>)> {
    let Some(process) = process_of(requests) else {
        return std::iter::from_fn(|| first_ready(requests)).collect();
    };
    let begun = process.recording().begin();
    let done = std::iter::from_fn(|| any(&process, Blocking::No, requests)).collect();
    process.recording().end(begun, Primitive::Testsome, 0);
    done
}

/// The first that was done when it was posted, which is inactive then.
fn first_ready(requests: &mut [Request]) -> Option<(usize, Result<Status>)> {
    let mut numbered = requests.iter_mut().enumerate();
    numbered.find_map(|(index, request)| Some((index, request.ready()?)))
}

/// None if no request needs one.
fn process_of(requests: &[Request]) -> Option<Arc<Process>> {
    requests.iter().find_map(Request::process)
}

fn posted(requests: &[Request]) -> impl Iterator<Item = (usize, bcs::Request)> {
    let handles = requests.iter().enumerate();
    handles.filter_map(|(index, request)| Some((index, request.handle()?)))
}

fn all(
    process: &Process,
    blocking: Blocking,
    requests: &mut [Request],
) -> Option<Vec<Result<Status>>> {
    let mut handles = Vec::with_capacity(requests.len());
    handles.extend(posted(requests).map(|(_, handle)| handle));
    let outcomes = process.endpoint().bcs_testall(blocking, &handles)?;
    let mut outcomes = outcomes.into_iter();
    let finish = |request: &mut Request| {
        if let Some(ready) = request.ready() {
            return ready;
        }
        if !request.is_active() {
            return request.nothing();
        }
        request.finish(&outcomes.next().expect("each request has an outcome"))
    };
    Some(requests.iter_mut().map(finish).collect())
}

fn any(
    process: &Process,
    blocking: Blocking,
    requests: &mut [Request],
) -> Option<(usize, Result<Status>)> {
    if let Some(ready) = first_ready(requests) {
        return Some(ready);
    }
    let (indices, handles): (Vec<_>, Vec<_>) = posted(requests).unzip();
    let (nth, outcome) = process.endpoint().bcs_testany(blocking, &handles)?;
    let index = indices[nth];
    Some((index, requests[index].finish(&outcome)))
}
