//! A master hands out tasks to free workers. It receives from any source, and tags give the kinds
//! of messages. Here a task is a number, and its result is the number of steps to 1 by Collatz's
//! rule.

use bcs_mpi::{Communicator, Result, Source, Tag, Universe};

bcs_mpi::slot_heap!();

const TASKS: u64 = 500;
/// From a worker: requests a task, and returns the last result.
const ASK: i32 = 1;
/// From the master: a task.
const TASK: i32 = 2;
/// From the master: there are no more tasks.
const STOP: i32 = 3;

/// Counts the steps from `number` to 1: halve an even number, else triple it and add 1.
fn collatz(mut number: u64) -> u64 {
    let mut steps = 0;
    while number != 1 {
        number = if number.is_multiple_of(2) {
            number / 2
        } else {
            3 * number + 1
        };
        steps += 1;
    }
    steps
}

/// Hands out tasks until all results are there; returns their sum, and the number of tasks of each
/// worker.
fn master(world: &Communicator) -> Result<(u64, Vec<u32>)> {
    let (mut next, mut sum) = (1, 0);
    let mut done = vec![0; world.size()];
    let mut workers = world.size() - 1;
    while workers > 0 {
        let mut result = [0_u64; 1];
        let status = world.recv(&mut result, Source::Any, Tag::Is(ASK))?;
        if status.count::<u64>() == Some(1) {
            sum += result[0];
            done[status.source] += 1;
        }
        if next <= TASKS {
            world.send(&[next], status.source, TASK)?;
            next += 1;
        } else {
            world.send::<u64>(&[], status.source, STOP)?;
            workers -= 1;
        }
    }
    Ok((sum, done))
}

fn worker(world: &Communicator) -> Result<()> {
    let mut result: Vec<u64> = Vec::new(); // nothing done yet
    loop {
        world.send(&result, 0, ASK)?;
        let mut task = [0];
        if world.recv(&mut task, Source::Rank(0), Tag::Any)?.tag == STOP {
            return Ok(());
        }
        result = vec![collatz(task[0])];
    }
}

fn main() -> Result<()> {
    let universe = Universe::init()?;
    let world = universe.world();
    let expected: u64 = (1..=TASKS).map(collatz).sum();
    if world.size() == 1 {
        println!("{TASKS} tasks and no worker: {expected} steps");
    } else if world.rank() == 0 {
        let (sum, done) = master(world)?;
        assert_eq!(sum, expected, "each task is done once");
        assert_eq!(u64::from(done.iter().sum::<u32>()), TASKS);
        println!("{TASKS} tasks by {} workers: {sum} steps", world.size() - 1);
    } else {
        worker(world)?;
    }
    universe.finalize()
}
