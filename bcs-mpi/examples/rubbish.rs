//! A hostile job, for tests: `rubbish SEED`. Rank 0 writes rubbish over everything that a rank can
//! write of what it shares with its NIC; the others go on talking to each other, and look after
//! each message whether anything beside their receive buffers has changed.
//!
//! An honest rank that finds a foreign byte says so and exits with 99. Every other end is fine.
#![expect(unsafe_code, reason = "does what no program should")]

use bcs_mpi::{Communicator, Result, Source, Tag, Universe};
use std::ops::Range;
use std::process::ExitCode;

#[global_allocator]
static HEAP: slot_heap::SlotHeap = slot_heap::SlotHeap;

const CANARY: u8 = 0xa5;
const ROUNDS: usize = 400;
/// A rank that finds a foreign byte exits with this.
const CHANGED: u8 = 99;

/// The memory that this process shares, by the names of its memfds.
fn shared_memory() -> Vec<Range<usize>> {
    let maps = std::fs::read_to_string("/proc/self/maps").expect("there is /proc");
    let of_job = maps.lines().filter(|line| line.contains("memfd:bcs-"));
    let range = |line: &str| {
        let (from, to) = line.split_whitespace().next()?.split_once('-')?;
        let address = |hex| usize::from_str_radix(hex, 16).ok();
        Some(address(from)?..address(to)?)
    };
    of_job.filter_map(range).collect()
}

/// A generator of rubbish: splitmix64.
struct Rubbish(u64);

impl Rubbish {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound as u64).expect("below a usize")
    }

    /// Words that a descriptor may hold are more dangerous than random ones.
    fn word(&mut self) -> u64 {
        match self.below(6) {
            0 => self.next(),
            1 => self.next() % 8,
            2 => 1 << self.below(64),
            3 => u64::MAX - self.next() % 4,
            4 => self.next() % 2_048,
            _ => ((self.next() % 256) << 32) | (self.next() % 4),
        }
    }
}

/// Writes rubbish, mostly where rings and positions are: at the start of each piece.
fn scribble(rubbish: &mut Rubbish) -> ! {
    let memory = shared_memory();
    assert!(memory.len() >= 2, "NIC memory and the machine page");
    let pieces = memory.len();
    loop {
        let piece = memory[rubbish.below(pieces)].clone();
        let reach = [4_096, 64 << 10, piece.len()][rubbish.below(3)].min(piece.len());
        let address = piece.start + rubbish.below(reach / 8) * 8;
        let word = rubbish.word();
        // SAFETY: the word is mapped, aligned, and shared by plain atomics; what it does to this
        // process does not matter.
        unsafe {
            (*(address as *const std::sync::atomic::AtomicU64))
                .store(word, std::sync::atomic::Ordering::Relaxed)
        };
    }
}

/// A receive buffer between canaries.
struct Guarded(Vec<u8>);

impl Guarded {
    const MARGIN: usize = 4_096;

    fn new(len: usize) -> Self {
        Self(vec![CANARY; len + 2 * Self::MARGIN])
    }

    fn buffer(&mut self) -> &mut [u8] {
        let end = self.0.len() - Self::MARGIN;
        &mut self.0[Self::MARGIN..end]
    }

    fn is_whole(&self) -> bool {
        let end = self.0.len() - Self::MARGIN;
        let outside = self.0[..Self::MARGIN].iter().chain(&self.0[end..]);
        outside.copied().all(|byte| byte == CANARY)
    }
}

/// Talks to the other honest ranks in a ring, with messages of several sizes.
fn talk(world: &Communicator, untouched: &[u8]) -> Result<bool> {
    let (rank, honest) = (world.rank() - 1, world.size() - 1);
    let (to, from) = (1 + (rank + 1) % honest, 1 + (rank + honest - 1) % honest);
    for round in 0..ROUNDS {
        let len = [1, 64, 65, 3_000, 50_000][round % 5];
        let mut guarded = Guarded::new(len);
        let sent = vec![u8::try_from(round % 100).unwrap_or(0); len];
        let receive = (guarded.buffer(), Source::Rank(from), Tag::Is(1));
        world.sendrecv((&sent, to, 1), receive)?;
        let whole = guarded.is_whole() && guarded.buffer() == sent;
        if !whole || untouched.iter().any(|&byte| byte != CANARY) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn main() -> ExitCode {
    let seed = std::env::args()
        .nth(1)
        .and_then(|seed| seed.parse().ok())
        .unwrap_or(0);
    let universe = match Universe::init() {
        Ok(universe) => universe,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let world = universe.world();
    let untouched = vec![CANARY; 1 << 20];
    if let Err(error) = world.barrier() {
        eprintln!("{error}");
        return ExitCode::FAILURE;
    }
    if world.rank() == 0 {
        scribble(&mut Rubbish(seed));
    }
    match talk(world, &untouched) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            eprintln!(
                "rank {}: a byte that nobody may write has changed",
                world.rank()
            );
            std::process::exit(i32::from(CHANGED))
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
