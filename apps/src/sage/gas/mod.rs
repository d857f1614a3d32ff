//! The gas: compressible Euler equations of several gamma-law materials, by an unsplit
//! MUSCL-Hancock scheme.
//!
//! | file | contains |
//! |---|---|
//! | `quantities` | the content of a cell, and the flux through a face |
//! | `ends` | what is beyond the ends of the box |
//! | `material` | gamma-law gases and mixtures |
//! | `slopes` | the slopes of quantities within a cell |
//! | `half_step` | cells after half a time step |
//! | `riemann` | the flux between two states |
//! | `cycle` | a time step of all cells |
//! | `refinement` | cells that become finer or coarser, and their contents |
//! | `uniform` | for tests: the same scheme on an array of cells of one size |

mod cycle;
mod ends;
mod half_step;
mod material;
mod quantities;
mod refinement;
mod riemann;
mod slopes;
#[cfg(test)]
pub(crate) mod uniform;

pub(crate) use cycle::{Gas, ImpossibleState};
pub(crate) use ends::BoxEnds;
pub(crate) use material::Materials;
pub(crate) use quantities::{Conserved, Quantities};
