//! The log of the accesses to a rank's memory in a window. It lies in that rank's memory, and the
//! origins change it.
//!
//! ```text
//! word  0       1           2 ...
//!       added   exposures   entries of 10 words
//! ```

use super::access::{Access, WORDS};
use std::sync::atomic::{AtomicU64, Ordering};

/// Accesses that a log holds. Later ones replace the oldest.
pub(in crate::mpi::window) const ENTRIES: usize = 256;

/// How many accesses were added.
const ADDED: usize = 0;
/// How many exposure epochs the rank has posted.
const EXPOSURES: usize = 1;
/// Words before the entries.
const HEAD_WORDS: usize = 2;

/// Words of a log.
const ALL_WORDS: usize = HEAD_WORDS + ENTRIES * WORDS;

const WORD_BYTES: u64 = size_of::<u64>() as u64;

/// A log.
#[derive(Debug)]
pub(in crate::mpi::window) struct AccessLog(Box<[AtomicU64]>);

impl Default for AccessLog {
    fn default() -> Self {
        Self((0..ALL_WORDS).map(|_| AtomicU64::new(0)).collect())
    }
}

impl AccessLog {
    /// Returns the address that the other ranks are told.
    pub(in crate::mpi::window) fn address(&self) -> u64 {
        self.0.as_ptr().expose_provenance() as u64
    }

    /// Counts an exposure epoch, which this rank is about to post.
    pub(in crate::mpi::window) fn expose(&self) {
        self.0[EXPOSURES].fetch_add(1, Ordering::Release);
    }
}

/// Where the number of accesses is in the log at this address.
pub(in crate::mpi::window) fn added_at(log: u64) -> u64 {
    log + WORD_BYTES * ADDED as u64
}

/// Where an entry is in the log at this address.
pub(in crate::mpi::window) fn entry_at(log: u64, number: u64) -> u64 {
    let place = (number % ENTRIES as u64) * WORDS as u64;
    log + WORD_BYTES * (HEAD_WORDS as u64 + place)
}

/// A copy of a log.
#[derive(Debug)]
pub(in crate::mpi::window) struct LogCopy(Vec<u64>);

impl LogCopy {
    pub(in crate::mpi::window) fn new() -> Self {
        Self(vec![0; ALL_WORDS])
    }

    pub(in crate::mpi::window) fn words(&mut self) -> &mut [u64] {
        &mut self.0
    }

    pub(in crate::mpi::window) fn exposures(&self) -> u64 {
        self.0[EXPOSURES]
    }

    /// Returns the accesses beside this one that the log still holds. The
    /// entries are checked, because other ranks have written them.
    pub(in crate::mpi::window) fn others(&self, number: u64) -> impl Iterator<Item = Access> {
        let added = self.0[ADDED];
        let first = added.saturating_sub(ENTRIES as u64);
        let numbers = (first..added).filter(move |&it| it != number);
        let (entries, _) = self.0[HEAD_WORDS..].as_chunks::<WORDS>();
        numbers.filter_map(move |number| {
            let place = usize::try_from(number % ENTRIES as u64).expect("less than the entries");
            Access::decode(number, &entries[place])
        })
    }
}
