//! What ranks of other machines want of the Strobe Sender, and whether any of them is blocked (law 2).
//!
//! A rank says what it wants in the page of its machine. Where the Strobe Sender is elsewhere, one process of the machine
//! passes it on. What was wanted before the cut of a slice is in that slice: so what is wanted goes with the number of the last slice
//! whose cut was taken, and the Strobe Sender takes no notice if it has struck another one since.

use super::super::message::Message;
use super::state::HubState;
use bcs_core::job::NodeId;

/// For so long nobody has been blocked, before that is told.
const UNBLOCKED_FOR_NS: u64 = 10_000_000;

impl HubState {
    /// Whether this process speaks for the ranks of its machine: it has the first of its nodes.
    pub(super) fn speaks_for_host(&self) -> bool {
        let ours = &self.config.parties[self.config.me];
        let first = self.config.machine.iter().next();
        first.is_some_and(|first| ours.contains(&first))
    }

    /// Whether there is something to tell.
    pub(super) fn has_news(&self, now_ns: u64) -> bool {
        self.speaks_for_host() && (self.blocked_news(now_ns).is_some() || self.wanted().is_some())
    }

    /// What ranks want that was not passed on: the last slice whose cut was taken, and whether it is demanded.
    fn wanted(&self) -> Option<(u64, bool)> {
        let (armed, demanded) = self.config.page.wanted();
        let is_far = !self.config.machine.contains(NodeId(0));
        let news = (self.config.page.slice(), demanded);
        let is_new = self.beat.told.is_none_or(|told| told < news);
        (is_far && (armed || demanded) && is_new).then_some(news)
    }

    /// Passes on what ranks want, where the Strobe Sender is elsewhere; and whether any is blocked.
    pub(super) fn relay_demands(&mut self, now_ns: u64) {
        if !self.speaks_for_host() {
            return;
        }
        self.tell_blocked(now_ns);
        let Some(news) = self.wanted() else {
            return;
        };
        self.beat.told = Some(news);
        let (slice, demanded) = news;
        let since_ns = match self.config.page.armed_at() {
            0 => 0,
            armed_at => now_ns.saturating_sub(armed_at),
        };
        let wanted = Message::Wanted {
            demanded,
            slice,
            since_ns,
        };
        self.send_message(self.sequencer, &wanted, &[]);
    }

    /// Whether ranks are blocked, if that is news. Ranks that communicate block again and again: that nobody is
    /// blocked is told when it has been so for a while.
    fn blocked_news(&self, now_ns: u64) -> Option<bool> {
        let is_hungry = self.config.page.blocked() > 0;
        let is_new = is_hungry != self.beat.told_hungry;
        let is_sure = is_hungry || now_ns >= self.beat.hungry_ns + UNBLOCKED_FOR_NS;
        (is_new && is_sure).then_some(is_hungry)
    }

    fn tell_blocked(&mut self, now_ns: u64) {
        if self.config.page.blocked() > 0 {
            self.beat.hungry_ns = now_ns;
        }
        let Some(is_hungry) = self.blocked_news(now_ns) else {
            return;
        };
        if self.config.page.tell_hunger(is_hungry) {
            return;
        }
        self.beat.told_hungry = is_hungry;
        for party in 0..self.peers.len() {
            if self.peers[party].is_some() {
                self.send_message(party, &Message::Hunger { is_hungry }, &[]);
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
            page.arm_at(|| self.heard_ns.saturating_sub(since_ns));
        }
    }

    pub(super) fn hear_blocked(&mut self, party: usize, is_hungry: bool) {
        let page = &self.config.page;
        if is_hungry {
            self.beat.hungry.insert(party);
        } else {
            self.beat.hungry.remove(&party);
        }
        page.set_hunger_elsewhere(!self.beat.hungry.is_empty());
        if is_hungry && page.wanted().0 {
            page.demand(); // now somebody waits for it
        }
    }
}
