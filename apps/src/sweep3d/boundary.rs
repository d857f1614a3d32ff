//! The faces of the global grid: vacuum or reflective inflow, and the leakage through them.

use super::block::Faces;
use super::deck::Deck;
use super::decomposition::Decomposition;
use super::octant::{Axis, SweepStep};
use super::problem::Ordinate;

/// The fluxes through this process's part of the faces of the grid.
#[derive(Debug)]
pub(super) struct Boundary {
    reflective: [bool; 3],
    /// Area of a cell's face, per direction.
    area: [f64; 3],
    /// Outflow through the reflective low faces; the plus sweep takes it as its inflow.
    reflected: [ReflectedFluxes; 3],
    /// Net flow through the low and the high face per direction, in the direction of the axis.
    leakage: [[f64; 2]; 3],
    ordinates: Vec<Ordinate>,
    /// Grid points in I, J, K.
    extent: [usize; 3],
    mk: usize,
}

/// Outflows through a reflective face, block by block. The block that takes an outflow has the same
/// place in its octant as the block that left it, so the place identifies it.
#[derive(Debug)]
struct ReflectedFluxes {
    /// Blocks of an octant that are stored separately.
    blocks: usize,
    /// Elements of a block.
    length: usize,
    fluxes: Vec<f64>,
}

impl ReflectedFluxes {
    fn new(reflective: bool, octants: usize, blocks: usize, length: usize) -> ReflectedFluxes {
        let fluxes = if reflective {
            vec![0.0; octants * blocks * length]
        } else {
            Vec::new()
        };
        ReflectedFluxes {
            blocks,
            length,
            fluxes,
        }
    }

    fn block(&mut self, octant: usize, block: usize) -> &mut [f64] {
        &mut self.fluxes[(octant * self.blocks + block) * self.length..][..self.length]
    }
}

impl Boundary {
    /// Makes the boundary before the first iteration.
    pub(super) fn new(
        deck: &Deck,
        decomposition: &Decomposition,
        ordinates: Vec<Ordinate>,
    ) -> Boundary {
        let extent = decomposition.extent();
        let [it, jt, kt] = extent;
        let groups = deck.mm / deck.mmi;
        let blocks = groups * kt.div_ceil(deck.mk);
        let Deck {
            reflective,
            mk,
            mmi,
            dx,
            dy,
            dz,
            ..
        } = *deck;
        Boundary {
            reflective,
            area: [dy * dz, dx * dz, dx * dy],
            // The minus sweeps of I are four octants away from their plus sweeps, those of J two,
            // those of K one. Outflows of as many octants wait at a time.
            reflected: [
                ReflectedFluxes::new(reflective[0], 4, blocks, jt * mk * mmi),
                ReflectedFluxes::new(reflective[1], 2, blocks, it * mk * mmi),
                ReflectedFluxes::new(reflective[2], 1, groups, it * jt * mmi),
            ],
            leakage: [[0.0; 2]; 3],
            ordinates,
            extent,
            mk,
        }
    }

    /// Returns the net flow through the low and the high face per direction since the last call.
    pub(super) fn take_leakage(&mut self) -> [[f64; 2]; 3] {
        std::mem::take(&mut self.leakage)
    }

    /// Sets the inflow of a block through an I- or J-face of the global grid.
    pub(super) fn enter(&mut self, axis: Axis, step: &SweepStep, face: &mut [f64]) {
        self.enter_face(axis as usize, step, face, step.number);
    }

    /// Sets the inflow of the first block of planes through a K-face of the global grid.
    pub(super) fn enter_k(&mut self, step: &SweepStep, face: &mut [f64]) {
        self.enter_face(2, step, face, step.angles.start / step.angles.len());
    }

    /// Takes the outflow of a block through an I- or J-face of the global grid.
    pub(super) fn leave(&mut self, axis: Axis, step: &SweepStep, face: &[f64]) {
        self.leave_face(axis as usize, step, face, step.number);
    }

    /// Takes the outflow of the last block of planes through a K-face of the global grid.
    pub(super) fn leave_k(&mut self, step: &SweepStep, face: &[f64]) {
        self.leave_face(2, step, face, step.angles.start / step.angles.len());
    }

    fn enter_face(&mut self, axis: usize, step: &SweepStep, face: &mut [f64], block: usize) {
        if self.reflective[axis] && step.octant.is_positive(axis) {
            face.copy_from_slice(self.reflected[axis].block(waiting(axis, step), block));
            self.leakage[axis][0] += self.flow(axis, step, face);
        } else {
            face.fill(0.0);
        }
    }

    fn leave_face(&mut self, axis: usize, step: &SweepStep, face: &[f64], block: usize) {
        let high = step.octant.is_positive(axis);
        self.leakage[axis][usize::from(high)] += self.flow(axis, step, face);
        if self.reflective[axis] && !high {
            self.reflected[axis]
                .block(waiting(axis, step), block)
                .copy_from_slice(face);
        }
    }

    /// Returns the flow through a block's part of a face, in the direction of the axis.
    fn flow(&self, axis: usize, step: &SweepStep, face: &[f64]) -> f64 {
        let [it, jt, _] = self.extent;
        let planes = step.planes.len();
        // The room of an angle in the face, and the part that this block uses.
        let (room, used) = match axis {
            0 => (jt * self.mk, jt * planes),
            1 => (it * self.mk, it * planes),
            _ => (it * jt, it * jt),
        };
        let angles = self.ordinates[step.angles.clone()]
            .iter()
            .zip(face.chunks_exact(room));
        let sum: f64 = angles
            .map(|(ordinate, face)| {
                ordinate.weight * ordinate.cosines[axis] * face[..used].iter().sum::<f64>()
            })
            .sum();
        step.octant.sign(axis) * self.area[axis] * sum
    }

    /// Returns the bytes that reflected outflows take.
    pub(super) fn bytes(&self) -> usize {
        self.reflected
            .iter()
            .map(|reflected| reflected.fluxes.len() * size_of::<f64>())
            .sum()
    }
}

/// Returns the index of the octant among those whose outflows wait at a low face: the signs of the
/// directions after the axis identify it.
fn waiting(axis: usize, step: &SweepStep) -> usize {
    let sign = |direction: usize| usize::from(step.octant.is_positive(direction));
    match axis {
        0 => 2 * sign(1) + sign(2),
        1 => sign(2),
        _ => 0,
    }
}

impl Faces {
    /// Allocates the K-face fluxes of a block; the other fluxes come with messages.
    pub(super) fn with_k(deck: &Deck, [it, jt, _]: [usize; 3]) -> Faces {
        Faces {
            k: vec![0.0; it * jt * deck.mmi],
            ..Faces::default()
        }
    }
}
