//! Which PUTs have been sent to whom: so that nobody waits for a round trip.
//!
//! A PUT is complete when it has been said, if whoever hears that it was is certain to have it. A process tells the
//! sequencer how many PUTs it has sent to each other one, before it reports or asks for anything. The sequencer tells
//! each process how many it is to have from each other one, before it says anything to it that may follow from such a report:
//! a microstrobe, a verdict. And that process hears nothing more of the sequencer until it has them. So the
//! beat carries what otherwise an acknowledgement would: who is struck for the next microphase has all that was put to
//! it in the one before.
//!
//! What is said so goes along the tree of processes ([`super::tree`]), where a path takes the place of the link: so the
//! sequencer counts what its own process has sent to those that are no children of it, and awaits itself what they have sent to
//! it. With a child each is in order by the link of the two.
//!
//! That needs a path from each of the two to the sequencer: processes that share its memory hear of it by that. So
//! PUTs from and to those are complete when they are acknowledged. What one process tells another without the
//! sequencer says nothing of PUTs of a third.

use std::collections::BTreeMap;

/// Counts of PUTs.
#[derive(Debug, Default)]
pub(super) struct PutCounts {
    /// Sent to a party; and whether the sequencer is to be told.
    sent: BTreeMap<usize, (u64, bool)>,
    /// That came from a party, and have taken effect.
    come: BTreeMap<usize, u64>,
    /// At the sequencer: sent from one party to another, by the latter.
    known: BTreeMap<usize, BTreeMap<usize, u64>>,
    /// Of these, what the latter was not told.
    awaited: BTreeMap<usize, BTreeMap<usize, u64>>,
}

impl PutCounts {
    /// One more is sent, of which the sequencer is told.
    pub(super) fn send(&mut self, to: usize) {
        let (count, is_untold) = self.sent.entry(to).or_default();
        *count += 1;
        *is_untold = true;
    }

    /// What the sequencer is to be told: to whom, and how many.
    pub(super) fn take_untold(&mut self) -> Vec<(usize, u64)> {
        let untold = self.sent.iter_mut().filter(|(_, (_, untold))| *untold);
        let told = untold.map(|(&party, (count, is_untold))| {
            *is_untold = false;
            (party, *count)
        });
        told.collect()
    }

    /// One has come.
    pub(super) fn add(&mut self, from: usize) {
        *self.come.entry(from).or_default() += 1;
    }

    /// Whether so many have come from a party.
    pub(super) fn has(&self, from: usize, count: u64) -> bool {
        self.come.get(&from).copied().unwrap_or(0) >= count
    }

    /// The sequencer is told that so many were sent.
    pub(super) fn know(&mut self, from: usize, to: usize, count: u64) {
        let known = self.known.entry(to).or_default().entry(from).or_default();
        if count > *known {
            *known = count;
            self.awaited.entry(to).or_default().insert(from, count);
        }
    }

    /// What a party is to wait for before it hears more: from whom, and how many.
    pub(super) fn take_awaited(&mut self, to: usize) -> Vec<(usize, u64)> {
        let awaited = self.awaited.remove(&to);
        awaited.unwrap_or_default().into_iter().collect()
    }

    /// Some party that is to wait for more.
    pub(super) fn next_awaiting(&self) -> Option<usize> {
        self.awaited.keys().next().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_told_once_and_only_grow() {
        let mut puts = PutCounts::default();
        puts.send(2);
        puts.send(2);
        puts.send(5);
        assert_eq!(puts.take_untold(), [(2, 2), (5, 1)]);
        assert_eq!(puts.take_untold(), []);
        puts.know(1, 2, 7);
        puts.know(1, 2, 6);
        assert_eq!(puts.next_awaiting(), Some(2));
        assert_eq!(puts.take_awaited(2), [(1, 7)]);
        assert_eq!(puts.next_awaiting(), None);
        assert_eq!(puts.take_awaited(2), []);
        assert!(!puts.has(1, 1) && puts.has(1, 0));
        puts.add(1);
        assert!(puts.has(1, 1) && !puts.has(1, 2));
    }
}
