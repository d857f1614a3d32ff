//! Which PUTs have been sent to whom: so that nobody waits for a round trip.
//!
//! A PUT is complete when it has been said, if whoever hears that it was is certain to have it. A process tells the
//! sequencer how many PUTs it has sent to each other one, before it reports or asks for anything. The sequencer tells
//! each process how many it is to have from each other one, before it says anything to it that may follow from such a report:
//! a microstrobe, a verdict. And that process hears nothing more of the sequencer until it has them. So the
//! beat carries what otherwise an acknowledgement would: who is struck for the next microphase has all that was put to
//! it in the one before.
//!
//! That needs a link from each of the two to the sequencer: processes that share its memory hear of it by that. So
//! PUTs from and to those are complete when they are acknowledged. What one process tells another without the
//! sequencer says nothing of PUTs of a third.

use std::collections::BTreeMap;

/// Counts of PUTs.
#[derive(Debug, Default)]
pub(super) struct Puts {
    /// Sent to a party; and whether the sequencer is to be told.
    sent: BTreeMap<usize, (u64, bool)>,
    /// That came from a party, and have taken effect.
    come: BTreeMap<usize, u64>,
    /// At the sequencer: sent from one party to another, by the latter; and whether that is to be told.
    known: BTreeMap<usize, BTreeMap<usize, (u64, bool)>>,
}

impl Puts {
    /// One more is sent, of which the sequencer is told.
    pub(super) fn send(&mut self, to: usize) {
        let (count, is_untold) = self.sent.entry(to).or_default();
        *count += 1;
        *is_untold = true;
    }

    /// What the sequencer is to be told: to whom, and how many.
    pub(super) fn take_untold(&mut self) -> Vec<(usize, u64)> {
        take(&mut self.sent)
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
        if count > known.0 {
            *known = (count, true);
        }
    }

    /// What a party is to wait for before it hears more: from whom, and how many.
    pub(super) fn take_awaited(&mut self, to: usize) -> Vec<(usize, u64)> {
        self.known.get_mut(&to).map_or_else(Vec::new, take)
    }
}

/// The counts that were not told, which are then.
fn take(counts: &mut BTreeMap<usize, (u64, bool)>) -> Vec<(usize, u64)> {
    let untold = counts.iter_mut().filter(|(_, (_, is_untold))| *is_untold);
    let told = untold.map(|(&party, (count, is_untold))| {
        *is_untold = false;
        (party, *count)
    });
    told.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_told_once_and_only_grow() {
        let mut puts = Puts::default();
        puts.send(2);
        puts.send(2);
        puts.send(5);
        assert_eq!(puts.take_untold(), [(2, 2), (5, 1)]);
        assert_eq!(puts.take_untold(), []);
        puts.know(1, 2, 7);
        puts.know(1, 2, 6);
        assert_eq!(puts.take_awaited(2), [(1, 7)]);
        assert_eq!(puts.take_awaited(2), []);
        assert!(!puts.has(1, 1) && puts.has(1, 0));
        puts.add(1);
        assert!(puts.has(1, 1) && !puts.has(1, 2));
    }
}
