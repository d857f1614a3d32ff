//! Programs that fill queues as naive ones do, for tests: `queues unmatched|to-one|to-itself [COUNT]`.
//!
//! `unmatched`: in a ring, everybody sends COUNT messages that nobody asks for yet, and then the one that
//! is wanted; that is received first, and then the others, the latest first. `to-one`: all others send
//! to rank 0, COUNT messages together, and go into a barrier before it has received a single one.
//! `to-itself`: everybody sends itself COUNT messages that it never asks for.

use bcs_mpi::{Communicator, Result, Source, Tag, Universe};

#[global_allocator]
static HEAP: slot_heap::SlotHeap = slot_heap::SlotHeap;

/// In an entry of a queue, beside it, and in the memory of the sender; in words.
const LENGTHS: [usize; 4] = [1, 8, 300, 3_000];

fn message(from: usize, number: usize) -> Vec<u64> {
    vec![(from << 32 | number) as u64; LENGTHS[number % LENGTHS.len()]]
}

fn tag(number: usize) -> i32 {
    i32::try_from(number).expect("tags are 31 bits")
}

fn receive(world: &Communicator, source: usize, number: usize, its_tag: i32) -> Result<()> {
    let mut data = vec![0; LENGTHS[number % LENGTHS.len()]];
    let status = world.recv(&mut data, Source::Rank(source), Tag::Is(its_tag))?;
    assert!(status.bytes == data.len() * 8 && data == message(source, number));
    Ok(())
}

fn unmatched(world: &Communicator, count: usize) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let (next, before) = ((rank + 1) % size, (rank + size - 1) % size);
    // The wanted one is the last.
    let messages: Vec<Vec<u64>> = (0..=count).map(|number| message(rank, number)).collect();
    bcs_mpi::scope(|scope| {
        for (number, data) in messages.iter().enumerate() {
            world.isend(scope, data, next, tag(number))?;
        }
        for number in (0..=count).rev() {
            receive(world, before, number, tag(number))?;
        }
        Ok(())
    })
}

fn to_one(world: &Communicator, count: usize) -> Result<()> {
    let (rank, senders) = (world.rank(), world.size() - 1);
    let count = count / senders;
    let messages: Vec<Vec<u64>> = (0..4).map(|number| message(rank, number)).collect();
    if rank > 0 {
        return bcs_mpi::scope(|scope| {
            for number in 0..count {
                world.isend(scope, &messages[number % 4], 0, 1)?;
            }
            world.barrier()
        });
    }
    world.barrier()?;
    for number in 0..count {
        for sender in 1..=senders {
            receive(world, sender, number % 4, 1)?;
        }
    }
    Ok(())
}

fn main() -> Result<()> {
    let mut words = std::env::args().skip(1);
    let what = words.next().unwrap_or_default();
    let count = words.next().and_then(|word| word.parse().ok());
    let count = count.unwrap_or(10_000);
    let universe = Universe::init()?;
    let world = universe.world();
    match what.as_str() {
        "unmatched" => unmatched(world, count)?,
        "to-itself" => {
            for number in 0..count {
                world.send(&[number], world.rank(), 0)?;
            }
        }
        "to-one" if world.size() > 1 => to_one(world, count)?,
        _ => panic!("`{what}`: give unmatched, to-itself, or to-one and two ranks or more"),
    }
    world.barrier()?;
    if world.rank() == 0 {
        println!("{count} messages");
    }
    universe.finalize()
}
