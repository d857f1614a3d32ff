//! Addresses that are constants. `MPI_BOTTOM` is 0 in both ABIs.

use mpi_abi::c::{BUFFER_AUTOMATIC, IN_PLACE};
use std::ffi::c_void;
use std::ptr::without_provenance;

const MPICH_IN_PLACE: usize = usize::MAX;
const MPICH_BUFFER_AUTOMATIC: usize = usize::MAX - 1;

/// An address in the first page, where nothing is, for those that are constants in the standard ABI
/// only.
const NOWHERE: usize = 8;

/// Translates the address of a buffer.
#[inline(always)]
pub fn ours(address: *const c_void) -> *const c_void {
    match address.addr() {
        MPICH_IN_PLACE => without_provenance(IN_PLACE),
        MPICH_BUFFER_AUTOMATIC => without_provenance(BUFFER_AUTOMATIC),
        IN_PLACE | BUFFER_AUTOMATIC => without_provenance(NOWHERE),
        _ => address,
    }
}

/// Returns whether a program gives `MPI_IN_PLACE`.
#[inline]
pub fn is_in_place(address: usize) -> bool {
    address == MPICH_IN_PLACE
}

/// Translates the address of a buffer that was detached, at the place where the call has stored it.
///
/// # Safety
/// The place is null, or has an address.
pub unsafe fn store_detached(place: *mut c_void) {
    let place = place.cast::<usize>();
    // SAFETY: the caller's promise.
    if !place.is_null() && unsafe { *place } == BUFFER_AUTOMATIC {
        // SAFETY: the caller's promise.
        unsafe { *place = MPICH_BUFFER_AUTOMATIC };
    }
}
