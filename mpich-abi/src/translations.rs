//! The functions that are translated by rules (`build/functions.rs`).
#![allow(
    clippy::too_many_arguments,
    clippy::unnecessary_cast,
    clippy::useless_conversion,
    reason = "generated"
)]

use crate::entries::*;
use crate::handles::Handle;
use crate::numbers::*;
use crate::statuses::MpichStatus;
use mpi_abi::c::{
    MPI_Aint, MPI_Comm, MPI_Count, MPI_Datatype, MPI_Errhandler, MPI_File, MPI_Group, MPI_Info,
    MPI_Message, MPI_Offset, MPI_Op, MPI_Request, MPI_Session, MPI_T_cb_safety, MPI_T_cvar_handle,
    MPI_T_enum, MPI_T_event_cb_function, MPI_T_event_dropped_cb_function,
    MPI_T_event_free_cb_function, MPI_T_event_instance, MPI_T_event_registration,
    MPI_T_pvar_handle, MPI_T_pvar_session, MPI_T_source_order, MPI_Win,
};
use std::ffi::{c_char, c_int, c_void};

include!(concat!(env!("OUT_DIR"), "/functions.rs"));
