//! The same scheme on an array of cells of one size, written without refinement. It is the oracle
//! for the contents of a mesh, and the baseline for the cost of refinement.

use super::ends::BoxEnds;
use super::half_step::{PredictedCell, after, at_side};
use super::material::Materials;
use super::quantities::{Conserved, Flux, Primitive, Quantities};
use super::riemann;
use super::slopes::Surroundings;
use crate::sage::mesh::key::Side;

/// Cells of a box; the first direction runs fastest.
pub(crate) struct UniformGas<const D: usize, const M: usize> {
    materials: Materials<M>,
    ends: BoxEnds<D>,
    cells: [usize; D],
    /// The distance in the array of neighbours in each direction.
    strides: [usize; D],
    edge: f64,
    pub(crate) conserved: Vec<Conserved<D, M>>,
    present: Vec<Primitive<D, M>>,
    predicted: Vec<PredictedCell<D, M>>,
    /// The fluxes in each direction, through all faces including those at both ends of the box.
    fluxes: [Vec<Flux<D, M>>; D],
}

impl<const D: usize, const M: usize> UniformGas<D, M> {
    pub(crate) fn new(
        materials: Materials<M>,
        ends: BoxEnds<D>,
        cells: [usize; D],
        edge: f64,
        conserved: Vec<Conserved<D, M>>,
    ) -> Self {
        let count = conserved.len();
        let nothing = PredictedCell {
            middle: Quantities::ZERO,
            rises: [Quantities::ZERO; D],
            shock: 0.0,
        };
        let faces = |d: usize| count / cells[d] * (cells[d] + 1);
        Self {
            materials,
            ends,
            cells,
            strides: std::array::from_fn(|d| cells[..d].iter().product()),
            edge,
            conserved,
            present: vec![Quantities::ZERO; count],
            predicted: vec![nothing; count],
            fluxes: std::array::from_fn(|d| vec![Quantities::ZERO; faces(d)]),
        }
    }

    /// Runs a cycle. The time step is `courant` times the time in which the fastest wave crosses a
    /// cell.
    pub(crate) fn cycle(&mut self, courant: f64) -> f64 {
        let mut fastest: f64 = 0.0;
        for (state, cell) in self.present.iter_mut().zip(&self.conserved) {
            *state = self.materials.primitive(cell);
            fastest = fastest.max(self.materials.speed(state) / self.edge);
        }
        let time = courant / fastest;
        self.predict(time / self.edge);
        (0..D).for_each(|direction| self.flow(direction));
        self.add_up(time / self.edge);
        time
    }

    fn predict(&mut self, scale: f64) {
        let mut place = [0; D];
        for n in 0..self.present.len() {
            let here = &self.present[n];
            let mut seen = Surroundings::NONE;
            for (d, &at) in place.iter().enumerate() {
                let low = match at {
                    0 => here.minus(&self.ends.beyond(here, d, Side::Low)),
                    _ => here.minus(&self.present[n - self.strides[d]]),
                };
                let high = match at + 1 == self.cells[d] {
                    true => self.ends.beyond(here, d, Side::High).minus(here),
                    false => self.present[n + self.strides[d]].minus(here),
                };
                seen.see(d, here, [&low, &high]);
            }
            self.predicted[n] = PredictedCell::new(&self.materials, here, &seen, scale);
            self.next(&mut place);
        }
    }

    fn flow(&mut self, direction: usize) {
        let (stride, length) = (self.strides[direction], self.cells[direction]);
        let (materials, ends, predicted) = (&self.materials, &self.ends, &self.predicted);
        let slabs = self.fluxes[direction].chunks_exact_mut(stride * (length + 1));
        for (slab, fluxes) in slabs.enumerate() {
            let first = slab * stride * length;
            for (layer, fluxes) in fluxes.chunks_exact_mut(stride).enumerate() {
                for (n, flux) in fluxes.iter_mut().enumerate() {
                    let high = first + layer * stride + n;
                    let state = |cell: usize, side| {
                        let cell = &predicted[cell];
                        at_side(&cell.middle, &cell.rises[direction], side)
                    };
                    let shock = |cell: usize| predicted[cell].shock;
                    let shock = match layer {
                        0 => shock(high),
                        layer if layer == length => shock(high - stride),
                        _ => shock(high - stride).max(shock(high)),
                    };
                    let [low, high] = match layer {
                        0 => {
                            let here = state(high, Side::Low);
                            [ends.beyond(&here, direction, Side::Low), here]
                        }
                        layer if layer == length => {
                            let here = state(high - stride, Side::High);
                            [here, ends.beyond(&here, direction, Side::High)]
                        }
                        _ => [state(high - stride, Side::High), state(high, Side::Low)],
                    };
                    *flux = riemann::flux(materials, [&low, &high], direction, shock);
                }
            }
        }
    }

    fn add_up(&mut self, scale: f64) {
        for n in 0..self.conserved.len() {
            let mut sum = Flux::<D, M>::ZERO;
            for (d, fluxes) in self.fluxes.iter().enumerate() {
                // A slab has one more layer of faces than of cells.
                let slab = n / (self.strides[d] * self.cells[d]);
                let low = n + slab * self.strides[d];
                sum = sum.plus(&fluxes[low]);
                sum = sum.minus(&fluxes[low + self.strides[d]]);
            }
            self.conserved[n] = after(&self.predicted[n].middle, &self.conserved[n], sum, scale);
        }
    }

    /// Advances `place` to the next cell.
    fn next(&self, place: &mut [usize; D]) {
        for (along, cells) in place.iter_mut().zip(self.cells) {
            *along += 1;
            if *along < cells {
                return;
            }
            *along = 0;
        }
    }
}
