//! Communicators made in all ways, used, and freed.
#![expect(unsafe_code, reason = "the untyped core takes buffers by address")]

use bcs_core::datatype::Datatype;
use bcs_core::op::Op;
use bcs_mpi::mpi::{Buffer, Comm, Result};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Communicators kept at a time.
const KEPT: usize = 5;

/// Makes so many communicators, adds up ranks in each, and frees them in any order.
pub(super) fn run(world: &Comm, seed: u64, count: usize) -> Result<()> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut kept: Vec<Option<Comm>> = vec![];
    for number in 0..count {
        // All ranks draw the same, whether or not they are in it.
        let kind = random.random_range(0..4);
        let lots: Vec<u32> = (0..world.size())
            .map(|_| random.random_range(0..3))
            .collect();
        let mine = lots[usize::try_from(world.rank()).expect("positive")];
        let from = random.random_range(0..=kept.len());
        let backwards = random.random_bool(0.5);
        let comm = match kind {
            0 => match kept.get(from) {
                Some(Some(parent)) => Some(parent.dup()?),
                Some(None) => None,
                None => Some(world.dup()?),
            },
            1 => {
                let key = if backwards { -world.rank() } else { 0 };
                world.split((mine < 2).then_some(mine), key)?
            }
            2 => world.split_by_node(true, 0)?,
            _ => {
                let members: Vec<i32> = (0i32..)
                    .zip(&lots)
                    .filter(|&(_, &lot)| lot > 0)
                    .map(|(rank, _)| rank)
                    .collect();
                let group = world.group().include(&members)?;
                let tag = i32::try_from(number).expect("few");
                if mine > 0 {
                    world.create_group(&group, tag)?
                } else {
                    None
                }
            }
        };
        comm.iter().try_for_each(add_up)?;
        kept.push(comm);
        if kept.len() > KEPT || random.random_bool(0.4) {
            let gone = kept.swap_remove(random.random_range(0..kept.len()));
            gone.iter().try_for_each(Comm::free)?;
        }
    }
    for comm in kept.iter().flatten() {
        add_up(comm)?;
        comm.free()?;
    }
    Ok(())
}

/// The sum of all ranks of a communicator.
fn add_up(comm: &Comm) -> Result<()> {
    let (mine, mut sum) = (i64::from(comm.rank()), 0_i64);
    let input = Buffer::read_only(&raw const mine, 1, Datatype::Int64);
    let output = Buffer::new(&raw mut sum, 1, Datatype::Int64);
    // SAFETY: one number each, until the call returns.
    unsafe { comm.allreduce(input, output, Op::Sum)? };
    let size = i64::from(comm.size());
    assert_eq!(sum, size * (size - 1) / 2, "the sum of {size} ranks");
    Ok(())
}
