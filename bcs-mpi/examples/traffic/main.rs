//! Random programs of messages against a matching oracle.
//!
//! `traffic SEED PROGRAMS`: all ranks draw the same programs from the seed. A program is messages of
//! all modes and lengths, side by side in memory or in pieces, on two communicators, among them to oneself; receives that are exact or
//! wild, blocking or not, after probes and matched probes, persistent, or cancelled because nobody
//! sends for them; by one thread, or by a thread for the sends and one for the receives of each
//! communicator. Every program ends if the library is right, and each rank checks what it got: every
//! message once and whole, with its status, and those of a sender in the order of their sends.

mod draw;
mod part;
mod receipts;
mod room;

use bcs_mpi::mpi::{Comm, Process, Result};
use draw::Program;

#[global_allocator]
static HEAP: slot_heap::SlotHeap = slot_heap::SlotHeap;

/// For buffered sends: more than all of a program's.
const BUFFER: usize = 1 << 30;

fn main() -> Result<()> {
    let number = |nth: usize| std::env::args().nth(nth).and_then(|word| word.parse().ok());
    let seed: u64 = number(1).unwrap_or(1);
    let programs: u64 = number(2).unwrap_or(10);
    let process = Process::init()?;
    process.attach_buffer(BUFFER)?;
    let world = process.world();
    let ranks = usize::try_from(world.size()).expect("positive");
    let backwards = world.split(Some(0), -world.rank())?;
    let comms: Vec<Comm> = [Some(world.clone()), backwards]
        .into_iter()
        .flatten()
        .collect();
    let mut random = draw::random(seed, 0);
    let mut checked = 0;
    for number in 0..programs {
        let program = Program::draw(number, ranks, comms.len(), &mut random);
        checked += part::run(&program, &comms)?;
        process.flush_buffer()?;
        world.barrier()?;
    }
    if world.rank() == 0 {
        println!("{programs} programs of seed {seed} are right; this rank got {checked} messages");
    }
    drop((comms, world));
    process.finalize()
}
