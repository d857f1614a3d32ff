//! Limited slopes of quantities within a cell, and the detection of shocks.

use super::ends::BoxEnds;
use super::quantities::Quantities;
use crate::sage::mesh::Mesh;
use crate::sage::mesh::faces::{CellFace, OUTSIDE};
use crate::sage::mesh::key::Side;

/// The changes from the middle of a cell to its high side in each direction.
pub(crate) type CellSlopes<const D: usize, const M: usize> = [Quantities<D, M>; D];

/// The largest limited slope relative to the smaller one-sided difference (the parameter of the
/// generalised minmod limiter).
const STEEPNESS: f64 = 2.0;

/// Properties of a cell that follow from its neighbours' values.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Surroundings<const D: usize, const M: usize> {
    pub(crate) rises: CellSlopes<D, M>,
    /// The relative change of the pressure across the cell, in the direction with the largest
    /// change.
    jump: f64,
    /// The change of the velocity across it, summed over all directions.
    widening: f64,
}

/// The pressure change across a cell, as a part of the lower pressure, where a shock begins to
/// count and where it counts fully (to twice and three times the lower pressure, which are shocks
/// of Mach 1.4 and 1.6). Weaker shocks do not break up.
const SHOCK: [f64; 2] = [1.0, 2.0];

impl<const D: usize, const M: usize> Surroundings<D, M> {
    pub(super) const NONE: Self = Self {
        rises: [Quantities::ZERO; D],
        jump: 0.0,
        widening: 0.0,
    };

    /// Adds both one-sided differences in a direction.
    #[inline(always)]
    pub(super) fn see(
        &mut self,
        direction: usize,
        here: &Quantities<D, M>,
        [low, high]: [&Quantities<D, M>; 2],
    ) {
        self.rises[direction] = low.zip(high, limited);
        self.widening += low.motion[direction] + high.motion[direction];
        let least = (here.energy - low.energy).min(here.energy + high.energy);
        // Next to a cell of another size differences are estimates, which can exceed the value
        // itself.
        let jump = match least > 0.0 {
            true => (low.energy + high.energy).abs() / least,
            false => f64::INFINITY,
        };
        self.jump = self.jump.max(jump);
    }

    /// Returns the strength of a shock in the cell: 0 no, 1 yes. Weak shocks lie in between, so
    /// that rounding cannot decide.
    #[inline(always)]
    pub(super) fn shock(&self) -> f64 {
        let [begins, whole] = SHOCK;
        match self.widening < 0.0 {
            true => ((self.jump - begins) / (whole - begins)).clamp(0.0, 1.0),
            false => 0.0,
        }
    }
}

/// Computes the surroundings of an own cell from its neighbours' values.
#[inline(always)]
pub(crate) fn surroundings<const D: usize, const M: usize>(
    mesh: &Mesh<D>,
    ends: &BoxEnds<D>,
    values: &[Quantities<D, M>],
    place: usize,
) -> Surroundings<D, M> {
    let own = place - mesh.own.start;
    if let Some(links) = mesh.links.even::<D>(own) {
        let here = &values[place];
        let mut seen = Surroundings::NONE;
        for (direction, [low, high]) in links.iter().enumerate() {
            let (low, high) = (&values[low.beyond as usize], &values[high.beyond as usize]);
            seen.see(direction, here, [&here.minus(low), &high.minus(here)]);
        }
        return seen;
    }
    uneven(mesh, ends, values, place)
}

/// Does the same for a cell with neighbours of another size, or walls.
fn uneven<const D: usize, const M: usize>(
    mesh: &Mesh<D>,
    ends: &BoxEnds<D>,
    values: &[Quantities<D, M>],
    place: usize,
) -> Surroundings<D, M> {
    let own = place - mesh.own.start;
    let mut seen = Surroundings::NONE;
    for direction in 0..D {
        let [low, high] = Side::BOTH.map(|side| {
            let links = mesh.links.at::<D>(own, direction, side);
            let step = step(mesh, ends, values, place, (direction, side), links);
            match side {
                Side::Low => step.times(-1.0),
                Side::High => step,
            }
        });
        seen.see(direction, &values[place], [&low, &high]);
    }
    seen
}

/// Returns the change of quantities from a cell to one of the same size beyond its side; neighbours
/// of another size give an estimate.
fn step<const D: usize, const M: usize>(
    mesh: &Mesh<D>,
    ends: &BoxEnds<D>,
    values: &[Quantities<D, M>],
    place: usize,
    (direction, side): (usize, Side),
    links: &[CellFace],
) -> Quantities<D, M> {
    let here = &values[place];
    let level = mesh.keys[place].level();
    if let [link] = links {
        if link.beyond == OUTSIDE {
            return ends.beyond(here, direction, side).minus(here);
        }
        let there = link.beyond as usize;
        let change = values[there].minus(here);
        // The middle of a cell twice as large is one and a half times as far away.
        return if mesh.keys[there].level() == level {
            change
        } else {
            change.times(1.0 / 1.5)
        };
    }
    let sum = links.iter().fold(Quantities::ZERO, |sum, link| {
        sum.plus(&values[link.beyond as usize])
    });
    let mean = sum.times(1.0 / links.len() as f64);
    // The middles of cells half as large are three quarters as far away.
    mean.minus(here).times(1.0 / 0.75)
}

/// Returns half of the slope between both one-sided differences: their mean if that is not too
/// steep, and zero at an extremum.
#[inline]
fn limited(low: f64, high: f64) -> f64 {
    if low * high <= 0.0 {
        return 0.0;
    }
    let bound = STEEPNESS * low.abs().min(high.abs());
    let mean = 0.5 * (low + high);
    0.5 * mean.clamp(-bound, bound)
}
