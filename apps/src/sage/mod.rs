//! SAGE: adaptive Eulerian hydrodynamics, after the application of the paper's section 6.2.
//!
//! It solves the compressible Euler equations of several gamma-law materials in 1, 2 and 3
//! dimensions on a mesh whose cells are refined one by one, and conducts heat. It communicates as
//! in the paper's Table 5.3. Non-blocking messages exchange ghosts, and one call waits for all of
//! them. The deck is broadcast. Every cycle ends with an allreduce. A new mesh takes an allgather,
//! an alltoall and messages with probed lengths.
//!
//! | folder or file | contains |
//! |---|---|
//! | `deck` | the problem in TOML, and its checks |
//! | `mesh` | cells along a space-filling curve, their owners, and their faces |
//! | `gas` | a time step of all cells, and cells that change their size |
//! | `heat` | conduction of heat |
//! | `initial` | the initial contents of the cells |
//! | `exact_sum` | sums that do not depend on the order or on the ranks |
//! | `run` | cycles |
//! | `outcome`, `error` | the arguments and results of a run, and its errors |
//! | `checkpoint` | a run as a file, to continue later |
//! | `vtu`, `plot` | cells as a file for ParaView, and as a picture |
//! | `report` | the printed report |
//! | `command` | the command line |
//!
//! Results are the same to the last bit for every number of ranks. The arithmetic of a cell does
//! not depend on the owners of its neighbours, and global sums are exact.

mod checkpoint;
mod command;
pub mod deck;
mod error;
mod exact_sum;
mod gas;
mod heat;
mod initial;
mod mesh;
mod outcome;
pub mod plot;
mod report;
mod run;
#[cfg(test)]
mod tests;
pub mod vtu;

pub use checkpoint::CheckpointError;
pub use command::command;
pub use deck::{Deck, DeckError};
pub use error::SageError;
pub use outcome::{SageArguments, SageCell, SageOutcome};
pub use run::run;
