//! A job that goes on until it is ended, for tests: `endless copies|collectives`.
//!
//! `copies`: every rank sends megabytes to the next one and receives as many from the one before, again
//! and again. `collectives`: broadcasts, reductions and exchanges of all with all, one after the other.
//! Rank 0 says `under way` when all have done that once.

use bcs_mpi::{Communicator, Op, Result, Source, Tag, Universe};

#[global_allocator]
static HEAP: slot_heap::SlotHeap = slot_heap::SlotHeap;

/// Copied in a millisecond or so: most moments are in the middle of a copy.
const COPY_BYTES: usize = 8 << 20;

/// Of each part of a collective: some go through the queues, some are copied.
const PART_DOUBLES: usize = 32 * 1024;

struct Buffers {
    out: Vec<f64>,
    into: Vec<f64>,
}

fn copy(world: &Communicator, buffers: &mut Buffers) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let (next, before) = ((rank + 1) % size, (rank + size - 1) % size);
    let into = (&mut buffers.into[..], Source::Rank(before), Tag::Is(1));
    world.sendrecv((&buffers.out, next, 1), into)?;
    Ok(())
}

fn collectives(world: &Communicator, buffers: &mut Buffers) -> Result<()> {
    let Buffers { out, into } = buffers;
    world.bcast(out, 0)?;
    world.allreduce(&out[..PART_DOUBLES], &mut into[..PART_DOUBLES], Op::Max)?;
    world.alltoall(out, into)?;
    world.barrier()
}

fn main() -> Result<()> {
    let universe = Universe::init()?;
    let world = universe.world();
    let word = std::env::args().nth(1);
    let (doubles, act): (_, fn(&Communicator, &mut Buffers) -> Result<()>) =
        if word.as_deref() == Some("copies") {
            (COPY_BYTES / 8, copy)
        } else {
            (PART_DOUBLES * world.size(), collectives)
        };
    let mut buffers = Buffers {
        out: vec![1.0; doubles],
        into: vec![0.0; doubles],
    };
    act(world, &mut buffers)?;
    world.barrier()?;
    if world.rank() == 0 {
        println!("under way");
    }
    loop {
        act(world, &mut buffers)?;
    }
}
