//! Random programs of messages against a matching oracle.
//!
//! All ranks draw the same programs from the seed. A program has messages of all modes and lengths,
//! contiguous or in pieces, on two communicators, some of them to the sender itself. Its receives
//! are exact or have wildcards, block or not, follow probes and matched probes, are persistent, or
//! are cancelled because they have no send. One thread does it all, or each communicator has a
//! thread for the sends and one for the receives. Every program ends if the library is right, and
//! each rank checks what it got: every message once and whole, with its status, and those of a
//! sender in the order of their sends.

mod buffer;
mod execute;
mod matching_oracle;
mod program;

use bcs_mpi::mpi::{Comm, Process, Result};
use program::TrafficProgram;
use std::sync::Arc;

/// Draws `programs` programs from the seed on all ranks, does this rank's parts, and returns how
/// many messages it got. Buffered sends need an attached buffer for all messages of a program.
///
/// # Errors
/// When the library fails.
///
/// # Panics
/// When a rank's messages differ from the oracle's.
pub fn run(process: &Arc<Process>, seed: u64, programs: u64) -> Result<usize> {
    let world = process.world();
    let ranks = usize::try_from(world.size()).expect("positive");
    let backwards = world.split(Some(0), -world.rank())?;
    let comms: Vec<Comm> = [Some(world.clone()), backwards]
        .into_iter()
        .flatten()
        .collect();
    let mut random = program::random(seed, 0);
    let mut checked = 0;
    for number in 0..programs {
        let program = TrafficProgram::draw(number, ranks, comms.len(), &mut random);
        checked += execute::run(&program, &comms)?;
        process.flush_buffer()?;
        world.barrier()?;
    }
    Ok(checked)
}

/// Whether ranks have several threads in the first program of this seed.
#[must_use]
pub fn has_threads(world: &Comm, seed: u64) -> bool {
    let ranks = usize::try_from(world.size()).expect("positive");
    TrafficProgram::draw(0, ranks, 2, &mut program::random(seed, 0)).threads
}
