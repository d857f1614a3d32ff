//! What a thread's small messages cost beside a thread of the same rank that is in long ones. Run it with
//! `bcs run -n 2 --nodes 1 threads_beside`.
//!
//! Both ranks have two threads. One thread of each plays ping-pong with 8 bytes all the time. Beside it the other
//! two do, in turns of a second: an exchange of 64 MiB with each other, and a copy of 64 MiB within each rank, by
//! `memcpy` and without MPI. So the same cores are as busy, with as much memory; what differs is MPI. Rank 0
//! prints median and 99th percentile of a round trip beside each.
//!
//! With `operation` as its argument it shows instead that an operation of the program's own may send and receive on
//! another communicator, 1,000 times.
#![expect(unsafe_code, reason = "the untyped core names buffers by address")]

use bcs_core::reduction::Datatype as Elementary;
use bcs_mpi::mpi::{Buffer, Comm};
use bcs_mpi::{Result, Source, Tag, Universe, UserOp};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

#[global_allocator]
static HEAP: slot_heap::SlotHeap = slot_heap::SlotHeap;

const LONG: usize = 64 << 20;
const TURN: Duration = Duration::from_secs(1);
const TURNS: usize = 6;
const CALLS: u64 = 1_000;

fn buffer(data: &mut [u8]) -> Buffer {
    Buffer::new(data.as_mut_ptr(), data.len(), Elementary::Byte)
}

/// One way and back.
fn ping_pong(comm: &Comm, data: &mut [u8]) -> Result<()> {
    let peer = 1 - comm.rank();
    for sends in [comm.rank() == 0, comm.rank() == 1] {
        if sends {
            // SAFETY: the data stay during the call, which alone uses them.
            unsafe { comm.send(buffer(data), peer, 0)? };
        } else {
            // SAFETY: as above.
            unsafe { comm.recv(buffer(data), peer, 0)? };
        }
    }
    Ok(())
}

/// What the long thread does in a turn: messages, or copies.
fn long_turn(comm: &Comm, data: &mut [u8], other: &mut [u8], by_messages: bool) -> Result<()> {
    let start = Instant::now();
    loop {
        // Rank 0 says whether there is one more, and both do the same.
        let mut goes_on = [u8::from(start.elapsed() < TURN)];
        // SAFETY: the data stay during the call, which alone uses them.
        unsafe { comm.bcast(buffer(&mut goes_on), 0)? };
        if goes_on == [0] {
            return Ok(());
        }
        if by_messages {
            ping_pong(comm, data)?;
        } else {
            other.copy_from_slice(data);
            std::hint::black_box(&mut *other);
        }
    }
}

fn percentile(times: &mut [f64], part: f64) -> f64 {
    times.sort_by(f64::total_cmp);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an index"
    )]
    let at = (times.len() as f64 * part) as usize;
    times[at.min(times.len() - 1)]
}

fn beside(world: &Comm) -> Result<()> {
    let [small, long] = [world.dup()?, world.dup()?];
    let turn = AtomicUsize::new(0);
    let over = AtomicBool::new(false);
    let mut times = [vec![], vec![]];
    std::thread::scope(|threads| {
        let (long, turn, over) = (&long, &turn, &over);
        let long = threads.spawn(move || -> Result<()> {
            let (mut data, mut other) = (vec![1; LONG], vec![2; LONG]);
            for nth in 0..TURNS {
                turn.store(nth, Ordering::Relaxed);
                long_turn(long, &mut data, &mut other, nth % 2 == 0)?;
            }
            over.store(true, Ordering::Relaxed);
            Ok(())
        });
        // The first byte says whether it is the last one.
        let mut data = [0; 8];
        while data[0] == 0 {
            data[0] = u8::from(world.rank() == 0 && over.load(Ordering::Relaxed));
            let (during, start) = (turn.load(Ordering::Relaxed), Instant::now());
            ping_pong(&small, &mut data)?;
            times[during % 2].push(start.elapsed().as_secs_f64() * 1e6);
        }
        long.join().expect("the long thread does not panic")
    })?;
    if world.rank() == 0 {
        let [[half, most], [plain_half, plain_most]] =
            times.map(|mut times| [0.5, 0.99].map(|part| percentile(&mut times, part)));
        println!(
            "beside messages: median {half:.2} us, 99 % {most:.2} us; \
             beside copies: median {plain_half:.2} us, 99 % {plain_most:.2} us"
        );
    }
    Ok(())
}

fn operation(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let other = world.dup()?;
    let (me, size) = (world.rank(), world.size());
    let (next, last) = ((me + 1) % size, (me + size - 1) % size);
    // In an allreduce all ranks call it equally often.
    let ring = UserOp::new(move |left: u64, right: u64| {
        let mut came = [0];
        let sent = other.sendrecv(
            (&[left], next, 1),
            (&mut came, Source::Rank(last), Tag::Is(1)),
        );
        assert!(sent.is_ok() && came == [left], "what came is what all have");
        left + right
    });
    for call in 0..CALLS {
        let mut sum = [0];
        world.allreduce(&[call + me as u64], &mut sum, &ring)?;
        let (size, ranks) = (size as u64, (0..size as u64).sum::<u64>());
        assert_eq!(sum[0], size * call + ranks);
    }
    if me == 0 {
        println!("{CALLS} reductions whose operation sends and receives");
    }
    Ok(())
}

fn main() -> Result<()> {
    let universe = Universe::init()?;
    match std::env::args().nth(1).as_deref() {
        Some("operation") => operation(&universe)?,
        _ => beside(universe.world().untyped())?,
    }
    universe.finalize()
}
