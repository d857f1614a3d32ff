//! The layout of node memory.

use crate::limits::{
    MAX_CONTEXTS, MAX_RANKS_PER_NODE, REQUEST_SLOTS, SEND_QUEUE_ENTRIES, SEND_QUEUE_PAYLOAD_BYTES,
};
use crate::smartmap::coll_info::{RECORD_PAYLOAD_BYTES, RECORD_WORDS};
use crate::smartmap::known_senders;
use crate::smartmap::send_queue::ENTRY_WORDS;

pub(super) const LINE: usize = 128; // two cache lines: adjacent-line prefetch counts as sharing
pub(super) const PAGE: usize = 4096;

/// A rank area: the bell, and beside it what hardly ever changes (the process id and whether the
/// rank is full), then the event count, then the bits of known senders, then the lock of updates.
pub(super) const DESK_BYTES: usize = 4 * LINE;
pub(super) const PROCESS: usize = 8;
pub(super) const FULL: usize = 16;
pub(super) const NEWS: usize = LINE;
pub(super) const INTRODUCTIONS: usize = 2 * LINE;
pub(super) const UPDATES: usize = 3 * LINE;

/// A transfer slot is a cache line: receivers of different sends write to different ones.
pub(super) const TRANSFER_BYTES: usize = 64;

pub(super) const HEAD: usize = 0;
pub(super) const ROOM_WANTED: usize = LINE;
pub(super) const ENTRIES: usize = 2 * LINE;
#[expect(clippy::cast_possible_truncation, reason = "small constants")]
pub(super) const PAYLOAD: usize =
    (ENTRIES + SEND_QUEUE_ENTRIES as usize * ENTRY_WORDS * 8).next_multiple_of(PAGE);
#[expect(clippy::cast_possible_truncation, reason = "small constants")]
pub(super) const QUEUE_BYTES: usize = PAYLOAD + SEND_QUEUE_PAYLOAD_BYTES as usize;

pub(super) const RECORD_BYTES: usize = RECORD_WORDS * 8;

pub(super) fn transfers(ranks: usize) -> usize {
    (ranks * DESK_BYTES).next_multiple_of(PAGE)
}

pub(super) fn queues(ranks: usize) -> usize {
    transfers(ranks) + ranks * REQUEST_SLOTS * TRANSFER_BYTES
}

/// Returns the bytes of the memory of a node with `ranks` ranks. Only used parts are ever touched.
pub(super) fn bytes(ranks: usize) -> usize {
    assert!(
        (1..=MAX_RANKS_PER_NODE).contains(&ranks),
        "{ranks} ranks on a node"
    );
    coll_infos(ranks) + ranks * MAX_CONTEXTS * (RECORD_BYTES + RECORD_PAYLOAD_BYTES)
}

pub(super) fn coll_infos(ranks: usize) -> usize {
    queues(ranks) + ranks * ranks * QUEUE_BYTES
}

const _: () = {
    assert!(SEND_QUEUE_ENTRIES.is_power_of_two() && SEND_QUEUE_PAYLOAD_BYTES.is_power_of_two());
    assert!(ENTRIES.is_multiple_of(64) && QUEUE_BYTES.is_multiple_of(PAGE));
    assert!(RECORD_BYTES.is_multiple_of(LINE) && RECORD_PAYLOAD_BYTES.is_multiple_of(PAGE));
    assert!((MAX_CONTEXTS * RECORD_BYTES).is_multiple_of(PAGE));
    assert!(MAX_RANKS_PER_NODE < u16::MAX as usize); // who has folded for all, in 16 bits
    assert!(known_senders::words_for(MAX_RANKS_PER_NODE) * 8 <= LINE);
};
