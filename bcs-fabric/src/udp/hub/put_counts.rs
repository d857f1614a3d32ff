//! The counts of PUTs that were sent and have come, which spare a PUT the round trip.
//!
//! A PUT is complete when it has been sent, if every process that learns of this is certain to have
//! the PUT. A process reports to the sequencer how many PUTs it has sent to each other one, before
//! it reports or requests anything. The sequencer notifies each process how many it has to have
//! from each other one, before it sends it anything that may follow from such a report: a
//! microstrobe, a verdict. That process handles nothing more of the sequencer until it has them. So
//! the strobe carries what otherwise an acknowledgement would: a process that gets the strobe of
//! the next microphase has all that was put to it in the one before.
//!
//! These messages go along the tree of processes ([`super::tree`]), where a path takes the place of
//! the link. So the sequencer counts what its own process has sent to those that are not its
//! children, and waits itself for what they have sent to it. The link between it and a child keeps
//! the order of both.
//!
//! That needs a path from each of the two to the sequencer. Processes that share its memory learn
//! of reports by that. So PUTs from and to those are complete when they are acknowledged. A message
//! of one process to another without the sequencer says nothing of PUTs of a third.

use std::collections::BTreeMap;

/// Counts of PUTs.
#[derive(Debug, Default)]
pub(super) struct PutCounts {
    /// The PUTs sent to a party, and whether the sequencer has to be notified.
    sent: BTreeMap<usize, (u64, bool)>,
    /// The PUTs of a party that have come and taken effect.
    come: BTreeMap<usize, u64>,
    /// At the sequencer: PUTs from one party to another, by the receiver.
    known: BTreeMap<usize, BTreeMap<usize, u64>>,
    /// The part of `known` of which the receiver was not notified.
    awaited: BTreeMap<usize, BTreeMap<usize, u64>>,
}

impl PutCounts {
    /// Counts a PUT that is sent, of which the sequencer has to be notified.
    pub(super) fn send(&mut self, to: usize) {
        let (count, is_untold) = self.sent.entry(to).or_default();
        *count += 1;
        *is_untold = true;
    }

    /// Takes the counts of which the sequencer has to be notified, with their receivers.
    pub(super) fn take_untold(&mut self) -> Vec<(usize, u64)> {
        let untold = self.sent.iter_mut().filter(|(_, (_, untold))| *untold);
        let told = untold.map(|(&party, (count, is_untold))| {
            *is_untold = false;
            (party, *count)
        });
        told.collect()
    }

    /// Counts a PUT that has come.
    pub(super) fn add(&mut self, from: usize) {
        *self.come.entry(from).or_default() += 1;
    }

    /// Returns whether that many have come from a party.
    pub(super) fn has(&self, from: usize, count: u64) -> bool {
        self.come.get(&from).copied().unwrap_or(0) >= count
    }

    /// Records at the sequencer how many were sent.
    pub(super) fn know(&mut self, from: usize, to: usize, count: u64) {
        let known = self.known.entry(to).or_default().entry(from).or_default();
        if count > *known {
            *known = count;
            self.awaited.entry(to).or_default().insert(from, count);
        }
    }

    /// Takes the counts for which a party has to wait before it handles more, with their senders.
    pub(super) fn take_awaited(&mut self, to: usize) -> Vec<(usize, u64)> {
        let awaited = self.awaited.remove(&to);
        awaited.unwrap_or_default().into_iter().collect()
    }

    /// Returns a party that has to wait for more.
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
