//! The content of a cell, and the flux through a face: the components of the five-equation model
//! for M materials in D dimensions (Allaire, Clerc and Kokh 2002).

use super::super::mesh::halo::FixedDoubles;

/// The components; the aliases below give their meaning.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Quantities<const D: usize, const M: usize> {
    /// The mass of each material in a unit of the cell's volume.
    pub(crate) masses: [f64; M],
    /// Momentum or velocity in each direction.
    pub(crate) motion: [f64; D],
    /// Total energy, or pressure.
    pub(crate) energy: f64,
    /// The volume fraction of each material.
    pub(crate) shares: [f64; M],
}

/// The conserved quantities of a unit of volume (masses, momentum, total energy), and the shares,
/// which the flow carries along.
pub(crate) type Conserved<const D: usize, const M: usize> = Quantities<D, M>;

/// The quantities in which waves are described: masses, velocity, pressure, shares.
pub(crate) type Primitive<const D: usize, const M: usize> = Quantities<D, M>;

/// The flux through a unit of a face in a unit of time; the shares are those of the volume that
/// flows.
pub(crate) type Flux<const D: usize, const M: usize> = Quantities<D, M>;

impl<const D: usize, const M: usize> Quantities<D, M> {
    pub(crate) const ZERO: Self = Self {
        masses: [0.0; M],
        motion: [0.0; D],
        energy: 0.0,
        shares: [0.0; M],
    };

    #[inline(always)]
    pub(crate) fn map(&self, f: impl Fn(f64) -> f64) -> Self {
        Self {
            masses: self.masses.map(&f),
            motion: self.motion.map(&f),
            energy: f(self.energy),
            shares: self.shares.map(&f),
        }
    }

    #[inline(always)]
    pub(crate) fn zip(&self, other: &Self, f: impl Fn(f64, f64) -> f64) -> Self {
        Self {
            masses: std::array::from_fn(|m| f(self.masses[m], other.masses[m])),
            motion: std::array::from_fn(|d| f(self.motion[d], other.motion[d])),
            energy: f(self.energy, other.energy),
            shares: std::array::from_fn(|m| f(self.shares[m], other.shares[m])),
        }
    }

    #[inline(always)]
    pub(crate) fn plus(&self, other: &Self) -> Self {
        self.zip(other, |one, other| one + other)
    }

    #[inline(always)]
    pub(crate) fn minus(&self, other: &Self) -> Self {
        self.zip(other, |one, other| one - other)
    }

    #[inline(always)]
    pub(crate) fn times(&self, factor: f64) -> Self {
        self.map(|x| x * factor)
    }

    /// Returns the density of all materials together.
    #[inline(always)]
    pub(crate) fn density(&self) -> f64 {
        self.masses.iter().sum()
    }
}

impl<const D: usize, const M: usize> FixedDoubles for Quantities<D, M> {
    const WORDS: usize = 2 * M + D + 1;

    fn put(&self, words: &mut Vec<f64>) {
        words.extend_from_slice(&self.masses);
        words.extend_from_slice(&self.motion);
        words.push(self.energy);
        words.extend_from_slice(&self.shares);
    }

    fn take(words: &[f64]) -> Self {
        Self {
            masses: std::array::from_fn(|m| words[m]),
            motion: std::array::from_fn(|d| words[M + d]),
            energy: words[M + D],
            shares: std::array::from_fn(|m| words[M + D + 1 + m]),
        }
    }
}
