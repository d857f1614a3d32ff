//! The eight octants of directions, and the order in which a process works through its blocks.

use std::ops::Range;

use super::deck::Deck;

/// A direction of the process grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Axis {
    /// East and west.
    I = 0,
    /// North and south.
    J = 1,
}

/// Directions with the same signs of their cosines, and so with the same order of the sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Octant {
    /// Number from 1, used in message tags.
    number: i32,
    /// Whether the sweep goes upwards in I, J, K.
    positive: [bool; 3],
}

impl Octant {
    /// All octants. Minus directions come first, so that a reflective low face can pass its outflow
    /// to the plus sweep of the same iteration.
    pub(super) const ALL: [Octant; 8] = {
        const M: bool = false;
        const P: bool = true;
        [
            Octant {
                number: 1,
                positive: [M, M, M],
            },
            Octant {
                number: 2,
                positive: [M, M, P],
            },
            Octant {
                number: 3,
                positive: [M, P, M],
            },
            Octant {
                number: 4,
                positive: [M, P, P],
            },
            Octant {
                number: 5,
                positive: [P, M, M],
            },
            Octant {
                number: 6,
                positive: [P, M, P],
            },
            Octant {
                number: 7,
                positive: [P, P, M],
            },
            Octant {
                number: 8,
                positive: [P, P, P],
            },
        ]
    };

    /// Returns the number of the octant, from 0, in the order of [`Octant::ALL`].
    pub(super) fn index(&self) -> usize {
        self.positive
            .iter()
            .fold(0, |index, &positive| 2 * index + usize::from(positive))
    }

    /// Returns whether the sweep goes upwards in direction 0, 1, 2 (I, J, K).
    pub(super) fn is_positive(&self, direction: usize) -> bool {
        self.positive[direction]
    }

    /// Returns the sign of the sweep in direction 0, 1, 2 (I, J, K).
    pub(super) fn sign(&self, direction: usize) -> f64 {
        if self.positive[direction] { 1.0 } else { -1.0 }
    }

    /// Returns the tag of the messages of this octant along an axis.
    pub(super) fn tag(&self, axis: Axis) -> i32 {
        let factor = match (axis, self.positive[axis as usize]) {
            (Axis::I, true) => 1000,
            (Axis::J, true) => 2000,
            (Axis::I, false) => 3000,
            (Axis::J, false) => 4000,
        };
        factor * self.number
    }
}

/// One unit of computation between messages: some angles of an octant in some K-planes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SweepStep {
    /// The octant.
    pub octant: Octant,
    /// Number of this block in its octant, from 0.
    pub number: usize,
    /// The angles, a range of 0..mm.
    pub angles: Range<usize>,
    /// The planes, counted in the order of the sweep, a range of 0..kt. The last block may be
    /// short.
    pub planes: Range<usize>,
}

impl SweepStep {
    /// Returns whether the K-inflow of this block comes from the grid's face and not from another
    /// block.
    pub(super) fn enters_k(&self) -> bool {
        self.planes.start == 0
    }

    /// Returns whether the K-outflow of this block leaves the grid, of `kt` planes.
    pub(super) fn leaves_k(&self, kt: usize) -> bool {
        self.planes.end == kt
    }

    /// Returns the planes as indices from the low face, in the order of the sweep.
    pub(super) fn grid_planes(&self, kt: usize) -> impl Iterator<Item = usize> + use<> {
        let positive = self.octant.is_positive(2);
        self.planes
            .clone()
            .map(move |plane| if positive { plane } else { kt - 1 - plane })
    }
}

/// Returns all steps of an iteration, in the order in which every process takes them.
pub(super) fn steps(deck: &Deck) -> Vec<SweepStep> {
    let mut steps = Vec::new();
    for octant in Octant::ALL {
        let mut number = 0;
        for angle in (0..deck.mm).step_by(deck.mmi) {
            for plane in (0..deck.kt).step_by(deck.mk) {
                steps.push(SweepStep {
                    octant,
                    number,
                    angles: angle..angle + deck.mmi,
                    planes: plane..(plane + deck.mk).min(deck.kt),
                });
                number += 1;
            }
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octants_come_in_the_order_of_the_specification() {
        let signs = Octant::ALL.map(|octant| [0, 1, 2].map(|direction| octant.sign(direction)));
        let (m, p) = (-1.0, 1.0);
        let order = [[m, m, m], [m, m, p], [m, p, m], [m, p, p]];
        assert_eq!(signs[..4], order);
        assert_eq!(signs[4..], order.map(|[_, j, k]| [p, j, k]));
    }

    #[test]
    fn tags_tell_the_octant_and_the_direction() {
        let [first, .., last] = Octant::ALL;
        assert_eq!([first.tag(Axis::I), first.tag(Axis::J)], [3000, 4000]);
        assert_eq!([last.tag(Axis::I), last.tag(Axis::J)], [8000, 16000]);
    }

    #[test]
    fn the_last_block_of_planes_is_short() {
        let deck = Deck {
            mk: 20,
            ..Deck::published_50_cubed(1)
        };
        let steps = steps(&deck);
        assert_eq!(steps.len(), 8 * 2 * 3);
        assert_eq!(steps[2].planes, 40..50);
        assert!(steps[3].enters_k() && !steps[2].enters_k());
    }
}
