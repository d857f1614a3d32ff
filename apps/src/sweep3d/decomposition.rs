//! The decomposition of the grid: processes own rectangles of the I-J plane and all of K.

use std::ops::Range;

use super::deck::Deck;
use super::octant::{Axis, Octant};

/// A process's part of the grid, and its neighbours.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Decomposition {
    /// Processes in I and J.
    processes: [usize; 2],
    /// This process's place in I and J, from 0.
    place: [usize; 2],
    /// Grid points of this process in I, J, K, as points of the global grid from 0.
    pub points: [Range<usize>; 3],
}

impl Decomposition {
    /// Returns the part of `rank` (from 0) in a deck fitted to its number of processes.
    pub(super) fn new(deck: &Deck, rank: usize) -> Decomposition {
        let processes = [deck.npe_i, deck.npe_j];
        let place = [rank % deck.npe_i, rank / deck.npe_i];
        let points = [
            share(deck.it_g, processes[0], place[0]),
            share(deck.jt_g, processes[1], place[1]),
            0..deck.kt,
        ];
        Decomposition {
            processes,
            place,
            points,
        }
    }

    /// Returns the grid points of this process in I, J, K.
    pub(super) fn extent(&self) -> [usize; 3] {
        self.points.each_ref().map(ExactSizeIterator::len)
    }

    /// Returns the rank from which this process's inflow in an octant comes, `None` at the global
    /// face.
    pub(super) fn upstream(&self, axis: Axis, octant: &Octant) -> Option<usize> {
        self.neighbour(axis, !octant.is_positive(axis as usize))
    }

    /// Returns the rank to which this process's outflow in an octant goes, `None` at the global
    /// face.
    pub(super) fn downstream(&self, axis: Axis, octant: &Octant) -> Option<usize> {
        self.neighbour(axis, octant.is_positive(axis as usize))
    }

    fn neighbour(&self, axis: Axis, higher: bool) -> Option<usize> {
        let mut place = self.place;
        let along = &mut place[axis as usize];
        *along = if higher {
            *along + 1
        } else {
            along.checked_sub(1)?
        };
        (*along < self.processes[axis as usize]).then(|| place[1] * self.processes[0] + place[0])
    }
}

/// Returns piece `place` of `points` points in `pieces` pieces; a remainder goes to the first
/// pieces.
fn share(points: usize, pieces: usize, place: usize) -> Range<usize> {
    let (each, remainder) = (points / pieces, points % pieces);
    let start = place * each + place.min(remainder);
    start..start + each + usize::from(place < remainder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remainder_goes_to_the_first_processes() {
        let pieces: Vec<_> = (0..4).map(|place| share(10, 4, place)).collect();
        assert_eq!(pieces, [0..3, 3..6, 6..8, 8..10]);
    }

    #[test]
    fn neighbours_follow_the_sweep() {
        let deck = Deck::published_50_cubed(6).fitted_to(6).unwrap();
        let middle_left = Decomposition::new(&deck, 2);
        let [down, .., up] = Octant::ALL;
        assert_eq!(middle_left.points, [0..25, 17..34, 0..50]);
        assert_eq!(middle_left.upstream(Axis::I, &up), None);
        assert_eq!(middle_left.downstream(Axis::I, &up), Some(3));
        assert_eq!(middle_left.upstream(Axis::J, &up), Some(0));
        assert_eq!(middle_left.downstream(Axis::J, &up), Some(4));
        assert_eq!(middle_left.upstream(Axis::I, &down), Some(3));
        assert_eq!(middle_left.downstream(Axis::I, &down), None);
        assert_eq!(middle_left.upstream(Axis::J, &down), Some(4));
        assert_eq!(middle_left.downstream(Axis::J, &down), Some(0));
    }
}
