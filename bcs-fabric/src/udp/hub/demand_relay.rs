//! Relays the demands of ranks to a Strobe Sender on another machine, and whether any rank is
//! blocked (law 2).
//!
//! A rank writes its demand into the page of its machine. If the Strobe Sender is on another
//! machine, one process relays the demand. A demand from before the cut of a slice is met by that
//! slice. So the message holds the number of the last slice whose cut was taken, and the Strobe
//! Sender ignores the demand if it has started another slice since.

use super::super::message::Message;
use super::state::HubState;
use bcs_core::job::NodeId;

/// The time without a blocked rank after which this is reported.
const UNBLOCKED_FOR_NS: u64 = 10_000_000;

impl HubState {
    /// Returns whether this process speaks for the ranks of its machine: it has the first of its
    /// nodes.
    pub(super) fn speaks_for_host(&self) -> bool {
        let ours = &self.config.parties[self.config.me];
        let first = self.config.machine.iter().next();
        first.is_some_and(|first| ours.contains(&first))
    }

    /// Returns whether there is something to send.
    pub(super) fn has_news(&self, now_ns: u64) -> bool {
        self.speaks_for_host() && (self.blocked_news(now_ns).is_some() || self.wanted().is_some())
    }

    /// Returns the demand that was not yet relayed: the last slice whose cut was taken, and whether
    /// a slice is demanded.
    fn wanted(&self) -> Option<(u64, bool)> {
        let (armed, demanded) = self.config.page.wanted();
        let is_far = !self.config.machine.contains(NodeId(0));
        let news = (self.config.page.slice(), demanded);
        let is_new = self.beat.told.is_none_or(|told| told < news);
        (is_far && (armed || demanded) && is_new).then_some(news)
    }

    /// Relays demands to a Strobe Sender on another machine, and reports whether any rank is
    /// blocked.
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

    /// Returns whether ranks are blocked, if that is new. Ranks that communicate block again and
    /// again, so the end of blocking is reported only after a while.
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
            return; // the slice that was started since has it in its cut
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
            page.demand(); // a rank waits for it now
        }
    }
}
