//! Lines of Python: where a program that CPython runs has called MPI.
//!
//! The return address of such a call lies in the extension that calls MPI for Python, mostly
//! mpi4py. A user needs the line of the program. So, in a process of CPython, the place of a call
//! is the line of its thread's innermost Python frame outside of mpi4py; the line gets an address
//! of its own ([`scripts`]).
//!
//! An extension releases the interpreter's lock (GIL) before it calls MPI, and the lock may be held
//! by a thread that computes. So nothing here takes it after the start: a frame is read where it
//! lies ([`frames`]). The frames of a thread do not change while the thread is in a call of ours,
//! code objects that run stay alive, and what is read of them is constant.
//!
//! The layout of frames differs from version to version and is private to the interpreter. So it is
//! found where it runs ([`layout`]): when MPI starts, each known layout is compared with what the
//! interpreter's public functions say of the same frames. Only one that agrees in each figure is
//! used. Versions that are not known, free-threaded ones, and other interpreters have return
//! addresses as before.

mod api;
mod frames;
mod layout;
mod own_memory;

use crate::caller;
use bcs_core::mapped_code::scripts;
use frames::{FrameSite, Interpreter};
use std::cell::Cell;
use std::iter;
use std::sync::OnceLock;

/// The most frames of mpi4py between a call and the program.
const MOST_BINDING_FRAMES: usize = 32;

/// The number of lines that a thread remembers.
const REMEMBERED_LINES: usize = 64;

/// The interpreter of this process, if there is one whose frames can be read.
static INTERPRETER: OnceLock<Option<Interpreter>> = OnceLock::new();

/// An instruction that a frame has executed, with its line.
#[derive(Clone, Copy)]
struct KnownLine {
    site: FrameSite,
    /// The address that stands for the line, if there is one.
    address: Option<u64>,
    of_program: bool,
}

thread_local! {
    /// They are on the heap, because the memory for thread-local variables of a library that is
    /// loaded late is short.
    static LINES: Box<[Cell<KnownLine>]> = {
        let none = KnownLine {
            site: FrameSite::NONE,
            address: None,
            of_program: false,
        };
        (0..REMEMBERED_LINES).map(|_| Cell::new(none)).collect()
    };
}

/// Makes the place of a call a line of Python, if calls come from an interpreter whose frames can
/// be read. At its first call this thread may wait for the interpreter's lock.
pub fn look_for_interpreter() {
    if INTERPRETER.get_or_init(Interpreter::find).is_some() {
        caller::set_place_function(address);
    }
}

/// Returns the address of the line that this thread's current call comes from, or the return
/// address if no Python frame has called.
fn address() -> u64 {
    line_address().unwrap_or_else(caller::address)
}

/// Returns the line of the innermost frame that is the program's, else that of the innermost one.
fn line_address() -> Option<u64> {
    let interpreter = INTERPRETER.get()?.as_ref()?;
    let mut lines = interpreter
        .frames()
        .take(MOST_BINDING_FRAMES)
        .map_while(|site| known_line(interpreter, site));
    let first = lines.next()?;
    let of_program = iter::once(first).chain(lines).find(|line| line.of_program);
    of_program.unwrap_or(first).address
}

/// Returns the line of a frame. Returns `None` when this thread ends and its memory is gone.
fn known_line(interpreter: &Interpreter, site: FrameSite) -> Option<KnownLine> {
    let known = LINES.try_with(|lines| {
        let known = &lines[site.hash() % REMEMBERED_LINES];
        if known.get().site != site {
            let line = interpreter.line(site);
            let address = |line: &frames::FrameLine| {
                scripts::address_of(&line.file, &line.function, line.line)
            };
            known.set(KnownLine {
                site,
                address: line.as_ref().and_then(address),
                of_program: line.is_some_and(|line| line.is_of_program()),
            });
        }
        known.get()
    });
    known.ok()
}
