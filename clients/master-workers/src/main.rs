//! A master hands out tasks, one at a time to whoever is free. Nobody knows how long an answer is
//! before it has come: the master asks with a probe. A master without workers does all itself.
//!
//! The program exits with 1 unless each answer is what it has to be.
#![forbid(unsafe_code)]

use bcs_mpi::{Communicator, Equivalence, Result, Source, Universe};
use std::process::ExitCode;

bcs_mpi::slot_heap!();

const TASKS: usize = 200;
const TASK: i32 = 1;
const ANSWER: i32 = 2;

/// The work to do with the numbers of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Equivalence)]
#[repr(u8)]
enum Work {
    /// Nothing: it was the last one.
    #[default]
    Stop,
    Squares,
    Divisors,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Equivalence)]
struct Task {
    work: Work,
    number: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Equivalence)]
struct Entry {
    of: Task,
    value: u64,
    is_last: bool,
}

fn task(number: usize) -> Task {
    let work = if number.is_multiple_of(3) {
        Work::Squares
    } else {
        Work::Divisors
    };
    let number = u32::try_from(number).expect("tasks are few");
    Task { work, number }
}

/// The answer to a task: as many entries as there are.
fn answer(task: Task) -> Vec<Entry> {
    let number = u64::from(task.number);
    let values: Vec<u64> = match task.work {
        Work::Stop => Vec::new(),
        Work::Squares => (0..=number).map(|root| root * root).collect(),
        Work::Divisors => (1..=number)
            .filter(|one| number.is_multiple_of(*one))
            .collect(),
    };
    let last = values.len();
    let entry = |(nth, value)| Entry {
        of: task,
        value,
        is_last: nth == last,
    };
    (1..).zip(values).map(entry).collect()
}

fn work(world: &Communicator) -> Result<()> {
    loop {
        let (task, _) = world.recv_one::<Task>(0, TASK)?;
        if task.work == Work::Stop {
            return Ok(());
        }
        world.send(&answer(task), 0, ANSWER)?;
    }
}

/// Hands out all tasks. How many answers were wrong.
fn hand_out(world: &Communicator) -> Result<usize> {
    let workers = world.size() - 1;
    if workers == 0 {
        let wrong = |number: &usize| !is_right(&answer(task(*number)));
        return Ok((1..=TASKS).filter(wrong).count());
    }
    let mut tasks = (1..=TASKS).map(task);
    let (mut busy, mut wrong, mut seen) = (0, 0, [false; TASKS + 1]);
    for worker in 1..=workers {
        let first = tasks.next().unwrap_or_default();
        busy += usize::from(first.work != Work::Stop);
        world.send_one(first, worker, TASK)?;
    }
    while busy > 0 {
        // Who is first, and how much has it?
        let found = world.probe(Source::Any, ANSWER)?;
        let mut entries = vec![Entry::default(); found.count::<Entry>().unwrap_or(0)];
        let came = world.recv(&mut entries, found.source, found.tag)?;
        let number = entries.first().map_or(0, |entry| entry.of.number as usize);
        let is_new = !std::mem::replace(&mut seen[number], true);
        wrong += usize::from(!is_right(&entries) || !is_new);
        let next = tasks.next().unwrap_or_default();
        busy -= usize::from(next.work == Work::Stop);
        world.send_one(next, came.source, TASK)?;
    }
    Ok(wrong + seen[1..].iter().filter(|seen| !**seen).count())
}

fn is_right(entries: &[Entry]) -> bool {
    let last = entries.iter().position(|entry| entry.is_last);
    let Some(Entry { of, value, .. }) = entries.last() else {
        return false;
    };
    let number = u64::from(of.number);
    let largest = match of.work {
        Work::Stop => return false,
        Work::Squares => number * number,
        Work::Divisors => number,
    };
    last == Some(entries.len() - 1) && *value == largest && *entries == answer(*of)
}

fn main() -> Result<ExitCode> {
    let universe = Universe::init()?;
    let world = universe.world();
    let mut wrong = 0;
    if world.rank() == 0 {
        wrong = hand_out(world)?;
        println!("{TASKS} tasks, {wrong} wrong answers");
    } else {
        work(world)?;
    }
    let wrong = world.bcast_one(wrong, 0)?;
    universe.finalize()?;
    Ok(ExitCode::from(u8::from(wrong > 0)))
}
