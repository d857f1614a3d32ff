//! Random collectives against a sequential oracle, to the bit.
//!
//! All ranks draw the same cases from the seed: a collective, a communicator, a
//! datatype, an operation, a count, a root, in place or not, blocking or not. Each then computes
//! by itself what it must get, from what all ranks contribute, and compares the whole of its output
//! buffer, gaps between blocks included. Up to four non-blocking collectives are outstanding.

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

/// All ranks draw so many cases from the seed, call them, and compare what they got.
///
/// # Errors
/// What the library fails with.
///
/// # Panics
/// When a rank got something else than the oracle says.
pub fn run(world: &Comm, seed: u64, cases: u64) -> Result<()> {
    let teams = teams(world)?;
    let mut random = data::random(seed, 0);
    // When to wait for what is each rank's own choice; so is in which order.
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

/// The world, the world backwards, and the ranks of my parity.
fn teams(world: &Comm) -> Result<Vec<PlacedCommunicator>> {
    let backwards = world.split(Some(0), -world.rank())?;
    let parity = world.split(Some(world.rank().unsigned_abs() % 2), 0)?;
    let all = [Some(world.clone()), backwards, parity];
    all.into_iter()
        .flatten()
        .map(PlacedCommunicator::new)
        .collect()
}
