//! A walk through a layout, from any byte of a message to any other.

use super::run::{BadLayout, BlockRun};
use std::ops::Range;

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
    fn run(&mut self, index: u64) -> Result<BlockRun, BadLayout>;

    /// [`BlockRun::start`] of one of them.
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
    /// The addresses from the first byte of any of them to the last, if they are addresses; `base` is the
    /// address of the message.
    #[must_use]
    pub fn span(self, base: u64) -> Option<Range<u64>> {
        let first = i128::from(base.wrapping_add_signed(self.offset));
        let steps = i128::from(self.count.checked_sub(1)?);
        let last = first + i128::from(self.stride) * steps;
        let start = u64::try_from(first.min(last)).ok()?;
        let end = u64::try_from(first.max(last) + i128::from(self.block)).ok()?;
        Some(start..end)
    }

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

/// The walk. Its steps take constant time, and only those that begin or end within a run divide; the
/// first one takes a bisection of the runs.
#[derive(Clone, Debug)]
pub struct Cursor<R> {
    runs: R,
    size: u64,
    extent: i64,
    position: u64,
    end: u64,
    at: Option<RunPosition>,
}

/// Where a walk is in a run.
#[derive(Clone, Copy, Debug)]
struct RunPosition {
    /// Which run of the element it is.
    index: u64,
    run: BlockRun,
    /// Bytes of all its blocks.
    bytes: u64,
    /// How many of them the walk has behind it.
    done: u64,
    /// Where the element is, modulo 2^64.
    element: i64,
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
            // Elements of one block each are blocks at equal distances themselves.
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

    /// The run where the walk begins.
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

    /// The run that follows one; after the last one the first one of the next element. They follow
    /// each other without a gap.
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

    /// A run from its start on, if that is where it should be.
    fn enter(&mut self, index: u64, start: u64, element: i64) -> Result<RunPosition, BadLayout> {
        let run = self.runs.run(index)?;
        let follows = run.start == start;
        follows
            .then(|| RunPosition::new(index, run, element))
            .ok_or(BadLayout)
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

    /// Blocks from the start of the run on.
    fn strip(&self, stride: i64, count: u64) -> Strip {
        Strip {
            offset: self.element.wrapping_add(self.run.offset),
            block: self.run.block,
            stride,
            count,
        }
    }

    /// What is next, of at most so many bytes: whole blocks, or a part of one.
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

/// A distance so many times, modulo 2^64.
fn times(distance: i64, count: u64) -> i64 {
    distance.wrapping_mul(count.cast_signed())
}
