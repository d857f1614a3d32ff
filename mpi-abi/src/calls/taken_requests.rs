//! Requests that calls have taken out of the table to wait for them, so that no lock is held
//! meanwhile; and their results.

use super::statuses::{of_error, tell, tell_nothing};
use crate::answer::{CallComm, Outcome, comm_of, error, say_disagreement};
use crate::c::*;
use crate::generalized_request::GeneralizedRequest;
use crate::instances;
use crate::objects::{REQUESTS, RequestContent, RequestEntry};
use crate::table::OpenTable;
use bcs_mpi::mpi::{Error, ErrorClass, Request, Result, Status};
use std::sync::Arc;

pub(super) fn no_request(handle: MPI_Request) -> Box<Error> {
    let reason = format!("{:#x} is no request", handle.0);
    error(ErrorClass::Request, reason)
}

/// A request that a call has taken to wait for it.
pub(super) struct TakenRequest {
    on: MPI_Comm,
    /// The return address of the call that made the request.
    from: u64,
    /// Whether it stays in the table when it is complete.
    stays: bool,
    pub(super) general: Option<Arc<GeneralizedRequest>>,
}

impl TakenRequest {
    /// Returns the result. For a generalized request the program provides it, and the request is
    /// freed.
    pub(super) fn final_status(&self, came: Result<Status>) -> Result<Status> {
        let Some(general) = &self.general else {
            return came;
        };
        let status = came.and_then(|_| general.query());
        let freed = general.free();
        status.and_then(|status| freed.map(|()| status))
    }
}

/// Returns the result of a request. Without a request it is the given answer.
pub(super) fn final_status(taken: Option<&TakenRequest>, answer: Result<Status>) -> Result<Status> {
    match taken {
        Some(taken) => taken.final_status(answer),
        None => answer,
    }
}

/// Takes a request out of the table; `None` for `MPI_REQUEST_NULL`.
pub(super) fn take(handle: MPI_Request) -> Result<(Option<TakenRequest>, Request)> {
    take_from(&mut REQUESTS.open(), handle)
}

#[inline]
fn take_from(
    table: &mut OpenTable<'_, RequestEntry>,
    handle: MPI_Request,
) -> Result<(Option<TakenRequest>, Request)> {
    if handle == MPI_REQUEST_NULL {
        return Ok((None, Request::inactive()));
    }
    let Some(entry) = table.get_mut(handle.0) else {
        return Err(no_request(handle));
    };
    let taken = |stays| TakenRequest {
        on: entry.on,
        from: entry.from,
        stays,
        general: entry.kind.general().cloned(),
    };
    match &mut entry.what {
        RequestContent::Persistent(persistent) => {
            let started = std::mem::replace(persistent.started(), Request::inactive());
            Ok((Some(taken(true)), started))
        }
        RequestContent::Once(_) => {
            let RequestContent::Once(request) =
                std::mem::replace(&mut entry.what, RequestContent::Taken)
            else {
                unreachable!("it is one")
            };
            Ok((Some(taken(false)), request))
        }
        RequestContent::Taken => Err(error(
            ErrorClass::Request,
            "another thread waits for this request",
        )),
        RequestContent::Freed => Err(no_request(handle)),
    }
}

/// Puts back a request that is not complete.
pub(super) fn put_back(handle: MPI_Request, request: Request) {
    REQUESTS.with_mut(handle.0, |entry| match &mut entry.what {
        RequestContent::Persistent(persistent) => *persistent.started() = request,
        RequestContent::Once(_) | RequestContent::Taken | RequestContent::Freed => {
            entry.what = RequestContent::Once(request)
        }
    });
}

/// Returns whether a complete request is gone: one that cannot be started again.
fn is_gone(taken: Option<&TakenRequest>) -> bool {
    taken.is_some_and(|taken| !taken.stays)
}

/// Removes a complete request from the table, unless it can be started again.
pub(super) fn done(handle: &mut MPI_Request, taken: Option<&TakenRequest>) {
    if is_gone(taken) {
        REQUESTS.remove(handle.0);
        *handle = MPI_REQUEST_NULL;
    }
}

/// Returns the communicator whose handler is called: that of the request, or `MPI_COMM_SELF` if it
/// was freed.
pub(super) fn comm_or_self(on: MPI_Comm) -> Outcome<CallComm> {
    Ok(comm_of(on).or_else(|_| comm_of(MPI_COMM_SELF))?)
}

/// Stores the status of a complete request, or passes its error to its communicator.
pub(super) fn answer(
    taken: Option<&TakenRequest>,
    place: *mut MPI_Status,
    answer: Result<Status>,
) -> Outcome {
    let error = match final_status(taken, answer) {
        Ok(status) => {
            match taken {
                Some(_) => tell(place, status),
                None => tell_nothing(place),
            }
            return Ok(());
        }
        Err(error) => error,
    };
    tell(place, of_error(&error));
    match taken {
        Some(taken) => {
            let failed: Outcome = comm_or_self(taken.on)?.run(|_| Err(error));
            failed.map_err(|fault| fault.of_call_at(taken.from))
        }
        None => Err(error.into()),
    }
}

/// Removes a request that was complete when it was posted, and returns its status.
#[inline]
pub(super) fn known(
    table: &mut OpenTable<'_, RequestEntry>,
    handle: MPI_Request,
) -> Option<Status> {
    table.remove_if(handle.0, |entry| match &entry.what {
        RequestContent::Once(request) if entry.kind.general().is_none() => request.known(),
        _ => None,
    })
}

/// Stores the known statuses of requests and of null handles. Returns the requests that must be
/// waited for.
pub(super) fn tell_known(handles: &mut [MPI_Request], statuses: *mut MPI_Status) -> Vec<usize> {
    let (mut table, mut rest) = (REQUESTS.open(), Vec::new());
    for (index, handle) in handles.iter_mut().enumerate() {
        let status = match *handle {
            MPI_REQUEST_NULL => None,
            request => match known(&mut table, request) {
                None => {
                    rest.push(index);
                    continue;
                }
                known => known,
            },
        };
        *handle = MPI_REQUEST_NULL;
        if !statuses.is_null() {
            // SAFETY: the caller's promise.
            let place = unsafe { statuses.add(index) };
            match status {
                Some(status) => tell(place, status),
                None => tell_nothing(place),
            }
        }
    }
    rest
}

/// Requests of an array, each taken separately.
pub(super) struct TakenRequests<'a> {
    handles: &'a mut [MPI_Request],
    /// The indices in the array: all, or those without a known result. The other fields have the
    /// same order.
    members: Vec<usize>,
    pub(super) taken: Vec<Option<TakenRequest>>,
    pub(super) requests: Vec<Request>,
}

impl<'a> TakenRequests<'a> {
    pub(super) fn take(handles: &'a mut [MPI_Request]) -> Result<Self> {
        let members = (0..handles.len()).collect();
        Self::take_some(handles, members)
    }

    pub(super) fn take_some(handles: &'a mut [MPI_Request], members: Vec<usize>) -> Result<Self> {
        let mut group = TakenRequests {
            taken: Vec::with_capacity(members.len()),
            requests: Vec::with_capacity(members.len()),
            handles,
            members,
        };
        let all = group.take_from(&mut REQUESTS.open());
        match all {
            Ok(()) => Ok(group),
            Err(wrong) => {
                group.put_back_rest(&[]);
                Err(wrong)
            }
        }
    }

    fn take_from(&mut self, table: &mut OpenTable<'_, RequestEntry>) -> Result<()> {
        for &index in &self.members {
            let (taken, request) = take_from(table, self.handles[index]).map_err(|mut wrong| {
                wrong.reason = format!("request {index}: {}", wrong.reason);
                wrong
            })?;
            self.taken.push(taken);
            self.requests.push(request);
        }
        Ok(())
    }

    /// Puts back all requests but those that are complete.
    pub(super) fn put_back_rest(&mut self, done: &[usize]) {
        for (nth, request) in self.requests.drain(..).enumerate() {
            if self.taken[nth].is_some() && !done.contains(&nth) {
                put_back(self.handles[self.members[nth]], request);
            }
        }
    }

    /// Removes complete requests from the table, unless they can be started again.
    pub(super) fn done(&mut self, members: impl Iterator<Item = usize>) {
        let mut table = REQUESTS.open();
        for nth in members.filter(|nth| is_gone(self.taken[*nth].as_ref())) {
            let handle = &mut self.handles[self.members[nth]];
            table.remove(handle.0);
            *handle = MPI_REQUEST_NULL;
        }
    }

    /// Stores the statuses of all requests at their places. Array entries that are no members have
    /// succeeded.
    pub(super) fn tell_all(
        &self,
        answers: Vec<Result<Status>>,
        statuses: *mut MPI_Status,
    ) -> Outcome {
        if self.taken.iter().flatten().all(|it| it.general.is_none())
            && answers.iter().all(Result::is_ok)
        {
            if !statuses.is_null() {
                for (&index, status) in self.members.iter().zip(answers.into_iter().flatten()) {
                    // SAFETY: the caller's promise.
                    tell(unsafe { statuses.add(index) }, status);
                }
            }
            return Ok(());
        }
        if answers.iter().any(Result::is_err) && !statuses.is_null() {
            for index in 0..self.handles.len() {
                // SAFETY: the caller's promise.
                unsafe { (*statuses.add(index)).MPI_ERROR = MPI_SUCCESS };
            }
        }
        let answers = answers.into_iter().enumerate().collect();
        self.tell(answers, statuses, |nth| self.members[nth])
    }

    /// Stores the statuses of some complete requests, and returns `MPI_ERR_IN_STATUS` if any has
    /// failed. `place` maps the number of an answer to the index of its status.
    pub(super) fn tell(
        &self,
        answers: Vec<(usize, Result<Status>)>,
        statuses: *mut MPI_Status,
        place: impl Fn(usize) -> usize,
    ) -> Outcome {
        let mut failed: Option<(usize, Box<Error>)> = None;
        let answers: Vec<_> = answers
            .into_iter()
            .map(|(index, answer)| (index, final_status(self.taken[index].as_ref(), answer)))
            .collect();
        let any_failed = answers.iter().any(|(_, answer)| answer.is_err());
        for (nth, (index, answer)) in answers.into_iter().enumerate() {
            let (status, code) = match answer {
                Ok(status) => (status, MPI_SUCCESS),
                Err(error) => {
                    let code = match &self.taken[index] {
                        Some(taken) => {
                            let code = instances::name_from(&error, taken.from);
                            say_disagreement(comm_or_self(taken.on)?.comm(), &error, code);
                            code
                        }
                        None => instances::name(&error),
                    };
                    let status = of_error(&error);
                    failed.get_or_insert((index, error));
                    (status, code)
                }
            };
            if !statuses.is_null() {
                // SAFETY: the caller's promise.
                let place = unsafe { statuses.add(place(nth)) };
                tell(place, status);
                if any_failed {
                    // SAFETY: as above.
                    unsafe { (*place).MPI_ERROR = code };
                }
            }
        }
        let Some((index, first)) = failed else {
            return Ok(());
        };
        let number = self.members[index];
        let mut error = error(ErrorClass::InStatus, format!("request {number}: {first}"));
        error.operation.bytes = None;
        match &self.taken[index] {
            Some(taken) => comm_or_self(taken.on)?.run(|_| Err(error)),
            None => Err(error.into()),
        }
    }
}
