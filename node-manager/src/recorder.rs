//! What a rank records of itself, as its node manager has it: memory that the rank writes and that is read when the rank
//! is over.

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
    /// A recorder for a rank of so many, if this is what is recorded.
    pub(crate) fn new(what: &Selection, rank: u32, ranks: usize) -> Result<Option<Self>, MapError> {
        let Some(selection) = what.of_rank(rank) else {
            return Ok(None);
        };
        let layout = RecorderLayout::new(selection, what.window(), ranks);
        let words = Words(RecorderFile::create(layout.words())?);
        Ok(Some(Self { words, layout }))
    }

    /// The memory, for the rank.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.words.0.fd()
    }

    /// What it holds of a rank that runs, if it can be read and there is anything.
    pub(crate) fn take_snapshot(&self, now_ns: u64) -> Option<RecorderSnapshot> {
        mds::mmds::take_snapshot(&self.words, &self.layout, now_ns).ok()?
    }

    /// What it holds, of a rank that was seen to have ended then.
    pub(crate) fn dump(&self, ended_ns: u64) -> io::Result<RankDump> {
        mds::mmds::read(&self.words, &self.layout, ended_ns)
    }
}
