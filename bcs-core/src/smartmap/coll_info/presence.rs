//! Presence: the state of a member by the stamp of its area.

use super::record::AREAS;

/// Whether a member has entered a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It has not entered yet.
    Awaited,
    /// It has.
    Present,
    /// The stamp is one that no member writes.
    Rubbish,
}

/// Returns the presence of a member at a number, from the stamp of the number's area.
#[inline]
pub(super) fn presence_of(stamp: u64, number: u64) -> Presence {
    match number.wrapping_sub(stamp) {
        0 => Presence::Present,
        before if before == AREAS as u64 => Presence::Awaited,
        _ if stamp == 0 => Presence::Awaited,
        _ => Presence::Rubbish,
    }
}
