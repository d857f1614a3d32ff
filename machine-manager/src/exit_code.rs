//! All exit codes of `bcs run`.

/// All ranks exited with 0.
pub const SUCCESS: u8 = 0;

/// A rank exited with 0 but without MPI_Finalize, or called MPI_Abort with the code of a success;
/// neither is a success. Or ranks wait for each other in different collectives. Or ranks of a job
/// of several have not joined it at all, as programs of another MPI.
pub const UNFINISHED: u8 = 1;

/// Bad input: nothing was started.
pub const BAD_INPUT: u8 = 2;

/// The output of ranks or of a command could not be written: a full disk, or a stream that was
/// closed.
pub const OUTPUT_LOST: u8 = 122;

/// No rank could ever go on.
pub const DEADLOCK: u8 = 123;

/// The time limit (`--timeout`) was over.
pub const TIMED_OUT: u8 = 124;

/// The runtime failed, not the program: a node manager died or could not be started on its host, or
/// a NIC found an error that ends the job. Or a process that a rank has started is left, because we
/// may not kill it.
pub const RUNTIME: u8 = 125;

/// A rank could not be started.
pub const NOT_STARTED: u8 = 126;

/// Plus the signal's number: the signal killed the first failing rank, or told `bcs run` to end.
pub const SIGNAL_BASE: u8 = 128;

/// Returns the exit code for a signal.
#[must_use]
pub fn for_signal(signal: i32) -> u8 {
    u8::try_from(signal).map_or(RUNTIME, |signal| SIGNAL_BASE.saturating_add(signal))
}

/// Returns the exit code for a code of a rank. The kernel keeps eight bits of it.
#[must_use]
pub fn for_code(code: i32) -> u8 {
    match u8::try_from(code & 0xff) {
        Ok(0) | Err(_) => UNFINISHED,
        Ok(code) => code,
    }
}

/// The help text for the user.
pub const TABLE: &str = "\
Exit codes of `bcs run`:

  0      all ranks exited with 0
  1      a rank exited without MPI_Finalize, or called MPI_Abort with code 0, or
         ranks waited for each other in different collectives, or the ranks of a
         job of several are programs of another MPI
  2      bad input; nothing was started
  122    the output could not be written (a full disk, a closed standard
         output); of every `bcs` command
  123    a deadlock: no rank could ever go on
  124    the time of --timeout was over
  125    the runtime failed: a node manager died or could not be started on its
         host, a NIC had to end the job, or a process that a rank has started may
         not be killed and is left
  126    a rank could not be started
  128+S  the first failing rank was killed by signal S, or bcs run was ended by it
         (130: Ctrl-C, 137: SIGKILL, 139: SIGSEGV, 141: nobody reads the output)
  other  the exit code of the first rank that failed";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_failure_looks_like_success() {
        assert_eq!(for_code(7), 7);
        assert_eq!(for_code(256), UNFINISHED);
        assert_eq!(for_code(0), UNFINISHED);
        assert_eq!(for_code(-1), 255);
        assert_eq!(for_signal(9), 137);
        assert_eq!(for_signal(64), 192);
        assert_eq!(for_signal(1000), RUNTIME);
    }
}
