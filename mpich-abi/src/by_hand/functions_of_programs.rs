//! Functions of the program that handle errors, combine elements, or execute requests.

use super::by_hand;
use crate::callbacks::{
    CancelFunction, ConversionFunction, ErrorFunction, ExtentFunction, FreeFunction,
    OperationFunction, QueryFunction, RepresentationFunctions, RequestFunctions, cancel_request,
    combine, extent_in_file, free_request, handle_error, query_request, read_conversion,
    write_conversion,
};
use crate::codes::to_mpich;
use crate::entries::*;
use crate::handles::Handle;
use crate::places;
use mpi_abi::answer::enter;
use mpi_abi::c::{
    MPI_Comm, MPI_Count, MPI_Errhandler, MPI_File, MPI_Op, MPI_Request, MPI_Session, MPI_Win,
};
use mpi_abi::calls::{insert_error_handler, insert_operation};
use mpi_abi::combining::{OtherCall, UserFunction};
use mpi_abi::error_function;
use mpi_abi::objects::{Handler, SessionHandler};
use std::ffi::{c_char, c_int, c_void};

/// Returns a function that handles errors, for the crate `mpi-abi`; `None` at address 0.
fn error_function<H: Handle>(
    function: ErrorFunction<H>,
) -> Option<error_function::ErrorFunction<H>> {
    let function = (function? as *const ()).expose_provenance();
    let call = handle_error::<H>;
    Some(error_function::ErrorFunction::Other { function, call })
}

/// Makes an error handler.
///
/// # Safety
/// The address is null or valid.
unsafe fn create(
    name: &'static str,
    errhandler: *mut c_int,
    handler: impl FnOnce() -> Handler,
) -> c_int {
    let mut place = places::HandleResult::<MPI_Errhandler>::new(errhandler);
    let code = enter(name, || insert_error_handler(place.place(), handler));
    unsafe { place.store() };
    to_mpich(code)
}

/// Makes an operation of the function at an address.
///
/// # Safety
/// The address of the handle is null or valid.
unsafe fn create_operation(
    name: &'static str,
    (function, call, most): (usize, OtherCall, usize),
    commute: c_int,
    op: *mut c_int,
) -> c_int {
    let mut op = places::HandleResult::<MPI_Op>::new(op);
    let function = UserFunction::Other {
        function,
        call,
        most,
    };
    let code = enter(name, || insert_operation(function, commute, op.place()));
    unsafe { op.store() };
    to_mpich(code)
}

by_hand! {
    fn PMPI_Comm_create_errhandler(function: ErrorFunction<MPI_Comm>, errhandler: *mut c_int) {
        match error_function(function) {
            Some(function) => create("PMPI_Comm_create_errhandler", errhandler, || Handler::of_comm(function)),
            None => to_mpich(entry_PMPI_Comm_create_errhandler(None, std::ptr::null_mut())),
        }
    }

    /// `MPI_Errhandler_create`, which MPI 3 removed.
    fn PMPI_Errhandler_create(function: ErrorFunction<MPI_Comm>, errhandler: *mut c_int) {
        PMPI_Comm_create_errhandler(function, errhandler)
    }

    fn PMPI_Session_create_errhandler(function: ErrorFunction<MPI_Session>, errhandler: *mut c_int) {
        match error_function(function) {
            Some(function) => create("PMPI_Session_create_errhandler", errhandler, || {
                Handler::Session(SessionHandler::User(function))
            }),
            None => to_mpich(entry_PMPI_Session_create_errhandler(None, std::ptr::null_mut())),
        }
    }

    fn PMPI_Win_create_errhandler(function: ErrorFunction<MPI_Win>, errhandler: *mut c_int) {
        match error_function(function) {
            Some(function) => create("PMPI_Win_create_errhandler", errhandler, || Handler::Win(function)),
            None => to_mpich(entry_PMPI_Win_create_errhandler(None, std::ptr::null_mut())),
        }
    }

    fn PMPI_File_create_errhandler(function: ErrorFunction<MPI_File>, errhandler: *mut c_int) {
        match error_function(function) {
            Some(function) => create("PMPI_File_create_errhandler", errhandler, || Handler::File(function)),
            None => to_mpich(entry_PMPI_File_create_errhandler(None, std::ptr::null_mut())),
        }
    }

    fn PMPI_Op_create(function: OperationFunction<c_int>, commute: c_int, op: *mut c_int) {
        let Some(function) = function else {
            return to_mpich(entry_PMPI_Op_create(None, commute, std::ptr::null_mut()));
        };
        let function = (function as *const ()).expose_provenance();
        let most = c_int::MAX.unsigned_abs() as usize;
        create_operation("PMPI_Op_create", (function, combine::<c_int>, most), commute, op)
    }

    fn PMPI_Op_create_c(function: OperationFunction<MPI_Count>, commute: c_int, op: *mut c_int) {
        let Some(function) = function else {
            return to_mpich(entry_PMPI_Op_create_c(None, commute, std::ptr::null_mut()));
        };
        let function = (function as *const ()).expose_provenance();
        let most = isize::MAX.unsigned_abs();
        create_operation("PMPI_Op_create_c", (function, combine::<MPI_Count>, most), commute, op)
    }

    fn PMPI_Grequest_start(query: QueryFunction, free: FreeFunction, cancel: CancelFunction, extra: *mut c_void, request: *mut c_int) {
        let functions = Box::into_raw(Box::new(RequestFunctions { query, free, cancel, extra }));
        let mut request = places::HandleResult::<MPI_Request>::new(request);
        let code = entry_PMPI_Grequest_start(
            query.map(|_| query_request as _),
            // It frees our memory, too.
            Some(free_request),
            cancel.map(|_| cancel_request as _),
            functions.cast(),
            request.place(),
        );
        request.store();
        if code != 0 {
            drop(Box::from_raw(functions));
        }
        to_mpich(code)
    }

    fn PMPI_Register_datarep(name: *const c_char, read: ConversionFunction<c_int>, write: ConversionFunction<c_int>, extent: ExtentFunction, extra: *mut c_void) {
        let functions = RepresentationFunctions { read, write, extent, extra };
        let functions = Box::into_raw(Box::new(functions));
        to_mpich(entry_PMPI_Register_datarep(
            name,
            read.map_or(0, |_| read_conversion::<c_int> as *const () as usize),
            write.map_or(0, |_| write_conversion::<c_int> as *const () as usize),
            extent.map_or(0, |_| extent_in_file::<c_int> as *const () as usize),
            functions.cast(),
        ))
    }

    fn PMPI_Register_datarep_c(name: *const c_char, read: ConversionFunction<MPI_Count>, write: ConversionFunction<MPI_Count>, extent: ExtentFunction, extra: *mut c_void) {
        let functions = RepresentationFunctions { read, write, extent, extra };
        let functions = Box::into_raw(Box::new(functions));
        to_mpich(entry_PMPI_Register_datarep_c(
            name,
            read.map_or(0, |_| read_conversion::<MPI_Count> as *const () as usize),
            write.map_or(0, |_| write_conversion::<MPI_Count> as *const () as usize),
            extent.map_or(0, |_| extent_in_file::<MPI_Count> as *const () as usize),
            functions.cast(),
        ))
    }
}
