//! Waits and tests for several requests (MPI 5.0, 3.7.5), which are of one process.

use super::Request;
use crate::bcs::{self, Blocking};
use crate::call_site;
use crate::mpi::{Process, Result, Status};
use crate::recording::{CallTiming, Primitive, Site};
use std::sync::Arc;

/// `MPI_Waitall`: waits for all requests, and returns the result of each.
#[track_caller]
pub fn waitall(requests: &mut [Request]) -> Vec<Result<Status>> {
    let Some(process) = process_of(requests) else {
        return requests.iter_mut().map(Request::complete).collect();
    };
    let _at = call_site::enter(Site::here());
    process.recorded(Primitive::Waitall, CallTiming::Waits, |_| {
        all(&process, Blocking::Yes, requests).expect("a blocking test has an answer")
    })
}

/// `MPI_Testall`: returns the result of each if all are done; else returns `None` and changes
/// nothing.
#[track_caller]
pub fn testall(requests: &mut [Request]) -> Option<Vec<Result<Status>>> {
    let Some(process) = process_of(requests) else {
        return Some(requests.iter_mut().map(Request::complete).collect());
    };
    let site = Site::here();
    let _at = process.is_checked().then(|| call_site::enter(site));
    process.recorded(Primitive::Testall, CallTiming::Asks, |_| {
        all(&process, Blocking::No, requests)
    })
}

/// `MPI_Waitany`: waits until one request is done. Returns its index and its result; `None` if no
/// request is active.
#[track_caller]
pub fn waitany(requests: &mut [Request]) -> Option<(usize, Result<Status>)> {
    let Some(process) = process_of(requests) else {
        return first_ready(requests);
    };
    let _at = call_site::enter(Site::here());
    process.recorded(Primitive::Waitany, CallTiming::Waits, |_| {
        any(&process, Blocking::Yes, requests)
    })
}

/// `MPI_Testany`: returns the index and the result of a request that is done; `None` if none is.
#[track_caller]
pub fn testany(requests: &mut [Request]) -> Option<(usize, Result<Status>)> {
    let Some(process) = process_of(requests) else {
        return first_ready(requests);
    };
    let site = Site::here();
    let _at = process.is_checked().then(|| call_site::enter(site));
    process.recorded(Primitive::Testany, CallTiming::Asks, |_| {
        any(&process, Blocking::No, requests)
    })
}

/// `MPI_Waitsome`: waits until a request is done, and returns all that are; an empty list if no
/// request is active.
#[track_caller]
pub fn waitsome(requests: &mut [Request]) -> Vec<(usize, Result<Status>)> {
    let Some(process) = process_of(requests) else {
        return std::iter::from_fn(|| first_ready(requests)).collect();
    };
    let _at = call_site::enter(Site::here());
    process.recorded(Primitive::Waitsome, CallTiming::Waits, |_| {
        let first = any(&process, Blocking::Yes, requests);
        let others = std::iter::from_fn(|| any(&process, Blocking::No, requests));
        first.into_iter().chain(others).collect()
    })
}

/// `MPI_Testsome`: returns all that are done.
#[track_caller]
pub fn testsome(requests: &mut [Request]) -> Vec<(usize, Result<Status>)> {
    let Some(process) = process_of(requests) else {
        return std::iter::from_fn(|| first_ready(requests)).collect();
    };
    let site = Site::here();
    let _at = process.is_checked().then(|| call_site::enter(site));
    process.recorded(Primitive::Testsome, CallTiming::Asks, |_| {
        std::iter::from_fn(|| any(&process, Blocking::No, requests)).collect()
    })
}

/// Returns the first that was done when it was posted. It is inactive then.
fn first_ready(requests: &mut [Request]) -> Option<(usize, Result<Status>)> {
    let mut numbered = requests.iter_mut().enumerate();
    numbered.find_map(|(index, request)| Some((index, request.ready()?)))
}

/// Returns the process of the requests; `None` if no request needs one.
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
    for request in &mut *requests {
        request.check_before_wait(blocking);
        if request.is_both() && !request.advance(process, blocking) {
            return None;
        }
    }
    let mut handles = Vec::with_capacity(requests.len());
    handles.extend(posted(requests).map(|(_, handle)| handle));
    let started = requests.iter().find_map(Request::start_site);
    let guard = started.map(call_site::completes);
    let outcomes = process.endpoint().bcs_testall(blocking, &handles)?;
    drop(guard);
    let mut outcomes = outcomes.into_iter();
    let finish = |request: &mut Request| {
        if let Some(ready) = request.ready() {
            return ready;
        }
        if !request.is_active() {
            return request.nothing();
        }
        request.finish_one(&outcomes.next().expect("each request has an outcome"))
    };
    Some(requests.iter_mut().map(finish).collect())
}

fn any(
    process: &Process,
    blocking: Blocking,
    requests: &mut [Request],
) -> Option<(usize, Result<Status>)> {
    requests
        .iter_mut()
        .for_each(|request| request.check_before_wait(Blocking::No));
    loop {
        if let Some(ready) = first_ready(requests) {
            return Some(ready);
        }
        let (indices, handles): (Vec<_>, Vec<_>) = posted(requests).unzip();
        let started = requests.iter().find_map(Request::start_site);
        let guard = started.map(call_site::completes);
        let (nth, outcome) = process.endpoint().bcs_testany(blocking, &handles)?;
        drop(guard);
        let index = indices[nth];
        if let Some(answer) = requests[index].finish(&outcome) {
            return Some((index, answer));
        }
    }
}
