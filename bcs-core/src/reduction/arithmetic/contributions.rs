//! Contributions of several ranks, which are folded in place.
//!
//! Their owners may write that memory meanwhile. That would be a mistake of the program, and the
//! result is then invalid. Nothing here borrows that memory: bytes are copied out of it before they
//! are used.
#![expect(unsafe_code, reason = "memory of other ranks is named by address")]

use std::ptr::NonNull;

/// The places of some ranks' contributions, in the order in which they are folded.
#[derive(Clone, Copy, Debug)]
pub struct Contributions<'a> {
    starts: &'a [NonNull<u8>],
    len: usize,
}

impl<'a> Contributions<'a> {
    /// Returns contributions of `len` bytes each.
    ///
    /// # Safety
    /// Each of these is valid for reads of `len` bytes as long as this lives.
    ///
    /// # Panics
    /// If there are none.
    #[must_use]
    pub unsafe fn new(starts: &'a [NonNull<u8>], len: usize) -> Self {
        assert!(!starts.is_empty(), "somebody contributes");
        Self { starts, len }
    }

    /// Returns `len` bytes of each contribution, from byte `at` on.
    ///
    /// # Panics
    /// If the contributions are shorter.
    pub(super) fn part(self, at: usize, len: usize) -> ContributionPart<'a> {
        let enough = at <= self.len && len <= self.len - at;
        assert!(enough, "{len} bytes at {at} of {}", self.len);
        ContributionPart { all: self, at, len }
    }
}

/// A part of each contribution.
#[derive(Clone, Copy, Debug)]
pub(super) struct ContributionPart<'a> {
    all: Contributions<'a>,
    at: usize,
    len: usize,
}

impl ContributionPart<'_> {
    /// Returns the number of contributions.
    #[inline(always)]
    pub(super) fn members(self) -> usize {
        self.all.starts.len()
    }

    /// Returns the rest of the part behind the first bytes.
    #[inline(always)]
    pub(super) fn from(self, done: usize) -> Self {
        assert!(done <= self.len, "{done} of {} bytes", self.len);
        let (at, len) = (self.at + done, self.len - done);
        Self { at, len, ..self }
    }

    #[inline(always)]
    fn start(self, member: usize, at: usize, len: usize) -> *const u8 {
        assert!(at <= self.len && len <= self.len - at);
        self.all.starts[member]
            .as_ptr()
            .cast_const()
            .wrapping_add(self.at + at)
    }

    /// Returns some elements of a contribution, from byte `at` of the part on.
    #[inline(always)]
    pub(super) fn line<const SIZE: usize, const LANES: usize>(
        self,
        member: usize,
        at: usize,
    ) -> [[u8; SIZE]; LANES] {
        let start = self.start(member, at, SIZE * LANES);
        // SAFETY: they are in the part, and the creator of the contributions promised that these
        // can be read.
        unsafe { start.cast::<[[u8; SIZE]; LANES]>().read_unaligned() }
    }

    /// Copies the first bytes of a contribution.
    pub(super) fn copy(self, member: usize, into: &mut [u8]) {
        let start = self.start(member, 0, into.len());
        // SAFETY: they are in the part, and the creator of the contributions promised that these
        // can be read; the borrowed slice does not overlap them.
        unsafe { std::ptr::copy_nonoverlapping(start, into.as_mut_ptr(), into.len()) };
    }
}
