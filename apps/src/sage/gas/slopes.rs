//! How quantities rise within a cell: limited slopes.

use super::quantities::Quantities;
use crate::sage::deck::Ends;
use crate::sage::mesh::Mesh;
use crate::sage::mesh::faces::{Link, OUTSIDE};
use crate::sage::mesh::key::Side;

/// From the middle of a cell to its high side in each direction.
pub(crate) type Rises<const D: usize, const M: usize> = [Quantities<D, M>; D];

/// How steep a limited slope may be against the smaller one-sided difference (the parameter of the generalised minmod limiter).
const STEEPNESS: f64 = 2.0;

/// The rises of an own cell in all directions, from the values of what is beside it.
#[inline(always)]
pub(crate) fn rises<const D: usize, const M: usize>(
    mesh: &Mesh<D>,
    ends: &Ends<D>,
    values: &[Quantities<D, M>],
    place: usize,
) -> Rises<D, M> {
    let own = place - mesh.own.start;
    if let Some(links) = mesh.links.even::<D>(own) {
        let here = &values[place];
        let mut rises = [Quantities::ZERO; D];
        for (rise, [low, high]) in rises.iter_mut().zip(links) {
            let (low, high) = (&values[low.beyond as usize], &values[high.beyond as usize]);
            *rise = here.minus(low).zip(&high.minus(here), limited);
        }
        return rises;
    }
    uneven(mesh, ends, values, place)
}

/// The same of a cell beside which there are others of another size, or walls.
fn uneven<const D: usize, const M: usize>(
    mesh: &Mesh<D>,
    ends: &Ends<D>,
    values: &[Quantities<D, M>],
    place: usize,
) -> Rises<D, M> {
    let own = place - mesh.own.start;
    std::array::from_fn(|direction| {
        let [low, high] = Side::BOTH.map(|side| {
            let links = mesh.links.at::<D>(own, direction, side);
            let step = step(mesh, ends, values, place, (direction, side), links);
            match side {
                Side::Low => step.times(-1.0),
                Side::High => step,
            }
        });
        low.zip(&high, limited)
    })
}

/// By how much quantities change from a cell to half of its size beyond its side... as if the cells there were of its own size: twice the rise.
fn step<const D: usize, const M: usize>(
    mesh: &Mesh<D>,
    ends: &Ends<D>,
    values: &[Quantities<D, M>],
    place: usize,
    (direction, side): (usize, Side),
    links: &[Link],
) -> Quantities<D, M> {
    let here = &values[place];
    let level = mesh.keys[place].level();
    if let [link] = links {
        if link.beyond == OUTSIDE {
            return ends.beyond(here, direction, side).minus(here);
        }
        let there = link.beyond as usize;
        let change = values[there].minus(here);
        // The middle of a cell twice as large is one and a half times as far.
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
    // The middles of cells half as large are three quarters as far.
    mean.minus(here).times(1.0 / 0.75)
}

/// Half of the slope that lies between both one-sided differences: their mean where that is not too steep, nothing at an extremum.
#[inline]
pub(super) fn limited(low: f64, high: f64) -> f64 {
    if low * high <= 0.0 {
        return 0.0;
    }
    let bound = STEEPNESS * low.abs().min(high.abs());
    let mean = 0.5 * (low + high);
    0.5 * mean.clamp(-bound, bound)
}
