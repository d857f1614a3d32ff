//! A bounded table of entries, each linked into the chains of the patterns it is filed under.
//!
//! Entries lie in a slab; links are indexes into it. In a chain they are in the order in which they
//! came, so the head is the earliest; an entry goes from the midst of all its chains in constant
//! time.

use super::directory::{Directory, NONE};
use super::pages::Pages;
use super::pattern::Pattern;

/// No table can be larger: links are 32 bits, and an entry may be alone in four chains.
const MAX_LIMIT: usize = 1 << 29;

/// A table of at most `limit` entries that are each filed under `CHAINS` patterns.
#[derive(Debug)]
pub(super) struct Table<T, const CHAINS: usize> {
    slots: Pages<Slot<T, CHAINS>>,
    /// The first of the slots without an entry, which are linked by their first links.
    vacant: u32,
    len: usize,
    limit: usize,
    next_sequence: u64,
    directory: Directory,
}

#[derive(Debug)]
struct Slot<T, const CHAINS: usize> {
    sequence: u64,
    links: [Link; CHAINS],
    entry: Option<T>,
}

/// An entry's place in one of its chains.
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

/// An entry, as long as it is in the table: no other ever gets the same sequence number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Handle {
    /// The number of entries that came before this one.
    pub(super) sequence: u64,
    slot: u32,
}

impl<T, const CHAINS: usize> Table<T, CHAINS> {
    /// An empty table; it takes memory as entries come.
    pub(super) fn new(limit: usize) -> Self {
        assert!(
            limit <= MAX_LIMIT,
            "a table of {limit} entries, at most {MAX_LIMIT} can be linked"
        );
        Self {
            slots: Pages::new(),
            vacant: NONE,
            len: 0,
            limit,
            next_sequence: 0,
            directory: Directory::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    /// Files `entry` behind all others under each of `patterns`; none if the table is full.
    pub(super) fn insert(&mut self, patterns: [Pattern; CHAINS], entry: T) -> Option<Handle> {
        if self.len == self.limit {
            return None;
        }
        let slot = self.vacant_slot();
        let links = std::array::from_fn(|way| self.append(slot, way, patterns[way]));
        let sequence = self.next_sequence;
        self.slots[slot] = Slot {
            sequence,
            links,
            entry: Some(entry),
        };
        self.next_sequence += 1;
        self.len += 1;
        Some(Handle { sequence, slot })
    }

    /// The earliest entry filed under `pattern`.
    pub(super) fn earliest(&self, pattern: &Pattern) -> Option<Handle> {
        if self.len == 0 {
            return None;
        }
        let slot = self.directory.find(pattern)?.head;
        Some(Handle {
            sequence: self.slots[slot].sequence,
            slot,
        })
    }

    /// The entry of a handle, unless it has been removed.
    pub(super) fn get(&self, handle: Handle) -> Option<&T> {
        let slot = self.slots.get(handle.slot)?;
        slot.entry
            .as_ref()
            .filter(|_| slot.sequence == handle.sequence)
    }

    /// Removes the entry of a handle, unless that has been done.
    pub(super) fn remove(&mut self, handle: Handle) -> Option<T> {
        self.get(handle)?;
        for way in 0..CHAINS {
            self.unlink(handle.slot, way);
        }
        let slot = &mut self.slots[handle.slot];
        slot.links[0].next = std::mem::replace(&mut self.vacant, handle.slot);
        self.len -= 1;
        slot.entry.take()
    }

    /// All entries, earliest first. It sorts them: for diagnosis, not for every slice.
    pub(super) fn in_order(&self) -> impl Iterator<Item = &T> {
        let mut slots: Vec<_> = self
            .slots
            .iter()
            .filter(|slot| slot.entry.is_some())
            .collect();
        slots.sort_unstable_by_key(|slot| slot.sequence);
        slots.into_iter().filter_map(|slot| slot.entry.as_ref())
    }

    /// A slot to put an entry in: one used before, if there is one, so that few are ever touched.
    fn vacant_slot(&mut self) -> u32 {
        if self.vacant == NONE {
            return self.slots.push(Slot {
                sequence: 0,
                links: [UNLINKED; CHAINS],
                entry: None,
            });
        }
        let next = self.slots[self.vacant].links[0].next;
        std::mem::replace(&mut self.vacant, next)
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

    /// Takes `slot` out of one of its chains, and the chain out of the directory if it was the last.
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

    /// Chains looked at so far: the work that could grow with the number of entries.
    #[cfg(test)]
    pub(super) fn walked(&self) -> u64 {
        self.directory.walked()
    }

    /// Slots touched so far, and chains in use.
    #[cfg(test)]
    pub(super) fn footprint(&self) -> (u32, u32) {
        (self.slots.len(), self.directory.occupied())
    }
}
