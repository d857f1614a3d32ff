//! The builder of a layout: it takes blocks in the order of the message, and merges them as they
//! come.

use super::data_layout::DataLayout;
use super::run::{BlockRun, HEADER_WORDS, RUN_WORDS};
use crate::limits::MAX_LAYOUT_RUNS;
use xxhash_rust::xxh3::xxh3_128;
use zerocopy::IntoBytes;

/// A layout with more than [`MAX_LAYOUT_RUNS`] runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it has more than {MAX_LAYOUT_RUNS} pieces that do not lie at equal distances")]
pub struct TooManyRuns;

/// The runs of an element, as far as they are known. Neighbours that form one block, or blocks of
/// one length at equal distances, are one run.
///
/// The numbers belong to a type whose bounds were checked to fit signed 64-bit integers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LayoutBuilder {
    /// [`BlockRun::start`] is not known yet and 0.
    runs: Vec<BlockRun>,
}

/// Layouts with fewer runs are walked run by run.
const LEAST_IRREGULAR_RUNS: usize = 16;

/// If runs have more parts on average than this, a loop over each run is worth its cost.
const MOST_PARTS_OF_A_RUN: u64 = 4;

/// For shorter parts, the stored offset of each part costs more than it saves.
const LEAST_PART_BYTES: u64 = 4;

/// Returns the greatest common divisor.
fn gcd(mut one: u64, mut other: u64) -> u64 {
    while other != 0 {
        (one, other) = (other, one % other);
    }
    one
}

impl LayoutBuilder {
    /// Returns the layout of one block.
    #[must_use]
    pub fn block(offset: i64, len: u64) -> Self {
        let mut builder = Self::default();
        if len > 0 {
            builder.runs.push(run(offset, len, 0, 1));
        }
        builder
    }

    /// Returns the builder of an element of another layout.
    #[must_use]
    pub fn from_layout(layout: &DataLayout) -> Self {
        let runs = layout.runs().map(|run| BlockRun { start: 0, ..run });
        Self {
            runs: runs.collect(),
        }
    }

    /// Adds one block.
    ///
    /// # Errors
    /// [`TooManyRuns`].
    pub fn push(&mut self, offset: i64, len: u64) -> Result<(), TooManyRuns> {
        self.push_run(run(offset, len, 0, 1))
    }

    /// Adds all blocks of another builder, displaced.
    ///
    /// # Errors
    /// [`TooManyRuns`].
    pub fn append(&mut self, other: &Self, displacement: i64) -> Result<(), TooManyRuns> {
        for &run in &other.runs {
            self.push_run(BlockRun {
                offset: run.offset.wrapping_add(displacement),
                ..run
            })?;
        }
        Ok(())
    }

    /// Repeats the blocks `count` times, at equal distances.
    ///
    /// # Errors
    /// [`TooManyRuns`].
    pub fn repeat(&self, count: u64, stride: i64) -> Result<Self, TooManyRuns> {
        if count == 1 {
            return Ok(self.clone());
        }
        match self.runs[..] {
            [] => return Ok(Self::default()),
            _ if count == 0 => return Ok(Self::default()),
            [one] if one.count == 1 => {
                let mut repeated = Self::default();
                repeated.push_run(run(one.offset, one.block, stride, count))?;
                return Ok(repeated);
            }
            [one] if times(one.stride, one.count) == Some(stride) => {
                let runs = vec![run(
                    one.offset,
                    one.block,
                    one.stride,
                    one.count.saturating_mul(count),
                )];
                return Ok(Self { runs });
            }
            _ => {}
        }
        // This also holds for runs that would merge, because that many steps take too long.
        let steps = count.checked_mul(self.runs.len() as u64);
        if steps.is_none_or(|steps| steps > MAX_LAYOUT_RUNS as u64) {
            return Err(TooManyRuns);
        }
        let mut repeated = Self::default();
        let mut displacement = 0i64;
        for _ in 0..count {
            repeated.append(self, displacement)?;
            displacement = displacement.wrapping_add(stride);
        }
        Ok(repeated)
    }

    /// Returns the layout of elements that follow each other at this distance.
    #[must_use]
    pub fn finish(self, extent: i64) -> DataLayout {
        let mut words = Vec::with_capacity(HEADER_WORDS + self.runs.len() * RUN_WORDS);
        words.extend([self.runs.len() as u64, 0, extent.cast_unsigned()]);
        let (mut start, mut blocks) = (0, 0);
        let (part, places) = self.parts();
        let ends = self.runs.iter().map(|run| {
            let (first, last) = (run.offset, last_block(run));
            let behind = first.max(last).saturating_add_unsigned(run.block);
            [first.min(last), behind]
        });
        let bounds = ends.reduce(|[low, high], [first, behind]| [low.min(first), high.max(behind)]);
        let bounds = bounds.unwrap_or_default();
        for run in self.runs {
            blocks += run.count;
            words.extend(BlockRun { start, ..run }.words());
            start += run.bytes();
        }
        words[1] = start;
        DataLayout {
            bounds,
            digest: xxh3_128(words.as_bytes()),
            words: words.into_boxed_slice(),
            grain: u32::try_from(start / blocks.max(1)).unwrap_or(u32::MAX),
            part,
            places,
        }
    }

    /// Returns a length of which all blocks are whole multiples, and the offsets of all parts of
    /// that length, if runs are short. Blocks that are adjacent by chance are then still separate
    /// parts. (To read an offset costs as much memory traffic as to read a part of the same size,
    /// so offsets have 32 bits. A layout that spans 2 GiB is walked by runs.)
    fn parts(&self) -> (u64, Box<[i32]>) {
        let unit = self.runs.iter().fold(0, |unit, run| gcd(unit, run.block));
        let bytes = self.runs.iter().map(BlockRun::bytes);
        let bytes = bytes.fold(0, u64::saturating_add);
        let runs = self.runs.len();
        let few = runs < LEAST_IRREGULAR_RUNS || unit < LEAST_PART_BYTES;
        if few || bytes / unit / MOST_PARTS_OF_A_RUN > runs as u64 {
            return (0, Box::default());
        }
        let offset = |run: &BlockRun, part: u64| {
            let parts = run.block / unit;
            let distance = run.stride.wrapping_mul((part / parts).cast_signed());
            let within = (part % parts * unit).cast_signed();
            run.offset.wrapping_add(distance).wrapping_add(within)
        };
        let each = self.runs.iter().flat_map(|run| {
            let parts = run.bytes() / unit;
            (0..parts).map(move |part| i32::try_from(offset(run, part)).ok())
        });
        let places: Option<_> = each.collect();
        places.map_or_else(Default::default, |places| (unit, places))
    }

    fn push_run(&mut self, mut next: BlockRun) -> Result<(), TooManyRuns> {
        if next.block == 0 || next.count == 0 {
            return Ok(());
        }
        if next.count > 1 && i64::try_from(next.block) == Ok(next.stride) {
            next = run(next.offset, next.block * next.count, 0, 1);
        }
        let Some(last) = self.runs.last_mut() else {
            self.runs.push(next);
            return Ok(());
        };
        // The first block of the next one continues the last block of the last one.
        if end(last) == Some(next.offset) {
            let (offset, block) = (last_block(last), last.block + next.block);
            last.count -= 1;
            if last.count == 0 {
                self.runs.pop();
            }
            let rest = after_first(next);
            // Neither of the two runs continues the run it now follows: blocks do not merge twice.
            self.join(run(offset, block, 0, 1))?;
            return rest.map_or(Ok(()), |rest| self.join(rest));
        }
        self.join(next)
    }

    /// Adds a run that does not continue the last block.
    fn join(&mut self, next: BlockRun) -> Result<(), TooManyRuns> {
        if let Some(last) = self.runs.last_mut()
            && last.block == next.block
        {
            let distance = i128::from(next.offset) - i128::from(last_block(last));
            let fits = |run: &BlockRun| run.count == 1 || i128::from(run.stride) == distance;
            if let Ok(distance) = i64::try_from(distance)
                && fits(last)
                && fits(&next)
            {
                last.stride = distance;
                last.count += next.count;
                return Ok(());
            }
        }
        if self.runs.len() == MAX_LAYOUT_RUNS {
            return Err(TooManyRuns);
        }
        self.runs.push(next);
        Ok(())
    }
}

fn run(offset: i64, block: u64, stride: i64, count: u64) -> BlockRun {
    let start = 0;
    // A single block has no stride. With stride 0, equal blocks have equal runs.
    let stride = if count == 1 { 0 } else { stride };
    BlockRun {
        start,
        offset,
        block,
        stride,
        count,
    }
}

fn times(distance: i64, count: u64) -> Option<i64> {
    distance.checked_mul(i64::try_from(count).ok()?)
}

/// Returns the offset of the last block of a run.
fn last_block(run: &BlockRun) -> i64 {
    let distance = run
        .stride
        .wrapping_mul(run.count.wrapping_sub(1).cast_signed());
    run.offset.wrapping_add(distance)
}

/// Returns the end of the last block of a run.
fn end(run: &BlockRun) -> Option<i64> {
    last_block(run).checked_add(i64::try_from(run.block).ok()?)
}

/// Returns a run without its first block.
fn after_first(of: BlockRun) -> Option<BlockRun> {
    let offset = of.offset.wrapping_add(of.stride);
    (of.count > 1).then(|| run(offset, of.block, of.stride, of.count - 1))
}
