//! Random collectives against a sequential oracle, to the bit.
//!
//! All ranks draw the same cases from the seed: a collective, a communicator, a datatype, an
//! operation, a count, a root, in place or not, blocking or not. From the contributions of all
//! ranks each rank computes its own result, and compares its whole output buffer, including the
//! gaps between blocks. Up to four non-blocking collectives are outstanding.

mod call;
mod case;
mod data;
mod oracle;

use bcs_mpi::mpi::{Comm, Request, Result};
use call::CheckedCollective;
use case::{Case, PlacedCommunicator};
use rand::Rng;
use rand_chacha::ChaCha8Rng;

/// Non-blocking collectives under way at a time.
const OUTSTANDING: usize = 4;

/// Draws `cases` cases from the seed on all ranks, calls them, and checks the results.
///
/// # Errors
/// When the library fails.
///
/// # Panics
/// When a rank's result differs from the oracle's.
pub fn run(world: &Comm, seed: u64, cases: u64) -> Result<()> {
    let teams = teams(world)?;
    let mut random = data::random(seed, 0);
    // Each rank chooses by itself when to wait, and for which request.
    let mut own = data::random(seed, 1 + u64::from(world.rank().unsigned_abs()));
    let mut under_way: Vec<(CheckedCollective, Request)> = Vec::new();
    for number in 0..cases {
        let case = Case::draw(number, teams.len(), &mut random);
        let team = &teams[case.team];
        let mut call = CheckedCollective::new(case, team);
        match call.start(team)? {
            None => call.check(),
            Some(request) => under_way.push((call, request)),
        }
        while under_way.len() > OUTSTANDING
            || (!under_way.is_empty() && own.random_range(0..4) == 0)
        {
            finish(&mut under_way, &mut own)?;
        }
    }
    while !under_way.is_empty() {
        finish(&mut under_way, &mut own)?;
    }
    world.barrier()
}

fn finish(under_way: &mut Vec<(CheckedCollective, Request)>, own: &mut ChaCha8Rng) -> Result<()> {
    let (call, mut request) = under_way.swap_remove(own.random_range(0..under_way.len()));
    request.wait()?;
    call.check();
    Ok(())
}

/// Returns the world, the world backwards, and the ranks with the parity of this one.
fn teams(world: &Comm) -> Result<Vec<PlacedCommunicator>> {
    let backwards = world.split(Some(0), -world.rank())?;
    let parity = world.split(Some(world.rank().unsigned_abs() % 2), 0)?;
    let all = [Some(world.clone()), backwards, parity];
    all.into_iter()
        .flatten()
        .map(PlacedCommunicator::new)
        .collect()
}
