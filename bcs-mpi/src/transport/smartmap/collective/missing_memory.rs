//! Memory that a member named and that is not there: all members are told whose.
//!
//! Who finds it says so with its step, and leaves the rank in its record, where those who wait for the step
//! find it. In a reduction, and at the root of a broadcast, those are all. The other members of a broadcast
//! wait for nobody: each finds for itself whether the root's memory is there.

use super::group::LocalGroup;
use super::phased::PhasedCollective;
use bcs_core::request::RequestFailure;

impl PhasedCollective {
    /// Takes note of memory that is not there, which this world rank named. The first one is named.
    pub(super) fn fetched(&mut self, fetched: Result<(), u32>) {
        if let (Err(rank), RequestFailure::None) = (fetched, self.failure) {
            self.failure = RequestFailure::MemberMemory;
            self.said = rank.into();
        }
    }

    /// It has failed, whatever else has.
    pub(super) fn fails(&mut self, failure: RequestFailure, said: u64) {
        (self.failure, self.said) = (failure, said);
    }

    /// The world rank whose memory is not there, as far as this rank knows.
    pub(super) fn culprit(&self) -> Option<u32> {
        let rank = u32::try_from(self.said).ok();
        rank.filter(|_| self.failure == RequestFailure::MemberMemory)
    }

    /// Says how far this rank is, and what has failed if anything has.
    pub(super) fn say(&self, group: &mut LocalGroup, step: u8) {
        if self.failure != RequestFailure::None {
            group
                .own()
                .publish_outcome([self.failure as u64, self.said]);
        }
        group.own().advance(group.number, step);
        group.published();
    }

    /// A member has said that something has failed.
    pub(super) fn heed(&mut self, group: &LocalGroup, member: usize) {
        if self.failure != RequestFailure::None {
            return;
        }
        let [code, said] = group.members[member].info.outcome();
        self.failure = match RequestFailure::from_code(u8::try_from(code).unwrap_or(u8::MAX)) {
            RequestFailure::None => RequestFailure::BadDescriptor, // it says both
            failure => failure,
        };
        self.said = said;
    }

    /// The same, of any member that is at just this step.
    pub(super) fn heed_any(&mut self, group: &LocalGroup, step: u8) {
        if let Some(member) = group.any_at(step) {
            self.heed(group, member);
        }
    }
}
