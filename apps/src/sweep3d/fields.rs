//! The fluxes and sources of a process's part of the grid.

use std::ops::Range;

use super::deck::Deck;
use super::decomposition::Decomposition;
use super::problem::{SIGMA_SCATTER_0, SIGMA_SCATTER_1, SIGMA_TOTAL, SOURCE, source_range};

/// Flux moments, source moments and the scalar flux of the previous iteration.
///
/// Moments lie as `[k][j][moment][i]`, so that all data of a line of cells are in one place.
#[derive(Debug)]
pub(super) struct Fields {
    /// Grid points in I, J, K.
    extent: [usize; 3],
    /// Flux moments.
    pub flux: Vec<f64>,
    /// Source moments: external and scattering.
    pub source: Vec<f64>,
    /// Scalar flux of the previous iteration, as `[k][j][i]`.
    previous: Vec<f64>,
    /// Number of moments.
    moments: usize,
    /// Points of this process with an external source.
    external: [Range<usize>; 3],
}

impl Fields {
    /// Makes the fields before the first iteration: zero flux everywhere.
    pub(super) fn new(deck: &Deck, decomposition: &Decomposition) -> Fields {
        let extent = decomposition.extent();
        let cells = extent.iter().product::<usize>();
        let moments = deck.moments();
        let grid = [deck.it_g, deck.jt_g, deck.kt];
        let external = [0, 1, 2].map(|direction| {
            let all = source_range(grid[direction], deck.reflective[direction]);
            let own = &decomposition.points[direction];
            let start = all.start.clamp(own.start, own.end);
            let end = all.end.clamp(own.start, own.end);
            start - own.start..end - own.start
        });
        Fields {
            extent,
            flux: vec![0.0; moments * cells],
            source: vec![0.0; moments * cells],
            previous: vec![0.0; cells],
            moments,
            external,
        }
    }

    /// Starts an iteration: computes the source from the flux, saves the scalar flux, and clears
    /// the flux moments, to which the sweeps add.
    pub(super) fn begin_iteration(&mut self) {
        let [it, jt, _] = self.extent;
        let line = self.moments * it;
        let lines = self
            .flux
            .chunks_exact_mut(line)
            .zip(self.source.chunks_exact_mut(line))
            .enumerate();
        for ((index, (flux, source)), previous) in lines.zip(self.previous.chunks_exact_mut(it)) {
            let (scalar_flux, higher_flux) = flux.split_at(it);
            let (scalar_source, higher_source) = source.split_at_mut(it);
            for (source, flux) in scalar_source.iter_mut().zip(scalar_flux) {
                *source = SIGMA_SCATTER_0 * flux;
            }
            for (source, flux) in higher_source.iter_mut().zip(higher_flux) {
                *source = SIGMA_SCATTER_1 * flux;
            }
            let (j, k) = (index % jt, index / jt);
            if self.external[1].contains(&j) && self.external[2].contains(&k) {
                for source in &mut scalar_source[self.external[0].clone()] {
                    *source += SOURCE;
                }
            }
            previous.copy_from_slice(scalar_flux);
            flux.fill(0.0);
        }
    }

    /// Returns the largest relative change of the scalar flux in this iteration, over cells with a
    /// flux.
    pub(super) fn largest_change(&self) -> f64 {
        let it = self.extent[0];
        let lines = self
            .flux
            .chunks_exact(self.moments * it)
            .zip(self.previous.chunks_exact(it));
        let mut largest = 0.0_f64;
        for (flux, previous) in lines {
            for (new, old) in flux[..it].iter().zip(previous) {
                if *new != 0.0 {
                    largest = largest.max(((new - old) / new).abs());
                }
            }
        }
        largest
    }

    /// Returns the number of cells of this process with an external source, times its strength.
    pub(super) fn external_source(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "fewer cells than 2^53")]
        let cells = self
            .external
            .iter()
            .map(ExactSizeIterator::len)
            .product::<usize>() as f64;
        SOURCE * cells
    }

    /// Returns the absorption in all cells of this process, per unit of volume.
    pub(super) fn absorption(&self) -> f64 {
        let it = self.extent[0];
        let lines = self.flux.chunks_exact(self.moments * it);
        lines
            .map(|line| (SIGMA_TOTAL - SIGMA_SCATTER_0) * line[..it].iter().sum::<f64>())
            .sum()
    }

    /// Returns a plane of a flux moment, as `[j][i]`.
    pub(super) fn plane(&self, moment: usize, k: usize) -> Vec<f64> {
        let [it, jt, _] = self.extent;
        let line = self.moments * it;
        let plane = &self.flux[k * jt * line..(k + 1) * jt * line];
        plane
            .chunks_exact(line)
            .flat_map(|line| &line[moment * it..][..it])
            .copied()
            .collect()
    }

    /// Returns the scalar flux and the scalar source of a line.
    pub(super) fn scalar_line(&self, j: usize, k: usize) -> (&[f64], &[f64]) {
        let [it, jt, _] = self.extent;
        let start = (k * jt + j) * self.moments * it;
        (
            &self.flux[start..start + it],
            &self.source[start..start + it],
        )
    }

    /// Returns the bytes of the fields.
    pub(super) fn bytes(&self) -> usize {
        (self.flux.len() + self.source.len() + self.previous.len()) * size_of::<f64>()
    }
}
