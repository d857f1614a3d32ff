//! The recorder of a rank at its node manager: memory that the rank writes, and that we read when
//! the rank has ended.

use bcs_core::memory::{MapError, RecorderFile};
use mds::Selection;
use mds::dump::RankDump;
use mds::mmds::{RecorderLayout, RecorderSnapshot, UncheckedWords};
use std::io;
use std::os::fd::BorrowedFd;

/// The recorder of a rank.
#[derive(Debug)]
pub(crate) struct RankRecorder {
    words: Words,
    layout: RecorderLayout,
}

#[derive(Debug)]
struct Words(RecorderFile);

impl UncheckedWords for Words {
    fn read(&self, first: usize, words: &mut [u64]) -> io::Result<()> {
        Ok(self.0.read(first, words)?)
    }
}

impl RankRecorder {
    /// Makes a recorder for one of this number of ranks, if ranks are recorded.
    pub(crate) fn new(what: &Selection, rank: u32, ranks: usize) -> Result<Option<Self>, MapError> {
        let Some(selection) = what.of_rank(rank) else {
            return Ok(None);
        };
        let layout = RecorderLayout::new(selection, what.window(), ranks);
        let words = Words(RecorderFile::create(layout.words())?);
        Ok(Some(Self { words, layout }))
    }

    /// Returns the memory, for the rank.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.words.0.fd()
    }

    /// Reads the records of a running rank, if that is possible and there are any.
    pub(crate) fn take_snapshot(&self, now_ns: u64) -> Option<RecorderSnapshot> {
        mds::mmds::take_snapshot(&self.words, &self.layout, now_ns).ok()?
    }

    /// Reads the records of a rank whose end was seen at this time.
    pub(crate) fn dump(&self, ended_ns: u64) -> io::Result<RankDump> {
        mds::mmds::read(&self.words, &self.layout, ended_ns)
    }
}
