//! The Elan MDS: records the work of a node's NIC in each time slice, inside the NIC (paper,
//! section 5.2).
//!
//! The Strobe Receiver of every node keeps a [`SliceRecorder`] (Table 5.2, local figures), and the
//! Strobe Sender keeps a [`StrobeRecorder`] (Table 5.1, global figures). There are two recorders
//! because the two threads may be in two processes. Both take a row for every struck slice, enter
//! it into distributions and totals of the whole run, and keep it if it is in the window.

mod rows;
mod slice_recorder;
mod strobe_recorder;

pub use slice_recorder::SliceRecorder;
pub use strobe_recorder::StrobeRecorder;

use crate::Distribution;

/// A buffer of rows that are entered into distributions later. If a NIC entered the rows of each
/// slice at once, it would fetch some thirty cache lines that programs have evicted since the slice
/// before. A buffered row takes four.
#[derive(Debug)]
struct PendingRows<R>(Vec<R>);

impl<R> PendingRows<R> {
    /// The number of slices that are entered together.
    const MOST: usize = 64;

    fn new() -> Self {
        Self(Vec::with_capacity(Self::MOST))
    }

    /// Stores the row of a slice. Returns whether there is room for another one.
    fn note(&mut self, row: R) -> bool {
        self.0.push(row);
        self.0.len() < Self::MOST
    }
}

/// The times of struck slices, and the numbers of the others. Slices are numbered consecutively. A
/// number that was never struck was an empty slice, which wakes no thread and is only counted.
#[derive(Debug)]
struct SliceLog {
    next: u64,
    previous_strobe_ns: Option<u64>,
    /// Time from one struck slice to the next.
    gap_ns: Distribution,
    /// Lengths of the runs of empty slices, so that their total is the number of empty slices.
    empty_runs: Distribution,
}

impl SliceLog {
    fn new(first_slice: u64) -> Self {
        Self {
            next: first_slice,
            previous_strobe_ns: None,
            gap_ns: Distribution::new(),
            empty_runs: Distribution::new(),
        }
    }

    /// Returns the time since the struck slice before, if this is not the first one.
    fn struck(&mut self, slice: u64, strobe_ns: u64) -> Option<u64> {
        self.passed_before(slice);
        self.next = slice.saturating_add(1);
        let previous_ns = self.previous_strobe_ns.replace(strobe_ns)?;
        let gap_ns = strobe_ns.saturating_sub(previous_ns);
        self.gap_ns.record(gap_ns);
        Some(gap_ns)
    }

    /// Counts all slices before `slice` that were not struck as empty.
    fn passed_before(&mut self, slice: u64) {
        let empty = slice.saturating_sub(self.next);
        if empty > 0 {
            self.empty_runs.record(empty);
        }
    }
}

/// Adds a time to a distribution, unless it is absent.
fn enter(distribution: &mut Distribution, time_ns: u64) {
    if time_ns != crate::dump::NONE {
        distribution.record(time_ns);
    }
}
