//! A walk through a layout, from any byte of a message to any other.

use super::{BadLayout, Run};

/// Who knows the runs of a layout.
pub trait Runs {
    /// How many there are.
    fn len(&self) -> u64;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One of them.
    ///
    /// # Errors
    /// If it cannot be had, or cannot be.
    fn run(&mut self, index: u64) -> Result<Run, BadLayout>;

    /// [`Run::start`] of one of them.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    fn start(&mut self, index: u64) -> Result<u64, BadLayout> {
        Ok(self.run(index)?.start)
    }
}

/// Pieces of memory that follow each other in a message: `count` of them, of `block` bytes each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strip {
    /// Where the first one is, in bytes from the address of the message, modulo 2^64.
    pub offset: i64,
    /// Bytes of each.
    pub block: u64,
    /// Bytes from one to the next.
    pub stride: i64,
    /// How many.
    pub count: u64,
}

impl Strip {
    /// Their offsets.
    pub fn offsets(self) -> impl Iterator<Item = i64> {
        let mut offset = self.offset;
        (0..self.count).map(move |_| {
            let this = offset;
            offset = offset.wrapping_add(self.stride);
            this
        })
    }
}

/// The walk. Its steps take constant time; the first one takes a bisection of the runs.
#[derive(Clone, Debug)]
pub struct Cursor<R> {
    runs: R,
    size: u64,
    extent: i64,
    position: u64,
    end: u64,
    at: Option<(u64, Run)>,
}

impl<R: Runs> Cursor<R> {
    /// From byte `from` to byte `to` of a message, whose elements have `size` bytes.
    pub(super) fn new(runs: R, size: u64, extent: i64, from: u64, to: u64) -> Self {
        assert!(from >= to || size > 0, "elements without bytes make none");
        Self {
            runs,
            size,
            extent,
            position: from,
            end: to.max(from),
            at: None,
        }
    }

    /// The next pieces; `None` at the end.
    ///
    /// # Errors
    /// When the runs contradict each other, or cannot be had. Every step moves on by a byte at
    /// least, so a walk ends, whatever the runs are.
    pub fn advance(&mut self) -> Result<Option<Strip>, BadLayout> {
        let left = self.end - self.position;
        if left == 0 {
            return Ok(None);
        }
        let (element, within) = (self.position / self.size, self.position % self.size);
        let run = self.seek(within)?;
        let (block, skip) = (
            (within - run.start) / run.block,
            (within - run.start) % run.block,
        );
        let offset = times(self.extent, element)
            .wrapping_add(run.offset)
            .wrapping_add(times(run.stride, block));
        let strip = if skip > 0 || left < run.block {
            Strip {
                offset: offset.wrapping_add(skip.cast_signed()),
                block: (run.block - skip).min(left),
                stride: 0,
                count: 1,
            }
        } else if run.block == self.size {
            // Elements of one block each are blocks at equal distances themselves.
            Strip {
                offset,
                block: run.block,
                stride: self.extent,
                count: left / run.block,
            }
        } else {
            Strip {
                offset,
                block: run.block,
                stride: run.stride,
                count: (run.count - block).min(left / run.block),
            }
        };
        self.position += strip.block * strip.count;
        Ok(Some(strip))
    }

    /// The run with this byte of an element. Only the first one is searched for: those after it
    /// follow each other.
    fn seek(&mut self, within: u64) -> Result<Run, BadLayout> {
        let index = match self.at {
            Some((_, run)) if run.covers(within) => return Ok(run),
            Some((index, _)) => (index + 1) % self.runs.len(),
            None => self.find(within)?,
        };
        let run = self.runs.run(index)?;
        if !run.covers(within) {
            return Err(BadLayout);
        }
        self.at = Some((index, run));
        Ok(run)
    }

    /// The last run that starts at this byte or before.
    fn find(&mut self, within: u64) -> Result<u64, BadLayout> {
        let (mut low, mut high) = (0, self.runs.len());
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.runs.start(middle)? <= within {
                low = middle;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }
}

/// A distance so many times, modulo 2^64.
fn times(distance: i64, count: u64) -> i64 {
    distance.wrapping_mul(count.cast_signed())
}
