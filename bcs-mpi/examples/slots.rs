//! Ranks that read and write each other's heaps, for tests: `slots [ROUNDS]`.
//!
//! Every rank tells the others of its node where a block of its heap is. Each writes its number into
//! its own part of the blocks of all others, by plain stores, and reads what they have written. Rank 0
//! says how many pairs of ranks could. `slots fork ROUNDS`: rank 0 forks again and again meanwhile.
#![expect(unsafe_code, reason = "loads and stores in the memory of others")]

use bcs_mpi::mpi::Process;
use bcs_mpi::{Communicator, Op, Result, Universe};
use std::process::{Command, ExitCode};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

#[global_allocator]
static HEAP: slot_heap::SlotHeap = slot_heap::SlotHeap;

/// Words that each rank has in each block.
const PART: usize = 1000;

fn word(writer: usize, reader: usize, round: usize, index: usize) -> u64 {
    let number = ((writer * 1000 + reader) * 100_000 + round) * PART + index;
    (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The part of a writer in the block at an address of another rank's heap.
fn part(process: &Process, place: usize, block: u64, writer: usize) -> Option<NonNull<AtomicU64>> {
    let address = block + (writer * PART * 8) as u64;
    let found = process.slots().resolve(place, address, PART * 8)?;
    Some(found.cast())
}

fn exchange(universe: &Universe, rounds: usize) -> Result<u64> {
    let (world, process) = (universe.world(), universe.process());
    let (rank, size) = (world.rank(), world.size());
    let block: Vec<AtomicU64> = (0..size * PART).map(|_| AtomicU64::new(0)).collect();
    let mut blocks = vec![0_u64; size];
    world.allgather(&[block.as_ptr() as u64], &mut blocks)?;
    // The place of each rank that is on this rank's node.
    let placement = process.placement();
    let node = placement.node_of(u32::try_from(rank).expect("a rank"));
    let node = node.expect("a rank has a node");
    let neighbours = || {
        (0..)
            .zip(placement.ranks_of(node))
            .map(|(place, of)| (place, of as usize))
    };
    let mut reached = 0;
    for round in 0..rounds {
        for (place, other) in neighbours() {
            let Some(part) = part(process, place, blocks[other], rank) else {
                continue;
            };
            reached += u64::from(round == 0 && other != rank);
            for index in 0..PART {
                // SAFETY: within the part, which lies in that rank's heap until it has finalised.
                let at = unsafe { part.add(index) };
                // SAFETY: as above; only ever accessed by atomics.
                let at = unsafe { at.as_ref() };
                at.store(word(rank, other, round, index), Ordering::Relaxed);
            }
        }
        world.barrier()?;
        for (place, writer) in neighbours() {
            // Whom this rank can write, it can also be written by.
            if part(process, place, blocks[writer], rank).is_none() {
                continue;
            }
            for index in 0..PART {
                let found = block[writer * PART + index].load(Ordering::Relaxed);
                assert_eq!(
                    found,
                    word(writer, rank, round, index),
                    "from rank {writer}"
                );
            }
        }
        world.barrier()?;
    }
    let bad = [
        (0, 0x1000, 8),
        (0, u64::MAX, 8),
        (0, blocks[0], usize::MAX),
        (1000, blocks[0], 8),
    ];
    for (place, address, len) in bad {
        assert_eq!(process.slots().resolve(place, address, len), None);
    }
    Ok(reached)
}

/// A child: looks at its heap, uses it, and ends.
fn child(round: usize, kept: &[u64]) -> i32 {
    let right = |kept: &[u64]| {
        (0..)
            .zip(kept)
            .all(|(index, &found)| found == word(1, 2, 3, index))
    };
    if !right(kept) {
        return 3;
    }
    match round % 4 {
        0 => 0,
        1 => i32::from(Command::new("/bin/true").status().is_err()),
        2 => {
            let mut blocks: Vec<Vec<u64>> = (0..200).map(|len| kept[..len].to_vec()).collect();
            blocks
                .iter_mut()
                .for_each(|block| block.extend_from_slice(kept));
            let whole = (0..)
                .zip(&blocks)
                .all(|(len, block)| right(&block[..len]) && right(&block[len..]));
            i32::from(!whole || !right(kept))
        }
        _ => i32::from(
            fork_and_wait(|| i32::from(!right(&std::hint::black_box(kept.to_vec())))) != 0,
        ),
    }
}

fn fork_and_wait(body: impl FnOnce() -> i32) -> i32 {
    // SAFETY: the child runs what this tests, and no MPI.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0, "fork: {}", std::io::Error::last_os_error());
    if pid == 0 {
        let code = body();
        // SAFETY: ends the child.
        unsafe { libc::_exit(code) };
    }
    let mut status = 0;
    // SAFETY: a child of ours, and a place for its status.
    unsafe { libc::waitpid(pid, &raw mut status, 0) };
    status
}

/// Rank 0 forks, its threads allocate; the others of its node write into its heap.
fn forks(world: &Communicator, process: &Process, rounds: usize) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let block: Vec<AtomicU64> = (0..size * PART).map(|_| AtomicU64::new(0)).collect();
    let over = Box::new(AtomicU64::new(0));
    let mut addresses = vec![block.as_ptr() as u64, std::ptr::from_ref(&*over) as u64];
    world.bcast(&mut addresses, 0)?;
    if rank > 0 {
        let end = process
            .slots()
            .resolve(0, addresses[1], 8)
            .expect("rank 0 has a slot");
        // SAFETY: a word of rank 0's heap, which it frees only after the barrier below.
        let end: &AtomicU64 = unsafe { end.cast().as_ref() };
        let part = part(process, 0, addresses[0], rank).expect("and a block");
        let mut round = 0;
        while end.load(Ordering::Acquire) == 0 {
            for index in 0..PART {
                // SAFETY: within the part.
                let at = unsafe { part.add(index) };
                // SAFETY: as above; only ever accessed by atomics.
                let at = unsafe { at.as_ref() };
                at.store(word(rank, 0, round, index), Ordering::Relaxed);
            }
            // What was written is there: in the heap of the rank, not in that of a child.
            for index in 0..PART {
                // SAFETY: within the part.
                let at = unsafe { part.add(index) };
                // SAFETY: as above.
                let found = unsafe { at.as_ref() }.load(Ordering::Relaxed);
                assert_eq!(found, word(rank, 0, round, index));
            }
            round += 1;
        }
        return world.barrier();
    }
    let kept: Vec<u64> = (0..5000).map(|index| word(1, 2, 3, index)).collect();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for thread in 0..2_usize {
            let stop = &stop;
            scope.spawn(move || {
                let mut held = Vec::new();
                for turn in 0.. {
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                    let len = turn * 37 % 5000;
                    held.push((len, vec![len ^ thread; len]));
                    if held.len() > 100 {
                        let (len, block) = held.swap_remove(turn % 100);
                        assert!(block.iter().all(|&found| found == len ^ thread));
                    }
                }
            });
        }
        for round in 0..rounds {
            let status = fork_and_wait(|| child(round, &kept));
            if status != 0 {
                stop.store(true, Ordering::Relaxed);
                panic!("round {round}: the child's status is {status}");
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    over.store(1, Ordering::Release);
    world.barrier()
}

fn run() -> Result<()> {
    let mut arguments = std::env::args().skip(1).peekable();
    let forking = arguments.next_if(|argument| argument == "fork").is_some();
    let rounds = arguments
        .next()
        .and_then(|rounds| rounds.parse().ok())
        .unwrap_or(20);
    let universe = Universe::init()?;
    let world = universe.world();
    if forking {
        forks(world, universe.process(), rounds)?;
        if world.rank() == 0 {
            println!("{rounds} forks");
        }
    } else {
        let mut reached = [exchange(&universe, rounds)?];
        world.allreduce_in_place(&mut reached, Op::Sum)?;
        if world.rank() == 0 {
            println!("{} pairs", reached[0]);
        }
    }
    universe.finalize()
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
