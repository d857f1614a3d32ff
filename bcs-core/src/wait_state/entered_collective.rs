//! Collectives that a rank has entered.

use super::called_collective::CalledCollective;
use super::context_name::ContextName;
use crate::fingerprint;
use crate::request::{high, low};
use std::fmt;

/// A collective that a rank has entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EnteredCollective {
    /// Context id of the communicator. Communicators without a rank in common may have the same.
    pub context: u32,
    /// Which ranks they are ([`group_fingerprint()`]); 0 for the world.
    pub group: u32,
    /// How many collectives this rank has entered on this communicator before.
    pub number: u32,
    /// What it called.
    pub called: CalledCollective,
}

/// What stands for the ranks of a communicator; never 0.
#[must_use]
pub fn group_fingerprint(members: &[u32]) -> u32 {
    let all = fingerprint::fingerprint(members.iter().map(|&rank| u64::from(rank)));
    high(all).max(1)
}

/// Words of one.
pub(super) const WORDS: usize = 3;

impl EnteredCollective {
    pub(super) fn encode(&self) -> [u64; WORDS] {
        [
            u64::from(self.context) << 32 | u64::from(self.group),
            u64::from(self.number),
            self.called.pack(),
        ]
    }

    pub(super) fn decode(words: &[u64]) -> Option<Self> {
        Some(Self {
            context: high(words[0]),
            group: low(words[0]),
            number: low(words[1]),
            called: CalledCollective::unpack(words[2])?,
        })
    }

    /// Whether this and what another rank has entered cannot both be right: of one communicator's
    /// collectives the same one by number, and not the same by what was called. NICs compare
    /// those that are theirs, and know how to go on after it. A member that had a wrong argument takes part in whatever the
    /// others call.
    #[must_use]
    pub fn contradicts(&self, other: &Self) -> bool {
        let of = |entered: &Self| (entered.context, entered.group, entered.number);
        let nic = |called| matches!(called, CalledCollective::Nic { .. });
        of(self) == of(other)
            && self.called != other.called
            && !(nic(self.called) && nic(other.called))
            && !self.called.is_invalid()
            && !other.called.is_invalid()
    }
}

impl fmt::Display for EnteredCollective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, called, .. } = self;
        write!(
            f,
            "{called} (collective {number} of {})",
            ContextName(self.context)
        )
    }
}
