//! One rank calls another collective than the others, or the same with other arguments: all of
//! them must be told who called what, and the communicator must go on. Each rank checks that.
//!
//! A rank that gives and takes nothing may go on before the others have come. It is told in the next call.

use bcs_mpi::{Communicator, Op, Result, Universe};

#[global_allocator]
static HEAP: slot_heap::SlotHeap = slot_heap::SlotHeap;

/// What a rank may do, and how others must call it. Rank 1 exists in any job of two.
type Collective = (fn(&Communicator) -> Result<()>, &'static str);

const BARRIER: Collective = (Communicator::barrier, "a barrier");
const BCAST_8: Collective = (
    |comm| comm.bcast(&mut [0_u64; 1], 1),
    "a broadcast of 8 bytes from rank 1",
);
const BCAST_16: Collective = (
    |comm| comm.bcast(&mut [0_u64; 2], 1),
    "a broadcast of 16 bytes from rank 1",
);
const BCAST_OTHER_ROOT: Collective = (
    |comm| comm.bcast(&mut [0_u64; 1], 0),
    "a broadcast of 8 bytes from rank 0",
);
const SUM: Collective = (
    |comm| comm.allreduce(&[1_i32; 500], &mut [0; 500], Op::Sum),
    "a reduction of 2000 bytes of MPI_INT32_T by MPI_SUM to all",
);
const MAX: Collective = (
    |comm| comm.allreduce(&[1_i32; 500], &mut [0; 500], Op::Max),
    "a reduction of 2000 bytes of MPI_INT32_T by MPI_MAX to all",
);
const FLOATS: Collective = (
    |comm| comm.allreduce(&[1_f32; 500], &mut [0.; 500], Op::Sum),
    "a reduction of 2000 bytes of MPI_FLOAT by MPI_SUM to all",
);
const TO_ONE: Collective = (
    |comm| comm.reduce(&[1_i32; 500], &mut [0; 500], Op::Sum, 1),
    "a reduction of 2000 bytes of MPI_INT32_T by MPI_SUM to rank 1",
);

fn main() -> Result<()> {
    let universe = Universe::init()?;
    let world = universe.world();
    let pairs = [
        (BARRIER, BCAST_8),
        (BCAST_8, BARRIER),
        (BCAST_8, BCAST_16),
        (BCAST_8, BCAST_OTHER_ROOT),
        (BCAST_8, SUM),
        (SUM, MAX),
        (SUM, FLOATS),
        (SUM, TO_ONE),
        (TO_ONE, BARRIER),
    ];
    // The ranks of this communicator have other numbers in the world.
    let backwards = world.split(Some(0), -i32::try_from(world.rank()).expect("few"))?;
    let backwards = backwards.expect("all have a colour");
    for comm in [world, &backwards] {
        for (common, odd) in pairs {
            for astray in [0, comm.size() / 2, comm.size() - 1] {
                disagree(comm, common, odd, astray)?;
                comm.barrier()?;
            }
        }
    }
    Ok(())
}

/// Whether a rank has only to give in it.
fn gives((_, what): Collective, rank: usize) -> bool {
    match what {
        broadcast if broadcast.starts_with("a broadcast") => {
            broadcast.ends_with(&format!("from rank {rank}"))
        }
        reduction => reduction.ends_with("to rank 1") && rank != 1,
    }
}

fn disagree(comm: &Communicator, common: Collective, odd: Collective, astray: usize) -> Result<()> {
    let me = comm.rank();
    let (mine, other) = if me == astray {
        (odd, common)
    } else {
        (common, odd)
    };
    let (error, verb) = match (mine.0(comm), comm.barrier()) {
        (Err(error), next) => {
            next?;
            (error.to_string(), "is at")
        }
        (Ok(()), Err(error)) if gives(mine, me) => (error.to_string(), "was at"),
        (Ok(()), _) => panic!("one of us is astray, and rank {me} was not told"),
    };
    let named = |what: Collective| error.contains(&format!("{verb} {}", what.1));
    // Of two ranks that disagree on a node, the others cannot know which of them is right.
    let told = named(other) || named(mine);
    let of_a_rank = (0..comm.size()).any(|rank| error.contains(&format!("rank {rank} {verb}")));
    assert!(told && of_a_rank, "rank {me} was told: {error}");
    if comm.size() == 2 || me == astray {
        assert!(named(other), "rank {me} was told: {error}");
    }
    Ok(())
}
