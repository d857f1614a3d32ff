//! Statuses (MPI 5.0, 3.2.5).

use super::calls;
use super::point_to_point::{NOTHING, bytes_of};
use crate::answer::error;
use crate::c::*;
use crate::objects::{Number as _, list, put};
use bcs_mpi::mpi::{Error, ErrorClass, Result, Status};
use std::ffi::c_int;

/// Stores a status in the ABI's form. Only calls that complete several requests write `MPI_ERROR`.
pub(crate) fn tell(place: *mut MPI_Status, status: Status) {
    if place.is_null() {
        return; // MPI_STATUS_IGNORE
    }
    // SAFETY: the caller's promise.
    let place = unsafe { &mut *place };
    place.MPI_SOURCE = status.source;
    place.MPI_TAG = status.tag;
    set_bytes(place, status.bytes);
    place.internal[2] = c_int::from(status.cancelled);
}

/// Stores the empty status, for no request at all (3.7.3).
pub(super) fn tell_nothing(place: *mut MPI_Status) {
    tell(place, NOTHING);
    if !place.is_null() {
        // SAFETY: the caller's promise.
        unsafe { (*place).MPI_ERROR = MPI_SUCCESS };
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the two halves of a length"
)]
fn set_bytes(status: &mut MPI_Status, bytes: u64) {
    status.internal[0] = (bytes as u32).cast_signed();
    status.internal[1] = ((bytes >> 32) as u32).cast_signed();
}

/// Reads a status of the ABI.
pub(crate) fn status_of(place: *const MPI_Status) -> Result<Status> {
    if place.is_null() {
        return Err(error(ErrorClass::Arg, "the status is MPI_STATUS_IGNORE"));
    }
    // SAFETY: the caller's promise.
    let status = unsafe { &*place };
    let halves =
        [status.internal[0], status.internal[1]].map(|half| u64::from(half.cast_unsigned()));
    Ok(Status {
        source: status.MPI_SOURCE,
        tag: status.MPI_TAG,
        bytes: halves[0] | halves[1] << 32,
        cancelled: status.internal[2] & 1 == 1,
    })
}

/// Returns what is known of a message whose receive has failed.
pub(crate) fn of_error(error: &Error) -> Status {
    let came = error.came.map(|came| Status {
        source: came.source,
        tag: came.tag,
        bytes: came.bytes,
        cancelled: false,
    });
    came.unwrap_or(NOTHING)
}

calls! {
    fn PMPI_Test_cancelled(status: *const MPI_Status, flag: *mut c_int) {
        Ok(put(flag, c_int::from(status_of(status)?.cancelled))?)
    }

    fn PMPI_Status_get_source(status: *const MPI_Status, source: *mut c_int) {
        Ok(put(source, status_of(status)?.source)?)
    }

    fn PMPI_Status_get_tag(status: *const MPI_Status, tag: *mut c_int) {
        Ok(put(tag, status_of(status)?.tag)?)
    }

    fn PMPI_Status_get_error(status: *const MPI_Status, error: *mut c_int) {
        status_of(status)?;
        Ok(put(error, unsafe { (*status).MPI_ERROR })?)
    }

    fn PMPI_Status_set_source(status: *mut MPI_Status, source: c_int) {
        status_of(status)?;
        unsafe { (*status).MPI_SOURCE = source };
        Ok(())
    }

    fn PMPI_Status_set_tag(status: *mut MPI_Status, tag: c_int) {
        status_of(status)?;
        unsafe { (*status).MPI_TAG = tag };
        Ok(())
    }

    fn PMPI_Status_set_error(status: *mut MPI_Status, err: c_int) {
        status_of(status)?;
        unsafe { (*status).MPI_ERROR = err };
        Ok(())
    }

    fn PMPI_Status_set_cancelled(status: *mut MPI_Status, flag: c_int) {
        status_of(status)?;
        unsafe { (*status).internal[2] = c_int::from(flag != 0) };
        Ok(())
    }

    fn PMPI_Status_set_elements | PMPI_Status_set_elements_c(status: *mut MPI_Status, datatype: MPI_Datatype, count: N) {
        status_of(status)?;
        set_bytes(unsafe { &mut *status }, bytes_of(datatype, count.wide())?);
        Ok(())
    }

    fn PMPI_Status_set_elements_x(status: *mut MPI_Status, datatype: MPI_Datatype, count: MPI_Count) {
        status_of(status)?;
        set_bytes(unsafe { &mut *status }, bytes_of(datatype, count)?);
        Ok(())
    }

    fn PMPI_Status_c2f(c_status: *const MPI_Status, f_status: *mut c_int) {
        Ok(put(f_status.cast(), *list(c_status, 1)?.first().expect("it is one"))?)
    }

    fn PMPI_Status_f2c(f_status: *const c_int, c_status: *mut MPI_Status) {
        Ok(put(c_status, *list(f_status.cast(), 1)?.first().expect("it is one"))?)
    }
}
