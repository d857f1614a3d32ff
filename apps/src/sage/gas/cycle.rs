//! A step in time of all cells: rises, half a step, fluxes, sums.
//!
//! Each cell adds up its own fluxes in the order of its links, so that a sum does not depend on who owns what; a face between two ranks is computed by both,
//! from the same numbers.

use std::ops::Range;

use super::material::Materials;
use super::quantities::{Conserved, Flux, Primitive, Quantities};
use super::riemann;
use super::slopes::{Rises, rises};
use crate::MessagePassing;
use crate::sage::deck::Ends;
use crate::sage::mesh::Mesh;
use crate::sage::mesh::faces::{Even, Faces, Link, OUTSIDE, Step, Wall};
use crate::sage::mesh::halo::{Exchange, Words};
use crate::sage::mesh::key::Side;

/// Tags of the messages that bring what is in ghosts: as it is, and after half a step with its rises.
const PRESENT: i32 = 3;
const PREDICTED: i32 = 4;

/// A cell after half a step in time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Predicted<const D: usize, const M: usize> {
    pub(super) middle: Primitive<D, M>,
    pub(super) rises: Rises<D, M>,
}

impl<const D: usize, const M: usize> Predicted<D, M> {
    /// From a state that rises by this from the cell's middle to its high sides; `scale` is the step in time over the cell's edge.
    #[inline(always)]
    pub(super) fn new(
        materials: &Materials<M>,
        state: &Primitive<D, M>,
        mut rises: Rises<D, M>,
        scale: f64,
    ) -> Self {
        let (lightness, bulk) = (1.0 / state.density(), materials.bulk(state));
        let mut change = Quantities::ZERO;
        for (direction, rise) in rises.iter().enumerate() {
            let (velocity, widening) = (state.motion[direction], rise.motion[direction]);
            change = change.minus(&rise.times(velocity));
            for (change, mass) in change.masses.iter_mut().zip(state.masses) {
                *change -= mass * widening;
            }
            change.motion[direction] -= lightness * rise.energy;
            change.energy -= bulk * widening;
        }
        let mut middle = state.plus(&change.times(scale));
        if !(middle.density() > 0.0 && middle.energy > 0.0) {
            (middle, rises) = (*state, [Quantities::ZERO; D]);
        }
        Self { middle, rises }
    }

    /// What is in the cell after the whole step, in which `sum` flowed into a unit of it.
    #[inline(always)]
    pub(super) fn after(
        &self,
        before: &Conserved<D, M>,
        mut sum: Flux<D, M>,
        scale: f64,
    ) -> Conserved<D, M> {
        // Shares are carried by the velocity and not conserved: what a material gains of a volume that is squeezed, it
        // does not gain by flow.
        let volume: f64 = sum.shares.iter().sum();
        for (sum, share) in sum.shares.iter_mut().zip(&self.middle.shares) {
            *sum -= share * volume;
        }
        before.plus(&sum.times(scale))
    }
}

impl<const D: usize, const M: usize> Words for Predicted<D, M> {
    const WORDS: usize = (D + 1) * Quantities::<D, M>::WORDS;

    fn put(&self, words: &mut Vec<f64>) {
        self.middle.put(words);
        self.rises.iter().for_each(|rise| rise.put(words));
    }

    fn take(words: &[f64]) -> Self {
        let mut parts = words
            .chunks_exact(Quantities::<D, M>::WORDS)
            .map(Quantities::take);
        let mut part = || parts.next().expect("as many words as it has");
        Self {
            middle: part(),
            rises: std::array::from_fn(|_| part()),
        }
    }
}

/// A state that no gas can have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Impossible {
    /// The cell, among local ones.
    pub(crate) place: usize,
    pub(crate) density: f64,
    /// Internal energy of a unit of volume.
    pub(crate) energy: f64,
}

/// What is in the cells that a rank knows.
#[derive(Debug)]
pub(crate) struct Gas<const D: usize, const M: usize> {
    pub(crate) materials: Materials<M>,
    pub(crate) ends: Ends<D>,
    /// Ghosts have values only after an exchange.
    pub(crate) conserved: Vec<Conserved<D, M>>,
    present: Vec<Primitive<D, M>>,
    predicted: Vec<Predicted<D, M>>,
    fluxes: Vec<Flux<D, M>>,
}

/// A list of so many of these. Its memory stays, and has room for a mesh that grows: the kernel takes longer to find a new
/// page than a cycle takes to fill it.
fn renew<T: Clone>(list: &mut Vec<T>, len: usize, each: T) {
    list.clear();
    if list.capacity() < len {
        *list = Vec::new();
        list.reserve_exact(len + len / 4);
    }
    list.resize(len, each);
}

impl<const D: usize, const M: usize> Gas<D, M> {
    /// From what is in the own cells of a mesh.
    pub(crate) fn new(
        mesh: &Mesh<D>,
        materials: Materials<M>,
        ends: Ends<D>,
        own: &[Conserved<D, M>],
    ) -> Self {
        let mut gas = Self {
            materials,
            ends,
            conserved: Vec::new(),
            present: Vec::new(),
            predicted: Vec::new(),
            fluxes: Vec::new(),
        };
        gas.renew(mesh, own);
        gas
    }

    /// The same gases, of what is in the own cells of another mesh.
    pub(crate) fn renew(&mut self, mesh: &Mesh<D>, own: &[Conserved<D, M>]) {
        let cells = mesh.keys.len();
        let nothing = Predicted {
            middle: Quantities::ZERO,
            rises: [Quantities::ZERO; D],
        };
        renew(&mut self.conserved, cells, Quantities::ZERO);
        self.conserved[mesh.own.clone()].copy_from_slice(own);
        renew(&mut self.present, cells, Quantities::ZERO);
        renew(&mut self.predicted, cells, nothing);
        renew(&mut self.fluxes, mesh.faces(), Quantities::ZERO);
    }

    /// Finds the primitive quantities of own cells and how fast waves cross the fastest, in cells a unit of time.
    pub(crate) fn look(&mut self, mesh: &Mesh<D>) -> Result<f64, Impossible> {
        let mut fastest: f64 = 0.0;
        for place in mesh.own.clone() {
            let cell = &self.conserved[place];
            let (density, energy) = (cell.density(), Materials::internal(cell));
            // Also what is not a number is neither.
            if !(density > 0.0 && energy > 0.0 && density + energy < f64::INFINITY) {
                return Err(Impossible {
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

    /// A step in time of what [`look`](Self::look) has looked at.
    pub(crate) fn step<P: MessagePassing>(
        &mut self,
        mpi: &P,
        mesh: &mut Mesh<D>,
        time: f64,
        exchange: &mut Exchange<P::Request>,
    ) -> Result<(), P::Error> {
        mesh.halo.start(mpi, &self.present, PRESENT, exchange)?;
        for place in &mesh.inner {
            self.predict(mesh, *place as usize, time);
        }
        mesh.halo.finish(mpi, &mut self.present, exchange)?;
        for place in &mesh.outer {
            self.predict(mesh, *place as usize, time);
        }
        mesh.halo.start(mpi, &self.predicted, PREDICTED, exchange)?;
        self.flow(mesh, Part::inner);
        mesh.halo.finish(mpi, &mut self.predicted, exchange)?;
        self.flow(mesh, Part::outer);
        for place in mesh.own.clone() {
            self.add_up(mesh, place, time);
        }
        Ok(())
    }

    /// Half a step in time of a cell by itself.
    fn predict(&mut self, mesh: &Mesh<D>, place: usize, time: f64) {
        let rises = rises(mesh, &self.ends, &self.present, place);
        let scale = time / mesh.extent.edge(mesh.keys[place].level());
        let state = &self.present[place];
        self.predicted[place] = Predicted::new(&self.materials, state, rises, scale);
    }

    /// Fluxes through some faces of each direction.
    fn flow(&mut self, mesh: &Mesh<D>, which: impl Fn(&Faces) -> Part) {
        for (direction, faces) in mesh.faces.iter().enumerate() {
            let Part { even, steps, walls } = which(faces);
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

    /// Adds what flows into an own cell.
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
        self.conserved[place] = self.predicted[place].after(cell, sum, scale);
    }

    /// What flows into a unit of a cell beside which there may be others of another size, and walls.
    fn inflow(&self, mesh: &Mesh<D>, place: usize) -> Flux<D, M> {
        let level = mesh.keys[place].level();
        let mut sum = Flux::<D, M>::ZERO;
        for direction in 0..D {
            for side in Side::BOTH {
                for Link { face, beyond } in
                    mesh.links.at::<D>(place - mesh.own.start, direction, side)
                {
                    let finer = *beyond != OUTSIDE && mesh.keys[*beyond as usize].level() > level;
                    // Of a unit of this cell's side, a smaller cell has a part.
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

/// Some faces of a direction.
struct Part {
    even: Range<usize>,
    steps: Range<usize>,
    walls: Range<usize>,
}

impl Part {
    /// Those in which ghosts have no part.
    fn inner(faces: &Faces) -> Self {
        let [even, steps] = faces.inner;
        let walls = 0..faces.walls.len();
        Self {
            even: 0..even,
            steps: 0..steps,
            walls,
        }
    }

    /// Those in which they have.
    fn outer(faces: &Faces) -> Self {
        let [even, steps] = faces.inner;
        Self {
            even: even..faces.even.len(),
            steps: steps..faces.steps.len(),
            walls: 0..0,
        }
    }
}

/// A state at a face; that in the cell's middle if the one at the face is impossible.
#[inline(always)]
fn at_face<const D: usize, const M: usize>(
    cell: &Predicted<D, M>,
    mut state: Primitive<D, M>,
) -> Primitive<D, M> {
    if !(state.density() > 0.0 && state.energy > 0.0) {
        return cell.middle;
    }
    if M > 2 {
        // Limited each by itself, three shares need not add up to one.
        let whole: f64 = state.shares.iter().sum();
        state.shares = state.shares.map(|share| share / whole);
    }
    state
}

#[inline(always)]
pub(super) fn at_side<const D: usize, const M: usize>(
    cell: &Predicted<D, M>,
    direction: usize,
    side: Side,
) -> Primitive<D, M> {
    let rise = &cell.rises[direction];
    at_face(
        cell,
        match side {
            Side::Low => cell.middle.minus(rise),
            Side::High => cell.middle.plus(rise),
        },
    )
}

#[inline(always)]
fn even_flux<const D: usize, const M: usize>(
    materials: &Materials<M>,
    predicted: &[Predicted<D, M>],
    face: Even,
    direction: usize,
) -> Flux<D, M> {
    let low = at_side(&predicted[face.low as usize], direction, Side::High);
    let high = at_side(&predicted[face.high as usize], direction, Side::Low);
    riemann::flux(materials, &low, &high, direction)
}

fn step_flux<const D: usize, const M: usize>(
    materials: &Materials<M>,
    predicted: &[Predicted<D, M>],
    face: Step,
    direction: usize,
) -> Flux<D, M> {
    let fine = at_side(&predicted[face.fine as usize], direction, face.side);
    let cell = &predicted[face.coarse as usize];
    let coarse = (0..D).fold(cell.middle, |state, d| {
        let rise = &cell.rises[d];
        // The face lies at the coarse cell's side, and halfway to the side in the other directions.
        let (part, high) = match d == direction {
            true => (1.0, face.side == Side::Low),
            false => (0.5, face.halves >> d & 1 == 1),
        };
        state.plus(&rise.times(if high { part } else { -part }))
    });
    let coarse = at_face(cell, coarse);
    match face.side {
        Side::Low => riemann::flux(materials, &coarse, &fine, direction),
        Side::High => riemann::flux(materials, &fine, &coarse, direction),
    }
}

fn wall_flux<const D: usize, const M: usize>(
    materials: &Materials<M>,
    ends: &Ends<D>,
    predicted: &[Predicted<D, M>],
    wall: Wall,
    direction: usize,
) -> Flux<D, M> {
    let here = at_side(&predicted[wall.cell as usize], direction, wall.side);
    let there = ends.beyond(&here, direction, wall.side);
    match wall.side {
        Side::Low => riemann::flux(materials, &there, &here, direction),
        Side::High => riemann::flux(materials, &here, &there, direction),
    }
}
