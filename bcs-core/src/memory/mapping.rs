//! A shared mapping: the only place that turns addresses into references.
#![expect(
    unsafe_code,
    reason = "mmap and atomics in memory shared with other processes"
)]

use crate::memory::ring::Words;
use rustix::fs::{MemfdFlags, SealFlags};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags};
use rustix::process::{Resource, getrlimit};
use std::os::fd::{AsFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// A failure to make or map shared memory.
#[derive(Debug, thiserror::Error)]
pub enum MapError {
    /// The memfd could not be made.
    #[error(
        "failed to make {bytes} bytes of shared memory for {what}: {errno}{}",
        limit_of_files(*.errno)
    )]
    Create {
        /// The purpose of the memory.
        what: &'static str,
        /// The length.
        bytes: usize,
        /// The kernel's answer.
        errno: Errno,
    },
    /// The memfd could not be mapped.
    #[error(
        "failed to map {bytes} bytes of shared memory: {errno}; \
         is the address space limited (ulimit -v)?"
    )]
    Map {
        /// The requested length.
        bytes: usize,
        /// The kernel's answer.
        errno: Errno,
    },
}

/// A mapped range of memory, shared with other processes or private to this one.
///
/// All access is by atomic words or by copies through raw pointers, never by references to plain
/// data, because another process may change it at any time.
#[derive(Debug)]
pub struct Mapping {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: the mapping is memory; all access to it is atomic or by raw copies.
unsafe impl Send for Mapping {}
// SAFETY: as for Send.
unsafe impl Sync for Mapping {}

/// Returns a hint for the user if the limit of file sizes is why there is no memory.
fn limit_of_files(errno: Errno) -> String {
    match (errno, getrlimit(Resource::Fsize).current) {
        (Errno::FBIG, Some(limit)) => format!(
            "; files are limited to {limit} bytes here, and shared memory is a file: raise that limit (ulimit -f)"
        ),
        _ => String::new(),
    }
}

/// Makes a sealed memfd of fixed length: no process can shrink it under a mapping (SIGBUS) or grow
/// it.
///
/// # Errors
/// [`MapError::Create`] with the kernel's answer.
pub fn sealed_memfd(what: &'static str, bytes: usize) -> Result<OwnedFd, MapError> {
    let make = || {
        // Beyond it, ftruncate would raise SIGXFSZ, which ends a process without a message.
        if getrlimit(Resource::Fsize)
            .current
            .is_some_and(|limit| limit < bytes as u64)
        {
            return Err(Errno::FBIG);
        }
        let fd = rustix::fs::memfd_create(what, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        rustix::fs::ftruncate(&fd, bytes as u64)?;
        rustix::fs::fcntl_add_seals(&fd, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        Ok(fd)
    };
    make().map_err(|errno| MapError::Create { what, bytes, errno })
}

impl Mapping {
    /// Maps the first `len` bytes of a memfd, shared.
    ///
    /// # Errors
    /// [`MapError::Map`] with the kernel's answer.
    pub fn shared(fd: impl AsFd, len: usize) -> Result<Self, MapError> {
        // SAFETY: a fresh mapping at an address of the kernel's choice aliases nothing.
        let base = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                len,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED | MapFlags::NORESERVE,
                fd,
                0,
            )
        };
        Self::mapped(base, len)
    }

    /// Maps private memory of this process that reads as zero and is allocated on demand: for the
    /// simulator, a world of one, and tests.
    ///
    /// # Errors
    /// [`MapError::Map`] with the kernel's answer.
    pub fn private(len: usize) -> Result<Self, MapError> {
        // SAFETY: a fresh mapping at an address of the kernel's choice aliases nothing.
        let base = unsafe {
            rustix::mm::mmap_anonymous(
                std::ptr::null_mut(),
                len,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE | MapFlags::NORESERVE,
            )
        };
        Self::mapped(base, len)
    }

    fn mapped(
        base: rustix::io::Result<*mut std::ffi::c_void>,
        len: usize,
    ) -> Result<Self, MapError> {
        let base = base.map_err(|errno| MapError::Map { bytes: len, errno })?;
        let base = NonNull::new(base.cast()).expect("the kernel does not map page zero");
        Ok(Self { base, len })
    }

    /// Returns the length in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether the mapping has no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the address of a byte in this process.
    #[must_use]
    pub fn address_of(&self, offset: usize) -> u64 {
        assert!(
            offset < self.len,
            "offset {offset} lies outside {} bytes",
            self.len
        );
        (self.base.as_ptr() as usize + offset) as u64
    }

    /// Returns the 64-bit word at a byte offset that is a multiple of 8.
    #[must_use]
    #[inline]
    pub fn word64(&self, offset: usize) -> &AtomicU64 {
        assert!(
            offset.is_multiple_of(8) && offset < self.len && self.len - offset >= 8,
            "no 64-bit word at offset {offset} of {} bytes",
            self.len
        );
        // SAFETY: in range (asserted), so within the allocation.
        let word = unsafe { self.base.add(offset) };
        // SAFETY: in range and aligned (asserted; the base is page-aligned), mapped as long as
        // self lives, and only ever accessed atomically or by raw copies.
        unsafe { word.cast::<AtomicU64>().as_ref() }
    }

    /// Returns `words` 64-bit words at a byte offset that is a multiple of 8, with one check that
    /// they lie in the mapping.
    #[inline]
    #[must_use]
    pub fn words64(&self, offset: usize, words: usize) -> &[AtomicU64] {
        assert!(
            offset.is_multiple_of(8) && offset <= self.len && (self.len - offset) / 8 >= words,
            "no {words} words at offset {offset} of {} bytes",
            self.len
        );
        // SAFETY: in range (asserted), so within the allocation.
        let first = unsafe { self.base.add(offset) };
        // SAFETY: as for word64, for each word.
        unsafe { std::slice::from_raw_parts(first.cast().as_ptr(), words) }
    }

    /// Returns the 64-bit words of a line, at a byte offset that is a multiple of 8.
    #[inline]
    #[must_use]
    pub fn line(&self, offset: usize) -> &[AtomicU64; 8] {
        assert!(
            offset.is_multiple_of(8) && offset < self.len && self.len - offset >= 64,
            "no line at offset {offset} of {} bytes",
            self.len
        );
        // SAFETY: in range (asserted), so within the allocation.
        let line = unsafe { self.base.add(offset) };
        // SAFETY: as for word64, for eight words.
        unsafe { line.cast::<[AtomicU64; 8]>().as_ref() }
    }

    /// Returns the 32-bit word at a byte offset that is a multiple of 4.
    #[must_use]
    #[inline]
    pub fn word32(&self, offset: usize) -> &AtomicU32 {
        assert!(
            offset.is_multiple_of(4) && offset < self.len && self.len - offset >= 4,
            "no 32-bit word at offset {offset} of {} bytes",
            self.len
        );
        // SAFETY: in range (asserted), so within the allocation.
        let word = unsafe { self.base.add(offset) };
        // SAFETY: as for word64.
        unsafe { word.cast::<AtomicU32>().as_ref() }
    }

    /// Copies bytes into the mapping. Afterwards a word stored with `Release` must announce them to
    /// readers.
    #[inline]
    pub fn write(&self, offset: usize, bytes: &[u8]) {
        self.check(offset, bytes.len());
        // SAFETY: in range (checked), so within the allocation.
        let to = unsafe { self.base.add(offset) };
        // SAFETY: both ranges are valid for the length, and a private slice cannot overlap the
        // mapping. Another process may write the same bytes meanwhile. Then the bytes are invalid,
        // which every reader of shared memory allows for.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to.as_ptr(), bytes.len()) };
    }

    /// Copies bytes out of the mapping. They are not trusted: check the copy, then use it.
    #[inline]
    pub fn read(&self, offset: usize, bytes: &mut [u8]) {
        self.check(offset, bytes.len());
        // SAFETY: in range (checked), so within the allocation.
        let from = unsafe { self.base.add(offset) };
        // SAFETY: as for write.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), bytes.as_mut_ptr(), bytes.len()) };
    }

    /// Returns the address of `len` bytes. It is valid for reads and writes as long as the mapping
    /// lives; others may change the bytes at any time.
    #[inline]
    #[must_use]
    pub fn at(&self, offset: usize, len: usize) -> NonNull<u8> {
        self.check(offset, len);
        // SAFETY: in range (checked), so within the allocation.
        unsafe { self.base.add(offset) }
    }

    /// Copies bytes into the mapping word by word with relaxed atomics: for words that others
    /// read as atomics.
    #[inline]
    pub fn write_words(&self, offset: usize, words: &[u64]) {
        let to = self.words64(offset, words.len());
        for (to, &word) in to.iter().zip(words) {
            to.store(word, Ordering::Relaxed);
        }
    }

    /// Copies words out of the mapping in the same way.
    #[inline]
    pub fn read_words(&self, offset: usize, words: &mut [u64]) {
        let from = self.words64(offset, words.len());
        for (word, from) in words.iter_mut().zip(from) {
            *word = from.load(Ordering::Relaxed);
        }
    }

    fn check(&self, offset: usize, len: usize) {
        assert!(
            offset <= self.len && self.len - offset >= len,
            "{len} bytes at offset {offset} lie outside {} bytes",
            self.len
        );
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: self owns the mapping, and no reference to it outlives self.
        let unmapped = unsafe { rustix::mm::munmap(self.base.as_ptr().cast(), self.len) };
        debug_assert!(
            unmapped.is_ok(),
            "a mapping of ours can be unmapped: {unmapped:?}"
        );
    }
}

/// A mapping as the storage of rings.
#[derive(Clone, Debug)]
pub struct MappedWords(pub Arc<Mapping>);

impl Words for MappedWords {
    #[inline]
    fn word(&self, index: usize) -> &AtomicU64 {
        self.0.word64(index * 8)
    }

    #[inline]
    fn words(&self, first: usize, words: usize) -> &[AtomicU64] {
        self.0.words64(first * 8, words)
    }
}

/// A 32-bit word of a mapping.
#[derive(Clone, Debug)]
pub struct MappedWord {
    mapping: Arc<Mapping>,
    offset: usize,
}

impl MappedWord {
    /// Returns the word at a byte offset that is a multiple of 4.
    #[must_use]
    pub fn new(mapping: Arc<Mapping>, offset: usize) -> Self {
        Self { mapping, offset }
    }

    /// Returns the word.
    ///
    /// # Panics
    /// If it is not in the mapping.
    #[inline]
    #[must_use]
    pub fn word(&self) -> &AtomicU32 {
        self.mapping.word32(self.offset)
    }
}

/// Words of a mapping. They were checked once to lie in it, so access needs no further check.
#[derive(Clone, Debug)]
pub struct MappedArray<const N: usize> {
    mapping: Arc<Mapping>,
    first: NonNull<[AtomicU64; N]>,
}

// SAFETY: a reference to a mapping, which any thread may use, and to words in it.
unsafe impl<const N: usize> Send for MappedArray<N> {}
// SAFETY: as for Send.
unsafe impl<const N: usize> Sync for MappedArray<N> {}

impl<const N: usize> MappedArray<N> {
    /// Returns the words at a byte offset that is a multiple of 8.
    ///
    /// # Panics
    /// If they are not in the mapping.
    #[must_use]
    pub fn new(mapping: Arc<Mapping>, offset: usize) -> Self {
        mapping.check(offset, N * 8);
        assert!(offset.is_multiple_of(8), "no word at offset {offset}");
        // SAFETY: in range (checked), so within the allocation.
        let first = unsafe { mapping.base.add(offset) }.cast();
        Self { mapping, first }
    }

    /// Returns the words.
    #[inline]
    #[must_use]
    pub fn words(&self) -> &[AtomicU64; N] {
        // SAFETY: in range and aligned (checked when it was made), mapped as long as self lives,
        // and only ever accessed atomically or by raw copies.
        unsafe { self.first.as_ref() }
    }

    /// Returns the mapping.
    #[must_use]
    pub fn mapping(&self) -> &Mapping {
        &self.mapping
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_is_the_words_of_its_mapping() {
        let mapping = Arc::new(Mapping::private(4096).unwrap());
        let array = MappedArray::<4>::new(mapping.clone(), 4096 - 4 * 8);
        array.words()[3].store(7, Ordering::Relaxed);
        assert_eq!(mapping.word64(4096 - 8).load(Ordering::Relaxed), 7);
    }

    #[test]
    fn words_are_copied_whole_and_lie_in_the_mapping() {
        let mapping = Mapping::private(4096).unwrap();
        mapping.write_words(4096 - 24, &[1, 2, 3]);
        let mut words = [0; 2];
        mapping.read_words(4096 - 16, &mut words);
        assert_eq!(words, [2, 3]);
        assert!(mapping.words64(4096, 0).is_empty());
        for (offset, words) in [(4096 - 16, 3), (4104, 0), (0, usize::MAX), (4, 1)] {
            let found = std::panic::catch_unwind(|| mapping.words64(offset, words).len());
            assert!(found.is_err(), "{words} words at {offset}");
        }
    }

    #[test]
    fn an_array_lies_in_its_mapping_and_on_words() {
        let mapping = Arc::new(Mapping::private(4096).unwrap());
        for offset in [4096 - 3 * 8, 4096, usize::MAX, 4] {
            let array = std::panic::catch_unwind(|| MappedArray::<4>::new(mapping.clone(), offset));
            assert!(array.is_err(), "{offset}");
        }
    }
}
