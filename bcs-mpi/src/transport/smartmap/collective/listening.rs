//! Notification of listeners: one member notifies them when a phase is over.

use super::environment::CollectiveEnvironment;
use super::group::LocalGroup;
use super::member::{Member, MemberRecord};
use super::phase::Phase;
use bcs_core::smartmap::coll_info::{self, Presence};

impl LocalGroup {
    /// Notifies the listeners that a phase is over, or only this one member.
    pub(super) fn tell(
        &self,
        around: CollectiveEnvironment<'_>,
        phase: Phase,
        only: Option<usize>,
    ) {
        let meant = only.map_or(0..self.members.len(), |only| only..only + 1);
        for (index, member) in meant.clone().zip(&self.members[meant]) {
            if index != self.me && member.info.take_listener(self.number, phase.code()) {
                around.node.count_event(member.place);
                around.page.wake(around.node.bell(member.place));
            }
        }
    }

    /// Notifies the member that waits for this step if all others have come to it. Without one, all
    /// wait.
    pub(super) fn tell_if_all(
        &mut self,
        around: CollectiveEnvironment<'_>,
        step: u8,
        phase: Phase,
        waits: Option<usize>,
    ) {
        let number = self.number;
        let has = |member: &Member| member.info.step(number) >= step;
        let all = match waits {
            None => self.have_all(step),
            Some(waits) => (0..)
                .zip(&*self.members)
                .all(|(at, it)| at == waits || has(it)),
        };
        if all {
            self.tell(around, phase, waits);
        }
    }

    /// Notifies all listeners that a phase is over, for which this rank has waited for all.
    pub(super) fn tell_all(&self, around: CollectiveEnvironment<'_>, phase: Phase) {
        if self.counted && phase == Phase::Entered {
            return; // The last to enter has notified them.
        }
        if self.listening != Some((self.number, phase)) {
            MemberRecord::fence_before_listeners();
        }
        self.tell(around, phase, None);
        if phase == Phase::Entered && coll_info::is_gate(self.number) {
            self.tell(around, Phase::Posted, None);
        }
    }

    /// Notifies listeners after this rank has entered, if it does not wait for all. It does so if
    /// all have entered. If this rank is the `giver` that others wait for alone, it does so in any
    /// case. A member that waits for all is then notified too early, and listens again.
    pub(super) fn tell_of_entering(&self, around: CollectiveEnvironment<'_>, giver: bool) {
        if self.counted {
            // The last member notifies the others that all have entered.
            if giver {
                MemberRecord::fence_before_listeners();
                self.tell(around, Phase::Entered, None);
            }
            return;
        }
        MemberRecord::fence_before_listeners();
        let number = self.number;
        let waits = |phase: Phase| {
            let mut members = self.members.iter();
            members.any(|member| member.info.listens_for(number, phase.code()))
        };
        let all_have_come = || {
            let mut members = self.members.iter();
            members.all(|member| member.info.presence(number) == Presence::Present)
        };
        if waits(Phase::Entered) && (giver || all_have_come()) {
            self.tell(around, Phase::Entered, None);
        }
        if coll_info::is_gate(number) && waits(Phase::Posted) && all_have_come() {
            self.tell(around, Phase::Posted, None);
        }
    }

    /// Records that this rank listens for the end of this phase. Returns whether it has to poll
    /// once more.
    pub(super) fn listen(&mut self, phase: Phase) -> bool {
        let number = match phase {
            Phase::Posted => self.gate,
            _ => self.number,
        };
        let now = Some((number, phase));
        let begins = self.listening != now || !self.own().listens();
        if begins {
            self.listening = now;
            self.own().listen(number, phase.code());
        }
        begins
    }

    /// Stops listening when the collective is over.
    pub(super) fn stop_listening(&mut self) {
        if self.listening.take().is_some() {
            self.own().stop_listening();
        }
    }
}
