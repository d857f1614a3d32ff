//! A bounded table of entries: the latest stand in a line, the others are linked into the chains of
//! the patterns they are filed under.
//!
//! Entries lie in a slab; links are indexes into it. A chain holds its entries in the order in
//! which they came, so the head is the earliest. An entry can be removed from the middle of all its
//! chains in constant time.
//!
//! **The line.** Most entries are requested in the order in which they came, and filing them costs
//! more than all else. So entries are not filed until a caller requests one that is not among the
//! first few of the line; then the whole line is filed. All filed entries came before all entries
//! in the line, so a caller that finds a filed entry need not search the line. The line is short
//! ([`MAX_LINE`]; when it is full, each new entry files the oldest one), so filing it is short,
//! too, and each entry is filed at most once.

use super::directory::{Directory, NONE};
use super::paged_vec::PagedVec;
use super::pattern::Pattern;

/// The upper bound of all tables: links are 32 bits, and an entry may be alone in four chains.
const MAX_LIMIT: usize = 1 << 29;

/// The most entries in the line: a usual window of messages, which takes some microseconds to file.
const MAX_LINE: usize = 128;

/// The number of entries of the line that are searched before all are filed. To search them costs
/// about as much as to search a chain.
const GLANCE: usize = 8;

/// An entry that knows the patterns it is filed under.
pub(super) trait TableEntry<const CHAINS: usize> {
    /// Returns all patterns that match it.
    fn patterns(&self) -> [Pattern; CHAINS];
}

/// A table of at most `limit` entries that are each filed under `CHAINS` patterns.
#[derive(Debug)]
pub(super) struct Table<T, const CHAINS: usize> {
    slots: PagedVec<TableSlot<T, CHAINS>>,
    /// The first of the slots without an entry, which are linked by their first links.
    vacant: u32,
    len: usize,
    limit: usize,
    next_sequence: u64,
    directory: Directory,
    line: UnfiledEntries,
    /// Entries of the line that were compared.
    #[cfg(test)]
    glanced: std::cell::Cell<u64>,
}

/// The entries that are not filed, linked by their first links.
#[derive(Debug)]
struct UnfiledEntries {
    first: u32,
    last: u32,
    len: usize,
}

#[derive(Debug)]
struct TableSlot<T, const CHAINS: usize> {
    sequence: u64,
    links: [Link; CHAINS],
    entry: Option<T>,
}

/// An entry's place in one of its chains, or in the line, which is no chain.
#[derive(Clone, Copy, Debug)]
struct Link {
    chain: u32,
    previous: u32,
    next: u32,
}

const UNLINKED: Link = Link {
    chain: NONE,
    previous: NONE,
    next: NONE,
};

/// A handle of an entry, valid as long as the entry is in the table. No other entry ever gets the
/// same sequence number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct EntryHandle {
    /// The number of entries that came before this one.
    pub(super) sequence: u64,
    slot: u32,
}

impl<T: TableEntry<CHAINS>, const CHAINS: usize> Table<T, CHAINS> {
    /// Returns an empty table. It allocates memory as entries come.
    pub(super) fn new(limit: usize) -> Self {
        assert!(
            limit <= MAX_LIMIT,
            "a table of {limit} entries, at most {MAX_LIMIT} can be linked"
        );
        Self {
            slots: PagedVec::new(),
            vacant: NONE,
            len: 0,
            limit,
            next_sequence: 0,
            directory: Directory::new(),
            line: UnfiledEntries {
                first: NONE,
                last: NONE,
                len: 0,
            },
            #[cfg(test)]
            glanced: std::cell::Cell::new(0),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    /// Adds `entry` behind all others, or returns `None` if the table is full.
    #[inline(always)]
    pub(super) fn insert(&mut self, entry: T) -> Option<EntryHandle> {
        if self.len == self.limit {
            return None;
        }
        if self.line.len == MAX_LINE {
            self.file_next();
        }
        let slot = self.vacant_slot();
        let previous = std::mem::replace(&mut self.line.last, slot);
        if previous == NONE {
            self.line.first = slot;
        } else {
            self.slots[previous].links[0].next = slot;
        }
        self.line.len += 1;
        let place = &mut self.slots[slot];
        place.sequence = self.next_sequence;
        place.links[0] = Link {
            previous,
            ..UNLINKED
        };
        place.entry = Some(entry);
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        self.len += 1;
        Some(EntryHandle { sequence, slot })
    }

    /// Finds the earliest entry for which `wanted` holds. Such entries must be filed under these
    /// patterns.
    pub(super) fn earliest<'a>(
        &self,
        patterns: impl Iterator<Item = &'a Pattern>,
        wanted: impl Fn(&T) -> bool,
    ) -> Option<EntryHandle> {
        let filed = self.earliest_filed(patterns);
        filed.or_else(|| self.earliest_in_line(MAX_LINE, wanted))
    }

    /// Does the same for a caller that may change the table, in constant time on average.
    #[inline]
    pub(super) fn find<'a>(
        &mut self,
        patterns: impl Iterator<Item = &'a Pattern> + Clone,
        wanted: impl Fn(&T) -> bool,
    ) -> Option<EntryHandle> {
        let found = self.earliest_filed(patterns.clone());
        let found = found.or_else(|| self.earliest_in_line(GLANCE, wanted));
        if found.is_some() || self.line.len <= GLANCE {
            return found;
        }
        while self.line.len > 0 {
            self.file_next();
        }
        self.earliest_filed(patterns)
    }

    /// Finds the earliest entry for which `wanted` holds, if all such entries are filed under the
    /// first of these patterns. It searches the whole chain, and the line.
    pub(super) fn earliest_of(
        &self,
        patterns: &[Pattern; CHAINS],
        wanted: impl Fn(&T) -> bool,
    ) -> Option<EntryHandle> {
        let filed = self.len > self.line.len;
        let first = patterns.first().filter(|_| filed);
        let chain = first.and_then(|first| self.directory.find(first));
        let mut slot = chain.map_or(NONE, |chain| chain.head);
        while slot != NONE {
            let place = &self.slots[slot];
            if place.entry.as_ref().is_some_and(&wanted) {
                return Some(self.handle(slot));
            }
            slot = place.links[0].next;
        }
        self.earliest_in_line(MAX_LINE, wanted)
    }

    fn earliest_filed<'a>(
        &self,
        patterns: impl Iterator<Item = &'a Pattern>,
    ) -> Option<EntryHandle> {
        if self.len == self.line.len {
            return None;
        }
        let heads = patterns.filter_map(|pattern| Some(self.directory.find(pattern)?.head));
        heads
            .map(|slot| self.handle(slot))
            .min_by_key(|handle| handle.sequence)
    }

    /// Finds the earliest entry for which `wanted` holds among the first few in line.
    #[inline]
    fn earliest_in_line(&self, most: usize, wanted: impl Fn(&T) -> bool) -> Option<EntryHandle> {
        let mut slot = self.line.first;
        for _ in 0..most.min(self.line.len) {
            self.count_step();
            let place = &self.slots[slot];
            if place.entry.as_ref().is_some_and(&wanted) {
                return Some(self.handle(slot));
            }
            slot = place.links[0].next;
        }
        None
    }

    /// Files the entry that is first in line.
    fn file_next(&mut self) {
        let slot = self.line.first;
        self.leave_line(slot);
        let entry = self.slots[slot].entry.as_ref();
        let patterns = entry.expect("it is in line").patterns();
        for (way, pattern) in patterns.into_iter().enumerate() {
            self.slots[slot].links[way] = self.append(slot, way, pattern);
        }
    }

    fn handle(&self, slot: u32) -> EntryHandle {
        EntryHandle {
            sequence: self.slots[slot].sequence,
            slot,
        }
    }

    /// Returns the entry of a handle, unless it has been removed.
    pub(super) fn get(&self, handle: EntryHandle) -> Option<&T> {
        let slot = self.slots.get(handle.slot)?;
        slot.entry
            .as_ref()
            .filter(|_| slot.sequence == handle.sequence)
    }

    /// Removes the entry of a handle, unless it has been removed.
    #[inline(always)]
    pub(super) fn remove(&mut self, handle: EntryHandle) -> Option<T> {
        self.vacate(handle)?;
        self.slots[handle.slot].entry.take()
    }

    /// Does the same, but moves only the part of the entry that `wanted` takes out.
    #[inline(always)]
    pub(super) fn remove_with<R>(
        &mut self,
        handle: EntryHandle,
        wanted: impl FnOnce(&mut T) -> R,
    ) -> Option<R> {
        self.vacate(handle)?;
        let slot = &mut self.slots[handle.slot];
        let taken = slot.entry.as_mut().map(wanted);
        slot.entry = None;
        taken
    }

    /// Takes the slot of an entry out of its line or its chains.
    #[inline(always)]
    fn vacate(&mut self, handle: EntryHandle) -> Option<()> {
        self.get(handle)?;
        if self.slots[handle.slot].links[0].chain == NONE {
            self.leave_line(handle.slot);
        } else {
            for way in 0..CHAINS {
                self.unlink(handle.slot, way);
            }
        }
        let slot = &mut self.slots[handle.slot];
        slot.links[0].next = std::mem::replace(&mut self.vacant, handle.slot);
        self.len -= 1;
        Some(())
    }

    /// Returns all entries, earliest first. It sorts them, so it is for diagnosis, not for every
    /// slice.
    pub(super) fn in_order(&self) -> impl Iterator<Item = &T> {
        let mut slots: Vec<_> = self
            .slots
            .iter()
            .filter(|slot| slot.entry.is_some())
            .collect();
        slots.sort_unstable_by_key(|slot| slot.sequence);
        slots.into_iter().filter_map(|slot| slot.entry.as_ref())
    }

    /// Returns a slot for an entry. It prefers a slot that was used before, so that few are ever
    /// touched.
    fn vacant_slot(&mut self) -> u32 {
        if self.vacant == NONE {
            return self.slots.push(TableSlot {
                sequence: 0,
                links: [UNLINKED; CHAINS],
                entry: None,
            });
        }
        let next = self.slots[self.vacant].links[0].next;
        std::mem::replace(&mut self.vacant, next)
    }

    /// Takes an entry out of the line.
    fn leave_line(&mut self, slot: u32) {
        let Link { previous, next, .. } = self.slots[slot].links[0];
        match previous {
            NONE => self.line.first = next,
            previous => self.slots[previous].links[0].next = next,
        }
        match next {
            NONE => self.line.last = previous,
            next => self.slots[next].links[0].previous = previous,
        }
        self.line.len -= 1;
    }

    /// Makes `slot` the tail of the chain of `pattern`.
    fn append(&mut self, slot: u32, way: usize, pattern: Pattern) -> Link {
        let index = self.directory.find_or_insert(pattern);
        let chain = self.directory.chain_mut(index);
        let previous = std::mem::replace(&mut chain.tail, slot);
        if previous == NONE {
            chain.head = slot;
        } else {
            self.slots[previous].links[way].next = slot;
        }
        Link {
            chain: index,
            previous,
            next: NONE,
        }
    }

    /// Takes `slot` out of one of its chains. If the chain is then empty, also takes it out of the
    /// directory.
    fn unlink(&mut self, slot: u32, way: usize) {
        let Link {
            chain: index,
            previous,
            next,
        } = self.slots[slot].links[way];
        let chain = self.directory.chain_mut(index);
        if previous == NONE {
            chain.head = next;
        }
        if next == NONE {
            chain.tail = previous;
        }
        if previous == NONE && next == NONE {
            self.directory.remove(index);
        }
        if previous != NONE {
            self.slots[previous].links[way].next = next;
        }
        if next != NONE {
            self.slots[next].links[way].previous = previous;
        }
    }

    #[inline]
    fn count_step(&self) {
        #[cfg(test)]
        self.glanced.set(self.glanced.get() + 1);
    }

    /// Returns the number of chains and entries passed so far: the work that could grow with the
    /// number of entries.
    #[cfg(test)]
    pub(super) fn walked(&self) -> u64 {
        self.directory.walked() + self.glanced.get()
    }

    /// Returns the numbers of slots touched so far and of chains in use.
    #[cfg(test)]
    pub(super) fn footprint(&self) -> (u32, u32) {
        (self.slots.len(), self.directory.occupied())
    }
}
