//! How far this rank is in a collective.

/// What this rank waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::transport::smartmap) enum Phase {
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
    /// Of several nodes: what the leader says, which has gone to its NIC for all.
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
            Self::Told => 5,
        }
    }
}

/// What became of a look.
#[derive(Debug)]
pub(super) enum PhaseOutcome<P = Phase> {
    /// Others have to do something first.
    Waits,
    /// Look again.
    Continue(P),
    /// It is over.
    Over,
}
