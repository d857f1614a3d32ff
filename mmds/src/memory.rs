//! The memory of a recorder, for its writer and its reader.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

/// Words that the recorder of a rank writes. They read as zero at first.
pub trait WordMemory {
    /// Returns all words.
    fn words(&self) -> &[AtomicU64];
}

/// The words that a rank claims to be its recorder's.
pub trait UncheckedWords {
    /// Copies words from the first one on.
    ///
    /// # Errors
    /// Fails if there are fewer words, or the kernel refuses.
    fn read(&self, first: usize, words: &mut [u64]) -> io::Result<()>;
}

impl WordMemory for Box<[AtomicU64]> {
    #[inline]
    fn words(&self) -> &[AtomicU64] {
        self
    }
}

impl UncheckedWords for Box<[AtomicU64]> {
    fn read(&self, first: usize, words: &mut [u64]) -> io::Result<()> {
        let end = first.checked_add(words.len());
        let from = end.and_then(|end| self.get(first..end));
        let from = from.ok_or(io::ErrorKind::UnexpectedEof)?;
        for (word, from) in words.iter_mut().zip(from) {
            *word = from.load(Ordering::Relaxed);
        }
        Ok(())
    }
}
