//! How a call answers: a code, after the handler of the object that it was about was asked (MPI 5.0, 9.3).
//!
//! An error without an object is one of `MPI_COMM_SELF` ([`nobody`]). Before `MPI_Init` and after `MPI_Finalize` there is nobody to ask,
//! and the program ends. A panic of the library ends the program, too: it never unwinds into C.

use crate::c::*;
use crate::caller;
use crate::files::{self, FileHandler};
use crate::objects::{SESSIONS, Session, SessionHandler};
use crate::state;
use bcs_mpi::mpi::environment;
use bcs_mpi::mpi::error::Operation;
use bcs_mpi::mpi::{Comm, Error, ErrorClass, ErrorHandler};
use std::cell::Cell;
use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a call comes to before its error is handled.
pub type Outcome<T = ()> = Result<T, Fault>;

/// An error, and whose it is.
#[derive(Debug)]
pub struct Fault {
    on: Option<Whose>,
    error: Box<Error>,
}

/// Whose handler is asked about an error.
#[derive(Debug)]
enum Whose {
    Comm(MPI_Comm, Comm),
    Session(MPI_Session, SessionHandler),
    /// Of a communicator that is not there yet.
    Given(ErrorHandler),
    /// Of `MPI_FILE_NULL`: there are no other files.
    File(FileHandler),
}

impl From<Box<Error>> for Fault {
    fn from(error: Box<Error>) -> Self {
        Self { on: None, error }
    }
}

thread_local! {
    /// The communicator that a call of this thread is about: functions of the program get its handle.
    static HANDLE: Cell<MPI_Comm> = const { Cell::new(MPI_COMM_SELF) };
}

/// The handle of the communicator that this call is about.
pub fn current() -> MPI_Comm {
    HANDLE.get()
}

/// Calls a function of the program, which gets [`current`] and may call functions of ours about something else.
pub fn calling<T>(function: impl FnOnce(MPI_Comm) -> T) -> T {
    let handle = HANDLE.get();
    let returned = caller::kept(|| function(handle));
    HANDLE.set(handle);
    returned
}

/// A function of the program has failed with a code, which the call that called it returns.
pub fn failed_with(code: c_int) -> Box<Error> {
    let reason = format!("a function of the program returned {code}");
    let class = ErrorClass::from_code(code).unwrap_or(ErrorClass::Other);
    with_code(code, error(class, reason))
}

/// The error, with a code of the program's.
fn with_code(code: c_int, mut error: Box<Error>) -> Box<Error> {
    error.code = Some(code);
    error
}

/// An error of this call, whose name [`enter`] adds.
#[cold]
pub fn error(class: ErrorClass, reason: impl Into<String>) -> Box<Error> {
    Box::new(Error {
        rank: environment::world_rank(),
        class,
        operation: Operation::plain(""),
        reason: reason.into(),
        code: None,
        came: None,
    })
}

/// A communicator that a call is about.
#[derive(Debug)]
pub struct At {
    handle: MPI_Comm,
    comm: Held,
}

#[derive(Debug)]
enum Held {
    Predefined(&'static Comm),
    Made(Comm),
}

impl At {
    #[inline]
    pub fn comm(&self) -> &Comm {
        match &self.comm {
            Held::Predefined(comm) => comm,
            Held::Made(comm) => comm,
        }
    }

    /// A call, whose errors are the communicator's.
    #[inline]
    pub fn run<T>(&self, call: impl FnOnce(&Comm) -> Result<T, Box<Error>>) -> Outcome<T> {
        HANDLE.set(self.handle);
        call(self.comm()).map_err(|error| self.fault(error))
    }

    /// Asks the communicator's handler about a code that the program gives (`MPI_Comm_call_errhandler`).
    pub fn ask(&self, code: c_int) {
        HANDLE.set(self.handle);
        let class = ErrorClass::from_code(code).unwrap_or(ErrorClass::Other);
        let error = error(class, format!("the program gives the error code {code}"));
        let mut error = with_code(code, error);
        error.operation.call = "MPI_Comm_call_errhandler";
        let handled: Result<(), _> = self.comm().handle(Err(error));
        drop(handled);
    }

    #[cold]
    fn fault(&self, error: Box<Error>) -> Fault {
        let on = Some(Whose::Comm(self.handle, self.comm().clone()));
        Fault { on, error }
    }
}

/// A call about a session, whose handler is asked.
pub fn of_session<T>(
    handle: MPI_Session,
    call: impl FnOnce(&Session) -> Result<T, Box<Error>>,
) -> Outcome<T> {
    let Some(session) = SESSIONS.get(handle.0) else {
        let what = match handle {
            MPI_SESSION_NULL => "the session is MPI_SESSION_NULL".to_owned(),
            MPI_Session(number) => format!("{number:#x} is no session"),
        };
        return Err(error(ErrorClass::Session, what).into());
    };
    call(&session).map_err(|error| {
        let handler = session.handler();
        let on = Some(Whose::Session(handle, handler));
        Fault { on, error }
    })
}

/// Asks a session's handler about a code that the program gives (`MPI_Session_call_errhandler`).
pub fn ask_session(handle: MPI_Session, session: &Session, code: c_int) {
    let class = ErrorClass::from_code(code).unwrap_or(ErrorClass::Other);
    let error = error(class, format!("the program gives the error code {code}"));
    let mut error = with_code(code, error);
    error.operation.call = "MPI_Session_call_errhandler";
    handle_in_session(handle, session.handler(), &error);
}

/// A call that makes a communicator, whose handler is asked.
pub fn given<T>(
    handler: &ErrorHandler,
    call: impl FnOnce() -> Result<T, Box<Error>>,
) -> Outcome<T> {
    call().map_err(|error| {
        let on = Some(Whose::Given(handler.clone()));
        Fault { on, error }
    })
}

/// The same of a session that is not there.
pub fn given_session<T>(
    handler: SessionHandler,
    call: impl FnOnce() -> Result<T, Box<Error>>,
) -> Outcome<T> {
    call().map_err(|error| {
        let on = Some(Whose::Session(MPI_SESSION_NULL, handler));
        Fault { on, error }
    })
}

/// Does about an error what a session's handler says.
fn handle_in_session(mut handle: MPI_Session, handler: SessionHandler, error: &Error) {
    let mut code = error.code();
    match handler {
        SessionHandler::Return => {}
        SessionHandler::User(function) => {
            // SAFETY: the program's promise: it is a function of this type.
            calling(|_| unsafe { function(&raw mut handle, &raw mut code) });
        }
        SessionHandler::Fatal | SessionHandler::Abort => end(error),
    }
}

/// Ends the job, or this process if it has none.
fn end(error: &Error) -> ! {
    let code = error.code();
    match state::process() {
        Ok(process) => {
            let (rank, said) = (process.world_rank(), error.of_itself());
            process.abort(code, &format!("rank {rank}: {said}"))
        }
        Err(_) => {
            eprintln!("{error}");
            std::process::exit(code);
        }
    }
}

/// A handle that stands for no communicator, or for one of a world that is not there. It is a word: what a call that
/// goes well hands on stays in registers then.
#[derive(Clone, Copy, Debug)]
pub struct Nowhere(MPI_Comm);

impl From<Nowhere> for Fault {
    #[cold]
    fn from(Nowhere(handle): Nowhere) -> Self {
        let known = match handle {
            MPI_COMM_WORLD | MPI_COMM_SELF => state::world().map(|_| ()),
            _ => state::process().map(|_| ()),
        };
        let what = match (known, handle) {
            (Err(nobody), _) => return nobody,
            (Ok(()), MPI_COMM_NULL) => "the communicator is MPI_COMM_NULL".to_owned(),
            (Ok(()), MPI_Comm(number)) => format!("{number:#x} is no communicator"),
        };
        error(ErrorClass::Comm, what).into()
    }
}

/// The communicator of a handle.
#[inline(always)]
pub fn at(handle: MPI_Comm) -> Result<At, Nowhere> {
    let comm = match handle {
        MPI_COMM_WORLD => state::predefined().map(|(world, _)| Held::Predefined(world)),
        MPI_COMM_SELF => state::predefined().map(|(_, itself)| Held::Predefined(itself)),
        _ => crate::objects::COMMS.get(handle.0).map(Held::Made),
    };
    match comm {
        Some(comm) => Ok(At { handle, comm }),
        None => Err(Nowhere(handle)),
    }
}

/// Runs a function of the ABI; `name` is its name with the P.
#[inline]
pub fn enter(name: &'static str, body: impl FnOnce() -> Outcome) -> c_int {
    match run(&name[1..], body) {
        Ok(()) => MPI_SUCCESS,
        Err(fault) => raise(&name[1..], fault),
    }
}

/// Runs a function that answers by its code, and asks no handler.
pub fn returning(name: &'static str, body: impl FnOnce() -> Outcome) -> c_int {
    match run(name, body) {
        Ok(()) => MPI_SUCCESS,
        Err(fault) => fault.error.code(),
    }
}

#[inline]
fn run(name: &'static str, body: impl FnOnce() -> Outcome) -> Outcome {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|_| mistaken(name))
}

/// A function has panicked, which must not unwind into C.
#[cold]
pub fn mistaken(name: &'static str) -> ! {
    eprintln!("libmpi_abi: {name} failed by a mistake of the library's own");
    std::process::abort()
}

/// Asks the handler of an error, if there is one to ask.
#[cold]
fn raise(call: &'static str, mut fault: Fault) -> c_int {
    if fault.error.operation.call.is_empty() {
        fault.error.operation.call = call;
    }
    let code = fault.error.code();
    let error = fault.error;
    let on = fault.on.or_else(nobody);
    match on {
        Some(Whose::Comm(handle, comm)) if state::process().is_ok() => {
            HANDLE.set(handle);
            let handled: Result<(), _> = comm.handle(Err(error));
            drop(handled);
        }
        Some(Whose::Session(handle, handler)) => handle_in_session(handle, handler, &error),
        Some(Whose::File(handler)) => handle_of_file(handler, &error),
        Some(Whose::Given(ErrorHandler::Return)) => {}
        Some(Whose::Given(ErrorHandler::User(function))) => match state::all_or_own(false) {
            Ok(comm) => {
                HANDLE.set(MPI_COMM_NULL);
                function(comm, &error);
            }
            Err(_) => end(&error),
        },
        _ => end(&error),
    }
    code
}

/// Whose an error without an object is: `MPI_COMM_SELF`'s (MPI 5.0, 9.3). Programs for MPI 3 and before expect it to be
/// `MPI_COMM_WORLD`'s: where a program has said what is to become of errors there, and has not for `MPI_COMM_SELF`, that
/// is what it means.
fn nobody() -> Option<Whose> {
    let (world, itself) = (state::world().ok()?, state::itself().ok()?);
    let unsaid = |comm: &Comm| matches!(comm.error_handler(), ErrorHandler::Fatal);
    match unsaid(itself) && !unsaid(world) {
        true => Some(Whose::Comm(MPI_COMM_WORLD, world.clone())),
        false => Some(Whose::Comm(MPI_COMM_SELF, itself.clone())),
    }
}

/// A call about no file, the handler of which is asked.
pub fn of_no_file<T>(call: impl FnOnce() -> Result<T, Box<Error>>) -> Outcome<T> {
    call().map_err(|error| {
        let on = Some(Whose::File(files::handler()));
        Fault { on, error }
    })
}

/// Asks the handler of `MPI_FILE_NULL` about a code that the program gives (`MPI_File_call_errhandler`).
pub fn ask_of_file(code: c_int) {
    let class = ErrorClass::from_code(code).unwrap_or(ErrorClass::Other);
    let error = error(class, format!("the program gives the error code {code}"));
    let mut error = with_code(code, error);
    error.operation.call = "MPI_File_call_errhandler";
    handle_of_file(files::handler(), &error);
}

/// Does about an error what the handler of `MPI_FILE_NULL` says.
fn handle_of_file(handler: FileHandler, error: &Error) {
    let (mut handle, mut code) = (MPI_FILE_NULL, error.code());
    match handler {
        FileHandler::Return => {}
        FileHandler::User(function) => {
            // SAFETY: the program's promise: it is a function of this type.
            calling(|_| unsafe { function(&raw mut handle, &raw mut code) });
        }
        FileHandler::Fatal | FileHandler::Abort => end(error),
    }
}

fn not_there() -> Box<Error> {
    let reason = "this library does not have it yet";
    error(ErrorClass::UnsupportedOperation, reason)
}

/// What a function answers that is not there, and is about no communicator or file: `MPI_COMM_SELF`'s handler is asked.
#[cold]
pub fn unsupported(name: &'static str) -> c_int {
    raise(name, not_there().into())
}

/// The same of a function on a communicator.
#[cold]
pub fn unsupported_on(name: &'static str, comm: MPI_Comm) -> c_int {
    let answer = at(comm).map_err(Fault::from);
    let answer = answer.and_then(|at| at.run(|_| Err::<(), _>(not_there())));
    answer.map_or_else(|fault| raise(name, fault), |()| MPI_SUCCESS)
}

/// The same of a function of files.
#[cold]
pub fn unsupported_file(name: &'static str) -> c_int {
    let answer = state::process().map(|_| ());
    let answer = answer.and_then(|()| of_no_file(|| Err::<(), _>(not_there())));
    answer.map_or_else(|fault| raise(name, fault), |()| MPI_SUCCESS)
}
