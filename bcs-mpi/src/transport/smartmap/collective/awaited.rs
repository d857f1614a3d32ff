//! What a member has to do next before this rank can go on.

use super::group::LocalGroup;
use super::member::Member;
use bcs_core::smartmap::coll_info::Presence;
use std::sync::Arc;

/// The same, for a thread that looks at it without the
/// endpoint's lock.
#[derive(Debug)]
pub(crate) struct AwaitedMember {
    members: Arc<[Member]>,
    member: usize,
    number: u64,
    sign: AwaitedEvent,
}

/// How it shows.
#[derive(Clone, Copy, Debug)]
pub(super) enum AwaitedEvent {
    /// It has entered what this rank wants it to have entered before it enters its own.
    AtGate,
    /// It has entered.
    There,
    /// All have entered, by the tally in its record.
    Released,
    /// It has judged.
    Verdict,
    /// It has come to a step.
    Step(u8),
}

impl AwaitedMember {
    /// Whether it may have done it. What becomes of it once another thread of this rank has gone on is
    /// not told.
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
    /// What this rank waits for: of this member, or of the first that was not so far.
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
