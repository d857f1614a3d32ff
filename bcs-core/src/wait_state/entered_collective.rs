//! Collectives that a rank has entered.

use super::called_collective::CalledCollective;
use super::context_name::ContextName;
use crate::fingerprint;
use crate::request::{high, low};
use std::fmt;

/// A collective that a rank has entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EnteredCollective {
    /// Context id of the communicator. Communicators without a rank in common may have the same id.
    pub context: u32,
    /// The fingerprint of its ranks ([`group_fingerprint()`]); 0 for the world.
    pub group: u32,
    /// The number of collectives that this rank has entered on this communicator before.
    pub number: u32,
    /// Its call.
    pub called: CalledCollective,
}

/// Returns the fingerprint of the ranks of a communicator; never 0.
#[must_use]
pub fn group_fingerprint(members: &[u32]) -> u32 {
    let all = fingerprint::fingerprint(members.iter().map(|&rank| u64::from(rank)));
    high(all).max(1)
}

/// Words of an entry.
pub(super) const WORDS: usize = 3;

impl EnteredCollective {
    /// Returns its number for the user, counted from 1.
    #[must_use]
    pub fn ordinal(&self) -> u64 {
        u64::from(self.number) + 1
    }

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

    /// Returns whether this and another rank's collective cannot both be right: they have the same
    /// number on the same communicator, but the calls differ. NICs compare their own collectives,
    /// and know how to continue after a conflict. A member that had a wrong argument takes part in
    /// any call of the others.
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
        write!(
            f,
            "{} (collective {} of {})",
            self.called,
            self.ordinal(),
            ContextName(self.context)
        )
    }
}
