//! A rank that departs while the job goes on, for tests: `departed HOW`, with two ranks. Rank 0 finalizes
//! (`finalizes`) or is killed (`dies`). Rank 1 stays, also when it is told to end, and looks into the
//! memory of its node until the process id of rank 0 is no more to be found there: then it says so.
#![expect(unsafe_code, reason = "looks at memory that no program should know of")]

use bcs_mpi::{Result, Source, Tag, Universe};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// How long rank 1 waits.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where desks are, and process ids on them.
const DESKS_BYTES: usize = 4_096;

/// Beside the process id there may be a mark.
const PID: u32 = u32::MAX >> 1;

/// The words of the desks of this node (`bcs_core::smartmap::NodeMemory`).
fn desks() -> impl Iterator<Item = &'static AtomicU32> {
    let maps = std::fs::read_to_string("/proc/self/maps").expect("there is /proc");
    let line = maps.lines().find(|line| line.contains("memfd:bcs-node"));
    let line = line.expect("run with --intranode smartmap");
    let start = line.split('-').next().expect("a range of addresses");
    let start = usize::from_str_radix(start, 16).expect("an address");
    (0..DESKS_BYTES).step_by(4).map(move |at| {
        // SAFETY: mapped as long as the process lives, aligned, and atomic for all who share it.
        unsafe { &*((start + at) as *const AtomicU32) }
    })
}

fn main() -> Result<()> {
    let dies = std::env::args().any(|argument| argument == "dies");
    // SAFETY: nothing of this program handles signals.
    unsafe { libc::signal(libc::SIGTERM, libc::SIG_IGN) };
    let universe = Universe::init()?;
    let world = universe.world();
    if world.rank() == 0 {
        world.send(&[std::process::id()], 1, 1)?;
        world.recv(&mut [0_u8; 0], Source::Rank(1), Tag::Is(2))?;
        if dies {
            // SAFETY: ends this process.
            unsafe { libc::raise(libc::SIGKILL) };
        }
        return universe.finalize();
    }
    let mut pid = [0];
    world.recv(&mut pid, Source::Rank(0), Tag::Is(1))?;
    let is_there = |word: &AtomicU32| word.load(Ordering::Acquire) & PID == pid[0];
    let word = desks().find(|word| is_there(word));
    let word = word.expect("the process id of rank 0 is published");
    world.send(&[0_u8; 0], 0, 2)?;
    let start = Instant::now();
    while is_there(word) {
        assert!(
            start.elapsed() < PATIENCE,
            "rank 0 has departed, and its process id is still published"
        );
        std::thread::yield_now();
    }
    println!("withdrawn");
    universe.finalize()
}
