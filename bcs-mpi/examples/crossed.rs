//! Ranks that wait for each other for ever, in the way that the argument says: `bcs run` must say
//! who waits for whom.
//!
//! Odd ranks of the world do one thing, even ones another. Everybody has taken part in some
//! collectives of both kinds before.

use bcs_mpi::{Communicator, Op, Result, Root, Source, Tag, Universe};

#[global_allocator]
static HEAP: slot_heap::SlotHeap = slot_heap::SlotHeap;

fn main() -> Result<()> {
    let way = std::env::args().nth(1).unwrap_or_default();
    let universe = Universe::init()?;
    let world = universe.world();
    if way == "receive-at-once" {
        return receive(world);
    }
    let turned = world.split(Some(0), -i32::try_from(world.rank()).expect("few"))?;
    let turned = turned.expect("all have a colour");
    for comm in [world, &turned] {
        comm.barrier()?;
        gather(comm, 0)?;
        comm.allreduce(&[1_u32], &mut [0], Op::Sum)?;
    }
    let odd = world.rank() % 2 == 1;
    match (way.as_str(), odd) {
        ("gather-scatter", false) => gather(world, 0),
        ("gather-scatter", true) => scatter(world, 0),
        ("roots", _) => gather(&turned, usize::from(!odd)),
        ("barrier-alltoall", false) => turned.barrier(),
        ("barrier-alltoall", true) => alltoall(&turned),
        ("groups", _) => groups(world, odd),
        ("receive", _) | ("receive-barrier", false) => receive(world),
        ("receive-barrier", true) => world.barrier(),
        ("send", _) => world.send(&[0_u8; 1 << 20], world.rank() ^ 1, 17),
        _ => panic!("there is no way {way:?} to wait for ever"),
    }
}

fn receive(world: &Communicator) -> Result<()> {
    let from = Source::Rank(world.rank() ^ 1);
    world.recv(&mut [0_u8; 4], from, Tag::Is(17)).map(drop)
}

fn gather(comm: &Communicator, root: usize) -> Result<()> {
    comm.gather(&[1_u32], &mut vec![0; comm.size()], root)
}

fn scatter(comm: &Communicator, root: usize) -> Result<()> {
    comm.scatter(&vec![1_u32; comm.size()], &mut [0], root)
}

fn alltoall(comm: &Communicator) -> Result<()> {
    comm.alltoall(&vec![1_u32; comm.size()], &mut vec![0; comm.size()])
}

/// The even ranks gather from the odd ones, who wait for a broadcast.
fn groups(world: &Communicator, odd: bool) -> Result<()> {
    let local = world.split(Some(u32::from(odd)), 0)?;
    let local = local.expect("all have a colour");
    let pair = local.intercomm_create(0, Some((world, usize::from(!odd))), 0)?;
    // Both have done this together.
    pair.allgather(&[1_u32], &mut vec![0; pair.remote_size()])?;
    pair.barrier()?;
    match (odd, pair.rank()) {
        (true, _) => pair.bcast(&mut [0_u32], Root::Remote(0)),
        (false, 0) => pair.gather(&[1_u32], &mut vec![0; pair.remote_size()], Root::Here),
        (false, _) => pair.gather(&[1_u32], &mut [], Root::Beside),
    }
}
