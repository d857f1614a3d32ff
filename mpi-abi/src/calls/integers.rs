//! Conversion of handles to integers of Fortran, and back (MPI 5.0, 20.3.3).

use crate::c::*;
use crate::objects::{
    COMMS, DATATYPES, ERROR_HANDLERS, GROUPS, INFOS, MESSAGES, OPS, REQUESTS, SESSIONS,
};
use crate::table::FIRST;
use crate::windows::WINDOWS;
use std::ffi::c_int;

macro_rules! integers {
    ($($to:ident $from:ident $type:ident $table:expr, $null:expr;)*) => {
        $(
            /// Returns the integer of a handle; that of the null handle if the handle is invalid.
            #[unsafe(export_name = concat!("entry_", stringify!($to)))]
            pub unsafe extern "C" fn $to(handle: $type) -> c_int {
                let null = c_int::try_from($null.0).unwrap_or(0);
                $table.to_integer(handle.0).unwrap_or(null)
            }

            /// Returns the handle of an integer; the null handle if the integer is invalid.
            #[unsafe(export_name = concat!("entry_", stringify!($from)))]
            pub unsafe extern "C" fn $from(integer: c_int) -> $type {
                $table.of_integer(integer).map_or($null, $type)
            }
        )*
    };
}

/// Kinds of objects that a program cannot make.
struct PredefinedTable;

impl PredefinedTable {
    fn to_integer(&self, handle: usize) -> Option<c_int> {
        c_int::try_from(handle).ok().filter(|_| handle < FIRST)
    }

    fn of_integer(&self, integer: c_int) -> Option<usize> {
        usize::try_from(integer)
            .ok()
            .filter(|number| *number < FIRST)
    }
}

integers! {
    PMPI_Comm_toint PMPI_Comm_fromint MPI_Comm COMMS, MPI_COMM_NULL;
    PMPI_Type_toint PMPI_Type_fromint MPI_Datatype DATATYPES, MPI_DATATYPE_NULL;
    PMPI_Errhandler_toint PMPI_Errhandler_fromint MPI_Errhandler ERROR_HANDLERS, MPI_ERRHANDLER_NULL;
    PMPI_Group_toint PMPI_Group_fromint MPI_Group GROUPS, MPI_GROUP_NULL;
    PMPI_Info_toint PMPI_Info_fromint MPI_Info INFOS, MPI_INFO_NULL;
    PMPI_Message_toint PMPI_Message_fromint MPI_Message MESSAGES, MPI_MESSAGE_NULL;
    PMPI_Op_toint PMPI_Op_fromint MPI_Op OPS, MPI_OP_NULL;
    PMPI_Request_toint PMPI_Request_fromint MPI_Request REQUESTS, MPI_REQUEST_NULL;
    PMPI_File_toint PMPI_File_fromint MPI_File PredefinedTable, MPI_FILE_NULL;
    PMPI_Session_toint PMPI_Session_fromint MPI_Session SESSIONS, MPI_SESSION_NULL;
    PMPI_Win_toint PMPI_Win_fromint MPI_Win WINDOWS, MPI_WIN_NULL;
}
