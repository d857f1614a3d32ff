//! Random collectives against a sequential oracle, as a job: `oracle SEED CASES`.

use bcs_mpi::mpi::{Process, Result};

#[global_allocator]
static HEAP: slot_heap::SlotHeap = slot_heap::SlotHeap;

fn main() -> Result<()> {
    let number = |nth: usize| std::env::args().nth(nth).and_then(|word| word.parse().ok());
    let (seed, cases) = (number(1).unwrap_or(1), number(2).unwrap_or(100));
    let process = Process::init()?;
    let world = process.world();
    bcs_sim::collectives::run(&world, seed, cases)?;
    if world.rank() == 0 {
        println!("{cases} cases of seed {seed} agree with the oracle");
    }
    drop(world);
    process.finalize()
}
