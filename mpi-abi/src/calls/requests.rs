//! Requests (MPI 5.0, 3.7 and 3.9).
//!
//! A call that waits takes what it waits for out of the table, so that no lock is held meanwhile. What can be started
//! again is put back.

use super::calls;
use super::statuses::{of_error, tell, tell_nothing};
use crate::answer::{At, Outcome, at, error};
use crate::c::*;
use crate::general::General;
use crate::objects::{Entry, REQUESTS, What, list, list_mut, put};
use crate::state;
use crate::table::Open;
use bcs_mpi::mpi::request::{testall, testany, testsome, waitall, waitany, waitsome};
use bcs_mpi::mpi::{Comm, Error, ErrorClass, Persistent, Request, Result, Status};
use std::ffi::c_int;
use std::sync::Arc;

/// Where a request is to be put: known before anything is started.
pub(super) fn checked(place: *mut MPI_Request) -> Outcome {
    if place.is_null() {
        return Err(error(
            ErrorClass::Arg,
            "there is no place for the request: it is null",
        )
        .into());
    }
    Ok(())
}

/// Starts something on a communicator, and hands out its request.
#[inline]
pub(super) fn begun(
    on: MPI_Comm,
    place: *mut MPI_Request,
    start: impl FnOnce(&Comm) -> Result<Request>,
) -> Outcome {
    let comm = at(on)?;
    checked(place)?;
    let request = comm.run(start)?;
    hand_out(on, place, request)
}

/// Hands out a request.
#[inline]
pub(super) fn hand_out(on: MPI_Comm, place: *mut MPI_Request, request: Request) -> Outcome {
    let entry = Entry::new(on, What::Once(request), None);
    Ok(put(place, MPI_Request(REQUESTS.insert(entry)))?)
}

/// Makes what can be started again and again.
pub(super) fn kept(
    on: MPI_Comm,
    place: *mut MPI_Request,
    make: impl FnOnce(&Comm) -> Result<Persistent>,
) -> Outcome {
    let comm = at(on)?;
    checked(place)?;
    let entry = Entry::new(on, What::Persistent(Box::new(comm.run(make)?)), None);
    Ok(put(place, MPI_Request(REQUESTS.insert(entry)))?)
}

pub(super) fn no_request(handle: MPI_Request) -> Box<Error> {
    let reason = format!("{:#x} is no request", handle.0);
    error(ErrorClass::Request, reason)
}

/// A request that a call has taken to wait for it.
struct Taken {
    on: MPI_Comm,
    /// It stays when it is done.
    stays: bool,
    general: Option<Arc<General>>,
}

impl Taken {
    /// What it has come to, which the program says of what it does itself. That is over then.
    fn came(&self, came: Result<Status>) -> Result<Status> {
        let Some(general) = &self.general else {
            return came;
        };
        let status = came.and_then(|_| general.query());
        let freed = general.free();
        status.and_then(|status| freed.map(|()| status))
    }
}

/// What a request has come to; that of no request is over.
fn came(taken: Option<&Taken>, answer: Result<Status>) -> Result<Status> {
    match taken {
        Some(taken) => taken.came(answer),
        None => answer,
    }
}

/// Takes a request out of the table; nothing for `MPI_REQUEST_NULL`.
fn take(handle: MPI_Request) -> Result<(Option<Taken>, Request)> {
    REQUESTS.open(|mut table| take_from(&mut table, handle))
}

#[inline]
fn take_from(table: &mut Open<'_, Entry>, handle: MPI_Request) -> Result<(Option<Taken>, Request)> {
    if handle == MPI_REQUEST_NULL {
        return Ok((None, Request::inactive()));
    }
    let Some(entry) = table.get_mut(handle.0) else {
        return Err(no_request(handle));
    };
    let taken = |stays| Taken {
        on: entry.on,
        stays,
        general: entry.general.clone(),
    };
    match &mut entry.what {
        What::Persistent(persistent) => {
            let started = std::mem::replace(persistent.started(), Request::inactive());
            Ok((Some(taken(true)), started))
        }
        What::Once(_) => {
            let What::Once(request) = std::mem::replace(&mut entry.what, What::Taken) else {
                unreachable!("it is one")
            };
            Ok((Some(taken(false)), request))
        }
        What::Taken => Err(error(
            ErrorClass::Request,
            "another thread waits for this request",
        )),
    }
}

/// Puts one back that is not done.
fn put_back(handle: MPI_Request, request: Request) {
    REQUESTS.with_mut(handle.0, |entry| match &mut entry.what {
        What::Persistent(persistent) => *persistent.started() = request,
        What::Once(_) | What::Taken => entry.what = What::Once(request),
    });
}

/// Whether a request that is done is gone: what cannot be started again.
fn is_gone(taken: Option<&Taken>) -> bool {
    taken.is_some_and(|taken| !taken.stays)
}

/// One is done.
fn done(handle: &mut MPI_Request, taken: Option<&Taken>) {
    if is_gone(taken) {
        REQUESTS.remove(handle.0);
        *handle = MPI_REQUEST_NULL;
    }
}

/// Whose handler is asked: that of the communicator, or, once it is freed, that of `MPI_COMM_SELF`.
pub(super) fn whose(on: MPI_Comm) -> Outcome<At> {
    at(on).or_else(|_| at(MPI_COMM_SELF))
}

fn one<'a>(place: *mut MPI_Request) -> Result<&'a mut MPI_Request> {
    Ok(&mut list_mut(place, 1)?[0])
}

/// The status of one that is done goes to its place, or its error to its communicator.
fn answer(taken: Option<&Taken>, place: *mut MPI_Status, answer: Result<Status>) -> Outcome {
    let error = match came(taken, answer) {
        Ok(status) => {
            tell(place, status);
            return Ok(());
        }
        Err(error) => error,
    };
    tell(place, of_error(&error));
    match taken {
        Some(taken) => whose(taken.on)?.run(|_| Err(error)),
        None => Err(error.into()),
    }
}

/// What a request came to that was done when it was posted, and of which nobody is told: it is gone then.
#[inline]
fn known(table: &mut Open<'_, Entry>, handle: MPI_Request) -> Option<Status> {
    table.reduce(handle.0, |entry| match &entry.what {
        What::Once(request) if entry.general.is_none() => request.known(),
        _ => None,
    })
}

/// Tells what is known of requests, and of those that are none. Returns which of them have to be waited for.
fn tell_known(handles: &mut [MPI_Request], statuses: *mut MPI_Status) -> Vec<usize> {
    REQUESTS.open(|mut table| {
        let mut rest = Vec::new();
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
    })
}

/// Requests of an array, taken one by one.
struct Group<'a> {
    handles: &'a mut [MPI_Request],
    /// Which of them: all, or those of which it is not known yet what they came to. Others are numbered by it.
    members: Vec<usize>,
    taken: Vec<Option<Taken>>,
    requests: Vec<Request>,
}

impl<'a> Group<'a> {
    fn take(handles: &'a mut [MPI_Request]) -> Result<Self> {
        let members = (0..handles.len()).collect();
        Self::take_some(handles, members)
    }

    fn take_some(handles: &'a mut [MPI_Request], members: Vec<usize>) -> Result<Self> {
        let mut group = Group {
            taken: Vec::with_capacity(members.len()),
            requests: Vec::with_capacity(members.len()),
            handles,
            members,
        };
        let all = REQUESTS.open(|mut table| group.take_from(&mut table));
        match all {
            Ok(()) => Ok(group),
            Err(wrong) => {
                group.put_back_rest(&[]);
                Err(wrong)
            }
        }
    }

    fn take_from(&mut self, table: &mut Open<'_, Entry>) -> Result<()> {
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

    /// Puts all back but those that are done.
    fn put_back_rest(&mut self, done: &[usize]) {
        for (nth, request) in self.requests.drain(..).enumerate() {
            if self.taken[nth].is_some() && !done.contains(&nth) {
                put_back(self.handles[self.members[nth]], request);
            }
        }
    }

    /// These are done.
    fn done(&mut self, members: impl Iterator<Item = usize>) {
        REQUESTS.open(|mut table| {
            for nth in members.filter(|nth| is_gone(self.taken[*nth].as_ref())) {
                let handle = &mut self.handles[self.members[nth]];
                table.remove(handle.0);
                *handle = MPI_REQUEST_NULL;
            }
        });
    }

    /// Statuses of all, at the places of the requests; those of the array that are no members have succeeded.
    fn tell_all(&self, answers: Vec<Result<Status>>, statuses: *mut MPI_Status) -> Outcome {
        if answers.iter().any(Result::is_err) && !statuses.is_null() {
            for index in 0..self.handles.len() {
                // SAFETY: the caller's promise.
                unsafe { (*statuses.add(index)).MPI_ERROR = MPI_SUCCESS };
            }
        }
        let answers = answers.into_iter().enumerate().collect();
        self.tell(answers, statuses, |nth| self.members[nth])
    }

    /// Statuses of some that are done, and `MPI_ERR_IN_STATUS` if any has failed. `place` is where the status of the
    /// answer with this number belongs.
    fn tell(
        &self,
        answers: Vec<(usize, Result<Status>)>,
        statuses: *mut MPI_Status,
        place: impl Fn(usize) -> usize,
    ) -> Outcome {
        let mut failed: Option<(usize, Box<Error>)> = None;
        let answers: Vec<_> = answers
            .into_iter()
            .map(|(index, answer)| (index, came(self.taken[index].as_ref(), answer)))
            .collect();
        let any_failed = answers.iter().any(|(_, answer)| answer.is_err());
        for (nth, (index, answer)) in answers.into_iter().enumerate() {
            let (status, code) = match answer {
                Ok(status) => (status, MPI_SUCCESS),
                Err(error) => {
                    let code = error.code();
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
            Some(taken) => whose(taken.on)?.run(|_| Err(error)),
            None => Err(error.into()),
        }
    }
}

calls! {
    fn PMPI_Wait(request: *mut MPI_Request, status: *mut MPI_Status) {
        state::process()?;
        let handle = one(request)?;
        if let Some(known) = REQUESTS.open(|mut table| known(&mut table, *handle)) {
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
        let mut group = Group::take_some(handles, rest)?;
        let answers = waitall(&mut group.requests);
        group.done(0..answers.len());
        group.tell_all(answers, array_of_statuses)
    }

    fn PMPI_Testall(count: c_int, array_of_requests: *mut MPI_Request, flag: *mut c_int, array_of_statuses: *mut MPI_Status) {
        state::process()?;
        put(flag, 0)?;
        let mut group = Group::take(list_mut(array_of_requests, count)?)?;
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
        let mut group = Group::take(list_mut(array_of_requests, count)?)?;
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
        let mut group = Group::take(list_mut(array_of_requests, count)?)?;
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
        let handle = *one(request)?;
        let found = REQUESTS.with_mut(handle.0, |entry| {
            match &mut entry.what {
                What::Once(request) => request.cancel(),
                What::Persistent(persistent) => persistent.started().cancel(),
                What::Taken => {}
            }
            entry.general.clone()
        });
        // The program's function is called without the table's lock.
        match found.ok_or_else(|| no_request(handle))? {
            Some(general) => Ok(general.cancel()?),
            None => Ok(()),
        }
    }

    fn PMPI_Request_free(request: *mut MPI_Request) {
        let handle = one(request)?;
        let gone = REQUESTS.remove(handle.0);
        let gone = gone.ok_or_else(|| no_request(*handle))?;
        *handle = MPI_REQUEST_NULL;
        match gone.general {
            Some(general) => Ok(general.free()?),
            None => Ok(()),
        }
    }
}

/// What a request has come to, if it is over; it stays as it is.
fn peek(handle: MPI_Request) -> Result<(Option<Taken>, Result<Option<Status>>)> {
    let (mut taken, mut request) = take(handle)?;
    let mut came = request.peek();
    if taken.is_some() {
        put_back(handle, request);
    }
    // What the program does itself is not over by this: it is only asked what it has come to.
    let general = taken.as_mut().and_then(|taken| taken.general.take());
    if let (Ok(Some(_)), Some(general)) = (&came, general) {
        came = general.query().map(Some);
    }
    Ok((taken, came))
}

/// Whether somebody has yet to wait for a request.
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
    let mut group = Group::take(handles)?;
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

/// Starts what can be started again. It is out of the table meanwhile: a start may call a function of the program's.
fn start(handle: MPI_Request) -> Outcome {
    let taken = REQUESTS.with_mut(handle.0, |entry| {
        let what = match entry.what {
            What::Persistent(_) => std::mem::replace(&mut entry.what, What::Taken),
            What::Once(_) | What::Taken => What::Taken,
        };
        (entry.on, what)
    });
    let (on, mut what) = taken.ok_or_else(|| no_request(handle))?;
    let started = match &mut what {
        What::Persistent(persistent) => persistent.start(),
        What::Once(_) | What::Taken => {
            let reason = "the request is none that can be started again";
            Err(error(ErrorClass::Request, reason))
        }
    };
    if matches!(what, What::Persistent(_)) {
        REQUESTS.with_mut(handle.0, |entry| entry.what = what);
    }
    at(on)?.run(|_| started)
}
