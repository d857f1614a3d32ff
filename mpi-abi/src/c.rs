//! Types and constants of the ABI (MPI 5.0, chapter 20).

use std::ffi::{c_int, c_void};

pub type MPI_Aint = isize;
pub type MPI_Offset = i64;
pub type MPI_Count = i64;

macro_rules! handles {
    ($($name:ident)*) => {
        $(
            #[repr(transparent)]
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
            pub struct $name(pub usize);
        )*
    };
}
handles! {
    MPI_Comm MPI_Datatype MPI_Errhandler MPI_File MPI_Group MPI_Info MPI_Message MPI_Op MPI_Request MPI_Session MPI_Win
    MPI_T_enum MPI_T_cvar_handle MPI_T_pvar_handle MPI_T_pvar_session MPI_T_event_registration MPI_T_event_instance
}

pub type MPI_T_cb_safety = c_int;
pub type MPI_T_source_order = c_int;

/// The status of a receive (3.2.5).
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MPI_Status {
    pub MPI_SOURCE: c_int,
    pub MPI_TAG: c_int,
    pub MPI_ERROR: c_int,
    /// The length in bytes in two halves, the lower first; 1 in the third if it was cancelled.
    pub internal: [c_int; 5],
}

type Function<F> = Option<F>;
pub type MPI_User_function =
    Function<unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_int, *mut MPI_Datatype)>;
pub type MPI_User_function_c =
    Function<unsafe extern "C" fn(*mut c_void, *mut c_void, *mut MPI_Count, *mut MPI_Datatype)>;
pub type MPI_Comm_copy_attr_function = Function<
    unsafe extern "C" fn(
        MPI_Comm,
        c_int,
        *mut c_void,
        *mut c_void,
        *mut c_void,
        *mut c_int,
    ) -> c_int,
>;
pub type MPI_Comm_delete_attr_function =
    Function<unsafe extern "C" fn(MPI_Comm, c_int, *mut c_void, *mut c_void) -> c_int>;
pub type MPI_Copy_function = MPI_Comm_copy_attr_function;
pub type MPI_Delete_function = MPI_Comm_delete_attr_function;
pub type MPI_Type_copy_attr_function = Function<
    unsafe extern "C" fn(
        MPI_Datatype,
        c_int,
        *mut c_void,
        *mut c_void,
        *mut c_void,
        *mut c_int,
    ) -> c_int,
>;
pub type MPI_Type_delete_attr_function =
    Function<unsafe extern "C" fn(MPI_Datatype, c_int, *mut c_void, *mut c_void) -> c_int>;
pub type MPI_Win_copy_attr_function = Function<
    unsafe extern "C" fn(
        MPI_Win,
        c_int,
        *mut c_void,
        *mut c_void,
        *mut c_void,
        *mut c_int,
    ) -> c_int,
>;
pub type MPI_Win_delete_attr_function =
    Function<unsafe extern "C" fn(MPI_Win, c_int, *mut c_void, *mut c_void) -> c_int>;
pub type MPI_Comm_errhandler_function =
    Function<unsafe extern "C" fn(*mut MPI_Comm, *mut c_int, ...)>;
pub type MPI_File_errhandler_function =
    Function<unsafe extern "C" fn(*mut MPI_File, *mut c_int, ...)>;
pub type MPI_Win_errhandler_function =
    Function<unsafe extern "C" fn(*mut MPI_Win, *mut c_int, ...)>;
pub type MPI_Session_errhandler_function =
    Function<unsafe extern "C" fn(*mut MPI_Session, *mut c_int, ...)>;
pub type MPI_Grequest_query_function =
    Function<unsafe extern "C" fn(*mut c_void, *mut MPI_Status) -> c_int>;
pub type MPI_Grequest_free_function = Function<unsafe extern "C" fn(*mut c_void) -> c_int>;
pub type MPI_Grequest_cancel_function = Function<unsafe extern "C" fn(*mut c_void, c_int) -> c_int>;
pub type MPI_T_event_cb_function = Function<
    unsafe extern "C" fn(
        MPI_T_event_instance,
        MPI_T_event_registration,
        MPI_T_cb_safety,
        *mut c_void,
    ),
>;
pub type MPI_T_event_free_cb_function =
    Function<unsafe extern "C" fn(MPI_T_event_registration, MPI_T_cb_safety, *mut c_void)>;
pub type MPI_T_event_dropped_cb_function = Function<
    unsafe extern "C" fn(MPI_Count, MPI_T_event_registration, c_int, MPI_T_cb_safety, *mut c_void),
>;

/// `MPI_BOTTOM`, `MPI_IN_PLACE` and `MPI_BUFFER_AUTOMATIC` as addresses.
pub const BOTTOM: usize = 0;
pub const IN_PLACE: usize = 1;
pub const BUFFER_AUTOMATIC: usize = 2;
/// `MPI_UNWEIGHTED` and `MPI_WEIGHTS_EMPTY` as addresses.
pub const UNWEIGHTED: usize = 10;
pub const WEIGHTS_EMPTY: usize = 11;

include!(concat!(env!("OUT_DIR"), "/constants.rs"));

/// The types of counts and displacements in a function without `_c`.
pub mod narrow {
    /// Counts.
    pub type N = std::ffi::c_int;
    /// Displacements of blocks of collectives.
    pub type D = std::ffi::c_int;
    /// Displacements in bytes in datatype constructors.
    pub type A = super::MPI_Aint;
    /// The function for `MPI_Op_create`.
    pub type F = super::MPI_User_function;
    /// Whether the function is the large form.
    pub const LARGE: bool = false;
}

/// The same types in a function with `_c`.
pub mod wide {
    pub type N = super::MPI_Count;
    pub type D = super::MPI_Aint;
    pub type A = super::MPI_Count;
    pub type F = super::MPI_User_function_c;
    pub const LARGE: bool = true;
}
