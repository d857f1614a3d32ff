//! Rank areas: the part of node memory that belongs to one rank.

use super::NodeMemory;
use super::layout::{DESK_BYTES, FULL, INTRODUCTIONS, NEWS, PROCESS, UPDATES};
use crate::memory::{MappedWord, UpdateLock};
use crate::smartmap::known_senders;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// A mark on a process id: other ranks do not write by it. A script started the program and reaps
/// it, so an unrelated process may get the id before the runtime learns of the program's death. No
/// process id has this bit.
pub const READ_ONLY: u32 = 1 << 31;

/// The area of a rank that shares a node with others.
#[derive(Clone, Debug)]
pub struct RankArea {
    /// The memory that the ranks of its node share.
    pub node: NodeMemory,
    /// The rank's number among them.
    pub place: usize,
}

impl RankArea {
    /// Returns the bell of the rank: its NIC and the other ranks of its node ring it.
    #[must_use]
    pub fn bell(&self) -> MappedWord {
        self.node.mapped_bell(self.place)
    }

    /// Returns the word of the lock of the rank's memory ([`UpdateLock`]), for its NIC.
    #[must_use]
    pub fn update_lock(&self) -> MappedWord {
        let offset = self.node.desk(self.place) + UPDATES;
        MappedWord::new(self.node.words.0.clone(), offset)
    }
}

impl NodeMemory {
    fn desk(&self, place: usize) -> usize {
        assert!(place < self.ranks, "place {place} of {}", self.ranks);
        place * DESK_BYTES
    }

    /// Returns the bell of a rank: it sleeps on it, its NIC and the other ranks of its node ring
    /// it.
    #[must_use]
    #[inline]
    pub fn bell(&self, place: usize) -> &AtomicU32 {
        self.mapping().word32(self.desk(place))
    }

    /// Returns the same, for a caller that rings and needs nothing else of this memory.
    #[must_use]
    pub fn mapped_bell(&self, place: usize) -> MappedWord {
        MappedWord::new(self.words.0.clone(), self.desk(place))
    }

    /// Takes the lock of a rank's memory for updates. `pause` gives the core away.
    pub fn update_lock(&self, place: usize, pause: impl Fn()) -> UpdateLock<'_> {
        UpdateLock::take(self.mapping().word32(self.desk(place) + UPDATES), pause)
    }

    /// Returns the process id of a rank, by which the kernel finds its memory; 0 while it has none.
    /// The id may bear the mark [`READ_ONLY`].
    #[must_use]
    pub fn process_id(&self, place: usize) -> &AtomicU32 {
        self.mapping().word32(self.desk(place) + PROCESS)
    }

    /// Returns the word that is not 0 if a rank's unexpected queue is full, so that senders keep
    /// their messages. It lies beside the bell, which senders read anyway.
    #[must_use]
    #[inline]
    pub fn unexpected_full(&self, place: usize) -> &AtomicU32 {
        self.mapping().word32(self.desk(place) + FULL)
    }

    /// Returns the count of events of a rank that no queue shows. A rank that waits compares it
    /// with its value before the last poll.
    #[must_use]
    #[inline]
    pub fn event_count(&self, place: usize) -> &AtomicU64 {
        self.mapping().word64(self.desk(place) + NEWS)
    }

    /// Counts an event, so that a rank polls again. The caller rings it.
    pub fn count_event(&self, place: usize) {
        self.event_count(place).fetch_add(1, Ordering::AcqRel);
    }

    pub(super) fn introductions(&self, place: usize) -> usize {
        (self.desk(place) + INTRODUCTIONS) / 8
    }

    /// Returns the first of the places `from..end` that has introduced itself to this rank. The
    /// other ranks have never sent to it.
    #[must_use]
    #[inline]
    pub fn next_known_sender(&self, place: usize, from: usize, end: usize) -> Option<usize> {
        let end = end.min(self.ranks);
        known_senders::next_sender(&self.words, self.introductions(place), from, end)
    }
}
