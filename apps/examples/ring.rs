//! A token goes round all ranks, and each adds its number to it.
//!
//! ```sh
//! cargo build --release --example ring && bcs run -n 4 --nodes 2 target/release/examples/ring
//! ```

use bcs_mpi::{Result, Universe};

bcs_mpi::slot_heap!();

const ROUNDS: usize = 3;
const TOKEN: i32 = 1;

fn main() -> Result<()> {
    let universe = Universe::init()?;
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    let (next, previous) = ((rank + 1) % size, (rank + size - 1) % size);

    let mut token = [0_usize];
    for _ in 0..ROUNDS {
        // Rank 0 starts each round. A single rank sends to itself, which is no special case.
        if rank == 0 {
            world.send(&token, next, TOKEN)?;
        }
        world.recv(&mut token, previous, TOKEN)?;
        token[0] += rank;
        if rank != 0 {
            world.send(&token, next, TOKEN)?;
        }
    }
    if rank == 0 {
        let expected = ROUNDS * size * (size - 1) / 2;
        assert_eq!(
            token,
            [expected],
            "every rank adds its number in every round"
        );
        println!("{ROUNDS} rounds of {size} ranks: {}", token[0]);
    }
    universe.finalize()
}
