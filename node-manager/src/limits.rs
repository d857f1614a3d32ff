//! Bounds of the process side, with their reasons.

use std::time::Duration;

/// From SIGTERM to SIGKILL, for ranks that are told to end. Long enough to flush a log file; with
/// [`MANAGER_DELAY`] short enough that a job is gone within 2 s of its first failure.
pub const KILL_DELAY: Duration = Duration::from_millis(500);

/// From telling a node manager to end to SIGKILL for it: twice what it gives its ranks, so that
/// only a node manager that is stopped or stuck is ever killed.
pub const MANAGER_DELAY: Duration = Duration::from_millis(1000);

/// A line that is longer is forwarded in pieces: otherwise one rank that never writes a newline
/// could take all memory.
pub const MAX_LINE_BYTES: usize = 16 << 20;

/// While more output than this waits for its reader, no more is read from ranks: a rank that
/// writes faster than the user reads is blocked by its pipe, as it would be in a shell.
pub const OUTPUT_QUEUE_BYTES: usize = 256 << 10;

/// Read from a pipe at a time: what a pipe holds by default.
pub const READ_BYTES: usize = 64 << 10;

/// The longest frame between launcher and node manager: a line and its header, or the start
/// message, whose largest parts are the program's arguments (2 MiB in the kernel by default).
pub const MAX_FRAME_BYTES: usize = MAX_LINE_BYTES + READ_BYTES + 64;
