//! Functions of the program that handle errors (MPI 5.0, 9.3).

use std::ffi::c_int;

/// A function that handles errors of objects whose handles have the type `H`.
#[derive(Clone, Copy, Debug)]
pub enum ErrorFunction<H> {
    /// A function of this ABI.
    Standard(unsafe extern "C" fn(*mut H, *mut c_int, ...)),
    /// A function of another ABI: its address, and what calls it with that ABI's handle and code.
    Other {
        function: usize,
        call: unsafe fn(usize, H, c_int),
    },
}

impl<H> ErrorFunction<H> {
    /// Returns whether both are the same function of the program.
    pub fn is_same(self, other: Self) -> bool {
        match (self, other) {
            (Self::Standard(one), Self::Standard(other)) => one as usize == other as usize,
            (
                Self::Other { function: one, .. },
                Self::Other {
                    function: other, ..
                },
            ) => one == other,
            _ => false,
        }
    }

    /// Calls the function. It may overwrite its arguments, without effect.
    ///
    /// # Safety
    /// The program's promise: it is a function of this type.
    pub unsafe fn call(self, mut handle: H, mut code: c_int) {
        match self {
            // SAFETY: the caller's promise.
            Self::Standard(function) => unsafe { function(&raw mut handle, &raw mut code) },
            // SAFETY: the caller's promise.
            Self::Other { function, call } => unsafe { call(function, handle, code) },
        }
    }
}
