//! The bounds of recording, each with its reason.

/// The default number of slices whose rows are kept: two to five seconds of slices of 250 to 500
/// µs, and 3 MiB of a node.
pub const DEFAULT_SLICE_ROWS: u64 = 10_000;

/// The largest number of slices whose rows are kept: four minutes of slices of 250 µs, and 224 MiB
/// of a node.
pub const MOST_SLICE_ROWS: u64 = 1 << 20;

/// The default number of calls and messages that a rank of a small job keeps: a second of a program
/// that makes a call every 15 µs, and 6 MiB if all are used.
pub const DEFAULT_EVENTS: u64 = 1 << 16;

/// The default number of rows of each kind (slices, calls, messages) that all ranks of a job keep
/// together. So the dump of a job has at most 100 MB of rows, whatever its number of ranks (and 66
/// KB of figures of each rank that uses many).
pub const DEFAULT_ROWS_OF_JOB: u64 = 3 << 18;

/// The largest number of calls and messages that a rank keeps: 1.3 GiB if all are used.
pub const MOST_EVENTS: u64 = 1 << 23;

/// The default number of significant digits of histograms: buckets are less than 1 % wide, and a
/// fully used distribution takes 37 KiB.
pub const DEFAULT_DIGITS: u8 = 2;

/// The largest number of significant digits of histograms: a distribution takes 296 KiB, and with
/// one more digit eight times that.
pub const MOST_DIGITS: u8 = 3;

/// The least time between two readings of a thread's account with the kernel. A reading takes some
/// 0.3 µs, so they cost less than a thousandth of the time.
pub const USAGE_EVERY_NS: u64 = 1_000_000;
