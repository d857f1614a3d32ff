//! Areas: a member's call and its contribution.

use super::gates::digest;
use super::presence::{Presence, presence_of};
use super::record::{
    AFTER_HEAD_BYTES, AREA_WORDS, ARGUMENT_WORDS, ARGUMENTS, CALL, CollInfo, DIGEST, INLINE_BYTES,
    PAYLOAD_BYTES, RecordMemory, STAMP, payload, place,
};
use crate::prefetch;
use crate::sync::{AtomicU64, Ordering};
use std::ptr::NonNull;

/// The words of an area.
type AreaWords = [AtomicU64; AREA_WORDS];

impl<R: RecordMemory> CollInfo<R> {
    #[inline]
    fn area(&self, number: u64) -> &AreaWords {
        let (areas, _) = self.0.words().as_chunks();
        &areas[place(number)]
    }

    /// Owner, before it enters: writes its contribution of at most [`PAYLOAD_BYTES`].
    #[inline]
    pub fn contribute(&self, number: u64, bytes: &[u8]) {
        if bytes.len() > INLINE_BYTES {
            return self.0.write(payload(number), bytes);
        }
        let words = &self.area(number)[ARGUMENTS..];
        let (eights, rest) = bytes.as_chunks::<8>();
        for (word, &eight) in words.iter().zip(eights) {
            word.store(u64::from_le_bytes(eight), Ordering::Relaxed);
        }
        if !rest.is_empty() {
            let mut last = [0; 8];
            last[..rest.len()].copy_from_slice(rest);
            words[eights.len()].store(u64::from_le_bytes(last), Ordering::Relaxed);
        }
    }

    /// Owner, before it enters: writes the address of its contribution.
    pub fn publish_arguments<const N: usize>(&self, number: u64, arguments: [u64; N]) {
        const { assert!(N <= ARGUMENT_WORDS) };
        let words = &self.area(number)[ARGUMENTS..];
        for (word, argument) in words.iter().zip(arguments) {
            word.store(argument, Ordering::Relaxed);
        }
    }

    /// Owner, before it enters: writes bytes of its contribution, beginning with byte `at`. `total`
    /// is the length of the contribution, at most [`PAYLOAD_BYTES`].
    pub fn write_given(&self, number: u64, total: usize, at: usize, bytes: &[u8]) {
        if total > AFTER_HEAD_BYTES {
            return self.0.write(payload(number) + at, bytes);
        }
        let words = &self.area(number)[ARGUMENTS + 1..];
        let (mut at, mut bytes) = (at, bytes);
        while !bytes.is_empty() {
            let (word, within) = (&words[at / 8], at % 8);
            let (now, rest) = bytes.split_at(bytes.len().min(8 - within));
            let mut whole = [0; 8];
            if now.len() < 8 {
                whole = word.load(Ordering::Relaxed).to_le_bytes();
            }
            whole[within..within + now.len()].copy_from_slice(now);
            word.store(u64::from_le_bytes(whole), Ordering::Relaxed);
            (at, bytes) = (at + now.len(), rest);
        }
    }

    /// Owner: enters a collective with its call. `before` is the digest of the previous number.
    /// Returns the digest of this one.
    #[inline]
    pub fn enter(&self, number: u64, call: [u64; 2], before: u64) -> u64 {
        let area = self.area(number);
        let digest = digest(number, before, call);
        area[CALL].store(call[0], Ordering::Relaxed);
        area[CALL + 1].store(call[1], Ordering::Relaxed);
        area[DIGEST].store(digest, Ordering::Relaxed);
        // ENTERED: publishes the area and its payload, and returns the areas of earlier numbers to
        // their owners.
        area[STAMP].store(number, Ordering::Release);
        digest
    }

    /// Owner: prefetches the lines of a collective that it will enter soon.
    #[inline]
    pub fn prefetch_own(&self, number: u64) {
        prefetch::to_write(self.area(number));
    }

    /// Prefetches the next contribution of an owner that is likely to be ahead.
    #[inline]
    pub fn prefetch_next(&self, number: u64) {
        prefetch::to_read(self.area(number.wrapping_add(1)));
    }

    /// Returns whether the owner has entered a collective that the caller has not finished.
    #[must_use]
    #[inline]
    pub fn presence(&self, number: u64) -> Presence {
        // ENTERED: the area is visible, and the areas of earlier numbers may be written again.
        let stamp = self.area(number)[STAMP].load(Ordering::Acquire);
        presence_of(stamp, number)
    }

    /// Returns the owner's call in a collective that it has entered.
    #[must_use]
    #[inline]
    pub fn call(&self, number: u64) -> [u64; 2] {
        let area = self.area(number);
        [CALL, CALL + 1].map(|word| area[word].load(Ordering::Relaxed))
    }

    /// Returns the digest of the owner's calls since the last gate, in a collective that it has
    /// entered. Members with the same digest have called the same.
    #[must_use]
    #[inline]
    pub fn digest(&self, number: u64) -> u64 {
        self.area(number)[DIGEST].load(Ordering::Relaxed)
    }

    /// Copies the owner's contribution to a collective that it has entered.
    #[inline]
    pub fn contribution(&self, number: u64, bytes: &mut [u8]) {
        if bytes.len() > INLINE_BYTES {
            return self.0.read(payload(number), bytes);
        }
        let words = &self.area(number)[ARGUMENTS..];
        let (eights, rest) = bytes.as_chunks_mut::<8>();
        for (word, eight) in words.iter().zip(&mut *eights) {
            *eight = word.load(Ordering::Relaxed).to_le_bytes();
        }
        if !rest.is_empty() {
            let last = words[eights.len()].load(Ordering::Relaxed).to_le_bytes();
            rest.copy_from_slice(&last[..rest.len()]);
        }
    }

    /// Copies bytes from this one on of a contribution in the payload, which is longer than
    /// [`INLINE_BYTES`].
    pub fn read_contribution(&self, number: u64, at: usize, bytes: &mut [u8]) {
        debug_assert!(at + bytes.len() <= PAYLOAD_BYTES);
        self.0.read(payload(number) + at, bytes);
    }

    /// Returns the address of bytes, from this one on, of a contribution in the payload, which is
    /// longer than [`INLINE_BYTES`]. They can be read as long as the record exists. Their owner may
    /// change them at any time.
    #[must_use]
    pub fn contribution_at(&self, number: u64, at: usize, len: usize) -> NonNull<u8> {
        debug_assert!(at + len <= PAYLOAD_BYTES);
        self.0.at(payload(number) + at, len)
    }

    /// Owner, before the step that publishes it: replaces bytes from this one on of its
    /// contribution in the payload, which no other member reads.
    pub fn replace_contribution(&self, number: u64, at: usize, bytes: &[u8]) {
        debug_assert!(at + bytes.len() <= PAYLOAD_BYTES);
        self.0.write(payload(number) + at, bytes);
    }

    /// Returns the address of the contribution.
    #[must_use]
    pub fn arguments<const N: usize>(&self, number: u64) -> [u64; N] {
        const { assert!(N <= ARGUMENT_WORDS) };
        let words = &self.area(number)[ARGUMENTS..];
        std::array::from_fn(|index| words[index].load(Ordering::Relaxed))
    }

    /// Copies bytes of the owner's contribution that [`write_given`](Self::write_given) has
    /// written.
    ///
    /// # Panics
    /// If they are not among `total`.
    pub fn read_given(&self, number: u64, total: usize, at: usize, bytes: &mut [u8]) {
        assert!(total <= PAYLOAD_BYTES && at <= total && bytes.len() <= total - at);
        if total > AFTER_HEAD_BYTES {
            return self.0.read(payload(number) + at, bytes);
        }
        let words = &self.area(number)[ARGUMENTS + 1..];
        let mut at = at;
        let mut bytes = bytes;
        while !bytes.is_empty() {
            let (word, within) = (&words[at / 8], at % 8);
            let len = bytes.len().min(8 - within);
            let (now, rest) = bytes.split_at_mut(len);
            let whole = word.load(Ordering::Relaxed).to_le_bytes();
            now.copy_from_slice(&whole[within..within + len]);
            (at, bytes) = (at + len, rest);
        }
    }
}
