//! What ranks of other machines want of the Strobe Sender, and whether any of them is blocked (law 2).
//!
//! A rank says what it wants in the page of its machine. Where the Strobe Sender is elsewhere, one process of the machine
//! passes it on. What was wanted before the cut of a slice is in that slice: so what is wanted goes with the number of the last slice
//! whose cut was taken, and the Strobe Sender takes no notice if it has struck another one since.

use super::super::message::Message;
use super::State;
use crate::job::NodeId;
use std::collections::HashSet;

/// For so long nobody has been blocked, before that is told.
const SATED_NS: u64 = 10_000_000;

#[derive(Debug, Default)]
pub(super) struct Beat {
    /// What was last passed on: the slice, and whether it was demanded.
    told: Option<(u64, bool)>,
    /// Whether some rank here was last said to be blocked, and when one was last seen.
    told_hungry: bool,
    hungry_ns: u64,
    /// The parties where some rank is blocked, as they last said.
    hungry: HashSet<usize>,
}

impl State {
    /// Whether this process speaks for the ranks of its machine: it has the first of its nodes.
    fn speaks(&self) -> bool {
        let ours = &self.config.parties[self.config.me];
        let first = self.config.machine.iter().next();
        first.is_some_and(|first| ours.contains(&first))
    }

    /// Passes on what ranks want, where the Strobe Sender is elsewhere; and how many are blocked.
    pub(super) fn tell_beat(&mut self, now_ns: u64) {
        if !self.speaks() {
            return;
        }
        let is_far = !self.config.machine.contains(NodeId(0));
        self.tell_hunger(now_ns);
        let (armed, demanded) = self.config.page.wanted();
        if !is_far || !(armed || demanded) {
            return;
        }
        let slice = self.config.page.slice();
        let news = (slice, demanded);
        if self.beat.told.is_some_and(|told| told >= news) {
            return;
        }
        self.beat.told = Some(news);
        let armed_at = self.config.page.armed_at();
        let since_ns = if armed_at == 0 {
            0
        } else {
            now_ns.saturating_sub(armed_at)
        };
        let wanted = Message::Wanted {
            demanded,
            slice,
            since_ns,
        };
        self.say(self.sequencer, &wanted, &[]);
    }

    /// Ranks that communicate block again and again: that nobody is blocked is told when it has been so for a while.
    fn tell_hunger(&mut self, now_ns: u64) {
        let is_hungry = self.config.page.blocked() > 0;
        if is_hungry {
            self.beat.hungry_ns = now_ns;
        } else if now_ns < self.beat.hungry_ns + SATED_NS {
            return;
        }
        if is_hungry == self.beat.told_hungry {
            return;
        }
        self.beat.told_hungry = is_hungry;
        for party in 0..self.peers.len() {
            if self.peers[party].is_some() {
                self.say(party, &Message::Hunger { is_hungry }, &[]);
            }
        }
    }

    pub(super) fn hear_wanted(&mut self, demanded: bool, slice: u64, since_ns: u64) {
        let page = &self.config.page;
        if slice < page.slice() {
            return; // it is in the cut of the slice that was struck since
        }
        if demanded {
            page.demand();
        } else {
            let now_ns = crate::clock::now_ns();
            page.arm_at(|| now_ns.saturating_sub(since_ns));
        }
    }

    pub(super) fn hear_hunger(&mut self, party: usize, is_hungry: bool) {
        let page = &self.config.page;
        if is_hungry {
            self.beat.hungry.insert(party);
        } else {
            self.beat.hungry.remove(&party);
        }
        page.hunger_elsewhere(!self.beat.hungry.is_empty());
        if is_hungry && page.wanted().0 {
            page.demand(); // now somebody waits for it
        }
    }
}
