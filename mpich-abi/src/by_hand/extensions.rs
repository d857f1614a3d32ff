//! Functions of MPICH alone. Ranks have no memory of devices.

use super::by_hand;
use crate::entries::entry_PMPI_Request_get_status;
use crate::handles::Handle;
use mpi_abi::c::MPI_Request;
use std::ffi::c_int;
use std::ptr::null_mut;

by_hand! {
    fn PMPIX_Query_cuda_support() { 0 }

    fn PMPIX_Query_hip_support() { 0 }

    fn PMPIX_Query_ze_support() { 0 }

    fn PMPIX_GPU_query_support(_gpu_type: c_int, is_supported: *mut c_int) {
        if is_supported.is_null() {
            return crate::numbers::mpich::MPI_ERR_ARG;
        }
        *is_supported = 0;
        0
    }

    /// Returns whether a request is complete, without its status.
    fn PMPIX_Request_is_complete(request: c_int) {
        let mut flag = 0;
        entry_PMPI_Request_get_status(MPI_Request::ours(request), &raw mut flag, null_mut());
        flag
    }
}
