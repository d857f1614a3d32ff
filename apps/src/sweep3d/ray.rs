//! The coefficients of one angle in one octant: all inputs of a cell's equation besides fluxes.

use super::octant::Octant;
use super::problem::{Ordinate, SIGMA_TOTAL};

/// A direction in the form of the kernel, for `NM` flux moments.
///
/// The kernel works with twice the cell's flux, because every diamond outflow is `2 phi - inflow`.
/// Doubling is exact, so this changes no digit. The cross section is the same everywhere, so the
/// denominator of the cell's equation is a constant of the angle. Its reciprocal is part of the
/// coefficients, so the recurrence along a line has no division in it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ray<const NM: usize> {
    /// Moment functions: 1, and with `NM` = 4 the signed cosines.
    pub moments: [f64; NM],
    /// 2 / d per direction times the cosine: ci, cj, ck of the specification.
    pub streaming: [f64; 3],
    /// `2 moments / denominator`: the factor of a source moment in twice the flux.
    pub doubled_moments: [f64; NM],
    /// `2 streaming / denominator`: the factor of an inflow in twice the flux.
    pub doubled_streaming: [f64; 3],
    /// `weight * moments / 2`: the factor of twice the flux in a flux moment.
    pub flux: [f64; NM],
    /// `sign * weight * cosine`: the factor of a face flux in a face current.
    pub current: [f64; 3],
}

impl<const NM: usize> Ray<NM> {
    /// Computes the coefficients of an ordinate in an octant, for cells of `cell` = [dx, dy, dz].
    pub(super) fn new(ordinate: &Ordinate, octant: &Octant, cell: [f64; 3]) -> Ray<NM> {
        let directed = [0, 1, 2].map(|axis| octant.sign(axis) * ordinate.cosines[axis]);
        let moments = std::array::from_fn(|moment| {
            if moment == 0 {
                1.0
            } else {
                directed[moment - 1]
            }
        });
        let streaming = [0, 1, 2].map(|axis| 2.0 / cell[axis] * ordinate.cosines[axis]);
        let doubled = 2.0 / denominator(streaming);
        Ray {
            moments,
            streaming,
            doubled_moments: moments.map(|moment| moment * doubled),
            doubled_streaming: streaming.map(|streaming| streaming * doubled),
            flux: moments.map(|moment| ordinate.weight * moment / 2.0),
            current: directed.map(|cosine| ordinate.weight * cosine),
        }
    }
}

/// Returns the denominator of the cell's equation.
pub(super) fn denominator(streaming: [f64; 3]) -> f64 {
    SIGMA_TOTAL + streaming[0] + streaming[1] + streaming[2]
}
