//! A counter for all ranks, which no rank serves: each takes numbers of tasks from a word at rank 0
//! in one step. Every task is done once.

use bcs_mpi::{Op, Result, Universe};

bcs_mpi::slot_heap!();

const TASKS: i64 = 2_000;

fn main() -> Result<()> {
    let universe = Universe::init()?;
    let world = universe.world();
    let len = usize::from(world.rank() == 0);
    let next_task = world.lock_window(len, 0_i64)?;
    let mut done = [0_i64, 0];
    next_task.lock_all(|all| {
        loop {
            let task = all.fetch_and_op(1, Op::Sum, 0, 0)?;
            if task >= TASKS {
                return Ok(());
            }
            done[0] += 1;
            done[1] += task;
        }
    })?;
    let mut all = [0; 2];
    world.allreduce(&done, &mut all, Op::Sum)?;
    assert_eq!(
        all,
        [TASKS, TASKS * (TASKS - 1) / 2],
        "each task was done once"
    );
    next_task.free()?;
    if world.rank() == 0 {
        println!("{} ranks did {} tasks", world.size(), all[0]);
    }
    universe.finalize()
}
