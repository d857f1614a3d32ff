//! A master hands out tasks to whoever is free: receives from any source, with tags that say what
//! a message is. Here a task is a number, and its result how many steps Collatz's rule takes to 1.

use bcs_mpi::{Communicator, Result, Source, Tag, Universe};

bcs_mpi::slot_heap!();

const TASKS: u64 = 500;
/// Of a worker: give me something to do. With it comes the last result.
const ASK: i32 = 1;
/// Of the master: do this.
const TASK: i32 = 2;
/// Of the master: there is no more.
const STOP: i32 = 3;

/// How many steps from `number` to 1: halve what is even, else triple it and add 1.
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

/// Hands out tasks until all results are there; returns their sum, and how many each worker did.
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
