//! A layout in the memory of a rank that is not trusted.

use super::cursor::{Cursor, Runs};
use super::run::{BadLayout, BlockRun, HEADER_WORDS, RUN_WORDS};
use crate::limits::MAX_LAYOUT_RUNS;

/// The number of runs read at a time: 10 KiB, so a walk costs one read for each 256 runs.
const WINDOW: usize = 256;

/// The runs of a layout, read when they are needed.
#[derive(Debug)]
pub struct RemoteRuns<F> {
    /// Reads bytes at an address.
    read: F,
    /// The address of run 0.
    address: u64,
    runs: u64,
    size: u64,
    /// Index of the first run in the window.
    first: u64,
    window: Vec<u64>,
}

impl<F: FnMut(u64, &mut [u8]) -> bool> RemoteRuns<F> {
    /// Returns the pieces of bytes `from` to `to` of a message whose layout is at this address.
    /// `read` reads that memory, and returns whether it succeeded.
    ///
    /// # Errors
    /// When the words cannot be read, or are no layout.
    pub fn pieces(
        mut read: F,
        address: u64,
        from: u64,
        to: u64,
    ) -> Result<Cursor<Self>, BadLayout> {
        // A layout that has bytes has a run, so there are at least this many words, and often no
        // more.
        let mut words = [0; HEADER_WORDS + RUN_WORDS];
        fetch(&mut read, address, &mut words)?;
        let [runs, size, extent, first @ ..] = words;
        if runs == 0 || runs > MAX_LAYOUT_RUNS as u64 || size == 0 {
            return Err(BadLayout);
        }
        let remote = Self {
            read,
            address: address.wrapping_add(HEADER_WORDS as u64 * 8),
            runs,
            size,
            first: 0,
            window: first.to_vec(),
        };
        Ok(Cursor::new(remote, size, extent.cast_signed(), from, to))
    }

    fn address_of(&self, index: u64) -> u64 {
        let bytes = index * RUN_WORDS as u64 * 8; // Less than MAX_LAYOUT_RUNS of them.
        self.address.wrapping_add(bytes)
    }

    fn window_has(&self, index: u64) -> Option<&[u64; RUN_WORDS]> {
        let (runs, _) = self.window.as_chunks();
        runs.get(usize::try_from(index.checked_sub(self.first)?).ok()?)
    }

    /// Checks that a run can belong to this layout.
    fn check(&self, run: BlockRun) -> Result<BlockRun, BadLayout> {
        let bytes = run.block.checked_mul(run.count).ok_or(BadLayout)?;
        let end = run.start.checked_add(bytes).ok_or(BadLayout)?;
        let possible = bytes > 0 && end <= self.size;
        possible.then_some(run).ok_or(BadLayout)
    }
}

impl<F: FnMut(u64, &mut [u8]) -> bool> Runs for RemoteRuns<F> {
    fn len(&self) -> u64 {
        self.runs
    }

    fn run(&mut self, index: u64) -> Result<BlockRun, BadLayout> {
        if self.window_has(index).is_none() {
            let left = self.runs.checked_sub(index).ok_or(BadLayout)?;
            let runs = usize::try_from(left).unwrap_or(WINDOW).min(WINDOW);
            self.window.resize(runs * RUN_WORDS, 0);
            let address = self.address_of(index);
            fetch(&mut self.read, address, &mut self.window)?;
            self.first = index;
        }
        let words = *self.window_has(index).ok_or(BadLayout)?;
        self.check(BlockRun::from_words(words))
    }

    fn start(&mut self, index: u64) -> Result<u64, BadLayout> {
        if let Some(&[start, ..]) = self.window_has(index) {
            return Ok(start);
        }
        let mut start = [0];
        let address = self.address_of(index);
        fetch(&mut self.read, address, &mut start)?;
        Ok(start[0])
    }
}

fn fetch(
    read: &mut impl FnMut(u64, &mut [u8]) -> bool,
    address: u64,
    words: &mut [u64],
) -> Result<(), BadLayout> {
    use zerocopy::IntoBytes;
    let there = read(address, words.as_mut_bytes());
    there.then_some(()).ok_or(BadLayout)
}
