//! A walk through a layout, from any byte of a message to any other.

use super::run::{BadLayout, BlockRun};
use std::ops::Range;

/// A source of the runs of a layout.
pub trait Runs {
    /// Returns the number of runs.
    fn len(&self) -> u64;

    /// Returns whether there are no runs.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns one of the runs.
    ///
    /// # Errors
    /// If the run cannot be read, or is invalid.
    fn run(&mut self, index: u64) -> Result<BlockRun, BadLayout>;

    /// Returns [`BlockRun::start`] of one of the runs.
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
    /// The offset of the first piece, in bytes from the address of the message, modulo 2^64.
    pub offset: i64,
    /// Bytes of each piece.
    pub block: u64,
    /// Bytes from one piece to the next.
    pub stride: i64,
    /// The number of pieces.
    pub count: u64,
}

impl Strip {
    /// Returns the addresses from the first byte of any piece to the last, if they are valid.
    /// `base` is the address of the message.
    #[must_use]
    pub fn span(self, base: u64) -> Option<Range<u64>> {
        let first = i128::from(base.wrapping_add_signed(self.offset));
        let steps = i128::from(self.count.checked_sub(1)?);
        let last = first + i128::from(self.stride) * steps;
        let start = u64::try_from(first.min(last)).ok()?;
        let end = u64::try_from(first.max(last) + i128::from(self.block)).ok()?;
        Some(start..end)
    }

    /// Returns the offsets of the pieces.
    pub fn offsets(self) -> impl Iterator<Item = i64> {
        let mut offset = self.offset;
        (0..self.count).map(move |_| {
            let this = offset;
            offset = offset.wrapping_add(self.stride);
            this
        })
    }
}

/// A walk through a layout. Its steps take constant time, and only those that begin or end within a
/// run divide. The first step finds its run by bisection.
#[derive(Clone, Debug)]
pub struct Cursor<R> {
    runs: R,
    size: u64,
    extent: i64,
    position: u64,
    end: u64,
    at: Option<RunPosition>,
}

/// The position of a walk in a run.
#[derive(Clone, Copy, Debug)]
struct RunPosition {
    /// The index of the run in the element.
    index: u64,
    run: BlockRun,
    /// Bytes of all blocks of the run.
    bytes: u64,
    /// The number of these bytes behind the walk.
    done: u64,
    /// The offset of the element, modulo 2^64.
    element: i64,
}

impl<R: Runs> Cursor<R> {
    /// Begins a walk from byte `from` to byte `to` of a message whose elements have `size` bytes.
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

    /// Returns the next pieces, or `None` at the end. Every step moves on by at least one byte, so
    /// a walk ends, whatever the runs are.
    ///
    /// # Errors
    /// When the runs contradict each other, or cannot be read.
    #[inline]
    pub fn advance(&mut self) -> Result<Option<Strip>, BadLayout> {
        let left = self.end - self.position;
        if left == 0 {
            return Ok(None);
        }
        let mut at = match self.at {
            Some(at) if at.done < at.bytes => at,
            Some(at) => self.after(at)?,
            None => self.first()?,
        };
        let strip = if at.done == 0 && at.bytes == self.size && at.run.count == 1 && left > at.bytes
        {
            // If each element is one block, the elements themselves are blocks at equal distances.
            let count = left / at.bytes;
            let strip = at.strip(self.extent, count);
            at.element = at.element.wrapping_add(times(self.extent, count - 1));
            at.done = at.bytes;
            strip
        } else {
            at.take(left)
        };
        self.position += strip.block * strip.count;
        self.at = Some(at);
        Ok(Some(strip))
    }

    /// Returns the position where the walk begins.
    fn first(&mut self) -> Result<RunPosition, BadLayout> {
        let (element, within) = (self.position / self.size, self.position % self.size);
        let index = self.find(within)?;
        let run = self.runs.run(index)?;
        let at = RunPosition::new(index, run, times(self.extent, element));
        let done = within
            .checked_sub(run.start)
            .filter(|&done| done < at.bytes);
        let done = done.ok_or(BadLayout)?;
        Ok(RunPosition { done, ..at })
    }

    /// Returns the position of the next run. After the last run of an element comes the first run
    /// of the next element, without a gap.
    fn after(&mut self, at: RunPosition) -> Result<RunPosition, BadLayout> {
        let end = at.run.start + at.bytes;
        if at.index + 1 < self.runs.len() {
            return self.enter(at.index + 1, end, at.element);
        }
        if end != self.size {
            return Err(BadLayout);
        }
        let element = at.element.wrapping_add(self.extent);
        if at.index == 0 {
            return Ok(RunPosition {
                done: 0,
                element,
                ..at
            });
        }
        self.enter(0, 0, element)
    }

    /// Enters a run at its start, if the run begins at that byte.
    fn enter(&mut self, index: u64, start: u64, element: i64) -> Result<RunPosition, BadLayout> {
        let run = self.runs.run(index)?;
        let follows = run.start == start;
        follows
            .then(|| RunPosition::new(index, run, element))
            .ok_or(BadLayout)
    }

    /// Finds the last run that starts at this byte or before.
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

impl RunPosition {
    fn new(index: u64, run: BlockRun, element: i64) -> Self {
        let (bytes, done) = (run.bytes(), 0);
        Self {
            index,
            run,
            bytes,
            done,
            element,
        }
    }

    /// Returns a strip of blocks from the current position of the run.
    fn strip(&self, stride: i64, count: u64) -> Strip {
        Strip {
            offset: self.element.wrapping_add(self.run.offset),
            block: self.run.block,
            stride,
            count,
        }
    }

    /// Takes the next at most `left` bytes: whole blocks, or a part of one.
    fn take(&mut self, left: u64) -> Strip {
        let run = self.run;
        if self.done == 0 && self.bytes <= left {
            self.done = self.bytes;
            return self.strip(run.stride, run.count);
        }
        let (block, skip) = (self.done / run.block, self.done % run.block);
        let mut strip = self.strip(run.stride, 1);
        strip.offset = strip.offset.wrapping_add(times(run.stride, block));
        if skip > 0 || left < run.block {
            strip.offset = strip.offset.wrapping_add(skip.cast_signed());
            strip.block = (run.block - skip).min(left);
        } else {
            strip.count = (run.count - block).min(left / run.block);
        }
        self.done += strip.block * strip.count;
        strip
    }
}

/// Multiplies a distance by a count, modulo 2^64.
fn times(distance: i64, count: u64) -> i64 {
    distance.wrapping_mul(count.cast_signed())
}
