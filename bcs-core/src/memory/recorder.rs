//! Memory for a rank's record: words that the rank writes, and that its node manager reads when the
//! rank has ended, in whatever way.
//!
//! The node manager never maps this memory. It copies from the file, so that parts which the rank
//! has not touched take no memory then, either. This crate does not define the meaning of the
//! words.

#![expect(
    unsafe_code,
    reason = "words that are found once, since they are used many times a call"
)]

use super::mapping::{MapError, Mapping, sealed_memfd};
use rustix::io::Errno;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

/// The rank's side.
#[derive(Debug)]
pub struct RecorderMemory {
    /// The mapping, which is kept as long as its words are used.
    _mapping: Mapping,
    words: NonNull<[AtomicU64]>,
}

// SAFETY: a mapping, which any thread may use, and words in it.
unsafe impl Send for RecorderMemory {}
// SAFETY: as for Send.
unsafe impl Sync for RecorderMemory {}

/// The node manager's side.
#[derive(Debug)]
pub struct RecorderFile {
    file: OwnedFd,
    words: usize,
}

impl RecorderMemory {
    /// Maps `words` words of a file that a node manager has made.
    ///
    /// # Errors
    /// As [`MapError`] says.
    pub fn map(file: impl AsFd, words: usize) -> Result<Self, MapError> {
        Ok(Self::of(Mapping::shared(file, words * 8)?, words))
    }

    /// Makes memory that only this process sees (tests).
    ///
    /// # Errors
    /// As [`MapError`] says.
    pub fn private(words: usize) -> Result<Self, MapError> {
        Ok(Self::of(Mapping::private(words * 8)?, words))
    }

    /// Checks once that the words lie in the mapping.
    fn of(mapping: Mapping, words: usize) -> Self {
        let words = NonNull::from(mapping.words64(0, words));
        Self {
            _mapping: mapping,
            words,
        }
    }

    /// Returns the words.
    #[inline]
    #[must_use]
    pub fn words(&self) -> &[AtomicU64] {
        // SAFETY: in the mapping, which lives as long as self, and only ever accessed atomically.
        unsafe { self.words.as_ref() }
    }
}

impl RecorderFile {
    /// Makes a file of `words` words, which read as zero and take no memory until they are written.
    ///
    /// # Errors
    /// As [`MapError`] says.
    pub fn create(words: usize) -> Result<Self, MapError> {
        let file = sealed_memfd("bcs-recorder", words * 8)?;
        Ok(Self { file, words })
    }

    /// Returns the file, for the rank.
    #[must_use]
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Copies words, beginning with word `first`. The rank may have written anything there.
    ///
    /// # Errors
    /// EINVAL if there are fewer words; else the kernel's answer.
    pub fn read(&self, first: usize, words: &mut [u64]) -> Result<(), Errno> {
        if first > self.words || self.words - first < words.len() {
            return Err(Errno::INVAL);
        }
        let mut bytes = vec![0_u8; words.len() * 8];
        let mut done = 0;
        while done < bytes.len() {
            let at = (first * 8 + done) as u64;
            match rustix::io::pread(&self.file, &mut bytes[done..], at) {
                // The file is sealed, so a rank cannot have shortened it.
                Ok(0) => return Err(Errno::IO),
                Ok(read) => done += read,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
        let (whole, _) = bytes.as_chunks::<8>();
        for (word, bytes) in words.iter_mut().zip(whole) {
            *word = u64::from_ne_bytes(*bytes);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    #[test]
    fn what_a_rank_writes_is_read_without_mapping_it_and_holes_stay_holes() {
        let words = 16 << 20;
        let file = RecorderFile::create(words).unwrap();
        let memory = RecorderMemory::map(file.fd(), words).unwrap();
        memory.words()[words - 1].store(7, Ordering::Relaxed);
        drop(memory);
        let mut last = [1; 3];
        file.read(words - 3, &mut last).unwrap();
        assert_eq!(last, [0, 0, 7]);
        let mut many = vec![1; 1 << 20];
        file.read(0, &mut many).unwrap();
        assert!(many.iter().all(|&word| word == 0));
        let blocks = rustix::fs::fstat(file.fd()).unwrap().st_blocks;
        assert!(blocks * 512 <= 64 << 10, "{blocks} blocks of 512 bytes");
        assert_eq!(file.read(words - 2, &mut last), Err(Errno::INVAL));
    }
}
