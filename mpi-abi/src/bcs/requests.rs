//! Posted operations, and their results.
//!
//! A call takes its requests out of the table, so that it holds no lock while it waits. It puts
//! back those that are not complete.

use super::calls;
use super::modes::{BCS_Blocking, BCS_Request, BCS_Status, blocking};
use crate::answer::error;
use crate::c::MPI_SUCCESS;
use crate::calls::of_error;
use crate::objects::{POSTED, list, put};
use crate::state;
use bcs_mpi::bcs::Blocking;
use bcs_mpi::mpi::request::{testall, waitall};
use bcs_mpi::mpi::{ErrorClass, Request, Result, Status};
use std::ffi::c_int;

/// `BCS_REQUEST_NULL`.
const NULL: BCS_Request = BCS_Request(0);

/// Takes a request out of the table, unless another thread has.
fn take(handle: BCS_Request) -> Result<Request> {
    if handle == NULL {
        return Ok(Request::inactive());
    }
    let reason = match POSTED.with_mut(handle.0, Option::take) {
        Some(Some(request)) => return Ok(request),
        Some(None) => "another call asks about this request".to_owned(),
        None => format!("{:#x} is no request", handle.0),
    };
    Err(error(ErrorClass::Request, reason))
}

/// Puts back a request that is not complete.
fn put_back(handle: BCS_Request, request: Request) {
    POSTED.with_mut(handle.0, |place| *place = Some(request));
}

/// Takes several requests: all of them, or none.
fn take_all(handles: &[BCS_Request]) -> Result<Vec<Request>> {
    let mut taken = Vec::with_capacity(handles.len());
    for handle in handles {
        match take(*handle) {
            Ok(request) => taken.push(request),
            Err(wrong) => {
                put_all_back(handles, taken);
                return Err(wrong);
            }
        }
    }
    Ok(taken)
}

fn put_all_back(handles: &[BCS_Request], requests: Vec<Request>) {
    for (handle, request) in handles.iter().zip(requests) {
        put_back(*handle, request);
    }
}

/// Stores a yes or no. A caller that waits knows the answer, and may pass null.
pub(super) fn say(blocking: Blocking, place: *mut c_int, yes: bool) -> Result<()> {
    if blocking == Blocking::Yes && place.is_null() {
        return Ok(());
    }
    put(place, c_int::from(yes))
}

/// Stores the result of an operation, unless the address is null.
pub(super) fn tell(place: *mut BCS_Status, came: &Result<Status>) {
    if place.is_null() {
        return;
    }
    let (status, error) = match came {
        Ok(status) => (*status, MPI_SUCCESS),
        Err(error) => (of_error(error), error.code()),
    };
    let status = BCS_Status {
        source: status.source,
        tag: status.tag,
        error,
        bytes: usize::try_from(status.bytes).unwrap_or(usize::MAX),
    };
    // SAFETY: the caller's promise.
    unsafe { place.write(status) };
}

calls! {
    fn bcs_test(blocking: BCS_Blocking, request: BCS_Request, done: *mut c_int, status: *mut BCS_Status) {
        state::process()?;
        let blocking = self::blocking(blocking)?;
        say(blocking, done, false)?;
        let mut taken = take(request)?;
        let came = match blocking {
            Blocking::Yes => Some(taken.wait()),
            Blocking::No => taken.test().transpose(),
        };
        let Some(came) = came else {
            put_back(request, taken);
            return Ok(());
        };
        POSTED.remove(request.0);
        say(blocking, done, true)?;
        tell(status, &came);
        Ok(came.map(drop)?)
    }

    fn bcs_testall(blocking: BCS_Blocking, count: usize, requests: *const BCS_Request, done: *mut c_int, statuses: *mut BCS_Status) {
        state::process()?;
        let blocking = self::blocking(blocking)?;
        say(blocking, done, false)?;
        let handles = list(requests, count)?;
        let mut taken = take_all(handles)?;
        let came = match blocking {
            Blocking::Yes => Some(waitall(&mut taken)),
            Blocking::No => testall(&mut taken),
        };
        let Some(came) = came else {
            put_all_back(handles, taken);
            return Ok(());
        };
        for (nth, (handle, came)) in handles.iter().zip(&came).enumerate() {
            POSTED.remove(handle.0);
            if !statuses.is_null() {
                tell(statuses.wrapping_add(nth), came);
            }
        }
        say(blocking, done, true)?;
        match came.iter().filter(|came| came.is_err()).count() {
            0 => Ok(()),
            failed => {
                let reason = format!("{failed} of {} requests have failed", handles.len());
                Err(error(ErrorClass::InStatus, reason).into())
            }
        }
    }
}
