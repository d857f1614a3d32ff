//! The standard output of a command.
//!
//! If the reader stops (`bcs config | head -1`), that is no failure: the command ends without a
//! message. A full disk is a failure: nobody must take half of the file for all of it. So it is
//! reported, and the exit code shows it ([`with_output_failure`]).

use crate::closed_streams;
use crate::exit_code;
use std::fmt::Display;
use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// The first failure of the standard output of this process, except its end.
static FAILURE: Mutex<Option<String>> = Mutex::new(None);

/// Whether it has failed or ended.
static ENDED: AtomicBool = AtomicBool::new(false);

/// The standard output. Its result is only for callers that would print on and on.
#[derive(Clone, Copy, Debug, Default)]
pub struct StandardOutput;

impl Write for StandardOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        kept(match closed_streams::output() {
            true => Err(rustix::io::Errno::BADF.into()),
            false => io::stdout().write(bytes),
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        kept(io::stdout().flush())
    }
}

fn kept<T>(written: io::Result<T>) -> io::Result<T> {
    let error = written
        .as_ref()
        .err()
        .filter(|error| error.kind() != ErrorKind::Interrupted);
    if error.is_some() {
        ENDED.store(true, Ordering::Relaxed);
    }
    if let Some(error) = error.filter(|error| error.kind() != ErrorKind::BrokenPipe) {
        let mut failure = FAILURE.lock().unwrap_or_else(PoisonError::into_inner);
        failure.get_or_insert_with(|| error.to_string());
    }
    written
}

/// Prints a line, or several, and returns whether anybody reads on.
pub fn print(text: impl Display) -> bool {
    let mut out = StandardOutput;
    writeln!(out, "{text}").and_then(|()| out.flush()).is_ok()
}

/// Prints a text as it is.
pub fn print_all(text: &[u8]) {
    let mut out = StandardOutput;
    let _is_remembered = out.write_all(text).and_then(|()| out.flush());
}

/// Returns the columns of the terminal that shows the output, if one does.
#[must_use]
pub fn terminal_columns() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    (size.ws_col > 0).then_some(usize::from(size.ws_col))
}

/// Returns whether nothing more can be printed.
#[must_use]
pub fn has_ended() -> bool {
    ENDED.load(Ordering::Relaxed)
}

/// Returns the exit code of the command: its own, if all its output was printed.
#[must_use]
pub fn with_output_failure(code: ExitCode) -> ExitCode {
    let _is_remembered = StandardOutput.flush();
    let failure = FAILURE.lock().unwrap_or_else(PoisonError::into_inner);
    match &*failure {
        Some(what) => {
            eprintln!("bcs: {}", unwritable("standard output", what));
            ExitCode::from(exit_code::OUTPUT_LOST)
        }
        None => code,
    }
}

/// Returns the message about an output that cannot be written.
#[must_use]
pub fn unwritable(which: &str, why: &str) -> String {
    format!("failed to write to {which}: {why}: what was written there is not all")
}
