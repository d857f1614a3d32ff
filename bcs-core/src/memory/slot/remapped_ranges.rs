//! Ranges of a heap where its rank does not see the slot's memory: the program has mapped something
//! over it, or has removed its own access to the pages.
//!
//! A process that has mapped the slot would read the file's data there. So the rank's heap keeps a
//! table of these ranges at the end of the slot, behind the heap, where every process that accesses
//! the heap can read it. Memory in such a range is accessed like memory outside of slots: the
//! kernel uses the rank's own page tables, and copies the data that the program sees there, or
//! refuses.
//!
//! ```text
//!  slot ┌───────────────────── heap ─────────────────────┬──────────── 32 MiB ────────────┐
//!       │                                                │ count │ version │ ranges ...   │
//!       └────────────────────────────────────────────────┴────────────────────────────────┘
//! ```
//!
//! **A reader** loads the number of ranges. In nearly all programs that is 0, and the reader is
//! done. Otherwise it searches the table, and checks by the version whether the table changed
//! meanwhile. If so, it takes the memory as remapped: a copy by the kernel is right for all memory,
//! and only slower.
//!
//! **Order.** A program that remaps a buffer sends from it, or posts a receive into it, later. The
//! rank changes the table before the call that maps returns. The word that publishes the message to
//! others (an entry of a send queue, a record of a collective, a descriptor) is stored with
//! `Release` and loaded with `Acquire`. So a process that has the address sees the table, too. To
//! remap a buffer that a message is using is an error of the program, as any other access to it is.
//! If a range is slot memory again, and a reader does not know that yet, the kernel copies it.
//!
//! **Peers** may write into the table, as they may write anywhere in the slot. They can change only
//! the method of a copy; a count beyond the table's end is cut off.
#![expect(unsafe_code, reason = "a table in mapped memory")]

use super::{HEAP_BYTES, PAGE_BYTES, SLOT_BYTES, Slot};
use crate::limits::MAX_REMAPPED_RANGES;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering, fence};

/// The size of the table's memory: a header of one page, the table, and room for the owner to
/// change it in.
const BYTES: usize = PAGE_BYTES + 2 * TABLE_BYTES;
const _: () = assert!(BYTES <= SLOT_BYTES - HEAP_BYTES);
const TABLE_BYTES: usize = MAX_REMAPPED_RANGES * RANGE_WORDS * 8;
const RANGE_WORDS: usize = 2;

const COUNT: usize = 0;
const VERSION: usize = 1;
const RANGES: usize = PAGE_BYTES / 8;
const ROOM: usize = RANGES + MAX_REMAPPED_RANGES * RANGE_WORDS;

/// The differences of a range from ordinary heap memory. They use the bits below the page size,
/// because the table holds multiples of [`PAGE_BYTES`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RemapFlags(u16);

impl RemapFlags {
    /// Ordinary memory of the heap.
    pub const NONE: Self = Self(0);
    /// Another mapping, or no mapping at all.
    pub const REPLACED: Self = Self(1);
    /// A forked child does not have it (`MADV_DONTFORK`). It is still the slot's memory.
    pub const NOT_FORKED: Self = Self(2);
    /// A forked child finds it empty (`MADV_WIPEONFORK`). It is still the slot's memory.
    pub const WIPED: Self = Self(4);
    /// No access is allowed (`MADV_GUARD_INSTALL`).
    pub const GUARDED: Self = Self(128);
    const PROTECTED: Self = Self(8);
    const PROTECTION_SHIFT: u32 = 4;
    const PROTECTION: u16 = 7 << Self::PROTECTION_SHIFT;

    /// Returns the same memory with a protection (`PROT_` bits) other than for reading and writing.
    #[must_use]
    pub const fn protected(self, protection: u32) -> Self {
        let bits = ((protection & 7) as u16) << Self::PROTECTION_SHIFT;
        Self(self.unprotected().0 | Self::PROTECTED.0 | bits)
    }

    /// Returns the same memory, for reading and writing.
    #[must_use]
    pub const fn unprotected(self) -> Self {
        Self(self.0 & !(Self::PROTECTED.0 | Self::PROTECTION))
    }

    /// Returns the protection, if it is not that for reading and writing.
    #[must_use]
    pub const fn protection(self) -> Option<u32> {
        if self.has(Self::PROTECTED) {
            Some(((self.0 & Self::PROTECTION) >> Self::PROTECTION_SHIFT) as u32)
        } else {
            None
        }
    }

    /// Returns whether it contains all flags of another one.
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns the flags of both.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the flags without those of another one.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Returns whether others may not read and write the slot there.
    const fn keeps_others_out(self) -> bool {
        self.0 & (Self::REPLACED.0 | Self::PROTECTED.0 | Self::GUARDED.0) != 0
    }
}

/// Offsets in a heap, and the flags of that range.
pub type HeapPiece = (Range<usize>, RemapFlags);

/// The table is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a heap has at most {MAX_REMAPPED_RANGES} ranges that are remapped or protected")]
pub struct RangeTableFull;

/// The table of a slot that is mapped here.
#[derive(Clone, Copy, Debug)]
pub struct RemappedRanges {
    start: NonNull<AtomicU64>,
}

// SAFETY: all access is atomic.
unsafe impl Send for RemappedRanges {}
// SAFETY: as for Send.
unsafe impl Sync for RemappedRanges {}

impl RemappedRanges {
    /// Returns the table of a slot.
    ///
    /// # Safety
    /// The part of the slot behind its heap is mapped at `start` for reading and writing, as long
    /// as the value or a copy of it is used.
    #[must_use]
    pub const unsafe fn at(start: NonNull<u8>) -> Self {
        Self {
            start: start.cast(),
        }
    }

    /// Returns the table of a slot that is mapped at its owner's address.
    ///
    /// # Safety
    /// It is mapped for reading and writing, as long as the table is used.
    pub(super) const unsafe fn of(slot: Slot) -> Self {
        let start = std::ptr::without_provenance_mut(slot.base() + HEAP_BYTES);
        let start = NonNull::new(start).expect("no slot is at address 0");
        // SAFETY: the caller's promise; the table is shorter than what is behind the heap.
        unsafe { Self::at(start) }
    }

    #[inline]
    fn word(&self, index: usize) -> &AtomicU64 {
        debug_assert!(index < BYTES / 8);
        // SAFETY: all callers pass the index of a word of the table.
        let word = unsafe { self.start.add(index) };
        // SAFETY: mapped and aligned, by the promise of `at`; any bits are a number.
        unsafe { word.as_ref() }
    }

    /// Returns whether no range is remapped.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.word(COUNT).load(Ordering::Acquire) == 0
    }

    /// Returns whether any of `len` bytes at an offset may not be read and written in the slot.
    #[inline]
    #[must_use]
    pub fn overlaps(&self, offset: usize, len: usize) -> bool {
        !self.is_empty() && self.search(offset, len)
    }

    #[cold]
    fn search(&self, offset: usize, len: usize) -> bool {
        let version = self.word(VERSION).load(Ordering::Acquire);
        if len == 0 {
            return false;
        }
        let end = offset.saturating_add(len);
        let first = self.first_behind(offset);
        let found = (first..self.count())
            .map(|index| self.range(index))
            .take_while(|(range, _)| range.start < end)
            .any(|(_, difference)| difference.keeps_others_out());
        fence(Ordering::Acquire);
        let has_changed = self.word(VERSION).load(Ordering::Relaxed) != version;
        found || has_changed || version % 2 == 1
    }

    fn count(&self) -> usize {
        let count = self.word(COUNT).load(Ordering::Relaxed);
        usize::try_from(count).map_or(MAX_REMAPPED_RANGES, |count| count.min(MAX_REMAPPED_RANGES))
    }

    /// Returns the index of the first range that ends behind an offset.
    fn first_behind(&self, offset: usize) -> usize {
        let (mut low, mut high) = (0, self.count());
        while low < high {
            let middle = usize::midpoint(low, high);
            if self.range(middle).0.end <= offset {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    fn range(&self, index: usize) -> HeapPiece {
        self.read(RANGES + index * RANGE_WORDS)
    }

    fn read(&self, at: usize) -> HeapPiece {
        let [start, end] = [at, at + 1].map(|at| self.word(at).load(Ordering::Relaxed));
        let page = |word: u64| usize::try_from(word).unwrap_or(usize::MAX) & !(PAGE_BYTES - 1);
        let difference = u16::try_from(start % PAGE_BYTES as u64).expect("below a page");
        (page(start)..page(end), RemapFlags(difference))
    }

    fn write(&self, at: usize, (range, RemapFlags(difference)): &HeapPiece) {
        let start = range.start as u64 | u64::from(*difference);
        self.word(at).store(start, Ordering::Relaxed);
        self.word(at + 1).store(range.end as u64, Ordering::Relaxed);
    }
}

/// Methods for the owner only, which one thread at a time may call.
impl RemappedRanges {
    /// Returns the pieces of a range of the heap, each with its flags.
    pub fn pieces(self, within: Range<usize>) -> impl Iterator<Item = HeapPiece> {
        let mut at = within.start;
        let mut index = self.first_behind(at);
        std::iter::from_fn(move || {
            if at >= within.end {
                return None;
            }
            let next = (index < self.count()).then(|| self.range(index));
            let piece = match next {
                Some((range, difference)) if range.start <= at => {
                    index += 1;
                    (at..range.end.min(within.end), difference)
                }
                Some((range, _)) => (at..range.start.min(within.end), RemapFlags::NONE),
                None => (at..within.end, RemapFlags::NONE),
            };
            at = piece.0.end;
            Some(piece)
        })
    }

    /// Checks that there is room for one range that replaces all others there, twice.
    ///
    /// # Errors
    /// [`RangeTableFull`]. Then the program may not remap.
    pub fn has_room_for_one(&self) -> Result<(), RangeTableFull> {
        // The range itself, and the parts of ranges that remain at both ends.
        self.has_room(2 * 3)
    }

    /// Checks that there is room for a change of each piece of a range.
    ///
    /// # Errors
    /// As above.
    pub fn has_room_for_pieces(&self, within: &Range<usize>) -> Result<(), RangeTableFull> {
        self.has_room(self.pieces(within.clone()).count() + 2)
    }

    fn has_room(&self, more: usize) -> Result<(), RangeTableFull> {
        (self.count() + more <= MAX_REMAPPED_RANGES)
            .then_some(())
            .ok_or(RangeTableFull)
    }

    /// Changes the flags of a range of the heap: whole pages. The caller has checked that there is
    /// room.
    ///
    /// # Panics
    /// If these are not whole pages of the heap, or the table is full.
    pub fn change(&self, within: Range<usize>, to: impl Fn(RemapFlags) -> RemapFlags) {
        let whole = [within.start, within.end].map(|at| at.is_multiple_of(PAGE_BYTES));
        assert!(whole == [true; 2] && within.end <= HEAP_BYTES);
        if within.is_empty() {
            return;
        }
        let count = self.count();
        // Ranges that touch the changed one may merge with it.
        let first = self.first_behind(within.start.saturating_sub(1));
        let mut after = first;
        while after < count && self.range(after).0.start <= within.end {
            after += 1;
        }
        let mut room = StagedRanges {
            table: *self,
            used: 0,
        };
        let around =
            (first < after).then(|| (self.range(first).0.start, self.range(after - 1).0.end));
        let (start, end) = around.unwrap_or((within.start, within.end));
        let (before, behind) = (start..within.start.max(start), within.end.min(end)..end);
        self.pieces(before).for_each(|piece| room.add(piece));
        let changed = self.pieces(within);
        changed.for_each(|(range, difference)| room.add((range, to(difference))));
        self.pieces(behind).for_each(|piece| room.add(piece));
        self.splice(first..after, count, room.used);
    }

    /// Replaces ranges of the table by those in the staging room.
    fn splice(&self, replaced: Range<usize>, count: usize, new: usize) {
        let total = count - replaced.len() + new;
        assert!(total <= MAX_REMAPPED_RANGES, "the owner has asked for room");
        let version = self.word(VERSION).load(Ordering::Relaxed);
        self.word(VERSION).store(version | 1, Ordering::Relaxed);
        fence(Ordering::Release);
        let (from, to) = (replaced.end, replaced.start + new);
        let move_one = |index: usize| {
            let range = self.range(from + index);
            self.write(RANGES + (to + index) * RANGE_WORDS, &range);
        };
        if to > from {
            (0..count - from).rev().for_each(move_one);
        } else if to < from {
            (0..count - from).for_each(move_one);
        }
        for index in 0..new {
            let range = self.read(ROOM + index * RANGE_WORDS);
            self.write(RANGES + (replaced.start + index) * RANGE_WORDS, &range);
        }
        self.word(COUNT).store(total as u64, Ordering::Release);
        let next = (version | 1).wrapping_add(1);
        self.word(VERSION).store(next, Ordering::Release);
    }
}

/// Ranges that will be put into the table.
struct StagedRanges {
    table: RemappedRanges,
    used: usize,
}

impl StagedRanges {
    fn add(&mut self, (range, difference): HeapPiece) {
        if difference == RemapFlags::NONE || range.is_empty() {
            return;
        }
        if let Some(last) = self.used.checked_sub(1) {
            let at = ROOM + last * RANGE_WORDS;
            let (before, same) = self.table.read(at);
            if same == difference && before.end == range.start {
                return self.table.write(at, &(before.start..range.end, same));
            }
        }
        assert!(
            self.used < MAX_REMAPPED_RANGES,
            "the owner has asked for room"
        );
        self.table
            .write(ROOM + self.used * RANGE_WORDS, &(range, difference));
        self.used += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A table in ordinary memory.
    struct RangeTable {
        ranges: RemappedRanges,
        _memory: Vec<AtomicU64>,
    }

    impl RangeTable {
        fn new() -> Self {
            let mut memory: Vec<_> = (0..BYTES / 8).map(|_| AtomicU64::new(0)).collect();
            let start = NonNull::new(memory.as_mut_ptr()).unwrap();
            // SAFETY: this many bytes, which live as long as the table.
            let ranges = unsafe { RemappedRanges::at(start.cast()) };
            Self {
                ranges,
                _memory: memory,
            }
        }
    }

    #[test]
    fn a_difference_says_what_it_was_made_of() {
        let none = RemapFlags::NONE.protected(0);
        assert_eq!(none.protection(), Some(0));
        let read = none.with(RemapFlags::WIPED).protected(1);
        assert_eq!(read.protection(), Some(1));
        assert!(read.has(RemapFlags::WIPED) && !read.has(RemapFlags::REPLACED));
        assert_eq!(read.unprotected(), RemapFlags::WIPED);
        assert!(read.keeps_others_out() && !RemapFlags::WIPED.keeps_others_out());
    }

    #[test]
    fn the_table_is_as_long_as_it_says_and_then_full() {
        let table = RangeTable::new();
        let fits = |page: usize| {
            let range = page * PAGE_BYTES..(page + 1) * PAGE_BYTES;
            let room = table.ranges.has_room_for_one();
            if room.is_ok() {
                table.ranges.change(range, |_| RemapFlags::REPLACED);
            }
            room.is_ok()
        };
        // It fills from the end, so all ranges move each time.
        let most = MAX_REMAPPED_RANGES + 10;
        let made = (0..most)
            .rev()
            .take(200)
            .filter(|&nth| fits(2 * nth))
            .count();
        assert_eq!(made, 200);
        let made = 200 + (most..2 * most).filter(|&nth| fits(2 * nth)).count();
        assert!(
            (MAX_REMAPPED_RANGES - 12..=MAX_REMAPPED_RANGES).contains(&made),
            "{made}"
        );
        assert_eq!(table.ranges.has_room_for_one(), Err(RangeTableFull));
        let all = 0..4 * most * PAGE_BYTES;
        assert_eq!(table.ranges.has_room_for_pieces(&all), Err(RangeTableFull));
        assert!(table.ranges.overlaps(2 * most * PAGE_BYTES + 1, 1));
        assert!(
            !table
                .ranges
                .overlaps((2 * most + 1) * PAGE_BYTES, PAGE_BYTES)
        );
        table
            .ranges
            .change(0..4 * most * PAGE_BYTES, |_| RemapFlags::NONE);
        assert!(table.ranges.is_empty());
    }

    #[test]
    fn rubbish_in_the_table_ends_no_search() {
        let table = RangeTable::new();
        for (at, word) in [(COUNT, u64::MAX), (RANGES, u64::MAX), (RANGES + 1, 7)] {
            table.ranges.word(at).store(word, Ordering::Relaxed);
            let _any_answer = table.ranges.overlaps(0, usize::MAX);
            assert!(table.ranges.pieces(0..HEAP_BYTES).take(10).count() <= 10);
        }
        table.ranges.word(COUNT).store(1, Ordering::Relaxed);
        table.ranges.word(VERSION).store(1, Ordering::Relaxed);
        assert!(table.ranges.overlaps(0, 1), "while it changes");
    }

    const PAGES: usize = 24;

    fn differences() -> impl Strategy<Value = RemapFlags> {
        let some = [
            RemapFlags::NONE,
            RemapFlags::REPLACED,
            RemapFlags::NOT_FORKED,
            RemapFlags::GUARDED,
            RemapFlags::NONE.protected(0),
            RemapFlags::NONE.protected(1),
        ];
        proptest::sample::select(some.to_vec())
    }

    proptest! {
        /// Compares with a list of pages.
        #[test]
        fn ranges_are_what_pages_say(
            changes in proptest::collection::vec((0..PAGES, 0..PAGES, differences(), any::<bool>()), 0..40),
        ) {
            let table = RangeTable::new();
            let mut pages = [RemapFlags::NONE; PAGES];
            for (one, other, difference, adds) in changes {
                let range = one.min(other)..one.max(other);
                let to = |before: RemapFlags| if adds { before.with(difference) } else { difference };
                pages[range.clone()].iter_mut().for_each(|page| *page = to(*page));
                table.ranges.has_room_for_pieces(&(range.start * PAGE_BYTES..range.end * PAGE_BYTES)).unwrap();
                table.ranges.change(range.start * PAGE_BYTES..range.end * PAGE_BYTES, to);
                let mut told = Vec::new();
                for (range, difference) in table.ranges.pieces(0..PAGES * PAGE_BYTES) {
                    prop_assert_eq!(range.start, told.len() * PAGE_BYTES);
                    told.extend(std::iter::repeat_n(difference, range.len() / PAGE_BYTES));
                }
                prop_assert_eq!(&told[..], &pages[..]);
                let runs = pages.chunk_by(|one, other| one == other);
                let runs = runs.filter(|run| run[0] != RemapFlags::NONE).count();
                prop_assert_eq!(table.ranges.count(), runs, "neighbours are one");
                for from in 0..PAGES {
                    for to in from..PAGES {
                        let some = &pages[from..=to];
                        let kept_out = some.iter().any(|page| page.keeps_others_out());
                        let offset = from * PAGE_BYTES + 4095;
                        let len = to * PAGE_BYTES + 1 - offset.min(to * PAGE_BYTES);
                        prop_assert_eq!(table.ranges.overlaps(offset, len), kept_out);
                    }
                }
            }
        }
    }
}
