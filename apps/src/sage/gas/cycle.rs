//! A time step of all cells: surroundings, half step, fluxes, sums.
//!
//! Each cell adds up its own fluxes in the order of its links, so that a sum does not depend on the
//! owners of cells. Both ranks at a face between them compute its flux, from the same numbers.

use std::ops::Range;

use super::ends::BoxEnds;
use super::half_step::{PredictedCell, PredictedCells, after, at_face};
use super::material::Materials;
use super::quantities::{Conserved, Flux, Primitive, Quantities};
use super::riemann;
use super::slopes::surroundings;
use crate::MessagePassing;
use crate::sage::mesh::Mesh;
use crate::sage::mesh::faces::{BoxEndFace, CellFace, Faces, LevelStepFace, OUTSIDE, SameSizeFace};
use crate::sage::mesh::halo::HaloExchange;
use crate::sage::mesh::key::Side;

/// Tags of the messages with ghost values: the present state, and the state after half a step with
/// its slopes.
const PRESENT: i32 = 3;
const PREDICTED: i32 = 4;

/// A physically impossible state.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ImpossibleState {
    /// The index of the cell among the local cells.
    pub(crate) place: usize,
    pub(crate) density: f64,
    /// Internal energy of a unit of volume.
    pub(crate) energy: f64,
}

/// The contents of the cells that a rank knows.
#[derive(Debug)]
pub(crate) struct Gas<const D: usize, const M: usize> {
    pub(crate) materials: Materials<M>,
    pub(crate) ends: BoxEnds<D>,
    /// The conserved quantities. Those of ghosts are valid only after an exchange.
    pub(crate) conserved: Vec<Conserved<D, M>>,
    present: Vec<Primitive<D, M>>,
    predicted: PredictedCells<D, M>,
    fluxes: Vec<Flux<D, M>>,
}

/// Makes `list` one of `len` elements `each`. It keeps the memory, with room for a mesh that grows:
/// the kernel needs longer to provide a new page than a cycle needs to fill it.
fn renew<T: Clone>(list: &mut Vec<T>, len: usize, each: T) {
    list.clear();
    if list.capacity() < len {
        *list = Vec::new();
        list.reserve_exact(len + len / 4);
    }
    list.resize(len, each);
}

impl<const D: usize, const M: usize> Gas<D, M> {
    /// Makes a gas from the contents of the own cells of a mesh.
    pub(crate) fn new(
        mesh: &Mesh<D>,
        materials: Materials<M>,
        ends: BoxEnds<D>,
        own: &[Conserved<D, M>],
    ) -> Self {
        let mut gas = Self {
            materials,
            ends,
            conserved: Vec::new(),
            present: Vec::new(),
            predicted: PredictedCells::default(),
            fluxes: Vec::new(),
        };
        gas.renew(mesh, own);
        gas
    }

    /// Moves the same gases to another mesh, with the contents of its own cells.
    pub(crate) fn renew(&mut self, mesh: &Mesh<D>, own: &[Conserved<D, M>]) {
        let cells = mesh.keys.len();
        renew(&mut self.conserved, cells, Quantities::ZERO);
        self.conserved[mesh.own.clone()].copy_from_slice(own);
        renew(&mut self.present, cells, Quantities::ZERO);
        renew(&mut self.predicted.middles, cells, Quantities::ZERO);
        for rises in &mut self.predicted.rises {
            renew(rises, cells, Quantities::ZERO);
        }
        renew(&mut self.predicted.shocks, cells, 0.0);
        renew(&mut self.fluxes, mesh.faces(), Quantities::ZERO);
    }

    /// Computes the primitive quantities of own cells. Returns the fastest wave speed, in cells per
    /// unit of time.
    pub(crate) fn look(&mut self, mesh: &Mesh<D>) -> Result<f64, ImpossibleState> {
        let mut fastest: f64 = 0.0;
        for place in mesh.own.clone() {
            let cell = &self.conserved[place];
            let (density, energy) = (cell.density(), Materials::internal(cell));
            // The negated comparison also catches NaN.
            if !(density > 0.0 && energy > 0.0 && density + energy < f64::INFINITY) {
                return Err(ImpossibleState {
                    place,
                    density,
                    energy,
                });
            }
            let state = self.materials.primitive(cell);
            let speed = self.materials.speed(&state);
            fastest = fastest.max(speed / mesh.extent.edge(mesh.keys[place].level()));
            self.present[place] = state;
        }
        Ok(fastest)
    }

    /// Advances the state that [`look`](Self::look) has read by one time step.
    pub(crate) fn step<P: MessagePassing>(
        &mut self,
        mpi: &P,
        mesh: &mut Mesh<D>,
        time: f64,
        exchange: &mut HaloExchange<P::Request>,
    ) -> Result<(), P::Error> {
        mesh.halo.start(mpi, &self.present[..], PRESENT, exchange)?;
        for place in &mesh.inner {
            self.predict(mesh, *place as usize, time);
        }
        mesh.halo.finish(mpi, &mut self.present[..], exchange)?;
        for place in &mesh.outer {
            self.predict(mesh, *place as usize, time);
        }
        mesh.halo.start(mpi, &self.predicted, PREDICTED, exchange)?;
        self.flow(mesh, FaceRanges::inner);
        mesh.halo.finish(mpi, &mut self.predicted, exchange)?;
        self.flow(mesh, FaceRanges::outer);
        for place in mesh.own.clone() {
            self.add_up(mesh, place, time);
        }
        Ok(())
    }

    /// Advances a cell by itself by half a time step.
    fn predict(&mut self, mesh: &Mesh<D>, place: usize, time: f64) {
        let seen = surroundings(mesh, &self.ends, &self.present, place);
        let scale = time / mesh.extent.edge(mesh.keys[place].level());
        let state = &self.present[place];
        let predicted = PredictedCell::new(&self.materials, state, &seen, scale);
        self.predicted.set(place, &predicted);
    }

    /// Computes the fluxes through some faces of each direction.
    fn flow(&mut self, mesh: &Mesh<D>, which: impl Fn(&Faces) -> FaceRanges) {
        for (direction, faces) in mesh.faces.iter().enumerate() {
            let FaceRanges { even, steps, walls } = which(faces);
            let (materials, ends, predicted) = (&self.materials, &self.ends, &self.predicted);
            let (first_even, rest) = self.fluxes[faces.first..].split_at_mut(faces.even.len());
            let (first_step, first_wall) = rest.split_at_mut(faces.steps.len());
            for (flux, face) in first_even[even.clone()].iter_mut().zip(&faces.even[even]) {
                *flux = even_flux(materials, predicted, *face, direction);
            }
            for (flux, face) in first_step[steps.clone()]
                .iter_mut()
                .zip(&faces.steps[steps])
            {
                *flux = step_flux(materials, predicted, *face, direction);
            }
            for (flux, wall) in first_wall[walls.clone()]
                .iter_mut()
                .zip(&faces.walls[walls])
            {
                *flux = wall_flux(materials, ends, predicted, *wall, direction);
            }
        }
    }

    /// Adds the inflow of an own cell.
    fn add_up(&mut self, mesh: &Mesh<D>, place: usize, time: f64) {
        let level = mesh.keys[place].level();
        let sum = match mesh.links.even::<D>(place - mesh.own.start) {
            Some(links) => links.iter().fold(Flux::ZERO, |sum, [low, high]| {
                let [low, high] = [low, high].map(|link| &self.fluxes[link.face as usize]);
                sum.plus(low).minus(high)
            }),
            None => self.inflow(mesh, place),
        };
        let scale = time / mesh.extent.edge(level);
        let cell = &self.conserved[place];
        self.conserved[place] = after(&self.predicted.middles[place], cell, sum, scale);
    }

    /// Returns the inflow per unit of volume of a cell that may have neighbours of another size,
    /// and walls.
    fn inflow(&self, mesh: &Mesh<D>, place: usize) -> Flux<D, M> {
        let level = mesh.keys[place].level();
        let mut sum = Flux::<D, M>::ZERO;
        for direction in 0..D {
            for side in Side::BOTH {
                for CellFace { face, beyond } in
                    mesh.links.at::<D>(place - mesh.own.start, direction, side)
                {
                    let finer = *beyond != OUTSIDE && mesh.keys[*beyond as usize].level() > level;
                    // A smaller cell covers only a part of this cell's side.
                    let area = if finer {
                        1.0 / f64::from(1_u32 << (D - 1))
                    } else {
                        1.0
                    };
                    let inward = if side == Side::Low { area } else { -area };
                    sum = sum.plus(&self.fluxes[*face as usize].times(inward));
                }
            }
        }
        sum
    }
}

/// A range of the faces of a direction.
struct FaceRanges {
    even: Range<usize>,
    steps: Range<usize>,
    walls: Range<usize>,
}

impl FaceRanges {
    /// Returns the faces without ghosts.
    fn inner(faces: &Faces) -> Self {
        let [even, steps] = faces.inner;
        let walls = 0..faces.walls.len();
        Self {
            even: 0..even,
            steps: 0..steps,
            walls,
        }
    }

    /// Returns the faces with ghosts.
    fn outer(faces: &Faces) -> Self {
        let [even, steps] = faces.inner;
        Self {
            even: even..faces.even.len(),
            steps: steps..faces.steps.len(),
            walls: 0..0,
        }
    }
}

#[inline(always)]
fn even_flux<const D: usize, const M: usize>(
    materials: &Materials<M>,
    predicted: &PredictedCells<D, M>,
    face: SameSizeFace,
    direction: usize,
) -> Flux<D, M> {
    let low = predicted.at_side(face.low as usize, direction, Side::High);
    let high = predicted.at_side(face.high as usize, direction, Side::Low);
    let shock = predicted.shock(face.low, face.high);
    riemann::flux(materials, [&low, &high], direction, shock)
}

fn step_flux<const D: usize, const M: usize>(
    materials: &Materials<M>,
    predicted: &PredictedCells<D, M>,
    face: LevelStepFace,
    direction: usize,
) -> Flux<D, M> {
    let fine = predicted.at_side(face.fine as usize, direction, face.side);
    let coarse = face.coarse as usize;
    let middle = predicted.middles[coarse];
    let coarse = (0..D).fold(middle, |state, d| {
        let rise = &predicted.rises[d][coarse];
        // The face lies at the coarse cell's side, and halfway to the side in the other directions.
        let (part, high) = match d == direction {
            true => (1.0, face.side == Side::Low),
            false => (0.5, face.halves >> d & 1 == 1),
        };
        state.plus(&rise.times(if high { part } else { -part }))
    });
    let coarse = at_face(&middle, coarse);
    let shock = predicted.shock(face.fine, face.coarse);
    let sides = match face.side {
        Side::Low => [&coarse, &fine],
        Side::High => [&fine, &coarse],
    };
    riemann::flux(materials, sides, direction, shock)
}

fn wall_flux<const D: usize, const M: usize>(
    materials: &Materials<M>,
    ends: &BoxEnds<D>,
    predicted: &PredictedCells<D, M>,
    wall: BoxEndFace,
    direction: usize,
) -> Flux<D, M> {
    let here = predicted.at_side(wall.cell as usize, direction, wall.side);
    let there = ends.beyond(&here, direction, wall.side);
    let shock = predicted.shock(wall.cell, wall.cell);
    let sides = match wall.side {
        Side::Low => [&there, &here],
        Side::High => [&here, &there],
    };
    riemann::flux(materials, sides, direction, shock)
}
