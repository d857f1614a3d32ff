//! The next step of a member that this rank needs before it can go on.

use super::group::LocalGroup;
use super::member::Member;
use bcs_core::smartmap::coll_info::Presence;
use std::sync::Arc;

/// The same, for a thread that watches it without the endpoint's lock.
#[derive(Debug)]
pub(crate) struct AwaitedMember {
    members: Arc<[Member]>,
    member: usize,
    number: u64,
    sign: AwaitedEvent,
}

/// The sign of it.
#[derive(Clone, Copy, Debug)]
pub(super) enum AwaitedEvent {
    /// It has entered the collective that this rank needs it to have entered before it enters its
    /// own.
    AtGate,
    /// It has entered.
    There,
    /// All have entered, by the tally in its record.
    Released,
    /// It has published its verdict.
    Verdict,
    /// It has come to a step.
    Step(u8),
}

impl AwaitedMember {
    /// Returns whether it may have done it. The result is not reliable once another thread of this
    /// rank has gone on.
    pub(crate) fn has_come(&self) -> bool {
        let info = &self.members[self.member].info;
        match self.sign {
            AwaitedEvent::AtGate | AwaitedEvent::There => {
                info.presence(self.number) != Presence::Awaited
            }
            AwaitedEvent::Released => info.presence_of_all(self.number) != Presence::Awaited,
            AwaitedEvent::Verdict => info.verdict(self.number) != 0,
            AwaitedEvent::Step(step) => info.step(self.number) >= step,
        }
    }
}

impl LocalGroup {
    /// Returns what this rank waits for: from this member, or from the first that was not so far.
    pub(super) fn awaited(&self, member: Option<usize>, sign: AwaitedEvent) -> AwaitedMember {
        let number = match sign {
            AwaitedEvent::AtGate => self.gate,
            _ => self.number,
        };
        let (member, sign) = match (member, sign) {
            (None, AwaitedEvent::AtGate | AwaitedEvent::There) if self.counted => {
                (0, AwaitedEvent::Released)
            }
            (member, sign) => (member.unwrap_or(self.seen), sign),
        };
        AwaitedMember {
            members: self.members.clone(),
            member: member.min(self.members.len() - 1),
            number,
            sign,
        }
    }
}
