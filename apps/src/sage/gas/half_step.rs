//! Cells after half a time step.
//!
//! The states in the cells' middles are one list, and the slopes of each direction are another. The
//! fluxes of a direction read the middles and one list of slopes, and use everything in the cache
//! lines that they load.

use super::material::Materials;
use super::quantities::{Conserved, Flux, Primitive, Quantities};
use super::slopes::{CellSlopes, Surroundings};
use crate::sage::mesh::halo::{CellValues, FixedDoubles};
use crate::sage::mesh::key::Side;

/// A cell after half a step.
#[derive(Debug, Clone, Copy)]
pub(super) struct PredictedCell<const D: usize, const M: usize> {
    pub(super) middle: Primitive<D, M>,
    pub(super) rises: CellSlopes<D, M>,
    /// The strength of a shock in it, from 0 to 1.
    pub(super) shock: f64,
}

impl<const D: usize, const M: usize> PredictedCell<D, M> {
    /// Computes a cell from its state and its surroundings; `scale` is the time step over the
    /// cell's edge.
    #[inline(always)]
    pub(super) fn new(
        materials: &Materials<M>,
        state: &Primitive<D, M>,
        seen: &Surroundings<D, M>,
        scale: f64,
    ) -> Self {
        let mut rises = seen.rises;
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
        let shock = seen.shock();
        Self {
            middle,
            rises,
            shock,
        }
    }
}

/// The half steps of all local cells.
#[derive(Debug)]
pub(super) struct PredictedCells<const D: usize, const M: usize> {
    pub(super) middles: Vec<Primitive<D, M>>,
    pub(super) rises: [Vec<Quantities<D, M>>; D],
    pub(super) shocks: Vec<f64>,
}

impl<const D: usize, const M: usize> Default for PredictedCells<D, M> {
    fn default() -> Self {
        Self {
            middles: Vec::new(),
            rises: std::array::from_fn(|_| Vec::new()),
            shocks: Vec::new(),
        }
    }
}

impl<const D: usize, const M: usize> PredictedCells<D, M> {
    #[inline(always)]
    pub(super) fn set(&mut self, cell: usize, predicted: &PredictedCell<D, M>) {
        self.middles[cell] = predicted.middle;
        for (rises, rise) in self.rises.iter_mut().zip(&predicted.rises) {
            rises[cell] = *rise;
        }
        self.shocks[cell] = predicted.shock;
    }

    /// Returns the strength of a shock in either of two neighbours.
    #[inline(always)]
    pub(super) fn shock(&self, one: u32, other: u32) -> f64 {
        self.shocks[one as usize].max(self.shocks[other as usize])
    }

    /// Returns the state at a side of a cell.
    #[inline(always)]
    pub(super) fn at_side(&self, cell: usize, direction: usize, side: Side) -> Primitive<D, M> {
        at_side(&self.middles[cell], &self.rises[direction][cell], side)
    }
}

impl<const D: usize, const M: usize> CellValues for PredictedCells<D, M> {
    const WORDS: usize = (D + 1) * Quantities::<D, M>::WORDS + 1;

    fn put(&self, cell: usize, words: &mut Vec<f64>) {
        self.middles[cell].put(words);
        self.rises.iter().for_each(|rises| rises[cell].put(words));
        words.push(self.shocks[cell]);
    }

    fn take(&mut self, cell: usize, words: &[f64]) {
        let lists = std::iter::once(&mut self.middles).chain(&mut self.rises);
        for (list, words) in lists.zip(words.chunks_exact(Quantities::<D, M>::WORDS)) {
            list[cell] = Quantities::take(words);
        }
        self.shocks[cell] = words[<Self as CellValues>::WORDS - 1];
    }
}

/// Returns the content of a cell after the whole step. Its middle had the state `middle` after half
/// a step, and `sum` flowed into a unit of volume.
#[inline(always)]
pub(super) fn after<const D: usize, const M: usize>(
    middle: &Primitive<D, M>,
    before: &Conserved<D, M>,
    mut sum: Flux<D, M>,
    scale: f64,
) -> Conserved<D, M> {
    // The velocity carries the shares, which are not conserved: a material gains no share from
    // compression of the volume.
    let volume: f64 = sum.shares.iter().sum();
    for (sum, share) in sum.shares.iter_mut().zip(&middle.shares) {
        *sum -= share * volume;
    }
    before.plus(&sum.times(scale))
}

/// Returns the state at a face; if that is impossible, returns the state in the cell's middle.
#[inline(always)]
pub(super) fn at_face<const D: usize, const M: usize>(
    middle: &Primitive<D, M>,
    mut state: Primitive<D, M>,
) -> Primitive<D, M> {
    if !(state.density() > 0.0 && state.energy > 0.0) {
        return *middle;
    }
    if M > 2 {
        // Three shares that are limited separately need not add up to one.
        let whole: f64 = state.shares.iter().sum();
        state.shares = state.shares.map(|share| share / whole);
    }
    state
}

/// Returns the state at a side of a cell; `rise` is the change from its middle to its high side.
#[inline(always)]
pub(super) fn at_side<const D: usize, const M: usize>(
    middle: &Primitive<D, M>,
    rise: &Quantities<D, M>,
    side: Side,
) -> Primitive<D, M> {
    let state = match side {
        Side::Low => middle.minus(rise),
        Side::High => middle.plus(rise),
    };
    at_face(middle, state)
}
