//! Every rank writes many numbered lines, in time, some of them 1 MB long, some ranks without a
//! newline at the end: for the test that no line is lost, torn or out of order.
//!
//! `writers SECONDS LINES_PER_SECOND`

use std::io::{BufWriter, Write, stdout};
use std::time::{Duration, Instant};

use bcs_mpi::{Result, Universe};

#[global_allocator]
static HEAP: slot_heap::SlotHeap = slot_heap::SlotHeap;

/// Only the first ranks write long lines.
const LONG_RANKS: usize = 8;

/// Every so many lines one is long.
const LONG_EVERY: u32 = 500;

/// Bytes of a long line, and of another.
const LENGTHS: [usize; 2] = [1_000_000, 40];

fn main() -> Result<()> {
    let number = |nth: usize| std::env::args().nth(nth).and_then(|word| word.parse().ok());
    let seconds: u32 = number(1).unwrap_or(1);
    let per_second: u32 = number(2).unwrap_or(1_000);
    let universe = Universe::init()?;
    let world = universe.world();
    world.barrier()?;
    write(
        world.rank(),
        seconds * per_second,
        Duration::from_secs(1) / per_second.max(1),
    )
    .expect("standard output takes it");
    world.barrier()
}

/// `RANK NUMBER xxxx...`: the line's length follows from the two, so that a reader can check it.
fn write(rank: usize, lines: u32, interval: Duration) -> std::io::Result<()> {
    let start = Instant::now();
    let mut out = BufWriter::new(stdout());
    for line in 0..lines {
        let long = rank < LONG_RANKS && line % LONG_EVERY == LONG_EVERY - 1;
        let head = format!("{rank} {line} ");
        let fill = LENGTHS[usize::from(!long)] - head.len();
        write!(out, "{head}{}", "x".repeat(fill))?;
        if line + 1 < lines || rank.is_multiple_of(2) {
            writeln!(out)?;
        }
        out.flush()?;
        wait_until(start + interval * (line + 1));
    }
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "a rate is asked for")]
fn wait_until(then: Instant) {
    std::thread::sleep(then.saturating_duration_since(Instant::now()));
}
