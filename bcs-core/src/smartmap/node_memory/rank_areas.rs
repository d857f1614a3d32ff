//! Desks: where the ranks of a node sit.

use super::NodeMemory;
use super::layout::{DESK_BYTES, FULL, INTRODUCTIONS, NEWS, PROCESS};
use crate::memory::MappedWord;
use crate::smartmap::known_senders;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The mark of a process id that may become a stranger's before anybody hears of its death, because a
/// script started the program and reaps it: nobody writes by it. No process id has this bit.
pub const READ_ONLY: u32 = 1 << 31;

/// The desk of a rank that shares a node with others.
#[derive(Clone, Debug)]
pub struct RankArea {
    /// What the ranks of its node share.
    pub node: NodeMemory,
    /// The rank's number among them.
    pub place: usize,
}

impl RankArea {
    /// The bell of the rank: its NIC and the other ranks of its node ring it.
    #[must_use]
    pub fn bell(&self) -> MappedWord {
        self.node.mapped_bell(self.place)
    }
}

impl NodeMemory {
    fn desk(&self, place: usize) -> usize {
        assert!(place < self.ranks, "place {place} of {}", self.ranks);
        place * DESK_BYTES
    }

    /// The bell of a rank: it sleeps on it, its NIC and the other ranks of its node ring it.
    #[must_use]
    #[inline]
    pub fn bell(&self, place: usize) -> &AtomicU32 {
        self.mapping().word32(self.desk(place))
    }

    /// The same, for whoever rings and has nothing else to do with this memory.
    #[must_use]
    pub fn mapped_bell(&self, place: usize) -> MappedWord {
        MappedWord::new(self.words.0.clone(), self.desk(place))
    }

    /// The process id of a rank, by which the kernel knows its memory; 0 while it has none. It may bear
    /// the mark [`READ_ONLY`].
    #[must_use]
    pub fn process_id(&self, place: usize) -> &AtomicU32 {
        self.mapping().word32(self.desk(place) + PROCESS)
    }

    /// Whether a rank keeps so many messages that nobody has asked for that others are to keep theirs: not 0
    /// then. It lies beside the bell, which whoever sends looks at anyway.
    #[must_use]
    #[inline]
    pub fn unexpected_full(&self, place: usize) -> &AtomicU32 {
        self.mapping().word32(self.desk(place) + FULL)
    }

    /// What others have done for a rank that no queue tells: whoever waits compares it with what it
    /// was before the last look.
    #[must_use]
    #[inline]
    pub fn event_count(&self, place: usize) -> &AtomicU64 {
        self.mapping().word64(self.desk(place) + NEWS)
    }

    /// A rank has to look again. The caller rings it.
    pub fn count_event(&self, place: usize) {
        self.event_count(place).fetch_add(1, Ordering::AcqRel);
    }

    pub(super) fn introductions(&self, place: usize) -> usize {
        (self.desk(place) + INTRODUCTIONS) / 8
    }

    /// Of the places `from..end` the first that has introduced itself to this one: the others have never
    /// sent anything.
    #[must_use]
    #[inline]
    pub fn next_known_sender(&self, place: usize, from: usize, end: usize) -> Option<usize> {
        let end = end.min(self.ranks);
        known_senders::next_sender(&self.words, self.introductions(place), from, end)
    }
}
