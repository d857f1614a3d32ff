//! The bounds of what is recorded, each with its reason.

/// Slices of which rows are kept if nobody says otherwise: two to five seconds of slices of 250 to 500 µs, and 3 MiB of
/// a node.
pub const DEFAULT_SLICE_ROWS: u64 = 10_000;

/// Slices of which rows are kept at most: four minutes of slices of 250 µs, and 224 MiB of a node.
pub const MOST_SLICE_ROWS: u64 = 1 << 20;

/// Calls and messages that a rank of a small job keeps if nobody says otherwise: a second of a program that calls each
/// 15 µs, and 6 MiB if they are all used.
pub const DEFAULT_EVENTS: u64 = 1 << 16;

/// Rows of each kind (slices, calls, messages) that all ranks of a job keep together if nobody says otherwise: the dump
/// of a job has at most 100 MB of rows, however many ranks it has (and 66 KB of figures of each rank that uses many).
pub const DEFAULT_ROWS_OF_JOB: u64 = 3 << 18;

/// Calls and messages that a rank keeps at most: 1.3 GiB if they are all used.
pub const MOST_EVENTS: u64 = 1 << 23;

/// Significant digits of histograms if nobody says otherwise: buckets are less than 1 % wide, and a distribution takes
/// 37 KiB where all of it is used.
pub const DEFAULT_DIGITS: u8 = 2;

/// Significant digits of histograms at most: a distribution takes 296 KiB, and one more digit eight times that.
pub const MOST_DIGITS: u8 = 3;
