//! The work of every call, whatever it is for, and the counts that show progress.

use super::state::SmartMap;
use std::sync::atomic::Ordering;

impl SmartMap {
    /// Takes messages that have come, and sends those that were held back.
    pub(crate) fn progress(&mut self) {
        self.drain();
        self.flush();
        // Each call adds one at most.
        self.reap_copies(2);
        self.advance_collectives(true);
    }

    /// Returns whether anything waits for room in a queue.
    pub(crate) fn holds(&self) -> bool {
        self.holding
    }

    /// Returns a count that grows when this end completes a request, gets work to do without the
    /// lock, or stores a message that a probe may wait for.
    pub(crate) fn progressed(&self) -> u64 {
        self.requests.done() + self.kept + self.deferred_copies_so_far
    }

    /// Returns a count that changes when a request is done, and when another rank has ended a
    /// transfer.
    pub(crate) fn events(&self) -> u64 {
        let news = self.node.event_count(self.place).load(Ordering::Acquire);
        // Other processes share node memory and may have written any number there.
        news.wrapping_add(self.requests.done())
    }
}
