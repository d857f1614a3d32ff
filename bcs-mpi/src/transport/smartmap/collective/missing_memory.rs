//! Memory that a member named and that is not mapped: all members learn whose it is.
//!
//! The member that finds it reports it with its step, and leaves the rank in its record, where the
//! members that wait for the step find it. In a reduction, and at the root of a broadcast, all
//! members do. The other members of a broadcast wait for no member: each finds by itself whether
//! the root's memory is mapped.

use super::group::LocalGroup;
use super::phased::PhasedCollective;
use bcs_core::request::RequestFailure;

impl PhasedCollective {
    /// Records memory that is not mapped and that this world rank named. The first one is reported.
    pub(super) fn fetched(&mut self, fetched: Result<(), u32>) {
        if let (Err(rank), RequestFailure::None) = (fetched, self.failure) {
            self.failure = RequestFailure::MemberMemory;
            self.said = rank.into();
        }
    }

    /// Records a failure, whatever else has failed.
    pub(super) fn fails(&mut self, failure: RequestFailure, said: u64) {
        (self.failure, self.said) = (failure, said);
    }

    /// Returns the world rank whose memory is not mapped, as far as this rank knows.
    pub(super) fn culprit(&self) -> Option<u32> {
        let rank = u32::try_from(self.said).ok();
        rank.filter(|_| self.failure == RequestFailure::MemberMemory)
    }

    /// Publishes this rank's progress, and its failure if there is one.
    pub(super) fn say(&self, group: &mut LocalGroup, step: u8) {
        if self.failure != RequestFailure::None {
            group
                .own()
                .publish_outcome([self.failure as u64, self.said]);
        }
        group.own().advance(group.number, step);
        group.published();
    }

    /// Records the failure that a member has reported.
    pub(super) fn heed(&mut self, group: &LocalGroup, member: usize) {
        if self.failure != RequestFailure::None {
            return;
        }
        let [code, said] = group.members[member].info.outcome();
        self.failure = match RequestFailure::from_code(u8::try_from(code).unwrap_or(u8::MAX)) {
            RequestFailure::None => RequestFailure::BadDescriptor, // it reports both
            failure => failure,
        };
        self.said = said;
    }

    /// Does the same for any member that is exactly at this step.
    pub(super) fn heed_any(&mut self, group: &LocalGroup, step: u8) {
        if let Some(member) = group.any_at(step) {
            self.heed(group, member);
        }
    }
}
