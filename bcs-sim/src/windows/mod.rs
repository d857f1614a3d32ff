//! Random programs of one-sided communication, against a sequential oracle, to the bit.
//!
//! All ranks draw the same windows, epochs and operations from the seed. An operation is of one of
//! these kinds, so that the standard defines its result:
//!
//! - **Own** parts of a target's memory, one for each origin: puts, gets, and accumulates one after
//!   the other. Accumulates of one origin happen in their order.
//! - A **common** part, which all origins update at once by one operation that does not depend on
//!   the order.
//! - A **counter**: all origins fetch and add. No two of them get the same value, and an origin
//!   gets growing values.
//! - A **ticket**: all origins compare and swap. One of them wins.
//!
//! After each epoch a rank compares all its memory with the oracle's.

mod execute;
mod oracle;
mod program;

use bcs_mpi::mpi::{Comm, Result};
use execute::Execution;
use oracle::WindowModel;
use program::WindowProgram;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// Draws `count` windows from the seed on all ranks, uses them, and checks what is in them.
///
/// # Errors
/// When the library fails.
///
/// # Panics
/// When a rank's memory, or what an operation has returned, differs from the oracle's.
pub fn run(world: &Comm, seed: u64, count: usize) -> Result<()> {
    let ranks = usize::try_from(world.size()).expect("positive");
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    for _ in 0..count {
        let program = WindowProgram::draw(ranks, &mut random);
        let mut model = WindowModel::new(ranks, &program);
        let mut execution = Execution::new(world, &program)?;
        for round in &program.rounds {
            execution.run(round, &mut model)?;
        }
        execution.end()?;
    }
    Ok(())
}
