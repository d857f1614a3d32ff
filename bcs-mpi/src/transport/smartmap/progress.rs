//! What every call does, whatever it is for; and what shows that something has been done.

use super::state::SmartMap;
use std::sync::atomic::Ordering;

impl SmartMap {
    /// Takes what has come and sends what was held back.
    pub(crate) fn progress(&mut self) {
        self.drain();
        self.flush();
        // Each call adds one at most.
        self.reap_copies(2);
        self.advance_collectives(true);
    }

    /// Whether something waits for room in a queue.
    pub(crate) fn holds(&self) -> bool {
        self.holding
    }

    /// Grows when this end completes a request, has something to do without the lock, or keeps a message that
    /// a probe may wait for.
    pub(crate) fn progressed(&self) -> u64 {
        self.requests.done() + self.kept + self.errands_so_far
    }

    /// Changes when a request is done, and when another rank has ended a transfer.
    pub(crate) fn events(&self) -> u64 {
        let news = self.node.event_count(self.place).load(Ordering::Acquire);
        // Whoever shares node memory may have written any number there.
        news.wrapping_add(self.requests.done())
    }
}
