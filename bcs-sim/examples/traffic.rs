//! Random programs of messages against a matching oracle, as a job: `traffic SEED PROGRAMS`.

use bcs_mpi::mpi::{Process, Result};

#[global_allocator]
static HEAP: slot_heap::SlotHeap = slot_heap::SlotHeap;

/// For buffered sends: more than all of a program's.
const BUFFER: usize = 1 << 30;

fn main() -> Result<()> {
    let number = |nth: usize| std::env::args().nth(nth).and_then(|word| word.parse().ok());
    let (seed, programs) = (number(1).unwrap_or(1), number(2).unwrap_or(10));
    let process = Process::init()?;
    process.attach_buffer(BUFFER)?;
    let checked = bcs_sim::traffic::run(&process, seed, programs)?;
    if process.world_rank() == 0 {
        println!("{programs} programs of seed {seed} are right; this rank got {checked} messages");
    }
    process.finalize()
}
