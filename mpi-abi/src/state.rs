//! The state of this process in MPI (MPI 5.0, 11.2 and 11.3): it takes part by `MPI_Init`, by
//! sessions, or both.
//!
//! The first of them begins MPI. A program without sessions ends MPI with `MPI_Finalize`. A program
//! that has used sessions may open another one until it exits, so MPI ends at exit.

use crate::answer::{Outcome, error};
use crate::caller;
use crate::objects::{COMMS, DATATYPES, GROUPS, OPS, REQUESTS, RequestContent};
use crate::python;
use crate::windows::WINDOWS;
use bcs_core::wait_state::LeakedObject;
use bcs_mpi::mpi::{Comm, ErrorClass, Process, Result, ThreadLevel};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

struct RunningProcess {
    process: Arc<Process>,
    world: Comm,
    itself: Comm,
}

static RUNNING: OnceLock<RunningProcess> = OnceLock::new();

/// The running process between `MPI_Init` and `MPI_Finalize`, else null.
static WORLD: AtomicPtr<RunningProcess> = AtomicPtr::new(ptr::null_mut());

/// Whether `MPI_Init` was called.
static INITIALIZED: AtomicBool = AtomicBool::new(false);

/// The number of open sessions, and whether any was ever open.
static SESSIONS: AtomicUsize = AtomicUsize::new(0);
static HAD_SESSIONS: AtomicBool = AtomicBool::new(false);

/// Serializes the beginnings and ends.
static TURNS: Mutex<()> = Mutex::new(());

/// Begins MPI, unless that is done.
fn begin(level: Option<ThreadLevel>) -> Result<&'static RunningProcess> {
    if let Some(running) = RUNNING.get() {
        if running.process.is_finalized() {
            let reason = "MPI_Finalize was called and no session was there before: this process has left its job";
            return Err(error(ErrorClass::Other, reason));
        }
        return Ok(running);
    }
    python::look_for_interpreter();
    Process::is_called_from(caller::place_function(), caller::last_call_at());
    // Marks the slot as a library's. A slot with a preloaded heap has the program's heap, and is
    // excluded where the mark is read.
    bcs_core::memory::slot::mark_library_slot();
    let process = match level {
        Some(level) => Process::init_thread(level)?,
        None => Process::init()?,
    };
    let (world, itself) = (process.world(), process.itself());
    Ok(RUNNING.get_or_init(|| RunningProcess {
        process,
        world,
        itself,
    }))
}

/// Implements `MPI_Init_thread`.
///
/// # Errors
/// If it was called before, or there is no job.
pub fn init(level: ThreadLevel) -> Result<()> {
    let _turn = TURNS.lock().unwrap_or_else(PoisonError::into_inner);
    if INITIALIZED.load(Ordering::Acquire) {
        return Err(error(ErrorClass::Other, "MPI_Init was called before"));
    }
    let running = begin(Some(level))?;
    INITIALIZED.store(true, Ordering::Release);
    WORLD.store(ptr::from_ref(running).cast_mut(), Ordering::Release);
    Ok(())
}

/// Implements `MPI_Finalize`.
///
/// # Errors
/// If it was called before, or `MPI_Init` was not; and as [`Process::finalize`].
pub fn finalize() -> Outcome {
    let itself = crate::answer::comm_of(crate::c::MPI_COMM_SELF)?;
    itself.run(|comm| {
        let process = comm.process();
        let left = process.leave_world();
        let _turn = TURNS.lock().unwrap_or_else(PoisonError::into_inner);
        WORLD.store(ptr::null_mut(), Ordering::Release);
        left?;
        match HAD_SESSIONS.load(Ordering::Acquire) {
            true => Ok(()),
            false => leave(process),
        }
    })
}

/// Leaves the job. The program may have left requests.
fn leave(process: &Arc<Process>) -> Result<()> {
    if !process.is_finalized() {
        REQUESTS.each_mut(|entry| {
            let from = entry.from;
            if let Some(request) = entry.started() {
                process.note_leaked_request(request, from);
            }
        });
        note_leaked_objects(process);
    }
    process.finalize()
}

/// Tells the process of the objects that the program has not freed, with the calls that made them.
fn note_leaked_objects(process: &Arc<Process>) {
    let note = |object, made: Vec<((), u64)>| {
        for ((), from) in made {
            process.note_leaked_object(object, from);
        }
    };
    let single = COMMS.origins(|comm| comm.is_made_for_one().then_some(()));
    note(LeakedObject::SingleMember, single);
    note(LeakedObject::Group, GROUPS.origins(|_| Some(())));
    note(LeakedObject::Datatype, DATATYPES.origins(|_| Some(())));
    note(LeakedObject::Operation, OPS.origins(|_| Some(())));
    let windows = WINDOWS.origins(|entry| {
        entry.window.keep_communicator();
        Some(())
    });
    note(LeakedObject::Window, windows);
    REQUESTS.each_mut(|entry| {
        if matches!(entry.what, RequestContent::Persistent(_)) {
            process.note_leaked_object(LeakedObject::Persistent, entry.from);
        }
    });
}

/// Implements `MPI_Session_init`.
///
/// # Errors
/// If the process has left its job, or there is no job.
pub fn open_session() -> Result<()> {
    let _turn = TURNS.lock().unwrap_or_else(PoisonError::into_inner);
    begin(None)?;
    SESSIONS.fetch_add(1, Ordering::AcqRel);
    if !HAD_SESSIONS.swap(true, Ordering::AcqRel) {
        // SAFETY: a function of this library, which stays loaded as long as the process.
        let registered = unsafe { libc::atexit(at_exit) };
        debug_assert_eq!(registered, 0, "the C library has room for one more");
    }
    Ok(())
}

/// Implements `MPI_Session_finalize`.
pub fn close_session() {
    SESSIONS.fetch_sub(1, Ordering::AcqRel);
}

/// Leaves the job of a process that has used sessions and has finalized everything that it has
/// begun.
extern "C" fn at_exit() {
    let is_over = SESSIONS.load(Ordering::Acquire) == 0 && world_pointer().is_none();
    // A forked child is no member of the job, and finds the process finalized.
    if is_over
        && let Some(running) = RUNNING
            .get()
            .filter(|running| !running.process.is_finalized())
        && let Err(error) = leave(&running.process)
    {
        eprintln!("{error}");
    }
}

#[inline]
fn world_pointer() -> Option<&'static RunningProcess> {
    // SAFETY: it is null, or points to an object that is never dropped.
    unsafe { WORLD.load(Ordering::Acquire).as_ref() }
}

#[cold]
fn no_world() -> crate::answer::Fault {
    let reason = match is_finalized() {
        true => "called after MPI_Finalize",
        false => "called before MPI_Init",
    };
    error(ErrorClass::Other, reason).into()
}

#[inline]
fn in_world() -> Outcome<&'static RunningProcess> {
    world_pointer().ok_or_else(no_world)
}

/// Returns this rank, if it has begun anything that is not finalized.
///
/// # Errors
/// If it has not.
#[inline]
pub fn process() -> Outcome<&'static Arc<Process>> {
    if let Some(running) = world_pointer() {
        return Ok(&running.process);
    }
    match RUNNING.get() {
        Some(running) if SESSIONS.load(Ordering::Acquire) > 0 => Ok(&running.process),
        _ => Err(no_world()),
    }
}

/// Returns this rank after its beginning, even when it has left its job.
pub fn rank() -> Option<&'static Arc<Process>> {
    RUNNING.get().map(|running| &running.process)
}

/// Returns `MPI_COMM_WORLD` and `MPI_COMM_SELF`, between `MPI_Init` and `MPI_Finalize`.
#[inline]
pub fn predefined() -> Option<(&'static Comm, &'static Comm)> {
    world_pointer().map(|running| (&running.world, &running.itself))
}

/// Returns `MPI_COMM_WORLD`.
///
/// # Errors
/// Before `MPI_Init` and after `MPI_Finalize`.
#[inline]
pub fn world() -> Outcome<&'static Comm> {
    Ok(&in_world()?.world)
}

/// Returns `MPI_COMM_SELF`.
///
/// # Errors
/// As [`world`].
pub fn itself() -> Outcome<&'static Comm> {
    Ok(&in_world()?.itself)
}

/// Returns all ranks, or this one, whether or not `MPI_Init` was called.
///
/// # Errors
/// If this rank has begun nothing.
pub fn all_or_own(all: bool) -> Outcome<&'static Comm> {
    process()?;
    let running = RUNNING.get().ok_or_else(no_world)?;
    Ok(if all { &running.world } else { &running.itself })
}

/// Implements `MPI_Initialized`.
pub fn is_initialized() -> bool {
    INITIALIZED.load(Ordering::Acquire)
}

/// Implements `MPI_Finalized`.
pub fn is_finalized() -> bool {
    is_initialized() && world_pointer().is_none()
}
