//! Two ranks send each other many messages before either receives one: `flood [COUNT] [BYTES]
//! [reverse]`. Nothing of that blocks, and all of it arrives, in whichever order it is received.

use bcs_mpi::{Result, Source, Tag, Universe};

#[global_allocator]
static HEAP: slot_heap::SlotHeap = slot_heap::SlotHeap;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: usize| {
        arguments
            .next()
            .and_then(|n| n.parse().ok())
            .unwrap_or(default)
    };
    let (count, bytes) = (number(10_000), number(8));
    let reverse = arguments.next().is_some_and(|word| word == "reverse");

    let universe = Universe::init()?;
    let world = universe.world();
    assert!(world.size() == 2, "flood is for two ranks");
    let (rank, peer) = (world.rank(), 1 - world.rank());
    let fill = u8::try_from(rank + 1).unwrap_or(0);
    let out = vec![fill; bytes];
    bcs_mpi::scope(|scope| {
        for number in 0..count {
            world.isend(scope, &out, peer, i32::try_from(number).unwrap_or(i32::MAX))?;
        }
        world.barrier()?;
        let mut data = vec![0; bytes];
        for index in 0..count {
            let number = if reverse { count - 1 - index } else { index };
            let tag = Tag::Is(i32::try_from(number).unwrap_or(i32::MAX));
            data.fill(0);
            let status = world.recv(&mut data, Source::Rank(peer), tag)?;
            assert!(status.bytes == bytes && data.iter().all(|&byte| byte == 3 - fill));
        }
        Ok(())
    })?;
    if rank == 0 {
        println!("{count} messages of {bytes} bytes each way");
    }
    universe.finalize()
}
