//! The faces between cells: the cells on both sides of a face, and the faces of a cell.

use std::ops::Range;

use super::halo::index;
use super::key::{Key, Side};

/// The index that stands for a place beyond the box.
pub(crate) const OUTSIDE: u32 = u32::MAX;

/// A face between cells of one size, given by their indices among local cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SameSizeFace {
    pub(crate) low: u32,
    pub(crate) high: u32,
}

/// A face between a cell and one of twice its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LevelStepFace {
    pub(crate) fine: u32,
    pub(crate) coarse: u32,
    /// The side of the fine cell on which the coarse cell lies.
    pub(crate) side: Side,
    /// Bit d: the fine cell is in the high half of the coarse cell in direction d.
    pub(crate) halves: u8,
}

/// A face at the end of the box.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BoxEndFace {
    pub(crate) cell: u32,
    pub(crate) side: Side,
}

/// The faces of a direction. Those without ghosts come first, so that they can be computed while
/// ghosts travel.
#[derive(Debug, Clone, Default)]
pub(crate) struct Faces {
    pub(crate) even: Vec<SameSizeFace>,
    pub(crate) steps: Vec<LevelStepFace>,
    pub(crate) walls: Vec<BoxEndFace>,
    /// The numbers of even faces, and of steps, that are between own cells.
    pub(crate) inner: [usize; 2],
    /// The number of the first face. All directions share one numbering: even faces first, then
    /// steps, then walls.
    pub(crate) first: usize,
}

impl Faces {
    pub(crate) fn count(&self) -> usize {
        self.even.len() + self.steps.len() + self.walls.len()
    }

    fn inner_first(&mut self, own: &Range<usize>) {
        let is_own = |place: u32| own.contains(&(place as usize));
        let ghostly = |face: &SameSizeFace| !(is_own(face.low) && is_own(face.high));
        self.even.sort_by_key(ghostly);
        let even = self.even.partition_point(|face| !ghostly(face));
        let ghostly = |face: &LevelStepFace| !(is_own(face.fine) && is_own(face.coarse));
        self.steps.sort_by_key(ghostly);
        self.inner = [even, self.steps.partition_point(|face| !ghostly(face))];
    }

    /// Returns every face with its number, as the cell on each side sees it: the cell, its side,
    /// and the cell beyond.
    fn seen(&self) -> impl Iterator<Item = (usize, [(u32, Side, u32); 2])> {
        let even = self.even.iter().map(|face| {
            [
                (face.low, Side::High, face.high),
                (face.high, Side::Low, face.low),
            ]
        });
        let steps = self.steps.iter().map(|face| {
            let (fine, coarse) = (face.fine, face.coarse);
            [
                (fine, face.side, coarse),
                (coarse, face.side.opposite(), fine),
            ]
        });
        let walls = self.walls.iter().map(|wall| {
            let other = wall.side.opposite();
            [(wall.cell, wall.side, OUTSIDE), (OUTSIDE, other, wall.cell)]
        });
        let all = even.chain(steps).chain(walls).enumerate();
        all.map(|(n, seen)| (self.first + n, seen))
    }
}

/// A face as one of its cells sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CellFace {
    /// The number of the face.
    pub(crate) face: u32,
    /// The cell beyond, or [`OUTSIDE`].
    pub(crate) beyond: u32,
}

/// The faces of every own cell, in an order that does not depend on owners: direction by direction,
/// low side before high, along the curve.
#[derive(Debug, Clone, Default)]
pub(crate) struct CellFaces {
    links: Vec<CellFace>,
    /// The start of the faces of each side of each cell, and the end of the last ones.
    starts: Vec<u32>,
    /// Whether each side of a cell has exactly one neighbour, of the cell's own size.
    even: Vec<bool>,
}

impl CellFaces {
    /// Returns the faces of the n-th own cell at a side.
    #[inline]
    pub(crate) fn at<const D: usize>(
        &self,
        own: usize,
        direction: usize,
        side: Side,
    ) -> &[CellFace] {
        let slot = slot::<D>(own, direction, side);
        &self.links[self.starts[slot] as usize..self.starts[slot + 1] as usize]
    }

    /// Returns both faces of each direction, low side before high, if the n-th own cell has one
    /// neighbour of its own size at each side.
    #[inline]
    pub(crate) fn even<const D: usize>(&self, own: usize) -> Option<&[[CellFace; 2]]> {
        if !self.even[own] {
            return None;
        }
        let start = self.starts[slot::<D>(own, 0, Side::Low)] as usize;
        let (pairs, _) = self.links[start..start + 2 * D].as_chunks();
        Some(pairs)
    }
}

#[inline]
fn slot<const D: usize>(own: usize, direction: usize, side: Side) -> usize {
    (own * D + direction) * 2 + usize::from(side == Side::High)
}

/// Finds all faces of own cells. `keys` are the local cells along the curve; `own` is the range of
/// own cells in it.
///
/// A face is found from its smaller cell, or from the low one of equal cells. If that cell is a
/// ghost, the face is found from the other cell.
pub(crate) fn find<const D: usize>(
    keys: &[Key<D>],
    own: &Range<usize>,
    extent: [u32; D],
) -> ([Faces; D], CellFaces) {
    let mut faces: [Faces; D] = std::array::from_fn(|_| Faces::default());
    for (direction, faces) in faces.iter_mut().enumerate() {
        for place in own.clone() {
            for side in Side::BOTH {
                match keys[place].beyond(direction, side, extent) {
                    None => faces.walls.push(BoxEndFace {
                        cell: index(place),
                        side,
                    }),
                    Some(beyond) => add(faces, keys, own, (place, direction, side), beyond),
                }
            }
        }
        faces.inner_first(own);
    }
    let mut first = 0;
    for faces in &mut faces {
        faces.first = first;
        first += faces.count();
    }
    let links = links(&faces, keys, own);
    (faces, links)
}

/// Adds the faces of a cell at a side, with that place beyond.
fn add<const D: usize>(
    faces: &mut Faces,
    keys: &[Key<D>],
    own: &Range<usize>,
    (place, direction, side): (usize, usize, Side),
    beyond: Key<D>,
) {
    let at = lies_in(keys, place, direction, beyond);
    let found = keys.get(at).copied();
    if found == Some(beyond) {
        if side == Side::High {
            faces.even.push(SameSizeFace {
                low: index(place),
                high: index(at),
            });
        } else if !own.contains(&at) {
            faces.even.push(SameSizeFace {
                low: index(at),
                high: index(place),
            });
        }
    } else if found.is_some() && found == beyond.parent() {
        faces.steps.push(LevelStepFace {
            fine: index(place),
            coarse: index(at),
            side,
            halves: halves(keys[place]),
        });
    } else {
        for part in beyond.parts_at(direction, side.opposite()) {
            let fine = keys
                .binary_search(&part)
                .expect("levels differ by one, and what is beside a cell is known");
            if !own.contains(&fine) {
                faces.steps.push(LevelStepFace {
                    fine: index(fine),
                    coarse: index(place),
                    side: side.opposite(),
                    halves: halves(part),
                });
            }
        }
    }
}

/// Returns the last local cell along the curve that begins no later than a place next to a cell:
/// the cell at that place, or the one that contains it, if it is known.
fn lies_in<const D: usize>(
    keys: &[Key<D>],
    place: usize,
    direction: usize,
    beyond: Key<D>,
) -> usize {
    // Siblings without parts lie next to each other.
    let apart = 1 << direction;
    let brother = match keys[place].number() & apart {
        0 => place + apart,
        _ => place.wrapping_sub(apart),
    };
    if keys.get(brother) == Some(&beyond) {
        return brother;
    }
    keys.partition_point(|key| *key <= beyond).wrapping_sub(1)
}

fn halves<const D: usize>(key: Key<D>) -> u8 {
    u8::try_from(key.number()).expect("a cell has at most eight parts")
}

fn links<const D: usize>(faces: &[Faces; D], keys: &[Key<D>], own: &Range<usize>) -> CellFaces {
    let mut starts = vec![0_u32; own.len() * D * 2 + 1];
    let slot_of = |cell: u32, direction, side| {
        let own = own
            .contains(&(cell as usize))
            .then(|| cell as usize - own.start)?;
        Some(slot::<D>(own, direction, side))
    };
    let each = |found: &mut dyn FnMut(usize, CellFace)| {
        for (direction, faces) in faces.iter().enumerate() {
            for (number, seen) in faces.seen() {
                for (cell, side, beyond) in seen {
                    if let Some(slot) = slot_of(cell, direction, side) {
                        found(
                            slot,
                            CellFace {
                                face: index(number),
                                beyond,
                            },
                        );
                    }
                }
            }
        }
    };
    each(&mut |slot, _| starts[slot + 1] += 1);
    for slot in 1..starts.len() {
        starts[slot] += starts[slot - 1];
    }
    let nothing = CellFace {
        face: 0,
        beyond: OUTSIDE,
    };
    let mut links = vec![nothing; starts.last().map_or(0, |end| *end as usize)];
    let mut next = starts.clone();
    each(&mut |slot, link| {
        links[next[slot] as usize] = link;
        next[slot] += 1;
    });
    for slot in 0..starts.len() - 1 {
        links[starts[slot] as usize..starts[slot + 1] as usize].sort_by_key(|link| link.beyond);
    }
    let is_even = |own: usize, place: usize| {
        let side = |slot: usize| match &links[starts[slot] as usize..starts[slot + 1] as usize] {
            [link] if link.beyond != OUTSIDE => {
                keys[link.beyond as usize].level() == keys[place].level()
            }
            _ => false,
        };
        (own * D * 2..(own + 1) * D * 2).all(side)
    };
    let even = own.clone().enumerate();
    let even = even.map(|(own, place)| is_even(own, place)).collect();
    CellFaces {
        links,
        starts,
        even,
    }
}
