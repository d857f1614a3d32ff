//! Limits of the processes, with their reasons.

use bcs_core::limits::{MAX_NODES, MAX_RANKS};
use bcs_core::wait_state;
use std::time::Duration;

/// The time from SIGTERM to SIGKILL for ranks, unless `--kill-delay` sets another one. Long enough
/// to flush a log file. Short enough that, with [`MANAGER_GRACE`], a job is gone within 2 s of its
/// first failure.
pub const KILL_DELAY: Duration = Duration::from_millis(500);

/// The longest `--kill-delay`. A rank that needs more time to save its work should do so earlier.
/// Every clock and timer can express a deadline this near.
pub const MAX_KILL_DELAY: Duration = Duration::from_hours(1);

/// The time that a node manager has to end, after the time that it gives its ranks, before it is
/// killed. Only one that is stopped or stuck needs more.
pub const MANAGER_GRACE: Duration = Duration::from_millis(500);

/// The same, if it writes dumps. A dump covers a rank up to its death, whoever ended the job, and
/// is worth waiting for. A thousand ranks whose rows are all in use have some gigabytes.
pub const RECORDING_GRACE: Duration = Duration::from_secs(30);

/// The time that a process which we may not kill (`sudo`) has to end by itself when the job is
/// over. Then we name it and leave it alone. With the times above a job is gone within 2 s in this
/// case, too.
pub const IMMORTAL_PATIENCE: Duration = Duration::from_millis(800);

/// The time that a node manager on another machine has to end by itself after the end of its input,
/// and then again to kill what its ranks have started, before it ends by force. Twice this is less
/// than 2 s, on a busy machine, too.
pub(crate) const ORDERLY_END: Duration = Duration::from_millis(600);

/// A longer line is forwarded in pieces. Otherwise a rank that never writes a newline could take
/// all memory.
pub const MAX_LINE_BYTES: usize = 16 << 20;

/// An unfinished line that has not grown for this long is shown: it may be a question to the user.
/// With the time to show it, this is less than 100 ms.
pub const PROMPT_PATIENCE: Duration = Duration::from_millis(25);

/// A longer unfinished line is no prompt, but a part of a program's output.
pub const PROMPT_BYTES: usize = 4 << 10;

/// A program that writes whenever its buffer is full writes a multiple of this many bytes, and may
/// stop within a line. That is no prompt either.
pub const WRITE_BUFFER_BYTES: usize = 512;

/// The limit of output that waits for its reader. Above it no more is read from ranks: a rank that
/// writes faster than the user reads blocks on its pipe, as it would in a shell.
pub const OUTPUT_QUEUE_BYTES: usize = 256 << 10;

/// The descriptors of a node manager per rank: a pidfd of the started process, one of the process
/// that called MPI_Init and one for the memory of that, its socket, its PMI socket, its slot, its
/// NIC memory if NICs of other processes read it, its recorder, and the pipes of its three standard
/// streams.
pub const DESCRIPTORS_PER_RANK: u64 = 11;

/// The most bytes that all ranks of a job together may put into their PMI key-value space, each the
/// same part. Each node manager holds a copy, and the pairs of one barrier travel in one frame. A
/// rank of the largest job has a KiB, and an address of MPICH or Intel MPI has 100 to 300 bytes.
pub const PMI_SPACE_BYTES: usize = 16 << 20;

/// The most names that the ranks of a job may publish at once. Each is for a server that other jobs
/// find, so a job has few; a name and its port take at most a line of PMI.
pub const PMI_NAMES: usize = 1024;

/// The number of characters that are passed on of a rank's reason for having no slot.
pub const MAX_REASON: usize = 300;

/// The descriptors of a node manager that do not depend on the number of ranks. An agent that
/// others has three for each: its link, its pidfd, and the standard error of its command.
pub const OWN_DESCRIPTORS: u64 = 128;

/// Bytes read from a pipe at a time: the default capacity of a pipe.
pub const READ_BYTES: usize = 64 << 10;

/// The longest frame between launcher and node manager: a line and its header, or the start
/// message. The largest parts of that are the program's arguments (2 MiB in the kernel by default),
/// or the placement of all ranks of the largest job.
pub const MAX_FRAME_BYTES: usize = MAX_LINE_BYTES + (12 << 20);

/// The longest address of a frame in the launch tree: all parties of the largest job, by their
/// numbers, with the kind and the number of them.
pub(crate) const MAX_ADDRESS_BYTES: usize = 16 + 3 * MAX_NODES;

/// The bytes that may wait for a child in an agent that relays. Above it the agent reads no more
/// from its parent. One frame of any length still passes.
pub(crate) const RELAY_QUEUE_BYTES: usize = MAX_FRAME_BYTES;

/// The time that the agents below one have to end by themselves if its parent is gone, before it
/// kills them. All agents notice the end of their links within milliseconds, so the levels of the
/// tree do not add up.
pub(crate) const SUBTREE_END: Duration = Duration::from_millis(1_000);

/// The time that an agent waits for the launcher's Terminate after a NIC has lost a node. If that
/// node's host was between them in the launch tree, nobody can tell it to end.
pub(crate) const LOST_NODE_PATIENCE: Duration = Duration::from_millis(1_000);

/// The time that the NICs of a failed job have to stop, so that their records are written. They
/// stop within microseconds, unless the failure was one of theirs. Less than [`MANAGER_GRACE`],
/// after which the manager is killed.
pub(crate) const NIC_STOP_LIMIT: Duration = Duration::from_millis(200);

/// The number of descriptors that a survey lists of a ring that the NIC has not taken.
pub(crate) const PENDING_LISTED: u64 = 4;

/// How often a survey looks at the pending operations of one rank, at most, to find a moment in
/// which the NIC takes no receive of it. The last look is told as it is.
pub(crate) const PENDING_LOOKS: u32 = 8;

/// The ranks that are not blocked which a node manager reports when the time of a job is over. The
/// launcher names fewer.
pub(crate) const UNBLOCKED_RANKS: usize = 64;

/// Ranks in one part of a survey: a part has at most a megabyte, so it does not hold up output.
pub(crate) const SURVEY_PART: usize = 256;

/// The most that a blocked rank takes in a frame: its number, its node and its call, and its wait
/// state.
const SIGHTING_BYTES: usize = (3 + wait_state::WAIT_STATE_WORDS) * 10;

// A node manager may have all ranks of a job, and all of them may be blocked.
const _: () = assert!(64 + MAX_RANKS * SIGHTING_BYTES <= MAX_FRAME_BYTES);

/// The bytes that a pair of the key-value space adds to its own in a frame: two lengths.
pub(crate) const PMI_PAIR_OVERHEAD: usize = 4;

// A frame also holds the name of a group, which is shorter than a line.
const _: () = assert!(PMI_SPACE_BYTES + 2 * bcs_core::pmi::LINE_BYTES <= MAX_FRAME_BYTES);

// Its wait state, its pending operations, and the counters of its recorder with a place in its
// source.
const _: () = assert!(SURVEY_PART * (2 * SIGHTING_BYTES + 1_024) <= MAX_FRAME_BYTES / 8);
