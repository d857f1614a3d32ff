//! The bounds of what is read. They keep a file from making its reader use more memory than the
//! file is long.

/// The longest JSON file or histogram log that is read. Those of a rank that sent to 10,000 others
/// from 1,000 places have 3 MiB.
pub(super) const MOST_TEXT_BYTES: u64 = 64 << 20;

/// The longest table that is read: 2^24 rows of the widest table (27 columns) have 3.4 GiB, and
/// recorders keep 2^16 by default.
pub(super) const MOST_TABLE_BYTES: u64 = 4 << 30;

/// The longest first line of a table, which names its columns. The widest table has 1.5 KiB.
pub(super) const MOST_HEAD_BYTES: usize = 64 << 10;

/// The largest size of one inflated histogram. A histogram of three digits has 54 blocks of 1,024
/// counts, each of nine bytes at most.
pub(super) const MOST_HISTOGRAM_BYTES: u64 = 1 << 20;

const _: () = assert!(MOST_HISTOGRAM_BYTES > 54 * 1024 * 9 + 40);
const _: () = assert!(MOST_TABLE_BYTES > MOST_TEXT_BYTES && MOST_TEXT_BYTES > MOST_HISTOGRAM_BYTES);
