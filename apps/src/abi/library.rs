//! The functions of a library with the standard ABI.
//!
//! Handles are pointers. The standard fixes their values for predefined objects (MPI 5.0, appendix
//! A). The library stays loaded until the process ends, because it may have threads and exit
//! handlers.
#![expect(unsafe_code, reason = "calls functions of a foreign library")]

use libc::{c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::ptr::{null_mut, without_provenance_mut};

/// A handle: of a communicator, datatype, operation, request or error handler.
pub(super) type Handle = *mut c_void;

/// The ABI version that this module supports.
const ABI_MAJOR: c_int = 1;

/// `MPI_MAX_ERROR_STRING`.
const MAX_ERROR_STRING: usize = 512;

pub(super) fn world() -> Handle {
    without_provenance_mut(0x101) // MPI_COMM_WORLD
}

pub(super) fn double() -> Handle {
    without_provenance_mut(0x214) // MPI_DOUBLE
}

pub(super) fn int64() -> Handle {
    without_provenance_mut(0x258) // MPI_INT64_T
}

pub(super) fn sum() -> Handle {
    without_provenance_mut(0x21) // MPI_SUM
}

pub(super) fn max() -> Handle {
    without_provenance_mut(0x23) // MPI_MAX
}

pub(super) fn no_request() -> Handle {
    without_provenance_mut(0x180) // MPI_REQUEST_NULL
}

pub(super) fn in_place() -> *const c_void {
    without_provenance_mut::<c_void>(1) // MPI_IN_PLACE
}

fn errors_return() -> Handle {
    without_provenance_mut(0x143) // MPI_ERRORS_RETURN
}

/// An `MPI_Status`: eight `int`s. Only the library knows their meaning.
pub(super) type AbiStatus = [c_int; 8];

/// Returns `MPI_STATUS_IGNORE`, which equals `MPI_STATUSES_IGNORE`.
pub(super) fn no_status() -> *mut c_void {
    null_mut()
}

/// An error from a library of another implementation.
#[derive(Debug, thiserror::Error)]
pub enum AbiError {
    /// The library cannot be used.
    #[error("{} is no library of the MPI ABI: {why}", path.display())]
    Library {
        /// The path of the library.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// A call failed.
    #[error("{call}: {text}")]
    Call {
        /// The name of the function.
        call: &'static str,
        /// The error text that the library returns.
        text: String,
    },
    /// The count does not fit an `int`.
    #[error("{call}: {count} elements are too many")]
    TooMany {
        /// The name of the function.
        call: &'static str,
        /// The number of elements.
        count: usize,
    },
}

/// Declares the table of functions and the code that fills it.
macro_rules! functions {
    ($($(#[$about:meta])* $field:ident = $name:literal: fn($($argument:ty),*);)*) => {
        /// The functions that our programs call.
        #[derive(Debug, Clone, Copy)]
        pub struct Library {
            $($(#[$about])* pub(super) $field: unsafe extern "C" fn($($argument),*) -> c_int,)*
        }

        impl Library {
            fn find(library: &libloading::Library) -> Result<Self, libloading::Error> {
                Ok(Self {
                    $(
                        // SAFETY: that is its type in the standard ABI, which the library has.
                        $field: *unsafe { library.get(concat!($name, "\0").as_bytes()) }?,
                    )*
                })
            }
        }
    };
}

functions! {
    abi_get_version = "MPI_Abi_get_version": fn(*mut c_int, *mut c_int);
    init = "MPI_Init": fn(*mut c_int, *mut *mut *mut c_char);
    finalize = "MPI_Finalize": fn();
    error_string = "MPI_Error_string": fn(c_int, *mut c_char, *mut c_int);
    set_errhandler = "MPI_Comm_set_errhandler": fn(Handle, Handle);
    rank = "MPI_Comm_rank": fn(Handle, *mut c_int);
    size = "MPI_Comm_size": fn(Handle, *mut c_int);
    send = "MPI_Send": fn(*const c_void, c_int, Handle, c_int, c_int, Handle);
    recv = "MPI_Recv": fn(*mut c_void, c_int, Handle, c_int, c_int, Handle, *mut c_void);
    isend = "MPI_Isend": fn(*const c_void, c_int, Handle, c_int, c_int, Handle, *mut Handle);
    irecv = "MPI_Irecv": fn(*mut c_void, c_int, Handle, c_int, c_int, Handle, *mut Handle);
    wait = "MPI_Wait": fn(*mut Handle, *mut c_void);
    waitall = "MPI_Waitall": fn(c_int, *mut Handle, *mut c_void);
    probe = "MPI_Probe": fn(c_int, c_int, Handle, *mut c_void);
    get_count = "MPI_Get_count": fn(*const c_void, Handle, *mut c_int);
    barrier = "MPI_Barrier": fn(Handle);
    bcast = "MPI_Bcast": fn(*mut c_void, c_int, Handle, c_int, Handle);
    allreduce = "MPI_Allreduce":
        fn(*const c_void, *mut c_void, c_int, Handle, Handle, Handle);
    allgather = "MPI_Allgather":
        fn(*const c_void, c_int, Handle, *mut c_void, c_int, Handle, Handle);
    alltoall = "MPI_Alltoall":
        fn(*const c_void, c_int, Handle, *mut c_void, c_int, Handle, Handle);
}

impl Library {
    /// Loads a `libmpi_abi.so.1`.
    ///
    /// # Errors
    /// The library does not exist, lacks a function, or has another version of the ABI.
    pub fn load(path: &Path) -> Result<Self, AbiError> {
        let refuse = |why: String| AbiError::Library {
            path: path.to_owned(),
            why,
        };
        // Modules that an implementation loads look up its functions in the global symbol table.
        let flags = libc::RTLD_NOW | libc::RTLD_GLOBAL;
        // SAFETY: the user declares that this is an MPI library and answers for what its
        // initializers do.
        let loaded = unsafe { libloading::os::unix::Library::open(Some(path), flags) };
        let loaded = loaded.map_err(|error| refuse(error.to_string()))?;
        let loaded: &libloading::Library = Box::leak(Box::new(loaded.into()));
        let library = Self::find(loaded).map_err(|error| refuse(error.to_string()))?;
        let (mut major, mut minor) = (0, 0);
        // SAFETY: two places for numbers; it may be called before MPI_Init.
        let code = unsafe { (library.abi_get_version)(&raw mut major, &raw mut minor) };
        if code != 0 || major != ABI_MAJOR {
            let why = format!("it has version {major}.{minor} of the ABI, not {ABI_MAJOR}");
            return Err(refuse(why));
        }
        Ok(library)
    }

    /// Calls `MPI_Init`. Later errors are returned to the caller.
    pub(super) fn start(&self) -> Result<(), AbiError> {
        // SAFETY: both arguments may be null.
        let code = unsafe { (self.init)(null_mut(), null_mut()) };
        self.check("MPI_Init", code)?;
        // SAFETY: both are predefined.
        let code = unsafe { (self.set_errhandler)(world(), errors_return()) };
        self.check("MPI_Comm_set_errhandler", code)
    }

    /// Turns the return code of a call into a `Result`.
    pub(super) fn check(&self, call: &'static str, code: c_int) -> Result<(), AbiError> {
        if code == 0 {
            return Ok(());
        }
        let mut text = [0_u8; MAX_ERROR_STRING + 1];
        let mut len = 0;
        // SAFETY: room for MPI_MAX_ERROR_STRING characters, and for a number.
        let told = unsafe { (self.error_string)(code, text.as_mut_ptr().cast(), &raw mut len) };
        let len = usize::try_from(len).unwrap_or(0).min(MAX_ERROR_STRING);
        let text = match told {
            0 => String::from_utf8_lossy(&text[..len]).into_owned(),
            _ => format!("error {code}"),
        };
        Err(AbiError::Call { call, text })
    }
}
