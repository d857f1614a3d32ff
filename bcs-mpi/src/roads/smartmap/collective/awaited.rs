//! What a member has to do next before this rank can go on.

use super::group::Group;
use super::member::Member;
use bcs_core::smartmap::coll_info::Presence;
use std::sync::Arc;

/// The same, for a thread that looks at it without the
/// endpoint's lock.
#[derive(Debug)]
pub(crate) struct Awaited {
    members: Arc<[Member]>,
    member: usize,
    number: u64,
    sign: Sign,
}

/// How it shows.
#[derive(Clone, Copy, Debug)]
pub(super) enum Sign {
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

impl Awaited {
    /// Whether it may have done it. What becomes of it once another thread of this rank has gone on is
    /// not told.
    pub(crate) fn has_come(&self) -> bool {
        let info = &self.members[self.member].info;
        match self.sign {
            Sign::AtGate | Sign::There => info.presence(self.number) != Presence::Awaited,
            Sign::Released => info.presence_of_all(self.number) != Presence::Awaited,
            Sign::Verdict => info.verdict(self.number) != 0,
            Sign::Step(step) => info.step(self.number) >= step,
        }
    }
}

impl Group {
    /// What this rank waits for: of this member, or of the first that was not so far.
    pub(super) fn awaited(&self, member: Option<usize>, sign: Sign) -> Awaited {
        let number = match sign {
            Sign::AtGate => self.gate,
            _ => self.number,
        };
        let (member, sign) = match (member, sign) {
            (None, Sign::AtGate | Sign::There) if self.counted => (0, Sign::Released),
            (member, sign) => (member.unwrap_or(self.seen), sign),
        };
        Awaited {
            members: self.members.clone(),
            member: member.min(self.members.len() - 1),
            number,
            sign,
        }
    }
}
