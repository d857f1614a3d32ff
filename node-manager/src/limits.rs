//! Bounds of the process side, with their reasons.

use bcs_core::limits::MAX_RANKS;
use bcs_core::wait_state;
use std::time::Duration;

/// From SIGTERM to SIGKILL, for ranks that are told to end, unless `--kill-delay` says otherwise.
/// Long enough to flush a log file; with [`MANAGER_GRACE`] short enough that a job is gone within
/// 2 s of its first failure.
pub const KILL_DELAY: Duration = Duration::from_millis(500);

/// The longest `--kill-delay`. A rank that needs more to end well is better told to save its work
/// earlier; and a deadline this near is one that every clock and timer can express.
pub const MAX_KILL_DELAY: Duration = Duration::from_hours(1);

/// What a node manager has to end, after the time that it gives its ranks, before it is killed:
/// enough that only one that is stopped or stuck ever is.
pub const MANAGER_GRACE: Duration = Duration::from_millis(500);

/// The same, if it writes dumps: they are of a rank up to its death, whoever ended the job, and worth waiting for. A
/// thousand ranks whose rows are all in use have some gigabytes.
pub const RECORDING_GRACE: Duration = Duration::from_secs(30);

/// What a process that may not be killed (`sudo`) has to end by itself, when the job is over, until it is
/// named and left alone: with the times above a job is gone within 2 s in this case, too.
pub const IMMORTAL_PATIENCE: Duration = Duration::from_millis(800);

/// What a node manager on another machine, whose input has ended, has to end by itself, and then to kill what its ranks
/// have started, until it ends by force: twice this is less than 2 s, on a busy machine, too.
pub(crate) const ORDERLY_END: Duration = Duration::from_millis(600);

/// A line that is longer is forwarded in pieces: otherwise one rank that never writes a newline
/// could take all memory.
pub const MAX_LINE_BYTES: usize = 16 << 20;

/// An unfinished line to which nothing is added for so long is shown: somebody may be asked something. With what it
/// takes to show it this is less than 100 ms.
pub const PROMPT_PATIENCE: Duration = Duration::from_millis(25);

/// An unfinished line that is longer is no prompt, but half of what a program will have written.
pub const PROMPT_BYTES: usize = 4 << 10;

/// What is read of a program that writes whenever its buffer is full has a multiple of so many bytes, whatever line it
/// stops in. That is no prompt either.
pub const WRITE_BUFFER_BYTES: usize = 512;

/// While more output than this waits for its reader, no more is read from ranks: a rank that
/// writes faster than the user reads is blocked by its pipe, as it would be in a shell.
pub const OUTPUT_QUEUE_BYTES: usize = 256 << 10;

/// Descriptors of a node manager's per rank: a pidfd for what was started, one for who called MPI_Init and
/// one for the memory of that, its socket, its slot, its NIC memory where NICs of other processes look into that,
/// its recorder, and the pipes of its three standard streams.
pub const DESCRIPTORS_PER_RANK: u64 = 10;

/// Of what a rank says about why it has no slot, so many characters are passed on.
pub const MAX_REASON: usize = 300;

/// Descriptors of a node manager's that are there with any number of ranks.
pub const OWN_DESCRIPTORS: u64 = 64;

/// Read from a pipe at a time: what a pipe holds by default.
pub const READ_BYTES: usize = 64 << 10;

/// The longest frame between launcher and node manager: a line and its header, or the start
/// message, whose largest parts are the program's arguments (2 MiB in the kernel by default), or where all ranks of
/// the largest job are.
pub const MAX_FRAME_BYTES: usize = MAX_LINE_BYTES + (12 << 20);

/// How long the NICs of a job that has failed may take to stop, so that what they recorded is written: they stop within
/// microseconds, unless the failure was one of theirs. Less than [`MANAGER_GRACE`], after which the manager is killed.
pub(crate) const NIC_STOP_LIMIT: Duration = Duration::from_millis(200);

/// Of a ring of descriptors that its NIC has not taken so many are told to whoever asks what a job does.
pub(crate) const PENDING_LISTED: u64 = 4;

/// Ranks in one part of a survey: parts of a megabyte at most pass by output without holding it up.
pub(crate) const SURVEY_PART: usize = 256;

/// What a blocked rank takes in a frame at most: its number, its node and its call, and where it is.
const SIGHTING_BYTES: usize = (3 + wait_state::WAIT_STATE_WORDS) * 10;

// A node manager may have all ranks of a job, and all of them may be blocked.
const _: () = assert!(64 + MAX_RANKS * SIGHTING_BYTES <= MAX_FRAME_BYTES);

// What it says, what is pending, and figures of its recorder with a place in its source.
const _: () = assert!(SURVEY_PART * (2 * SIGHTING_BYTES + 1_024) <= MAX_FRAME_BYTES / 8);
