//! The arithmetic of numbers: gates, and the range of a digest.

use super::record::AREAS;
use std::ops::Range;

/// Numbers from one gate to the next.
pub(super) const GATES_APART: u64 = AREAS as u64 / 3;

/// Returns the number that all members must have entered before a member may enter this one.
#[must_use]
#[inline]
pub fn gate(number: u64) -> Option<u64> {
    let before = number.checked_sub(GATES_APART).filter(|&before| before > 0);
    before.filter(|_| is_gate(number))
}

/// Returns whether members may wait at a later number until all have entered this one.
#[must_use]
#[inline]
pub fn is_gate(number: u64) -> bool {
    number.is_multiple_of(GATES_APART)
}

/// Returns the last gate before a number; 0 if there is none.
#[must_use]
#[inline]
pub fn gate_before(number: u64) -> u64 {
    number.saturating_sub(1) / GATES_APART * GATES_APART
}

/// Returns the earlier numbers that a digest at this one covers: those after the last gate.
#[must_use]
#[inline]
pub fn digested(number: u64) -> Range<u64> {
    gate_before(number) + 1..number
}

/// Returns the digest at a number, from the previous digest and the call.
#[inline]
pub(super) fn digest(number: u64, before: u64, [kind, bytes]: [u64; 2]) -> u64 {
    let before = if digested(number).is_empty() {
        0
    } else {
        before
    };
    let mixed = (before ^ kind).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed ^ mixed >> 29 ^ bytes).wrapping_mul(0x94d0_49bb_1331_11eb)
}
