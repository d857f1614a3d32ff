//! Who is there: what a stamp says.

use super::record::AREAS;

/// Whether a member has entered a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Not yet.
    Awaited,
    /// It has.
    Present,
    /// The record says what no member would.
    Rubbish,
}

/// What the stamp of an area says of a number that has it.
#[inline]
pub(super) fn presence_of(stamp: u64, number: u64) -> Presence {
    match number.wrapping_sub(stamp) {
        0 => Presence::Present,
        before if before == AREAS as u64 => Presence::Awaited,
        _ if stamp == 0 => Presence::Awaited,
        _ => Presence::Rubbish,
    }
}
