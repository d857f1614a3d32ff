//! Error handlers, and the error codes of a program (MPI 5.0, 9.3 to 9.5).

use super::calls;
use super::communicators::set_reserved_handler;
use super::environment::put_string;
use crate::answer::{
    Outcome, ask_of_file, call_user_function, code_for_handler, comm_of, error, run_on_file,
};
use crate::c::*;
use crate::error_function::ErrorFunction;
use crate::error_handlers;
use crate::files::{self, FileHandler};
use crate::instances;
use crate::objects::{Handler, SessionHandler, place, put, text};
use crate::state;
use crate::windows::WindowHandler;
use bcs_mpi::mpi::{ErrorClass, ErrorHandler, Result};
use std::ffi::{c_char, c_int};

/// Returns the error handler of a handle, for communicators.
pub(super) fn handler(handle: MPI_Errhandler) -> Result<ErrorHandler> {
    let reason = match handle {
        MPI_ERRORS_ARE_FATAL => return Ok(ErrorHandler::Fatal),
        MPI_ERRORS_ABORT => return Ok(ErrorHandler::Abort),
        MPI_ERRORS_RETURN => return Ok(ErrorHandler::Return),
        MPI_ERRHANDLER_NULL => "the error handler is MPI_ERRHANDLER_NULL".to_owned(),
        MPI_Errhandler(number) => match error_handlers::get(number) {
            Some(Handler::Comm(handler)) => return Ok(handler),
            Some(_) => format!("the error handler {number:#x} is not for communicators"),
            None => format!("{number:#x} is no error handler"),
        },
    };
    Err(error(ErrorClass::Errhandler, reason))
}

/// Does the same for sessions.
pub(super) fn session_handler(handle: MPI_Errhandler) -> Result<SessionHandler> {
    let reason = match handle {
        MPI_ERRORS_ARE_FATAL => return Ok(SessionHandler::Fatal),
        MPI_ERRORS_ABORT => return Ok(SessionHandler::Abort),
        MPI_ERRORS_RETURN => return Ok(SessionHandler::Return),
        MPI_ERRHANDLER_NULL => "the error handler is MPI_ERRHANDLER_NULL".to_owned(),
        MPI_Errhandler(number) => match error_handlers::get(number) {
            Some(Handler::Session(handler)) => return Ok(handler),
            Some(_) => format!("the error handler {number:#x} is not for sessions"),
            None => format!("{number:#x} is no error handler"),
        },
    };
    Err(error(ErrorClass::Errhandler, reason))
}

/// Returns a handle for an error handler of sessions.
pub(super) fn session_handle(handler: SessionHandler) -> MPI_Errhandler {
    match handler {
        SessionHandler::Fatal => MPI_ERRORS_ARE_FATAL,
        SessionHandler::Abort => MPI_ERRORS_ABORT,
        SessionHandler::Return => MPI_ERRORS_RETURN,
        SessionHandler::User(_) => error_handlers::give(Handler::Session(handler)),
    }
}

/// Returns the error handler of a handle, for windows.
pub(super) fn window_handler(handle: MPI_Errhandler) -> Result<WindowHandler> {
    let reason = match handle {
        MPI_ERRORS_ARE_FATAL => return Ok(WindowHandler::Fatal),
        MPI_ERRORS_ABORT => return Ok(WindowHandler::Abort),
        MPI_ERRORS_RETURN => return Ok(WindowHandler::Return),
        MPI_ERRHANDLER_NULL => "the error handler is MPI_ERRHANDLER_NULL".to_owned(),
        MPI_Errhandler(number) => match error_handlers::get(number) {
            Some(Handler::Win(function)) => return Ok(WindowHandler::User(function)),
            Some(_) => format!("the error handler {number:#x} is not for windows"),
            None => format!("{number:#x} is no error handler"),
        },
    };
    Err(error(ErrorClass::Errhandler, reason))
}

/// Returns a handle for an error handler of windows.
pub(super) fn window_handle(handler: WindowHandler) -> MPI_Errhandler {
    match handler {
        WindowHandler::Fatal => MPI_ERRORS_ARE_FATAL,
        WindowHandler::Abort => MPI_ERRORS_ABORT,
        WindowHandler::Return => MPI_ERRORS_RETURN,
        WindowHandler::User(function) => error_handlers::give(Handler::Win(function)),
    }
}

/// Returns a handle for an error handler of communicators.
fn handle(handler: ErrorHandler) -> MPI_Errhandler {
    match handler {
        ErrorHandler::Fatal => MPI_ERRORS_ARE_FATAL,
        ErrorHandler::Abort => MPI_ERRORS_ABORT,
        ErrorHandler::Return => MPI_ERRORS_RETURN,
        ErrorHandler::User(_) => error_handlers::give(Handler::Comm(handler)),
    }
}

/// Returns the error handler of a handle, for files.
fn file_handler(handle: MPI_Errhandler) -> Result<FileHandler> {
    let reason = match handle {
        MPI_ERRORS_ARE_FATAL => return Ok(FileHandler::Fatal),
        MPI_ERRORS_ABORT => return Ok(FileHandler::Abort),
        MPI_ERRORS_RETURN => return Ok(FileHandler::Return),
        MPI_ERRHANDLER_NULL => "the error handler is MPI_ERRHANDLER_NULL".to_owned(),
        MPI_Errhandler(number) => match error_handlers::get(number) {
            Some(Handler::File(function)) => return Ok(FileHandler::User(function)),
            Some(_) => format!("the error handler {number:#x} is not for files"),
            None => format!("{number:#x} is no error handler"),
        },
    };
    Err(error(ErrorClass::Errhandler, reason))
}

/// Returns a handle for an error handler of files.
fn file_handle(handler: FileHandler) -> MPI_Errhandler {
    match handler {
        FileHandler::Fatal => MPI_ERRORS_ARE_FATAL,
        FileHandler::Abort => MPI_ERRORS_ABORT,
        FileHandler::Return => MPI_ERRORS_RETURN,
        FileHandler::User(function) => error_handlers::give(Handler::File(function)),
    }
}

/// Checks that a file is `MPI_FILE_NULL`: there are no others.
fn no_file(file: MPI_File) -> Result<()> {
    match file {
        MPI_FILE_NULL => Ok(()),
        MPI_File(number) => {
            let reason = format!("{number:#x} is no file");
            Err(error(ErrorClass::File, reason))
        }
    }
}

/// Makes an error handler of a function, which must not be null.
fn create<F>(
    function: Option<F>,
    errhandler: *mut MPI_Errhandler,
    make: impl FnOnce(F) -> Handler,
) -> Outcome {
    let Some(function) = function else {
        return Err(error(ErrorClass::Arg, "the function is at address 0").into());
    };
    insert_error_handler(errhandler, || make(function))
}

/// Returns a handle for a new error handler. The library of another ABI makes handlers of its own
/// functions.
///
/// # Errors
/// If there is no place for the handle.
pub fn insert_error_handler(
    errhandler: *mut MPI_Errhandler,
    handler: impl FnOnce() -> Handler,
) -> Outcome {
    let errhandler = place(errhandler)?;
    *errhandler = error_handlers::insert(handler());
    Ok(())
}

impl Handler {
    /// Makes an error handler for communicators.
    #[must_use]
    pub fn of_comm(function: ErrorFunction<MPI_Comm>) -> Self {
        Self::Comm(ErrorHandler::create(move |_, _| {
            let code = code_for_handler();
            // SAFETY: the program's promise: it is a function of this type.
            call_user_function(|comm| unsafe { function.call(comm, code) });
        }))
    }
}

/// Error classes of the tool information interface (15.3.10).
const TOOL_CLASSES: [(c_int, &str); 18] = [
    (MPI_T_ERR_CANNOT_INIT, "MPI_T_ERR_CANNOT_INIT"),
    (MPI_T_ERR_NOT_ACCESSIBLE, "MPI_T_ERR_NOT_ACCESSIBLE"),
    (MPI_T_ERR_NOT_INITIALIZED, "MPI_T_ERR_NOT_INITIALIZED"),
    (MPI_T_ERR_NOT_SUPPORTED, "MPI_T_ERR_NOT_SUPPORTED"),
    (MPI_T_ERR_MEMORY, "MPI_T_ERR_MEMORY"),
    (MPI_T_ERR_INVALID, "MPI_T_ERR_INVALID"),
    (MPI_T_ERR_INVALID_INDEX, "MPI_T_ERR_INVALID_INDEX"),
    (MPI_T_ERR_INVALID_ITEM, "MPI_T_ERR_INVALID_ITEM"),
    (MPI_T_ERR_INVALID_SESSION, "MPI_T_ERR_INVALID_SESSION"),
    (MPI_T_ERR_INVALID_HANDLE, "MPI_T_ERR_INVALID_HANDLE"),
    (MPI_T_ERR_INVALID_NAME, "MPI_T_ERR_INVALID_NAME"),
    (MPI_T_ERR_OUT_OF_HANDLES, "MPI_T_ERR_OUT_OF_HANDLES"),
    (MPI_T_ERR_OUT_OF_SESSIONS, "MPI_T_ERR_OUT_OF_SESSIONS"),
    (MPI_T_ERR_CVAR_SET_NOT_NOW, "MPI_T_ERR_CVAR_SET_NOT_NOW"),
    (MPI_T_ERR_CVAR_SET_NEVER, "MPI_T_ERR_CVAR_SET_NEVER"),
    (MPI_T_ERR_PVAR_NO_WRITE, "MPI_T_ERR_PVAR_NO_WRITE"),
    (MPI_T_ERR_PVAR_NO_STARTSTOP, "MPI_T_ERR_PVAR_NO_STARTSTOP"),
    (MPI_T_ERR_PVAR_NO_ATOMIC, "MPI_T_ERR_PVAR_NO_ATOMIC"),
];

fn tool_class(code: c_int) -> Option<&'static str> {
    let found = TOOL_CLASSES.iter().find(|(class, _)| *class == code);
    found.map(|(_, name)| *name)
}

/// Returns the text of a code. Predefined codes are known before `MPI_Init`, and instances after
/// `MPI_Finalize`.
fn meaning(code: c_int) -> Outcome<String> {
    if let Some(name) = tool_class(code) {
        return Ok(format!(
            "{name}: an error of the tool information interface"
        ));
    }
    if let Some(sentence) = instances::sentence(code) {
        return Ok(sentence);
    }
    match instances::class(code) {
        Some(class) => Ok(format!("{class}: {}", class.text())),
        None => Ok(state::process()?.error_string(code)?),
    }
}

/// Removes a class or a code of the program.
fn remove(number: c_int, is_class: bool) -> Outcome {
    let process = state::process()?;
    let class = process.error_class(number)?;
    if (class == number) != is_class {
        let reason = match is_class {
            true => format!("{number} is a code of the class {class}, and no class"),
            false => format!("{number} is a class, and no code of one"),
        };
        return Err(error(ErrorClass::Arg, reason).into());
    }
    Ok(process.remove_error_code(number)?)
}

calls! {
    fn PMPI_Comm_create_errhandler(comm_errhandler_fn: MPI_Comm_errhandler_function, errhandler: *mut MPI_Errhandler) {
        create(comm_errhandler_fn, errhandler, |function| Handler::of_comm(ErrorFunction::Standard(function)))
    }

    fn PMPI_Session_create_errhandler(session_errhandler_fn: MPI_Session_errhandler_function, errhandler: *mut MPI_Errhandler) {
        create(session_errhandler_fn, errhandler, |function| Handler::Session(SessionHandler::User(ErrorFunction::Standard(function))))
    }

    fn PMPI_Win_create_errhandler(win_errhandler_fn: MPI_Win_errhandler_function, errhandler: *mut MPI_Errhandler) {
        create(win_errhandler_fn, errhandler, |function| Handler::Win(ErrorFunction::Standard(function)))
    }

    fn PMPI_File_create_errhandler(file_errhandler_fn: MPI_File_errhandler_function, errhandler: *mut MPI_Errhandler) {
        create(file_errhandler_fn, errhandler, |function| Handler::File(ErrorFunction::Standard(function)))
    }

    fn PMPI_File_set_errhandler(file: MPI_File, errhandler: MPI_Errhandler) {
        state::process()?;
        run_on_file(|| {
            no_file(file)?;
            files::set_handler(file_handler(errhandler)?);
            Ok(())
        })
    }

    fn PMPI_File_get_errhandler(file: MPI_File, errhandler: *mut MPI_Errhandler) {
        state::process()?;
        run_on_file(|| {
            no_file(file)?;
            *place(errhandler)? = file_handle(files::handler());
            Ok(())
        })
    }

    fn PMPI_File_call_errhandler(fh: MPI_File, errorcode: c_int) {
        state::process()?;
        run_on_file(|| no_file(fh))?;
        ask_of_file(errorcode);
        Ok(())
    }

    fn PMPI_Comm_set_errhandler(comm: MPI_Comm, errhandler: MPI_Errhandler) {
        let handler = handler(errhandler);
        if let Ok(handler) = &handler && set_reserved_handler(comm, handler) {
            return Ok(());
        }
        comm_of(comm)?.run(|comm| comm.set_error_handler(handler?))
    }

    fn PMPI_Comm_get_errhandler(comm: MPI_Comm, errhandler: *mut MPI_Errhandler) {
        comm_of(comm)?.run(|comm| {
            let errhandler = place(errhandler)?;
            *errhandler = handle(comm.error_handler());
            Ok(())
        })
    }

    fn PMPI_Comm_call_errhandler(comm: MPI_Comm, errorcode: c_int) {
        comm_of(comm)?.ask(errorcode);
        Ok(())
    }

    fn PMPI_Errhandler_free(errhandler: *mut MPI_Errhandler) {
        let handle = place(errhandler)?;
        // MPI_Comm_get_errhandler may return a predefined handler, and programs free it, too.
        let predefined = [MPI_ERRORS_ARE_FATAL, MPI_ERRORS_ABORT, MPI_ERRORS_RETURN];
        if !predefined.contains(handle) && !error_handlers::free(handle.0) {
            let reason = format!("{:#x} is no error handler", handle.0);
            return Err(error(ErrorClass::Errhandler, reason).into());
        }
        *handle = MPI_ERRHANDLER_NULL;
        Ok(())
    }

    fn PMPI_Add_error_class(errorclass: *mut c_int) {
        let process = state::process()?;
        let errorclass = place(errorclass)?;
        *errorclass = process.add_error_class()?;
        Ok(())
    }

    fn PMPI_Add_error_code(errorclass: c_int, errorcode: *mut c_int) {
        let process = state::process()?;
        let code = place(errorcode)?;
        *code = process.add_error_code(errorclass)?;
        Ok(())
    }

    fn PMPI_Add_error_string(errorcode: c_int, string: *const c_char) {
        let process = state::process()?;
        Ok(process.add_error_string(errorcode, &String::from_utf8_lossy(text(string)?))?)
    }

    fn PMPI_Remove_error_class(errorclass: c_int) {
        remove(errorclass, true)
    }

    fn PMPI_Remove_error_code(errorcode: c_int) {
        remove(errorcode, false)
    }

    fn PMPI_Remove_error_string(errorcode: c_int) {
        let process = state::process()?;
        if process.error_string(errorcode)?.is_empty() {
            return Err(error(ErrorClass::Arg, format!("the code {errorcode} has no string")).into());
        }
        Ok(process.add_error_string(errorcode, "")?)
    }

    fn PMPI_Error_class(errorcode: c_int, errorclass: *mut c_int) {
        // Predefined codes are classes themselves, and are known before MPI_Init.
        let class = match (instances::class(errorcode), tool_class(errorcode)) {
            (Some(class), _) => class.code(),
            (None, Some(_)) => errorcode,
            (None, None) => state::process()?.error_class(errorcode)?,
        };
        Ok(put(errorclass, class)?)
    }

    fn PMPI_Error_string(errorcode: c_int, string: *mut c_char, resultlen: *mut c_int) {
        let room = MPI_MAX_ERROR_STRING.unsigned_abs() as usize;
        Ok(put_string(string, resultlen, meaning(errorcode)?.as_bytes(), room)?)
    }
}
