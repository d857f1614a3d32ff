//! Functions of the program. They are called with MPICH's handles and codes.
//!
//! Functions of attributes, generalized requests and data representations get an extra argument of
//! the program. Ours gets there the functions of the program, with its own extra argument.
//! Functions of operations and errors have no such argument: the crate `mpi-abi` keeps their
//! address beside a function of ours that calls it.

use crate::codes;
use crate::handles::Handle;
use crate::numbers::{KEYS, to_mpich};
use crate::statuses::MpichStatus;
use mpi_abi::c::{MPI_Aint, MPI_Count, MPI_Datatype, MPI_Offset, MPI_Status};
use std::ffi::{c_int, c_void};

/// The functions of an attribute's key. They live as long as the process: a key may be freed while
/// attributes have it.
#[derive(Debug)]
pub struct AttributeFunctions<H: Handle> {
    copy: CopyFunction<H>,
    delete: DeleteFunction<H>,
    extra: *mut c_void,
}

/// A function that makes the attribute of a duplicate, in MPICH's ABI.
pub type CopyFunction<H> = Option<
    unsafe extern "C" fn(
        <H as Handle>::Mpich,
        c_int,
        *mut c_void,
        *mut c_void,
        *mut c_void,
        *mut c_int,
    ) -> c_int,
>;

/// A function that deletes an attribute, in MPICH's ABI.
pub type DeleteFunction<H> =
    Option<unsafe extern "C" fn(<H as Handle>::Mpich, c_int, *mut c_void, *mut c_void) -> c_int>;

/// The standard's form of [`CopyFunction`].
type OurCopyFunction<H> = Option<
    unsafe extern "C" fn(H, c_int, *mut c_void, *mut c_void, *mut c_void, *mut c_int) -> c_int,
>;

/// The standard's form of [`DeleteFunction`].
type OurDeleteFunction<H> =
    Option<unsafe extern "C" fn(H, c_int, *mut c_void, *mut c_void) -> c_int>;

impl<H: Handle> AttributeFunctions<H> {
    /// Returns functions of the standard ABI that call these of the program, and their extra
    /// argument.
    pub fn ours(
        copy: CopyFunction<H>,
        delete: DeleteFunction<H>,
        extra: *mut c_void,
    ) -> (OurCopyFunction<H>, OurDeleteFunction<H>, *mut c_void) {
        let functions = Box::new(Self {
            copy,
            delete,
            extra,
        });
        let ours_copy = copy.map(|_| copy_attribute::<H> as _);
        let ours_delete = delete.map(|_| delete_attribute::<H> as _);
        (ours_copy, ours_delete, Box::into_raw(functions).cast())
    }
}

unsafe extern "C" fn copy_attribute<H: Handle>(
    of: H,
    key: c_int,
    extra: *mut c_void,
    value: *mut c_void,
    copied: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    let functions = unsafe { &*extra.cast::<AttributeFunctions<H>>() };
    let Some(function) = functions.copy else {
        return 0;
    };
    let (of, key) = (of.to_mpich(), to_mpich(&KEYS, key));
    codes::ours(unsafe { function(of, key, functions.extra, value, copied, flag) })
}

unsafe extern "C" fn delete_attribute<H: Handle>(
    of: H,
    key: c_int,
    value: *mut c_void,
    extra: *mut c_void,
) -> c_int {
    let functions = unsafe { &*extra.cast::<AttributeFunctions<H>>() };
    let Some(function) = functions.delete else {
        return 0;
    };
    let (of, key) = (of.to_mpich(), to_mpich(&KEYS, key));
    codes::ours(unsafe { function(of, key, value, functions.extra) })
}

/// A function that handles errors, in MPICH's ABI.
pub type ErrorFunction<H> =
    Option<unsafe extern "C" fn(*mut <H as Handle>::Mpich, *mut c_int, ...)>;

/// Calls a function that handles errors, by its address.
pub unsafe fn handle_error<H: Handle>(function: usize, of: H, code: c_int) {
    let (mut of, mut code) = (of.to_mpich(), codes::to_mpich(code));
    let function = std::ptr::with_exposed_provenance::<()>(function);
    // SAFETY: it was a function of this type.
    let function: ErrorFunction<H> = unsafe { std::mem::transmute(function) };
    if let Some(function) = function {
        unsafe { function(&raw mut of, &raw mut code) };
    }
}

/// A function of an operation, in MPICH's ABI, with its type of counts.
pub type OperationFunction<N> =
    Option<unsafe extern "C" fn(*mut c_void, *mut c_void, *mut N, *mut c_int)>;

/// Calls a function of an operation, by its address. The number of elements fits the type of its
/// counts.
pub unsafe fn combine<N: TryFrom<MPI_Count>>(
    function: usize,
    [from, both]: [*mut c_void; 2],
    count: MPI_Count,
    datatype: MPI_Datatype,
) {
    let function = std::ptr::with_exposed_provenance::<()>(function);
    // SAFETY: it was a function of this type.
    let function: OperationFunction<N> = unsafe { std::mem::transmute(function) };
    let mut datatype = datatype.to_mpich();
    if let (Some(function), Ok(mut count)) = (function, N::try_from(count)) {
        unsafe { function(from, both, &raw mut count, &raw mut datatype) };
    }
}

/// The functions of a generalized request, until it is freed.
#[derive(Debug)]
pub struct RequestFunctions {
    pub query: QueryFunction,
    pub free: FreeFunction,
    pub cancel: CancelFunction,
    pub extra: *mut c_void,
}

/// A function that tells the status of a generalized request, in MPICH's ABI.
pub type QueryFunction = Option<unsafe extern "C" fn(*mut c_void, *mut MpichStatus) -> c_int>;
/// A function that frees a generalized request.
pub type FreeFunction = Option<unsafe extern "C" fn(*mut c_void) -> c_int>;
/// A function that cancels a generalized request.
pub type CancelFunction = Option<unsafe extern "C" fn(*mut c_void, c_int) -> c_int>;

/// Calls the function that tells the status.
pub unsafe extern "C" fn query_request(extra: *mut c_void, status: *mut MPI_Status) -> c_int {
    let functions = unsafe { &*extra.cast::<RequestFunctions>() };
    let Some(function) = functions.query else {
        return 0;
    };
    let mut theirs = MpichStatus::default();
    theirs.take(unsafe { &*status });
    let code = unsafe { function(functions.extra, &raw mut theirs) };
    unsafe { *status = theirs.ours() };
    codes::ours(code)
}

/// Calls the function that frees a request. Nothing calls its functions after that.
pub unsafe extern "C" fn free_request(extra: *mut c_void) -> c_int {
    let functions = unsafe { Box::from_raw(extra.cast::<RequestFunctions>()) };
    let free = functions.free;
    free.map_or(0, |free| codes::ours(unsafe { free(functions.extra) }))
}

/// Calls the function that cancels a request.
pub unsafe extern "C" fn cancel_request(extra: *mut c_void, complete: c_int) -> c_int {
    let functions = unsafe { &*extra.cast::<RequestFunctions>() };
    let cancel = functions.cancel;
    cancel.map_or(0, |cancel| {
        codes::ours(unsafe { cancel(functions.extra, complete) })
    })
}

/// The functions of a data representation, with their type of counts. They live as long as the
/// process, as data representations do.
#[derive(Debug)]
pub struct RepresentationFunctions<N> {
    pub read: ConversionFunction<N>,
    pub write: ConversionFunction<N>,
    pub extent: ExtentFunction,
    pub extra: *mut c_void,
}

/// A function that converts data, in MPICH's ABI.
pub type ConversionFunction<N> = Option<
    unsafe extern "C" fn(*mut c_void, c_int, N, *mut c_void, MPI_Offset, *mut c_void) -> c_int,
>;
/// A function that tells the extent of a datatype in a file, in MPICH's ABI.
pub type ExtentFunction = Option<unsafe extern "C" fn(c_int, *mut MPI_Aint, *mut c_void) -> c_int>;

/// Calls the function that converts data which are read.
pub unsafe extern "C" fn read_conversion<N>(
    buffer: *mut c_void,
    of: MPI_Datatype,
    count: N,
    file: *mut c_void,
    position: MPI_Offset,
    extra: *mut c_void,
) -> c_int {
    let functions = unsafe { &*extra.cast::<RepresentationFunctions<N>>() };
    functions.read.map_or(0, |function| {
        let of = of.to_mpich();
        codes::ours(unsafe { function(buffer, of, count, file, position, functions.extra) })
    })
}

/// Calls the function that converts data which are written.
pub unsafe extern "C" fn write_conversion<N>(
    buffer: *mut c_void,
    of: MPI_Datatype,
    count: N,
    file: *mut c_void,
    position: MPI_Offset,
    extra: *mut c_void,
) -> c_int {
    let functions = unsafe { &*extra.cast::<RepresentationFunctions<N>>() };
    functions.write.map_or(0, |function| {
        let of = of.to_mpich();
        codes::ours(unsafe { function(buffer, of, count, file, position, functions.extra) })
    })
}

/// Calls the function that tells the extent of a datatype in a file.
pub unsafe extern "C" fn extent_in_file<N>(
    of: MPI_Datatype,
    extent: *mut MPI_Aint,
    extra: *mut c_void,
) -> c_int {
    let functions = unsafe { &*extra.cast::<RepresentationFunctions<N>>() };
    functions.extent.map_or(0, |function| {
        codes::ours(unsafe { function(of.to_mpich(), extent, functions.extra) })
    })
}
