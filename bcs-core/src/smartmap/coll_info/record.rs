//! The layout of a record.

use crate::limits::COLL_INFO_PAYLOAD_BYTES;
use crate::sync::{AtomicU64, Ordering};
use std::ptr::NonNull;

/// Contributions that are kept at the same time. (loom uses fewer, because it tries all
/// interleavings.)
pub const AREAS: usize = if cfg!(loom) { 3 } else { 16 };

/// Words of an area: two cache lines, which are fetched as a pair.
pub(super) const AREA_WORDS: usize = 16;

/// The words of an area: the number that was entered, the call, the digest of earlier calls, and
/// the arguments.
pub(super) const STAMP: usize = 0;
pub(super) const CALL: usize = 1;
pub(super) const DIGEST: usize = 3;
pub(super) const ARGUMENTS: usize = 4;

/// Words for the addresses of long contributions.
pub const ARGUMENT_WORDS: usize = AREA_WORDS - ARGUMENTS;

/// Bytes of a contribution that lies in its area.
pub const INLINE_BYTES: usize = ARGUMENT_WORDS * 8;

/// Bytes of a contribution to an exchange that lie in the area, after their head.
pub const AFTER_HEAD_BYTES: usize = INLINE_BYTES - 8;

/// Bytes of a contribution that lies in the payload, beside the area.
pub const PAYLOAD_BYTES: usize = COLL_INFO_PAYLOAD_BYTES;

pub(super) const STEP: usize = AREAS * AREA_WORDS;
pub(super) const VERDICT: usize = STEP + 1;
/// In the line of the step, too.
pub(super) const OUTCOME: usize = STEP + 2;
pub(super) const LISTENING: usize = STEP + AREA_WORDS;

/// The tally: how many members have entered each of the last numbers, and whether all have.
pub(super) const COUNTS: usize = LISTENING + AREA_WORDS;
pub(super) const RELEASES: usize = COUNTS + AREA_WORDS;

/// Words of a record.
pub const RECORD_WORDS: usize = RELEASES + AREA_WORDS;

/// Bytes of the payload of a record.
pub const RECORD_PAYLOAD_BYTES: usize = AREAS * PAYLOAD_BYTES;

/// Memory that holds a record.
pub trait RecordMemory {
    /// Returns its words.
    fn words(&self) -> &[AtomicU64; RECORD_WORDS];
    /// Writes bytes at this offset of its payload.
    fn write(&self, offset: usize, bytes: &[u8]);
    /// Copies bytes from this offset of its payload.
    fn read(&self, offset: usize, bytes: &mut [u8]);
    /// Returns the address of this many bytes from this offset of its payload on. They can be read
    /// as long as the record exists; others may change them at any time.
    fn at(&self, offset: usize, len: usize) -> NonNull<u8>;
}

/// A member's record.
#[derive(Clone, Debug)]
pub struct CollInfo<R>(pub(super) R);

/// Returns the index of a number's area.
#[inline]
pub(super) fn place(number: u64) -> usize {
    usize::try_from(number % AREAS as u64).expect("small")
}

pub(super) fn payload(number: u64) -> usize {
    place(number) * PAYLOAD_BYTES
}

impl<R: RecordMemory> CollInfo<R> {
    /// Returns the record in this memory.
    pub fn new(record: R) -> Self {
        Self(record)
    }

    #[inline]
    pub(super) fn word(&self, word: usize) -> &AtomicU64 {
        &self.0.words()[word]
    }

    /// Owner: opens the context, whose next collective is number 1. No member may read yet.
    pub fn reset(&self) {
        let stamps = (0..AREAS).map(|place| place * AREA_WORDS);
        let tally = (COUNTS..COUNTS + AREAS).chain(RELEASES..RELEASES + AREAS);
        for word in stamps.chain(tally).chain([STEP, VERDICT, LISTENING]) {
            self.word(word).store(0, Ordering::Relaxed);
        }
    }
}

const _: () = assert!(INLINE_BYTES <= PAYLOAD_BYTES && RECORD_WORDS.is_multiple_of(AREA_WORDS));
