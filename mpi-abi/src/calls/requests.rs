//! Requests (MPI 5.0, 3.7 and 3.9).
//!
//! A call that waits takes its requests out of the table ([`super::taken_requests`]). It puts
//! persistent ones back.

use super::calls;
use super::statuses::{tell, tell_nothing};
use super::taken_requests::{
    TakenRequest, TakenRequests, answer, comm_or_self, done, known, no_request, put_back, take,
    tell_known,
};
use crate::answer::{Outcome, comm_of, error};
use crate::c::*;
use crate::objects::{REQUESTS, RequestContent, RequestEntry, RequestKind, list, list_mut, put};
use crate::state;
use bcs_mpi::mpi::request::{testall, testany, testsome, waitall, waitany, waitsome};
use bcs_mpi::mpi::{Comm, ErrorClass, InvalidArguments, Persistent, Request, Result, Status};
use std::ffi::c_int;

/// Checks where a request is to be stored, before anything is started.
pub(super) fn checked(place: *mut MPI_Request) -> Result<()> {
    if place.is_null() {
        let reason = "there is no place for the request: it is null";
        return Err(error(ErrorClass::Arg, reason));
    }
    Ok(())
}

/// Starts a message on a communicator, and returns its request.
#[inline]
pub(super) fn start_message(
    on: MPI_Comm,
    place: *mut MPI_Request,
    start: impl FnOnce(&Comm) -> Result<Request>,
) -> Outcome {
    let comm = comm_of(on)?;
    checked(place)?;
    let request = comm.run(start)?;
    hand_out((on, RequestKind::Message), place, request)
}

/// Starts another operation on a communicator, which cannot be cancelled.
#[inline]
pub(super) fn start_uncancellable(
    on: MPI_Comm,
    place: *mut MPI_Request,
    start: impl FnOnce(&Comm) -> Result<Request>,
) -> Outcome {
    let comm = comm_of(on)?;
    checked(place)?;
    let request = comm.run(start)?;
    hand_out((on, RequestKind::Collective), place, request)
}

/// Does the same for a collective; `name` is its name with the P.
#[inline]
pub(super) fn start_collective(
    (name, on, place): (&'static str, MPI_Comm, *mut MPI_Request),
    arguments: impl FnOnce() -> InvalidArguments,
    start: impl FnOnce(&Comm) -> Result<Request>,
) -> Outcome {
    let request = comm_of(on)?.run_collective(name, arguments, |comm| {
        checked(place)?;
        start(comm)
    })?;
    hand_out((on, RequestKind::Collective), place, request)
}

/// Stores a request on a communicator.
#[inline(always)]
pub(super) fn hand_out(
    (on, kind): (MPI_Comm, RequestKind),
    place: *mut MPI_Request,
    request: Request,
) -> Outcome {
    let entry = RequestEntry::new(on, RequestContent::Once(request), kind);
    Ok(put(place, MPI_Request(REQUESTS.insert(entry)))?)
}

/// Makes a persistent request.
pub(super) fn make_persistent(
    on: MPI_Comm,
    place: *mut MPI_Request,
    make: impl FnOnce(&Comm) -> Result<Persistent>,
) -> Outcome {
    let comm = comm_of(on)?;
    checked(place)?;
    // The started operation knows whether it can be cancelled.
    let what = RequestContent::Persistent(Box::new(comm.run(make)?));
    let entry = RequestEntry::new(on, what, RequestKind::Message);
    Ok(put(place, MPI_Request(REQUESTS.insert(entry)))?)
}

/// Does the same for a collective, which all members make; `name` is its name with the P.
pub(super) fn make_persistent_collective(
    (name, on, place): (&'static str, MPI_Comm, *mut MPI_Request),
    make: impl FnOnce(&Comm) -> Result<Persistent>,
) -> Outcome {
    let made = comm_of(on)?.run_comm_creation(name, |comm| {
        checked(place)?;
        make(comm)
    })?;
    let entry = RequestEntry::new(
        on,
        RequestContent::Persistent(Box::new(made)),
        RequestKind::Collective,
    );
    Ok(put(place, MPI_Request(REQUESTS.insert(entry)))?)
}

fn one<'a>(place: *mut MPI_Request) -> Result<&'a mut MPI_Request> {
    Ok(&mut list_mut(place, 1)?[0])
}

calls! {
    fn PMPI_Wait(request: *mut MPI_Request, status: *mut MPI_Status) {
        state::process()?;
        let handle = one(request)?;
        if let Some(known) = known(&mut REQUESTS.open(), *handle) {
            *handle = MPI_REQUEST_NULL;
            tell(status, known);
            return Ok(());
        }
        let (taken, mut started) = take(*handle)?;
        let came = started.wait();
        done(handle, taken.as_ref());
        answer(taken.as_ref(), status, came)
    }

    fn PMPI_Test(request: *mut MPI_Request, flag: *mut c_int, status: *mut MPI_Status) {
        state::process()?;
        let handle = one(request)?;
        put(flag, 0)?;
        let (taken, mut started) = take(*handle)?;
        let came = match started.test() {
            Ok(None) => {
                put_back(*handle, started);
                return Ok(());
            }
            Ok(Some(status)) => Ok(status),
            Err(error) => Err(error),
        };
        done(handle, taken.as_ref());
        put(flag, 1)?;
        answer(taken.as_ref(), status, came)
    }

    fn PMPI_Request_get_status(request: MPI_Request, flag: *mut c_int, status: *mut MPI_Status) {
        state::process()?;
        let came = peek(request).map(|(on, came)| (on, came.transpose()));
        let (on, came) = came?;
        put(flag, c_int::from(came.is_some()))?;
        came.map_or(Ok(()), |came| answer(on.as_ref(), status, came))
    }

    fn PMPI_Request_get_status_all(count: c_int, array_of_requests: *const MPI_Request, flag: *mut c_int, array_of_statuses: *mut MPI_Status) {
        state::process()?;
        put(flag, 0)?;
        let requests = list(array_of_requests, count)?;
        let mut answers = Vec::with_capacity(requests.len());
        for request in requests {
            let (on, came) = peek(*request)?;
            let Some(came) = came.transpose() else {
                return Ok(());
            };
            answers.push((on, came));
        }
        put(flag, 1)?;
        for (nth, (on, came)) in answers.into_iter().enumerate() {
            let place = match array_of_statuses.is_null() {
                true => array_of_statuses,
                false => unsafe { array_of_statuses.add(nth) },
            };
            answer(on.as_ref(), place, came)?;
        }
        Ok(())
    }

    fn PMPI_Request_get_status_any(count: c_int, array_of_requests: *const MPI_Request, index: *mut c_int, flag: *mut c_int, status: *mut MPI_Status) {
        state::process()?;
        put(index, MPI_UNDEFINED)?;
        let mut active = false;
        for (nth, request) in list(array_of_requests, count)?.iter().enumerate() {
            if !is_active(*request)? {
                continue;
            }
            active = true;
            let (on, came) = peek(*request)?;
            if let Some(came) = came.transpose() {
                put(flag, 1)?;
                put(index, c_int::try_from(nth).unwrap_or(MPI_UNDEFINED))?;
                return answer(on.as_ref(), status, came);
            }
        }
        put(flag, c_int::from(!active))?;
        if !active {
            tell_nothing(status);
        }
        Ok(())
    }

    fn PMPI_Request_get_status_some(incount: c_int, array_of_requests: *const MPI_Request, outcount: *mut c_int, array_of_indices: *mut c_int, array_of_statuses: *mut MPI_Status) {
        state::process()?;
        put(outcount, MPI_UNDEFINED)?;
        let (mut active, mut found) = (false, 0);
        let requests = list(array_of_requests, incount)?;
        for (nth, request) in requests.iter().enumerate() {
            if !is_active(*request)? {
                continue;
            }
            active = true;
            let (on, came) = peek(*request)?;
            let Some(came) = came.transpose() else {
                continue;
            };
            put(array_of_indices.wrapping_add(found), c_int::try_from(nth).unwrap_or(MPI_UNDEFINED))?;
            let place = match array_of_statuses.is_null() {
                true => array_of_statuses,
                false => unsafe { array_of_statuses.add(found) },
            };
            found += 1;
            answer(on.as_ref(), place, came)?;
        }
        match active {
            true => Ok(put(outcount, c_int::try_from(found).unwrap_or(MPI_UNDEFINED))?),
            false => Ok(()),
        }
    }

    fn PMPI_Waitall(count: c_int, array_of_requests: *mut MPI_Request, array_of_statuses: *mut MPI_Status) {
        state::process()?;
        let handles = list_mut(array_of_requests, count)?;
        let rest = tell_known(handles, array_of_statuses);
        if rest.is_empty() {
            return Ok(());
        }
        let mut group = TakenRequests::take_some(handles, rest)?;
        let answers = waitall(&mut group.requests);
        group.done(0..answers.len());
        group.tell_all(answers, array_of_statuses)
    }

    fn PMPI_Testall(count: c_int, array_of_requests: *mut MPI_Request, flag: *mut c_int, array_of_statuses: *mut MPI_Status) {
        state::process()?;
        put(flag, 0)?;
        let mut group = TakenRequests::take(list_mut(array_of_requests, count)?)?;
        let Some(answers) = testall(&mut group.requests) else {
            group.put_back_rest(&[]);
            return Ok(());
        };
        put(flag, 1)?;
        group.done(0..answers.len());
        group.tell_all(answers, array_of_statuses)
    }

    fn PMPI_Waitany(count: c_int, array_of_requests: *mut MPI_Request, index: *mut c_int, status: *mut MPI_Status) {
        state::process()?;
        put(index, MPI_UNDEFINED)?;
        let mut group = TakenRequests::take(list_mut(array_of_requests, count)?)?;
        let found = waitany(&mut group.requests);
        let Some((nth, came)) = found else {
            group.put_back_rest(&[]);
            tell_nothing(status);
            return Ok(());
        };
        group.put_back_rest(&[nth]);
        group.done(std::iter::once(nth));
        put(index, c_int::try_from(nth).unwrap_or(MPI_UNDEFINED))?;
        answer(group.taken[nth].as_ref(), status, came)
    }

    fn PMPI_Testany(count: c_int, array_of_requests: *mut MPI_Request, index: *mut c_int, flag: *mut c_int, status: *mut MPI_Status) {
        state::process()?;
        put(index, MPI_UNDEFINED)?;
        put(flag, 0)?;
        let mut group = TakenRequests::take(list_mut(array_of_requests, count)?)?;
        let active = group.requests.iter().any(Request::is_active);
        let found = testany(&mut group.requests);
        let Some((nth, came)) = found else {
            group.put_back_rest(&[]);
            if !active {
                put(flag, 1)?;
                tell_nothing(status);
            }
            return Ok(());
        };
        group.put_back_rest(&[nth]);
        group.done(std::iter::once(nth));
        put(flag, 1)?;
        put(index, c_int::try_from(nth).unwrap_or(MPI_UNDEFINED))?;
        answer(group.taken[nth].as_ref(), status, came)
    }

    fn PMPI_Waitsome(incount: c_int, array_of_requests: *mut MPI_Request, outcount: *mut c_int, array_of_indices: *mut c_int, array_of_statuses: *mut MPI_Status) {
        some(true, list_mut(array_of_requests, incount)?, outcount, array_of_indices, array_of_statuses)
    }

    fn PMPI_Testsome(incount: c_int, array_of_requests: *mut MPI_Request, outcount: *mut c_int, array_of_indices: *mut c_int, array_of_statuses: *mut MPI_Status) {
        some(false, list_mut(array_of_requests, incount)?, outcount, array_of_indices, array_of_statuses)
    }

    fn PMPI_Start(request: *mut MPI_Request) {
        start(*one(request)?)
    }

    fn PMPI_Startall(count: c_int, array_of_requests: *mut MPI_Request) {
        list_mut(array_of_requests, count)?.iter().try_for_each(|request| start(*request))
    }

    fn PMPI_Cancel(request: *mut MPI_Request) {
        state::process()?;
        cancel(*one(request)?)
    }

    fn PMPI_Request_free(request: *mut MPI_Request) {
        state::process()?;
        free(one(request)?)
    }
}

/// Cancels a message, or requests that of the program for a generalized request.
fn cancel(handle: MPI_Request) -> Outcome {
    let found = REQUESTS.with_mut(handle.0, |entry| {
        let cancelled = match (&mut entry.what, &entry.kind) {
            (RequestContent::Freed, _) => return None,
            (_, RequestKind::General(general)) => {
                return Some((entry.on, Ok(Some(general.clone()))));
            }
            (_, RequestKind::Collective) => {
                let reason = "the request is of a collective, which cannot be cancelled";
                Err(error(ErrorClass::Request, reason))
            }
            (RequestContent::Once(request), RequestKind::Message) => {
                request.cancel();
                Ok(())
            }
            (RequestContent::Persistent(persistent), RequestKind::Message) => persistent.cancel(),
            (RequestContent::Taken, RequestKind::Message) => Ok(()),
        };
        Some((entry.on, cancelled.map(|()| None)))
    });
    let (on, cancelled) = found.flatten().ok_or_else(|| no_request(handle))?;
    // This calls the program's function without the table's lock.
    match cancelled {
        Ok(None) => Ok(()),
        cancelled => comm_or_self(on)?.run(|_| match cancelled? {
            Some(general) => general.cancel(),
            None => Ok(()),
        }),
    }
}

/// Frees a request, whose operation continues. A partitioned message must be complete. A
/// generalized request stays known until the program has completed it.
fn free(handle: &mut MPI_Request) -> Outcome {
    let found = REQUESTS.with_mut(handle.0, |entry| {
        let general = entry.kind.general().cloned();
        match &mut entry.what {
            RequestContent::Freed => return None,
            RequestContent::Persistent(persistent) => {
                if let Err(active) = persistent.may_be_freed() {
                    return Some((entry.on, Err(active)));
                }
            }
            RequestContent::Once(_) | RequestContent::Taken => {}
        }
        let stays = general
            .as_ref()
            .is_some_and(|general| !general.is_completed());
        if stays {
            entry.what = RequestContent::Freed;
        }
        Some((entry.on, Ok((general, stays))))
    });
    let (on, freed) = found.flatten().ok_or_else(|| no_request(*handle))?;
    let (general, stays) = match freed {
        Ok(freed) => freed,
        Err(active) => return comm_or_self(on)?.run(|_| Err(active)),
    };
    let freed = std::mem::replace(handle, MPI_REQUEST_NULL);
    let over = general.as_ref().map_or(Ok(()), |general| general.free());
    // Another thread may have completed it meanwhile.
    if !stays || general.is_some_and(|general| general.is_completed()) {
        REQUESTS.remove(freed.0);
    }
    match over {
        Ok(()) => Ok(()),
        error => comm_or_self(on)?.run(|_| error),
    }
}

/// Returns the result of a request, if it is complete. The request stays as it is.
fn peek(handle: MPI_Request) -> Result<(Option<TakenRequest>, Result<Option<Status>>)> {
    let (mut taken, mut request) = take(handle)?;
    let mut came = request.peek();
    if taken.is_some() {
        put_back(handle, request);
    }
    // This does not free a generalized request: it only queries its status.
    let general = taken.as_mut().and_then(|taken| taken.general.take());
    if let (Ok(Some(_)), Some(general)) = (&came, general) {
        came = general.query().map(Some);
    }
    Ok((taken, came))
}

/// Returns whether a request still has to be waited for.
fn is_active(handle: MPI_Request) -> Result<bool> {
    let (taken, request) = take(handle)?;
    let active = request.is_active();
    if taken.is_some() {
        put_back(handle, request);
    }
    Ok(active)
}

fn some(
    wait: bool,
    handles: &mut [MPI_Request],
    outcount: *mut c_int,
    indices: *mut c_int,
    statuses: *mut MPI_Status,
) -> Outcome {
    state::process()?;
    put(outcount, MPI_UNDEFINED)?;
    let mut group = TakenRequests::take(handles)?;
    if !group.requests.iter().any(Request::is_active) {
        group.put_back_rest(&[]);
        return Ok(());
    }
    let answers = match wait {
        true => waitsome(&mut group.requests),
        false => testsome(&mut group.requests),
    };
    let over: Vec<usize> = answers.iter().map(|(index, _)| *index).collect();
    group.put_back_rest(&over);
    group.done(over.iter().copied());
    put(
        outcount,
        c_int::try_from(over.len()).unwrap_or(MPI_UNDEFINED),
    )?;
    let places = list_mut(indices, i64::try_from(over.len()).unwrap_or(i64::MAX))?;
    for (place, index) in places.iter_mut().zip(&over) {
        *place = c_int::try_from(*index).unwrap_or(MPI_UNDEFINED);
    }
    group.tell(answers, statuses, |nth| nth)
}

/// Starts a persistent request. It is out of the table meanwhile, because a start may call a
/// function of the program.
fn start(handle: MPI_Request) -> Outcome {
    let taken = REQUESTS.with_mut(handle.0, |entry| {
        let what = match entry.what {
            RequestContent::Persistent(_) => {
                std::mem::replace(&mut entry.what, RequestContent::Taken)
            }
            RequestContent::Once(_) | RequestContent::Taken | RequestContent::Freed => {
                RequestContent::Taken
            }
        };
        (entry.on, what)
    });
    let (on, mut what) = taken.ok_or_else(|| no_request(handle))?;
    let started = match &mut what {
        RequestContent::Persistent(persistent) => persistent.start(),
        RequestContent::Once(_) | RequestContent::Taken | RequestContent::Freed => {
            let reason = "the request is none that can be started again";
            Err(error(ErrorClass::Request, reason))
        }
    };
    if matches!(what, RequestContent::Persistent(_)) {
        REQUESTS.with_mut(handle.0, |entry| entry.what = what);
    }
    comm_of(on)?.run(|_| started)
}
