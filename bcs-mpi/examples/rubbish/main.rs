//! A hostile job, for tests: `rubbish SEED [node-memory]`. Rank 0 writes rubbish over everything that a
//! rank can write of what it shares with its NIC; the others go on talking to each other, and look after
//! each message whether anything beside their receive buffers has changed.
//!
//! With `node-memory` it writes over what the ranks of its node share with each other (`--intranode
//! smartmap`): desks, transfers, send queues. That can lose messages without a trace, so it leaves
//! after a while, with an exit code of its own.
//!
//! With `disorder` it posts descriptors to its NIC that are valid, but in an order in which no library
//! posts them ([`disorder`]), and leaves after a while, too. Nobody else may notice.
//!
//! An honest rank that finds a foreign byte says so and exits with 99. Every other end is fine.
#![expect(unsafe_code, reason = "does what no program should")]

mod disorder;

use bcs_core::limits::REQUEST_SLOTS;
use bcs_core::memory::NicMemory;
use bcs_core::memory::ring::RingLayout;
use bcs_mpi::{Communicator, Result, Source, Tag, Universe};
use disorder::{Disorder, Entry};
use std::ops::Range;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

#[global_allocator]
static HEAP: slot_heap::SlotHeap = slot_heap::SlotHeap;

const CANARY: u8 = 0xa5;
const ROUNDS: usize = 400;
/// A rank that finds a foreign byte exits with this.
const CHANGED: u8 = 99;
/// The rank that has written rubbish over node memory, or posted in disorder, for a while exits with this.
const GOES: i32 = 3;
/// That while.
const HOSTILE_FOR: Duration = Duration::from_secs(1);

/// What rank 0 writes over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    /// NIC memory and the machine page.
    Nic,
    /// Node memory.
    Node,
    /// Nothing: it posts valid descriptors to its NIC, in disorder.
    Rings,
}

impl Target {
    /// The memory that this process shares, by the names of its memfds. Slots have another name: whoever
    /// writes over a neighbour's heap writes over its buffers.
    fn memory(self) -> Vec<Range<usize>> {
        let name = match self {
            Self::Nic => "memfd:bcs-",
            Self::Rings => "memfd:bcs-nic-memory",
            Self::Node => "memfd:bcs-node-memory",
        };
        let maps = std::fs::read_to_string("/proc/self/maps").expect("there is /proc");
        let of_job = maps.lines().filter(|line| line.contains(name));
        let range = |line: &str| {
            let (from, to) = line.split_whitespace().next()?.split_once('-')?;
            let address = |hex| usize::from_str_radix(hex, 16).ok();
            Some(address(from)?..address(to)?)
        };
        of_job.filter_map(range).collect()
    }
}

/// A word of shared memory.
fn word_at(address: usize) -> &'static AtomicU64 {
    // SAFETY: the callers' addresses are aligned and mapped as long as the process lives; all who share
    // them use atomics. What it does to this process does not matter.
    unsafe { &*(address as *const AtomicU64) }
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
    let memory = Target::Nic.memory();
    assert!(memory.len() >= 2, "NIC memory and the machine page");
    let pieces = memory.len();
    loop {
        let piece = memory[rubbish.below(pieces)].clone();
        let reach = [4_096, 64 << 10, piece.len()][rubbish.below(3)].min(piece.len());
        let address = piece.start + rubbish.below(reach / 8) * 8;
        word_at(address).store(rubbish.word(), Ordering::Relaxed);
    }
}

/// Bytes of a cache line, which is an entry of a queue or a transfer.
const LINE: usize = 64;

/// An address in node memory, where it is in use as far as one can see.
fn in_use(rubbish: &mut Rubbish, memory: &Range<usize>, ranks: usize) -> usize {
    // Desks, transfers, queues (`bcs_core::smartmap::node_memory`).
    let transfers = memory.start + 4_096;
    let of_rank = REQUEST_SLOTS * LINE;
    let queues = transfers + ranks * of_rank;
    let within = match rubbish.below(8) {
        0 => memory.start..transfers,
        1 => {
            let first = transfers + rubbish.below(ranks) * of_rank;
            first..first + 16 * LINE
        }
        _ => queues..memory.end,
    };
    let words = within.len() / 8;
    let first = rubbish.below(words);
    let addresses = (first..words).map(|word| within.start + word * 8);
    let mut near = addresses.take(512);
    let found = near.find(|&address| word_at(address).load(Ordering::Relaxed) != 0);
    found.unwrap_or(within.start + first * 8)
}

/// Writes over node memory for a while: words, and whole lines by others, which make perfect sense
/// where they come from. Mostly it leaves stamps alone: an entry without its stamp is not there, and
/// who waits for a lost message finds no rubbish any more.
fn scribble_over_node(rubbish: &mut Rubbish, ranks: usize) -> ! {
    let memory = Target::Node.memory();
    let [memory] = &memory[..] else {
        let pieces = memory.len();
        panic!("{pieces} pieces of node memory: run with --intranode smartmap");
    };
    let end = Instant::now() + HOSTILE_FOR;
    let (stamps_too, pause) = (rubbish.below(4) == 0, 1 << rubbish.below(20));
    let write = |address: usize, value: u64| {
        let word = word_at(address);
        let is_first = address.is_multiple_of(LINE);
        let kept = if is_first && !stamps_too {
            word.load(Ordering::Relaxed) & u64::from(u32::MAX)
        } else {
            value & u64::from(u32::MAX)
        };
        word.store(value >> 32 << 32 | kept, Ordering::Relaxed);
    };
    while Instant::now() < end {
        let to = in_use(rubbish, memory, ranks);
        if rubbish.below(2) == 0 {
            write(to, rubbish.word());
        } else {
            let line = |address: usize| address & !(LINE - 1);
            let (from, to) = (line(in_use(rubbish, memory, ranks)), line(to));
            // The first word last: it may be a stamp.
            for word in (0..LINE / 8).rev() {
                write(
                    to + word * 8,
                    word_at(from + word * 8).load(Ordering::Relaxed),
                );
            }
        }
        for _ in 0..pause {
            std::hint::spin_loop();
        }
    }
    std::process::exit(GOES)
}

/// Posts descriptors in disorder for a while.
fn post_in_disorder(seed: u64, ranks: u32) -> ! {
    let memory = Target::Rings.memory();
    let [nic] = &memory[..] else {
        panic!("{} pieces of NIC memory", memory.len());
    };
    let word = |index: usize| word_at(nic.start + index * 8);
    let push = |ring: RingLayout, entry: &[u64]| {
        let tail = word(ring.tail_word).load(Ordering::Relaxed);
        if tail - word(ring.head_word).load(Ordering::Acquire) >= ring.entries {
            return;
        }
        let place = usize::try_from(tail % ring.entries).expect("few entries");
        for (index, value) in entry.iter().enumerate() {
            let at = ring.first_entry_word + place * ring.entry_words + index;
            word(at).store(*value, Ordering::Relaxed);
        }
        word(ring.tail_word).store(tail + 1, Ordering::Release);
    };
    let own = vec![0_u64; 1 << 13].leak();
    let mut disorder = Disorder::new(seed, 0, ranks, own.as_ptr() as u64);
    let end = Instant::now() + HOSTILE_FOR;
    let mut posts = 0_u64;
    while Instant::now() < end {
        match disorder.entry() {
            Entry::Send(entry) => push(NicMemory::send_ring(), &entry),
            Entry::Receive(entry) => push(NicMemory::receive_ring(), &entry),
            Entry::Collective(entry) => push(NicMemory::collective_ring(), &entry),
        }
        posts += 1;
        // A few in a cut, or very many.
        if posts.is_multiple_of(1 + seed % 64) {
            // Time for a cut: whether the NIC takes anything then is its affair.
            let cut = Instant::now() + Duration::from_micros(200);
            while Instant::now() < cut {
                std::thread::yield_now();
            }
        }
    }
    std::process::exit(GOES)
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
fn talk(world: &Communicator, tag: i32, target: Target, untouched: &[u8]) -> Result<bool> {
    let (rank, honest) = (world.rank() - 1, world.size() - 1);
    let (to, from) = (1 + (rank + 1) % honest, 1 + (rank + honest - 1) % honest);
    // Over node memory rubbish is written as long as there are messages.
    let rounds = match target {
        Target::Nic => ROUNDS,
        Target::Node | Target::Rings => usize::MAX,
    };
    for round in 0..rounds {
        // The longest are copied by both sides together.
        let lens = [1, 64, 65, 3_000, 50_000, 2 << 20];
        let len = lens[round % lens.len()];
        let mut guarded = Guarded::new(len);
        let sent = vec![u8::try_from(round % 100).unwrap_or(0); len];
        let receive = (guarded.buffer(), Source::Rank(from), Tag::Is(tag));
        world.sendrecv((&sent, to, tag), receive)?;
        // What lies in node memory may be any bytes when it comes here.
        let right = target == Target::Node || guarded.buffer() == sent;
        if !right || !guarded.is_whole() || untouched.iter().any(|&byte| byte != CANARY) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whatever a thread finds, the whole process ends, as if it had no others.
fn end_as(world: &Communicator, talked: Result<bool>) -> ExitCode {
    match talked {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            let rank = world.rank();
            eprintln!("rank {rank}: a byte that nobody may write has changed");
            std::process::exit(i32::from(CHANGED))
        }
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(1)
        }
    }
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let seed: u64 = arguments
        .next()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or(0);
    let target = match arguments.next() {
        Some(word) if word == "node-memory" => Target::Node,
        Some(word) if word == "disorder" => Target::Rings,
        _ => Target::Nic,
    };
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
        match target {
            Target::Nic => scribble(&mut Rubbish(seed)),
            Target::Rings => {
                let ranks = u32::try_from(world.size()).expect("few ranks");
                post_in_disorder(seed, ranks)
            }
            Target::Node => {
                let process = universe.process();
                let node = process.placement().node_of(0).expect("rank 0 has a node");
                let ranks = process.placement().ranks_of(node).count();
                scribble_over_node(&mut Rubbish(seed), ranks)
            }
        }
    }
    // Of two threads either may be the one that is told rubbish, while the other waits.
    if target == Target::Node && seed % 2 == 1 {
        return std::thread::scope(|threads| {
            threads.spawn(|| end_as(world, talk(world, 2, target, &untouched)));
            end_as(world, talk(world, 1, target, &untouched))
        });
    }
    end_as(world, talk(world, 1, target, &untouched))
}
