//! Queues: one for each ordered pair of ranks.

use super::NodeMemory;
use super::layout::{self, ENTRIES, HEAD, PAYLOAD, QUEUE_BYTES, ROOM_WANTED};
use crate::limits::{SEND_QUEUE_ENTRIES, SEND_QUEUE_PAYLOAD_BYTES};
use crate::memory::MappedWords;
use crate::smartmap::known_senders;
use crate::smartmap::send_queue::{
    ENTRY_WORDS, PayloadMemory, QueueLayout, QueueReceiver, QueueSender,
};
use std::sync::atomic::{AtomicU64, Ordering, fence};

impl NodeMemory {
    fn queue(&self, from: usize, to: usize) -> usize {
        assert!(
            from < self.ranks && to < self.ranks,
            "{from} to {to} of {}",
            self.ranks
        );
        // The queues that one rank receives from lie side by side.
        layout::queues(self.ranks) + (to * self.ranks + from) * QUEUE_BYTES
    }

    fn layout(start: usize) -> QueueLayout {
        QueueLayout {
            head_word: (start + HEAD) / 8,
            first_entry_word: (start + ENTRIES) / 8,
            entries: SEND_QUEUE_ENTRIES,
            payload: start + PAYLOAD,
            payload_bytes: SEND_QUEUE_PAYLOAD_BYTES,
        }
    }

    /// Returns the sending side of an unused queue. Its receiver polls it from now on.
    #[must_use]
    pub fn sender(&self, from: usize, to: usize) -> QueueSender<MappedWords> {
        let layout = Self::layout(self.queue(from, to));
        known_senders::mark_sender(&self.words, self.introductions(to), from);
        QueueSender::new(self.words.clone(), layout)
    }

    /// Returns the receiving side of an unused queue.
    #[must_use]
    pub fn receiver(&self, from: usize, to: usize) -> QueueReceiver<MappedWords> {
        let layout = Self::layout(self.queue(from, to));
        QueueReceiver::new(self.words.clone(), layout)
    }

    /// Receiver, on any thread: returns whether a queue has an entry that is not taken yet.
    #[must_use]
    #[inline]
    pub fn has_news(&self, from: usize, to: usize) -> bool {
        self.news_from(from, to)()
    }

    /// Does the same for a queue that is polled again and again.
    #[inline]
    pub fn news_from(&self, from: usize, to: usize) -> impl Fn() -> bool {
        let layout = Self::layout(self.queue(from, to));
        move || QueueReceiver::is_filled(&self.words, layout)
    }

    /// Manager: returns how many entries of a queue its receiver has taken.
    #[must_use]
    pub fn taken(&self, from: usize, to: usize) -> u64 {
        let layout = Self::layout(self.queue(from, to));
        QueueReceiver::taken_of(&self.words, layout)
    }

    /// Sender: requests to be rung when the receiver has taken an entry. The sender then tries once
    /// more before it sleeps.
    pub fn request_space(&self, from: usize, to: usize) {
        let wanted = self.mapping().word32(self.queue(from, to) + ROOM_WANTED);
        wanted.store(1, Ordering::Relaxed);
        // PLACE: either the following try sees what was taken, or the receiver sees the request.
        fence(Ordering::SeqCst);
    }

    /// Receiver, after it has taken an entry: returns whether the sender has requested to be rung
    /// for that. This clears the request, and counts an event of the sender.
    #[must_use]
    pub fn take_space_request(&self, from: usize, to: usize) -> bool {
        fence(Ordering::SeqCst); // PLACE
        let wanted = self.mapping().word32(self.queue(from, to) + ROOM_WANTED);
        let is_wanted =
            wanted.load(Ordering::Relaxed) != 0 && wanted.swap(0, Ordering::AcqRel) != 0;
        if is_wanted {
            self.event_count(from).fetch_add(1, Ordering::AcqRel);
        }
        is_wanted
    }
}

impl PayloadMemory for MappedWords {
    #[inline]
    fn entry(&self, first: usize) -> &[AtomicU64; ENTRY_WORDS] {
        self.0.line(first * 8)
    }

    fn write(&self, offset: usize, bytes: &[u8]) {
        self.0.write(offset, bytes);
    }

    fn read(&self, offset: usize, bytes: &mut [u8]) {
        self.0.read(offset, bytes);
    }
}
