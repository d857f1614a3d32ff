//! The error handler of `MPI_FILE_NULL` (MPI 5.0, 14.7), which handles files that cannot be opened.
//! This library cannot open files yet, so it handles all functions of files. By default errors
//! return, so a program can continue without MPI's files.

use crate::c::MPI_File;
use crate::error_function::ErrorFunction;
use bcs_core::lockstep;
use std::sync::Mutex;

/// The treatment of errors of files.
#[derive(Clone, Copy, Debug)]
pub enum FileHandler {
    Fatal,
    Abort,
    Return,
    User(ErrorFunction<MPI_File>),
}

static HANDLER: Mutex<FileHandler> = Mutex::new(FileHandler::Return);

/// Returns the handler.
pub fn handler() -> FileHandler {
    *lockstep::lock(&HANDLER)
}

/// Sets the handler.
pub fn set_handler(handler: FileHandler) {
    *lockstep::lock(&HANDLER) = handler;
}
