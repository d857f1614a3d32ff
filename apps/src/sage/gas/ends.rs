//! The kind of space beyond the ends of the box.

use super::quantities::Quantities;
use crate::sage::deck::BoxEnd;
use crate::sage::mesh::key::Side;

/// The ends of each direction, low and high.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct BoxEnds<const D: usize>(pub(crate) [[BoxEnd; 2]; D]);

impl<const D: usize> BoxEnds<D> {
    /// Returns the state that a cell at an end finds beyond it.
    #[inline]
    pub(crate) fn beyond<const M: usize>(
        &self,
        here: &Quantities<D, M>,
        direction: usize,
        side: Side,
    ) -> Quantities<D, M> {
        let mut there = *here;
        if self.0[direction][usize::from(side == Side::High)] == BoxEnd::Wall {
            there.motion[direction] = -there.motion[direction];
        }
        there
    }
}
