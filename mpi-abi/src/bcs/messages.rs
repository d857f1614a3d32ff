//! Sends, receives and probes.

use super::calls;
use super::modes::{BCS_Blocking, BCS_Request, BCS_Status, blocking};
use super::requests::{say, tell};
use crate::answer::{Outcome, comm_of, error};
use crate::c::{MPI_BYTE, MPI_Comm};
use crate::objects::{POSTED, buffer, put};
use bcs_mpi::bcs::Blocking;
use bcs_mpi::mpi::{Comm, ErrorClass, Request, Result};
use std::ffi::{c_int, c_void};

/// Posts an operation, and returns its request.
fn post(
    comm: MPI_Comm,
    place: *mut BCS_Request,
    start: impl FnOnce(&Comm) -> Result<Request>,
) -> Outcome {
    let comm = comm_of(comm)?;
    if place.is_null() {
        let reason = "there is no place for the request: it is null";
        return Err(error(ErrorClass::Arg, reason).into());
    }
    let request = comm.run(start)?;
    Ok(put(place, BCS_Request(POSTED.insert(Some(request))))?)
}

calls! {
    fn bcs_send(blocking: BCS_Blocking, data: *const c_void, bytes: usize, destination: c_int, tag: c_int, comm: MPI_Comm, request: *mut BCS_Request) {
        match self::blocking(blocking)? {
            Blocking::Yes => comm_of(comm)?.run(|comm| {
                comm.send(buffer(data, bytes, MPI_BYTE)?, destination, tag)
            }),
            Blocking::No => post(comm, request, |comm| {
                comm.isend(buffer(data, bytes, MPI_BYTE)?, destination, tag)
            }),
        }
    }

    fn bcs_recv(blocking: BCS_Blocking, data: *mut c_void, bytes: usize, source: c_int, tag: c_int, comm: MPI_Comm, status: *mut BCS_Status, request: *mut BCS_Request) {
        match self::blocking(blocking)? {
            Blocking::Yes => comm_of(comm)?.run(|comm| {
                let came = comm.recv(buffer(data, bytes, MPI_BYTE)?, source, tag);
                tell(status, &came);
                came.map(drop)
            }),
            Blocking::No => post(comm, request, |comm| {
                comm.irecv(buffer(data, bytes, MPI_BYTE)?, source, tag)
            }),
        }
    }

    fn bcs_probe(blocking: BCS_Blocking, source: c_int, tag: c_int, comm: MPI_Comm, found: *mut c_int, status: *mut BCS_Status) {
        let blocking = self::blocking(blocking)?;
        let comm = comm_of(comm)?;
        say(blocking, found, false)?;
        let came = comm.run(|comm| match blocking {
            Blocking::Yes => comm.probe(source, tag).map(Some),
            Blocking::No => comm.iprobe(source, tag),
        })?;
        if let Some(came) = came {
            say(blocking, found, true)?;
            tell(status, &Ok(came));
        }
        Ok(())
    }
}
