//! SAGE: adaptive Eulerian hydrodynamics, after the application of the paper's section 6.2.
//!
//! It solves the compressible Euler equations of several gamma-law materials in 1, 2 and 3 dimensions on a mesh whose cells are refined one by one, and
//! conducts heat. It communicates as the paper's Table 5.3 has it: ghosts are exchanged by non-blocking messages that are waited for together, the deck is
//! broadcast, every cycle ends with an allreduce, and a new mesh takes an allgather, an alltoall and messages whose lengths are probed.
//!
//! | folder or file | is |
//! |---|---|
//! | `deck` | what to compute: TOML, and what cannot be computed is refused |
//! | `mesh` | cells along a space-filling curve, who owns them, and what lies between them |
//! | `gas` | a step in time of all cells, and cells that change their size |
//! | `heat` | conduction of heat |
//! | `initial` | what is in the cells at the beginning |
//! | `exact_sum` | sums that do not depend on who adds what in which order |
//! | `run` | cycles |
//! | `outcome`, `error` | what a run is asked for and comes to, and why it does not |
//! | `checkpoint` | a run as a file, to go on from later |
//! | `vtu`, `plot` | cells as a file for ParaView, and as a picture |
//! | `report` | what is printed |
//! | `command` | the command line |
//!
//! Results are the same to the last bit for every number of ranks: the arithmetic of a cell does not depend on who owns its neighbours, and global sums are
//! exact.

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
pub use outcome::{Arguments, Cell, SageOutcome};
pub use run::run;
