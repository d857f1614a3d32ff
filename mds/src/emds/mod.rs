//! The Elan MDS: what a node's NIC does in each time slice, recorded inside the NIC (paper, section 5.2).
//!
//! The Strobe Receiver of every node keeps a [`SliceRecorder`] (Table 5.2, local figures) and the Strobe
//! Sender keeps a [`StrobeRecorder`] (Table 5.1, global figures); they are two because the two threads
//! may be in two processes. Both take one struct of figures for every struck slice. Figures by slice number
//! in a window of slices, as in Figures 5.3 to 5.5, can be kept from the same structs.

mod slice_recorder;
mod strobe_recorder;

pub use slice_recorder::{SliceFigures, SliceRecorder};
pub use strobe_recorder::{StrobeFigures, StrobeRecorder};

use crate::Distribution;

/// Figures of slices that are noted, and entered into distributions later. A NIC that enters those of each slice
/// at once fetches some twenty cache lines for it that programs have pushed out since the slice before; a note takes
/// two.
#[derive(Debug)]
struct Notes<F>(Vec<F>);

impl<F> Notes<F> {
    /// So many slices are entered at a time.
    const MOST: usize = 64;

    fn new() -> Self {
        Self(Vec::with_capacity(Self::MOST))
    }

    /// Notes the figures of a slice. If there is no more room, gives all that are to be entered now.
    fn note(&mut self, figures: F) -> Option<Vec<F>> {
        self.0.push(figures);
        (self.0.len() == Self::MOST).then(|| self.take())
    }

    /// All that are to be entered.
    fn take(&mut self) -> Vec<F> {
        std::mem::replace(&mut self.0, Vec::with_capacity(Self::MOST))
    }
}

/// When slices were struck, and which were not: they are numbered through, and a number that was never
/// struck was an empty slice, which wakes nobody and is only counted.
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

    fn struck(&mut self, slice: u64, strobe_ns: u64) {
        self.passed_before(slice);
        self.next = slice.saturating_add(1);
        if let Some(previous_ns) = self.previous_strobe_ns.replace(strobe_ns) {
            self.gap_ns.record(strobe_ns.saturating_sub(previous_ns));
        }
    }

    /// All slices before `slice` that were not struck were empty.
    fn passed_before(&mut self, slice: u64) {
        let empty = slice.saturating_sub(self.next);
        if empty > 0 {
            self.empty_runs.record(empty);
        }
    }
}
