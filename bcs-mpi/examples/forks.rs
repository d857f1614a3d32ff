//! A rank that forks in the middle of messages, for tests: `forks ROUNDS`.
//!
//! Rank 0 forks again and again. Two of its threads take and free memory meanwhile, and a third one
//! exchanges messages with all other ranks: short ones, and long ones that are copied from heap to heap.
//! A child looks whether its heap is whole, and then leaves, executes another program, forks itself, or
//! computes. Whoever finds a wrong byte panics.
#![expect(unsafe_code, reason = "forks")]

use bcs_mpi::{Communicator, Result, Source, Tag, Universe};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicBool, Ordering};

#[global_allocator]
static HEAP: slot_heap::SlotHeap = slot_heap::SlotHeap;

/// The lengths of messages, in words.
const LENGTHS: [usize; 5] = [1, 40, 1_500, 20_000, 100_000];

fn pattern(from: usize, round: usize) -> Vec<u64> {
    let first = ((from * 1_000_003 + round) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let words = 0..LENGTHS[round % LENGTHS.len()] as u64;
    words.map(|word| first.wrapping_add(word)).collect()
}

/// To another rank and back: the last word of what comes from rank 0 says whether to go on.
fn exchange(world: &Communicator, peer: usize, round: usize, go_on: bool) -> Result<bool> {
    let mut out = pattern(world.rank(), round);
    let mut expected = pattern(peer, round);
    out.push(u64::from(go_on));
    let mut into = vec![0; out.len()];
    let receive = (&mut into[..], Source::Rank(peer), Tag::Is(1));
    world.sendrecv((&out, peer, 1), receive)?;
    let said = into[into.len() - 1];
    expected.push(said);
    assert!(into == expected, "round {round}: from rank {peer}");
    Ok(said == 1)
}

/// With all others in turn, until rank 0 stops.
fn talk(world: &Communicator, stop: &AtomicBool) -> Result<()> {
    for round in 0.. {
        if world.rank() > 0 {
            if !exchange(world, 0, round, true)? {
                return Ok(());
            }
            continue;
        }
        let go_on = !stop.load(Ordering::Relaxed);
        for peer in 1..world.size() {
            exchange(world, peer, round, go_on)?;
        }
        if !go_on {
            return Ok(());
        }
    }
    Ok(())
}

fn take_and_free(stop: &AtomicBool) {
    let mut held: Vec<Vec<usize>> = Vec::new();
    for turn in 0_usize.. {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        held.push(vec![turn; turn * 37 % 5_000]);
        if held.len() > 100 {
            let block = held.swap_remove(turn % 100);
            assert!(block.windows(2).all(|pair| pair[0] == pair[1]));
        }
    }
}

fn child(round: usize, kept: &[u64]) -> i32 {
    let whole = |kept: &[u64]| kept == pattern(7, 3);
    if !whole(kept) {
        return 3;
    }
    match round % 4 {
        0 => 0,
        1 => {
            let error = Command::new("/bin/true").exec();
            error.raw_os_error().unwrap_or(4)
        }
        2 => {
            let blocks: Vec<Vec<u64>> = (0..200).map(|len| kept[len..].to_vec()).collect();
            let right = (0..).zip(&blocks).all(|(len, block)| block == &kept[len..]);
            i32::from(!right || !whole(kept)) * 5
        }
        _ => fork_and_wait(|| i32::from(!whole(&std::hint::black_box(kept.to_vec()))) * 6),
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

fn run() -> Result<()> {
    let rounds = std::env::args().nth(1).and_then(|word| word.parse().ok());
    let rounds = rounds.unwrap_or(50);
    let universe = Universe::init()?;
    let world = universe.world();
    let stop = AtomicBool::new(false);
    if world.rank() > 0 {
        talk(world, &stop)?;
        return universe.finalize();
    }
    let kept = pattern(7, 3);
    let talked = std::thread::scope(|scope| {
        let talking = scope.spawn(|| talk(world, &stop));
        scope.spawn(|| take_and_free(&stop));
        scope.spawn(|| take_and_free(&stop));
        for round in 0..rounds {
            let status = fork_and_wait(|| child(round, &kept));
            if status != 0 {
                eprintln!("round {round}: the child's status is {status}");
                std::process::exit(1);
            }
        }
        stop.store(true, Ordering::Relaxed);
        talking.join()
    });
    talked.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
    println!("{rounds} forks");
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
