//! As many communicators as there can be, and then one more, which no rank must get; their parent must
//! be as it was, and with fewer communicators there is room again. All of it three times over.
//!
//! With `pairs` each two ranks, the one and the one that is half the world further on, do so by
//! themselves: then there are ids enough for each pair, but the NICs have no room for all of them.

use bcs_mpi::{Communicator, Op, Result, Universe};

#[global_allocator]
static HEAP: slot_heap::SlotHeap = slot_heap::SlotHeap;

/// What all ranks have; an error if they do not have the same.
fn same(comm: &Communicator, number: usize) {
    let mut both = [0; 2];
    let mine = [number as u64, u64::MAX - number as u64];
    let compared = comm.allreduce(&mine, &mut both, Op::Max);
    compared.expect("the parent is as it was");
    assert_eq!(both, mine, "rank {} has {number}", comm.rank());
}

fn main() -> Result<()> {
    let universe = Universe::init()?;
    let world = universe.world();
    let pairs = std::env::args().nth(1).is_some_and(|word| word == "pairs");
    let color = if pairs {
        world.rank() % (world.size() / 2)
    } else {
        0
    };
    let split = world.split(u32::try_from(color).ok(), 0)?;
    let parent = split.as_ref().expect("it has a colour");
    let mut made = Vec::new();
    for left in [500, 1, 0] {
        let error = loop {
            match parent.dup() {
                Ok(one) => made.push(one),
                Err(error) => break error,
            }
        };
        world.barrier()?;
        same(parent, made.len());
        parent.dup().expect_err("there is still no room");
        same(parent, made.len());
        let (sum, all) = (parent.rank() as u64, parent.size() as u64);
        for one in made.iter().step_by(97).chain(made.last()) {
            let mut total = [0];
            one.allreduce(&[sum], &mut total, Op::Sum)?;
            assert_eq!(total, [all * (all - 1) / 2]);
        }
        let mut total = [0];
        let first = parent.rank() == 0;
        let mine = if first { made.len() as u64 } else { 0 };
        world.allreduce(&[mine], &mut total, Op::Sum)?;
        if world.rank() == 0 {
            println!("{} communicators: {error}", total[0]);
        }
        made.truncate(left);
        world.barrier()?;
    }
    parent.dup()?.barrier()
}
