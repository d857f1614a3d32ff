//! A queue of frames that leave later.

use std::collections::BTreeMap;

/// The most frames that wait: with 9,000 bytes each they are 74 MB.
pub(super) const MAX_QUEUED_FRAMES: usize = 8_192;

/// The time at which a frame leaves, and its order among frames that leave at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct DepartureKey {
    leaves_ns: u64,
    order: u64,
}

/// A frame that waits.
#[derive(Debug)]
pub(super) struct QueuedFrame {
    pub(super) from: usize,
    pub(super) to: usize,
    /// Whether it waits for others to overtake it.
    pub(super) held_back: bool,
    pub(super) frame: Vec<u8>,
}

/// The waiting frames, in the order in which they leave.
#[derive(Debug, Default)]
pub(super) struct FrameQueue {
    waiting: BTreeMap<DepartureKey, QueuedFrame>,
    put: u64,
}

impl FrameQueue {
    /// Adds a frame that leaves at `leaves_ns`. Returns `None` if too many wait.
    pub(super) fn put(&mut self, leaves_ns: u64, waiting: QueuedFrame) -> Option<DepartureKey> {
        if self.waiting.len() == MAX_QUEUED_FRAMES {
            return None;
        }
        let order = self.put;
        self.put += 1;
        let turn = DepartureKey { leaves_ns, order };
        self.waiting.insert(turn, waiting);
        Some(turn)
    }

    pub(super) fn take(&mut self, turn: DepartureKey) -> QueuedFrame {
        self.waiting.remove(&turn).expect("a frame has one turn")
    }

    /// Takes the next frame that is due.
    pub(super) fn take_due(&mut self, now_ns: u64) -> Option<(DepartureKey, QueuedFrame)> {
        self.waiting
            .first_entry()
            .filter(|entry| entry.key().leaves_ns <= now_ns)
            .map(|entry| entry.remove_entry())
    }

    /// Returns when the next frame leaves.
    pub(super) fn next_ns(&self) -> Option<u64> {
        self.waiting.keys().next().map(|turn| turn.leaves_ns)
    }
}
