//! How far this rank is in a collective.

/// What this rank waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::roads::smartmap) enum Phase {
    /// Its turn: those posted before are not over, or others have to come closer.
    Posted,
    /// That all have entered.
    Entered,
    /// That all have said whether they can reach the memory that they have to read.
    Judged,
    /// That others have folded what this rank copies.
    Folded,
    /// That others need its memory no more.
    Read,
    /// Its NIC.
    AtNic,
    /// What the leader says, which has gone to its NIC for all.
    Told,
}

impl Phase {
    /// As listeners say it.
    pub(super) fn code(self) -> u8 {
        match self {
            Self::Posted => 0,
            Self::Entered => 1,
            Self::Judged => 2,
            Self::Folded => 3,
            Self::Read => 4,
            Self::AtNic => 5,
            Self::Told => 6,
        }
    }
}

/// What became of a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// Others have to do something first.
    Waits,
    /// Look again.
    Goes(Phase),
    /// It is over.
    Over,
}
