//! Handles and statuses as Fortran has them (MPI 5.0, 19.3). A handle is the same integer there,
//! except for files. A status has the same layout in C, in Fortran, and in Fortran 2008.

use super::by_hand;
use crate::entries::{entry_PMPI_File_fromint, entry_PMPI_File_toint};
use crate::handles::Handle;
use crate::numbers::mpich;
use crate::statuses::MpichStatus;
use mpi_abi::c::MPI_File;
use std::ffi::c_int;

/// Copies a status.
///
/// # Safety
/// Both addresses are null, `MPI_STATUS_IGNORE`, or valid.
unsafe fn copy(from: *const MpichStatus, to: *mut MpichStatus) -> c_int {
    if from.addr() <= 1 || to.addr() <= 1 {
        return mpich::MPI_ERR_ARG;
    }
    unsafe { to.write(from.read()) };
    0
}

macro_rules! same_integers {
    ($($to:ident $from:ident)*) => {
        by_hand! {
            $(
                fn $to(handle: c_int) { handle }
                fn $from(handle: c_int) { handle }
            )*
        }
    };
}
same_integers! {
    PMPI_Comm_c2f PMPI_Comm_f2c
    PMPI_Errhandler_c2f PMPI_Errhandler_f2c
    PMPI_Group_c2f PMPI_Group_f2c
    PMPI_Info_c2f PMPI_Info_f2c
    PMPI_Message_c2f PMPI_Message_f2c
    PMPI_Op_c2f PMPI_Op_f2c
    PMPI_Request_c2f PMPI_Request_f2c
    PMPI_Session_c2f PMPI_Session_f2c
    PMPI_Type_c2f PMPI_Type_f2c
    PMPI_Win_c2f PMPI_Win_f2c
    PMPI_Comm_toint PMPI_Comm_fromint
    PMPI_Errhandler_toint PMPI_Errhandler_fromint
    PMPI_Group_toint PMPI_Group_fromint
    PMPI_Info_toint PMPI_Info_fromint
    PMPI_Message_toint PMPI_Message_fromint
    PMPI_Op_toint PMPI_Op_fromint
    PMPI_Request_toint PMPI_Request_fromint
    PMPI_Session_toint PMPI_Session_fromint
    PMPI_Type_toint PMPI_Type_fromint
    PMPI_Win_toint PMPI_Win_fromint
}

by_hand! {
    fn PMPI_File_c2f(file: usize) {
        match MPI_File::ours(file) {
            mpi_abi::c::MPI_FILE_NULL => 0,
            file => entry_PMPI_File_toint(file),
        }
    }

    fn PMPI_File_toint(file: usize) {
        PMPI_File_c2f(file)
    }

    fn PMPI_Status_c2f(c_status: *const MpichStatus, f_status: *mut MpichStatus) {
        copy(c_status, f_status)
    }

    fn PMPI_Status_f2c(f_status: *const MpichStatus, c_status: *mut MpichStatus) {
        copy(f_status, c_status)
    }

    fn PMPI_Status_c2f08(c_status: *const MpichStatus, f08_status: *mut MpichStatus) {
        copy(c_status, f08_status)
    }

    fn PMPI_Status_f082c(f08_status: *const MpichStatus, c_status: *mut MpichStatus) {
        copy(f08_status, c_status)
    }

    fn PMPI_Status_f082f(f08_status: *const MpichStatus, f_status: *mut MpichStatus) {
        copy(f08_status, f_status)
    }

    fn PMPI_Status_f2f08(f_status: *const MpichStatus, f08_status: *mut MpichStatus) {
        copy(f_status, f08_status)
    }
}

/// `MPI_File_f2c`.
#[unsafe(export_name = "mpich_PMPI_File_f2c")]
pub unsafe extern "C" fn PMPI_File_f2c(file: c_int) -> usize {
    match file {
        0 => 0,
        _ => unsafe { entry_PMPI_File_fromint(file) }.to_mpich(),
    }
}

/// `MPI_File_fromint`.
#[unsafe(export_name = "mpich_PMPI_File_fromint")]
pub unsafe extern "C" fn PMPI_File_fromint(file: c_int) -> usize {
    unsafe { PMPI_File_f2c(file) }
}
