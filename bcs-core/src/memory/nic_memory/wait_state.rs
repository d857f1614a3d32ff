//! The wait state of a rank in its NIC memory.

use super::{NicMemory, WHEREABOUTS};
use crate::wait_state::{self, WaitState};
use std::sync::atomic::{Ordering, fence};

impl NicMemory {
    /// Rank side, one thread at a time: publishes this rank's wait state. Returns the argument for
    /// [`clear_wait_state`](Self::clear_wait_state).
    pub fn publish_wait_state(&self, whereabouts: &WaitState) -> u64 {
        let version = self.mapping.word64(WHEREABOUTS + 8);
        let next = version.load(Ordering::Relaxed).wrapping_add(1).max(1);
        version.store(next, Ordering::Relaxed);
        let said = self.mapping.word64(WHEREABOUTS);
        said.store(0, Ordering::Relaxed);
        fence(Ordering::Release); // WHERE: a reader that sees one of the words below also sees that no wait state is published.
        let words = whereabouts.encode();
        self.mapping.write_words(WHEREABOUTS + 16, &words);
        said.store(next, Ordering::Release); // WHERE: publishes the words above.
        next
    }

    /// Rank side: clears the wait state, unless another thread has published one since.
    pub fn clear_wait_state(&self, said: u64) {
        let word = self.mapping.word64(WHEREABOUTS);
        let _newer = word.compare_exchange(said, 0, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// NIC side: returns whether the rank has published a wait state. It is only a hint for
    /// counting.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        self.mapping.word64(WHEREABOUTS).load(Ordering::Relaxed) != 0
    }

    /// Manager side: returns the rank's wait state, with a number that is different for each one.
    /// Returns `None` if there is none, if it is invalid, or if it changes at this moment.
    #[must_use]
    pub fn wait_state(&self) -> Option<(u64, WaitState)> {
        let said = self.mapping.word64(WHEREABOUTS);
        let number = said.load(Ordering::Acquire); // WHERE
        let mut words = [0; wait_state::WAIT_STATE_WORDS];
        self.mapping.read_words(WHEREABOUTS + 16, &mut words);
        fence(Ordering::Acquire); // WHERE
        if number == 0 || said.load(Ordering::Relaxed) != number {
            return None;
        }
        Some((number, WaitState::decode(&words)?))
    }
}
