//! Gamma-law gases and mixtures of them in pressure equilibrium.

use super::quantities::{Conserved, Primitive, Quantities};

/// The materials of a problem.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Materials<const M: usize> {
    /// 1 / (gamma - 1) of each material. That of a mixture is the mean of these by volume, so that
    /// p = rho e / sum.
    pub(crate) inverse: [f64; M],
    /// Heat capacity of a unit of mass at constant volume.
    pub(crate) capacity: [f64; M],
    /// Heat that flows through a unit of area, per unit of time and of temperature gradient.
    pub(crate) conductivity: [f64; M],
}

impl<const M: usize> Materials<M> {
    /// Returns the internal energy of a unit of volume at pressure 1.
    #[inline]
    fn stiffness<const D: usize>(&self, shares: &Quantities<D, M>) -> f64 {
        (0..M).map(|m| shares.shares[m] * self.inverse[m]).sum()
    }

    /// Returns the internal energy of a unit of volume.
    #[inline]
    pub(crate) fn internal<const D: usize>(cell: &Conserved<D, M>) -> f64 {
        let square: f64 = cell.motion.iter().map(|momentum| momentum * momentum).sum();
        cell.energy - 0.5 * square / cell.density()
    }

    #[inline]
    pub(crate) fn primitive<const D: usize>(&self, cell: &Conserved<D, M>) -> Primitive<D, M> {
        let lightness = 1.0 / cell.density();
        Quantities {
            masses: cell.masses,
            motion: cell.motion.map(|momentum| momentum * lightness),
            energy: Self::internal(cell) / self.stiffness(cell),
            shares: cell.shares,
        }
    }

    #[inline]
    pub(crate) fn conserved<const D: usize>(&self, cell: &Primitive<D, M>) -> Conserved<D, M> {
        let density = cell.density();
        Quantities {
            masses: cell.masses,
            motion: cell.motion.map(|velocity| velocity * density),
            energy: self.total(cell, density),
            shares: cell.shares,
        }
    }

    /// Returns the total energy of a unit of volume.
    #[inline]
    pub(crate) fn total<const D: usize>(&self, cell: &Primitive<D, M>, density: f64) -> f64 {
        let square: f64 = cell.motion.iter().map(|velocity| velocity * velocity).sum();
        cell.energy * self.stiffness(cell) + 0.5 * density * square
    }

    /// Returns the density times the square of the speed of sound: gamma p of the mixture.
    #[inline]
    pub(crate) fn bulk<const D: usize>(&self, cell: &Primitive<D, M>) -> f64 {
        cell.energy * (1.0 + 1.0 / self.stiffness(cell))
    }

    /// Returns the speed of waves, added up over all directions.
    #[inline]
    pub(crate) fn speed<const D: usize>(&self, state: &Primitive<D, M>) -> f64 {
        let sound = (self.bulk(state) / state.density()).sqrt();
        let speeds = state.motion.iter().map(|velocity| velocity.abs() + sound);
        speeds.sum()
    }

    /// Returns the heat capacity of a unit of volume.
    pub(crate) fn heat_capacity<const D: usize>(&self, cell: &Conserved<D, M>) -> f64 {
        (0..M).map(|m| cell.masses[m] * self.capacity[m]).sum()
    }

    /// Returns the conductivity of the mixture: the mean by volume.
    pub(crate) fn heat_conductivity<const D: usize>(&self, cell: &Conserved<D, M>) -> f64 {
        (0..M).map(|m| cell.shares[m] * self.conductivity[m]).sum()
    }
}
