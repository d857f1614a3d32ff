//! The phases of a rank in a collective.

/// The event that this rank waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::transport::smartmap) enum Phase {
    /// Its turn: earlier collectives are not over, or others have to come closer.
    Posted,
    /// That all have entered.
    Entered,
    /// That all have published whether they can reach the memory that they have to read.
    Judged,
    /// That others have folded the data that this rank copies.
    Folded,
    /// That others need its memory no more.
    Read,
    /// In a collective of several nodes: the answer of the leader, which has posted to its NIC for
    /// all.
    Told,
}

impl Phase {
    /// Returns the code of the phase in the listeners' words.
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

/// The outcome of a step.
#[derive(Debug)]
pub(super) enum PhaseOutcome<P = Phase> {
    /// Others have to do something first.
    Waits,
    /// Step again, in this phase.
    Continue(P),
    /// It is over.
    Over,
}
