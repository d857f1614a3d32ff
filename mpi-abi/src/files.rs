//! The error handler of `MPI_FILE_NULL` (MPI 5.0, 14.7): that of files that cannot be opened. This library opens none yet, so
//! it is that of all functions of files. Errors return unless the program says otherwise, so a program may do without
//! MPI's files.

use crate::c::MPI_File;
use bcs_core::lockstep;
use std::ffi::c_int;
use std::sync::Mutex;

/// A function of the program's that is told of errors of files.
pub type FileFunction = unsafe extern "C" fn(*mut MPI_File, *mut c_int, ...);

/// What is to be done about the errors of files.
#[derive(Clone, Copy, Debug)]
pub enum FileHandler {
    Fatal,
    Abort,
    Return,
    User(FileFunction),
}

static HANDLER: Mutex<FileHandler> = Mutex::new(FileHandler::Return);

/// The handler.
pub fn handler() -> FileHandler {
    *lockstep::lock(&HANDLER)
}

/// Sets it.
pub fn set_handler(handler: FileHandler) {
    *lockstep::lock(&HANDLER) = handler;
}
