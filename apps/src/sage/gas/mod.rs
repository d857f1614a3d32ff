//! The gas: compressible Euler equations of several gamma-law materials, by an unsplit MUSCL-Hancock scheme.
//!
//! | file | is |
//! |---|---|
//! | `quantities` | what a cell holds, and what flows through a face |
//! | `material` | gamma-law gases and mixtures |
//! | `slopes` | how quantities rise within a cell |
//! | `riemann` | the flux between two states |
//! | `cycle` | a step in time of all cells |
//! | `sizes` | cells that become finer or coarser, and what is in them then |
//! | `uniform` | for tests: the same scheme on an array of cells of one size |

mod cycle;
mod half_step;
mod material;
mod quantities;
mod refinement;
mod riemann;
mod slopes;
#[cfg(test)]
pub(crate) mod uniform;

pub(crate) use cycle::{Gas, ImpossibleState};
pub(crate) use material::Materials;
pub(crate) use quantities::{Conserved, Quantities};
