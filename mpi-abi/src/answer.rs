//! The result of a call: a code, after the handler of the object in question was called (MPI 5.0,
//! 9.3).
//!
//! An error without an object belongs to `MPI_COMM_SELF` ([`default_owner`]). Before `MPI_Init` and
//! after `MPI_Finalize` there is no handler, and the program ends. A panic of the library ends the
//! program, too: it never unwinds into C.

use crate::c::*;
use crate::files::{self, FileHandler};
use crate::objects::{COMMS, SESSIONS, Session, SessionHandler, stale};
use crate::state;
use crate::windows::{WindowEntry, WindowHandler, with_window};
use crate::{caller, instances};
use bcs_mpi::mpi::environment;
use bcs_mpi::mpi::error::Operation;
use bcs_mpi::mpi::{Comm, Error, ErrorClass, ErrorHandler, InvalidArguments};
use std::cell::Cell;
use std::ffi::c_int;
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering};

/// The result of a call before its error is handled.
pub type Outcome<T = ()> = Result<T, Fault>;

/// An error and its owner.
#[derive(Debug)]
pub struct Fault {
    on: Option<ErrorOwner>,
    error: Box<Error>,
    /// The return address of the call that started the failed operation, if it is another call than
    /// this one, which waited for it.
    from: Option<u64>,
}

impl Fault {
    fn of(on: Option<ErrorOwner>, error: Box<Error>) -> Self {
        let from = None;
        Self { on, error, from }
    }

    /// Marks an error of an operation that was started by the call that returns to this address.
    pub fn of_call_at(self, from: u64) -> Self {
        let from = Some(from);
        Self { from, ..self }
    }
}

/// The object whose handler is called for an error.
#[derive(Debug)]
enum ErrorOwner {
    Comm(MPI_Comm, Comm),
    Session(MPI_Session, SessionHandler),
    Window(MPI_Win, WindowHandler),
    /// A communicator that does not exist yet.
    Given(ErrorHandler),
    /// `MPI_FILE_NULL`: there are no other files.
    File(FileHandler),
}

impl From<Box<Error>> for Fault {
    fn from(error: Box<Error>) -> Self {
        Self::of(None, error)
    }
}

thread_local! {
    /// The communicator of this thread's current call: functions of the program get its handle.
    static HANDLE: Cell<MPI_Comm> = const { Cell::new(MPI_COMM_SELF) };
    /// The code of the error that a handler is called for.
    static CODE: Cell<c_int> = const { Cell::new(MPI_SUCCESS) };
}

/// Returns the handle of the communicator of this call.
pub fn current() -> MPI_Comm {
    HANDLE.get()
}

/// Returns the code that a handler of the program gets.
pub fn code_for_handler() -> c_int {
    CODE.get()
}

/// Calls a function of the program with [`current`]. The function may call functions of ours on
/// other objects.
pub fn call_user_function<T>(function: impl FnOnce(MPI_Comm) -> T) -> T {
    let handle = HANDLE.get();
    let returned = caller::preserve_address(|| function(handle));
    HANDLE.set(handle);
    returned
}

/// Makes the error of a function of the program that has failed with a code. The call that called
/// the function returns this code.
pub fn failed_with(code: c_int) -> Box<Error> {
    let reason = format!("a function of the program returned {code}");
    with_code(code, error(class_of(code), reason))
}

/// Returns the class of an error code from the program or from one of its functions.
fn class_of(code: c_int) -> ErrorClass {
    instances::class(code).unwrap_or(ErrorClass::Other)
}

/// Gives an error the program's code.
fn with_code(code: c_int, mut error: Box<Error>) -> Box<Error> {
    error.code = Some(code);
    error
}

/// Makes an error of this call. [`enter`] adds the name of the call.
#[cold]
pub fn error(class: ErrorClass, reason: impl Into<String>) -> Box<Error> {
    Box::new(Error {
        rank: environment::world_rank(),
        class,
        operation: Operation::plain(""),
        reason: reason.into(),
        code: None,
        came: None,
        told: false,
        disagreement: false,
    })
}

/// The communicator of a call.
#[derive(Debug)]
pub struct CallComm {
    handle: MPI_Comm,
    comm: CommRef,
}

#[derive(Debug)]
enum CommRef {
    Predefined(&'static Comm),
    Made(Comm),
}

impl CallComm {
    #[inline]
    pub fn comm(&self) -> &Comm {
        match &self.comm {
            CommRef::Predefined(comm) => comm,
            CommRef::Made(comm) => comm,
        }
    }

    /// Runs a call whose errors belong to the communicator.
    #[inline]
    pub fn run<T>(&self, call: impl FnOnce(&Comm) -> Result<T, Box<Error>>) -> Outcome<T> {
        HANDLE.set(self.handle);
        call(self.comm()).map_err(|error| self.fault(error))
    }

    /// Runs a collective; `name` is its name with the P. If an argument is invalid, the other
    /// members are notified. `arguments` returns what is known of the arguments then.
    #[inline]
    pub fn run_collective<T>(
        &self,
        name: &'static str,
        arguments: impl FnOnce() -> InvalidArguments,
        call: impl FnOnce(&Comm) -> Result<T, Box<Error>>,
    ) -> Outcome<T> {
        self.run(|comm| match call(comm) {
            Ok(done) => Ok(done),
            Err(error) => Err(report_invalid_call(comm, name, arguments(), error)),
        })
    }

    /// Runs a call of all members that contains other collectives, such as the creation of a
    /// communicator. The other members are notified of an invalid argument before any of these
    /// collectives.
    pub fn run_comm_creation<T>(
        &self,
        name: &'static str,
        call: impl FnOnce(&Comm) -> Result<T, Box<Error>>,
    ) -> Outcome<T> {
        let entered = self.comm().collectives_entered();
        self.run(|comm| {
            call(comm).map_err(|error| match comm.collectives_entered() == entered {
                true => report_invalid_call(comm, name, InvalidArguments::default(), error),
                false => error,
            })
        })
    }

    /// Calls the communicator's handler for a code from the program (`MPI_Comm_call_errhandler`).
    pub fn ask(&self, code: c_int) {
        HANDLE.set(self.handle);
        let mut error = given_by_program(code);
        error.operation.call = "MPI_Comm_call_errhandler";
        CODE.set(code);
        let handled: Result<(), _> = self.comm().handle(Err(error));
        drop(handled);
    }

    #[cold]
    fn fault(&self, error: Box<Error>) -> Fault {
        let on = Some(ErrorOwner::Comm(self.handle, self.comm().clone()));
        Fault::of(on, error)
    }
}

/// Notifies the other members of a collective of an invalid argument at this rank.
#[cold]
fn report_invalid_call(
    comm: &Comm,
    name: &'static str,
    arguments: InvalidArguments,
    mut error: Box<Error>,
) -> Box<Error> {
    if error.operation.call.is_empty() {
        error.operation.call = &name[1..];
    }
    comm.tell_of_invalid_call(error, arguments)
}

/// Runs a call on a session, whose handler is called for errors.
pub fn run_on_session<T>(
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
        let on = Some(ErrorOwner::Session(handle, handler));
        Fault::of(on, error)
    })
}

/// Calls a session's handler for a code from the program (`MPI_Session_call_errhandler`).
pub fn ask_session(handle: MPI_Session, session: &Session, code: c_int) {
    let mut error = given_by_program(code);
    error.operation.call = "MPI_Session_call_errhandler";
    CODE.set(code);
    handle_in_session(handle, session.handler(), &error);
}

/// Runs a call on a window, whose handler is called for errors.
pub fn run_on_window<T>(
    handle: MPI_Win,
    call: impl FnOnce(&WindowEntry) -> Result<T, Box<Error>>,
) -> Outcome<T> {
    state::process()?;
    with_window(handle, |entry| {
        call(entry).map_err(|error| {
            let on = Some(ErrorOwner::Window(handle, entry.handler()));
            Fault::of(on, error)
        })
    })?
}

/// Calls a window's handler for a code from the program (`MPI_Win_call_errhandler`).
pub fn ask_window(handle: MPI_Win, entry: &WindowEntry, code: c_int) {
    let mut error = given_by_program(code);
    error.operation.call = "MPI_Win_call_errhandler";
    CODE.set(code);
    handle_of_window(handle, entry.handler(), &error);
}

/// Treats an error as a window's handler requires.
fn handle_of_window(handle: MPI_Win, handler: WindowHandler, error: &Error) {
    let code = CODE.get();
    match handler {
        WindowHandler::Return => {}
        WindowHandler::User(function) => {
            // SAFETY: the program's promise: it is a function of this type.
            call_user_function(|_| unsafe { function.call(handle, code) });
        }
        WindowHandler::Fatal | WindowHandler::Abort => end(error),
    }
}

/// Makes an error of a code from the program. A code that names an instance is valid only in this
/// process: a job that ends by it ends with its class.
fn given_by_program(code: c_int) -> Box<Error> {
    let reason = match instances::sentence(code) {
        Some(sentence) => format!("the program gives the error: {sentence}"),
        None => format!("the program gives the error code {code}"),
    };
    with_code(
        instances::known_to_others(code),
        error(class_of(code), reason),
    )
}

/// Runs a call that makes a communicator, and calls the given handler for errors.
pub fn run_with_handler<T>(
    handler: &ErrorHandler,
    call: impl FnOnce() -> Result<T, Box<Error>>,
) -> Outcome<T> {
    call().map_err(|error| {
        let on = Some(ErrorOwner::Given(handler.clone()));
        Fault::of(on, error)
    })
}

/// Does the same for a session that does not exist yet.
pub fn run_with_session_handler<T>(
    handler: SessionHandler,
    call: impl FnOnce() -> Result<T, Box<Error>>,
) -> Outcome<T> {
    call().map_err(|error| {
        let on = Some(ErrorOwner::Session(MPI_SESSION_NULL, handler));
        Fault::of(on, error)
    })
}

/// Treats an error as a session's handler requires.
fn handle_in_session(handle: MPI_Session, handler: SessionHandler, error: &Error) {
    let code = CODE.get();
    match handler {
        SessionHandler::Return => {}
        SessionHandler::User(function) => {
            // SAFETY: the program's promise: it is a function of this type.
            call_user_function(|_| unsafe { function.call(handle, code) });
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

/// An invalid handle of a communicator, or a predefined one outside of `MPI_Init` and
/// `MPI_Finalize`. It is one word, so the result of a call that succeeds stays in registers.
#[derive(Clone, Copy, Debug)]
pub struct InvalidCommHandle(MPI_Comm);

impl From<InvalidCommHandle> for Fault {
    #[cold]
    fn from(InvalidCommHandle(handle): InvalidCommHandle) -> Self {
        let known = match handle {
            MPI_COMM_WORLD | MPI_COMM_SELF => state::world().map(|_| ()),
            _ => state::process().map(|_| ()),
        };
        let what = match (known, handle) {
            (Err(nobody), _) => return nobody,
            (Ok(()), MPI_COMM_NULL) => "the communicator is MPI_COMM_NULL".to_owned(),
            (Ok(()), MPI_Comm(number)) => stale("communicator", number, COMMS.freed_by(number)),
        };
        error(ErrorClass::Comm, what).into()
    }
}

/// Returns the communicator of a handle.
#[inline(always)]
pub fn comm_of(handle: MPI_Comm) -> Result<CallComm, InvalidCommHandle> {
    let comm = match handle {
        MPI_COMM_WORLD => state::predefined().map(|(world, _)| CommRef::Predefined(world)),
        MPI_COMM_SELF => state::predefined().map(|(_, itself)| CommRef::Predefined(itself)),
        _ => crate::objects::COMMS.get(handle.0).map(CommRef::Made),
    };
    match comm {
        Some(comm) => Ok(CallComm { handle, comm }),
        None => Err(InvalidCommHandle(handle)),
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

/// Runs a function that returns its code and calls no handler.
pub fn returning(name: &'static str, body: impl FnOnce() -> Outcome) -> c_int {
    match run(name, body) {
        Ok(()) => MPI_SUCCESS,
        Err(fault) => fault.error.code(),
    }
}

#[inline]
fn run(name: &'static str, body: impl FnOnce() -> Outcome) -> Outcome {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|_| abort_after_panic(name))
}

/// Ends the process after a function has panicked, because a panic must not unwind into C.
#[cold]
pub fn abort_after_panic(name: &'static str) -> ! {
    eprintln!("libmpi_abi: {name} failed by a mistake of the library's own");
    std::process::abort()
}

/// Calls the handler of an error, if there is one.
#[cold]
fn raise(call: &'static str, mut fault: Fault) -> c_int {
    if fault.error.operation.call.is_empty() {
        fault.error.operation.call = call;
    }
    let mut error = fault.error;
    let code = match fault.from {
        Some(from) => instances::name_from(&error, from),
        None => instances::name(&error),
    };
    CODE.set(code);
    // If the job ends by this error, it ends with a code that other processes know.
    error.code = error.code.map(instances::known_to_others);
    let on = fault.on.or_else(default_owner);
    match on {
        Some(ErrorOwner::Comm(handle, comm)) if state::process().is_ok() => {
            HANDLE.set(handle);
            say_disagreement(&comm, &error, code);
            let handled: Result<(), _> = comm.handle(Err(error));
            drop(handled);
        }
        Some(ErrorOwner::Session(handle, handler)) => handle_in_session(handle, handler, &error),
        Some(ErrorOwner::Window(handle, handler)) => handle_of_window(handle, handler, &error),
        Some(ErrorOwner::File(handler)) => handle_of_file(handler, &error),
        Some(ErrorOwner::Given(ErrorHandler::Return)) => {}
        Some(ErrorOwner::Given(ErrorHandler::User(function))) => match state::all_or_own(false) {
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

/// The number of disagreements that a rank reports by itself.
const SAID: u32 = 8;

/// Reports at once to the user that ranks are in different collectives, even if errors return to
/// the program: it may ignore them, and would silently compute wrong results. If the job ends by
/// the error, the report comes anyway.
pub fn say_disagreement(comm: &Comm, error: &Error, code: c_int) {
    static SO_FAR: AtomicU32 = AtomicU32::new(0);
    let ends = matches!(
        comm.error_handler(),
        ErrorHandler::Fatal | ErrorHandler::Abort
    );
    if !error.disagreement || ends || SO_FAR.fetch_add(1, Ordering::Relaxed) >= SAID {
        return;
    }
    let said = instances::sentence(code).unwrap_or_else(|| error.to_string());
    // If standard error is closed, the report is lost.
    _ = writeln!(std::io::stderr(), "bcs-mpi: {said}");
}

/// Returns the owner of an error without an object: `MPI_COMM_SELF` (MPI 5.0, 9.3). Programs for
/// MPI 3 and before expect it to be `MPI_COMM_WORLD`. So if a program has set an error handler
/// there, but none on `MPI_COMM_SELF`, the owner is `MPI_COMM_WORLD`.
fn default_owner() -> Option<ErrorOwner> {
    let (world, itself) = (state::world().ok()?, state::itself().ok()?);
    let unsaid = |comm: &Comm| matches!(comm.error_handler(), ErrorHandler::Fatal);
    match unsaid(itself) && !unsaid(world) {
        true => Some(ErrorOwner::Comm(MPI_COMM_WORLD, world.clone())),
        false => Some(ErrorOwner::Comm(MPI_COMM_SELF, itself.clone())),
    }
}

/// Runs a call without a file, and calls the handler of `MPI_FILE_NULL` for errors.
pub fn run_on_file<T>(call: impl FnOnce() -> Result<T, Box<Error>>) -> Outcome<T> {
    call().map_err(|error| {
        let on = Some(ErrorOwner::File(files::handler()));
        Fault::of(on, error)
    })
}

/// Calls the handler of `MPI_FILE_NULL` for a code from the program (`MPI_File_call_errhandler`).
pub fn ask_of_file(code: c_int) {
    let class = ErrorClass::from_code(code).unwrap_or(ErrorClass::Other);
    let error = error(class, format!("the program gives the error code {code}"));
    let mut error = with_code(code, error);
    error.operation.call = "MPI_File_call_errhandler";
    handle_of_file(files::handler(), &error);
}

/// Treats an error as the handler of `MPI_FILE_NULL` requires.
fn handle_of_file(handler: FileHandler, error: &Error) {
    let code = error.code();
    match handler {
        FileHandler::Return => {}
        FileHandler::User(function) => {
            // SAFETY: the program's promise: it is a function of this type.
            call_user_function(|_| unsafe { function.call(MPI_FILE_NULL, code) });
        }
        FileHandler::Fatal | FileHandler::Abort => end(error),
    }
}

fn not_there() -> Box<Error> {
    let reason = "this library does not have it yet";
    error(ErrorClass::UnsupportedOperation, reason)
}

/// Returns the error of a function on files, which are not implemented, after it has called the
/// handler of `MPI_FILE_NULL`.
#[cold]
pub fn unsupported_file(name: &'static str) -> c_int {
    let answer = state::process().map(|_| ());
    let answer = answer.and_then(|()| run_on_file(|| Err::<(), _>(not_there())));
    answer.map_or_else(|fault| raise(name, fault), |()| MPI_SUCCESS)
}
