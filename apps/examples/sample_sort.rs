//! Sorts numbers that are spread over all ranks. Samples determine the range of values of each
//! rank. Every rank sends the other ranks their numbers, and sorts those it gets.
//!
//! A rank does not know how many numbers will come from another rank, so it probes.

use bcs_mpi::{Communicator, Op, Result, Source, Tag, Universe};

bcs_mpi::slot_heap!();

const NUMBERS_PER_RANK: usize = 20_000;
const SAMPLES_PER_RANK: usize = 32;
const SAMPLE: i32 = 1;
const PART: i32 = 2;

/// Returns numbers that look random, the same in every run.
fn numbers(rank: usize) -> Vec<u64> {
    let mut state = rank as u64 + 1;
    std::iter::repeat_with(|| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        state ^ (state >> 31)
    })
    .take(NUMBERS_PER_RANK)
    .collect()
}

/// Returns the least number of each rank but the first: rank 0 chooses them from samples of all
/// ranks.
fn splitters(world: &Communicator, sorted: &[u64]) -> Result<Vec<u64>> {
    let stride = sorted.len() / SAMPLES_PER_RANK;
    let mine: Vec<u64> = sorted
        .iter()
        .copied()
        .step_by(stride)
        .take(SAMPLES_PER_RANK)
        .collect();
    let mut splitters = vec![0; world.size() - 1];
    if world.rank() == 0 {
        let mut samples = mine;
        for from in 1..world.size() {
            let mut theirs = [0; SAMPLES_PER_RANK];
            world.recv(&mut theirs, Source::Rank(from), Tag::Is(SAMPLE))?;
            samples.extend(theirs);
        }
        samples.sort_unstable();
        for (index, splitter) in splitters.iter_mut().enumerate() {
            *splitter = samples[(index + 1) * SAMPLES_PER_RANK];
        }
    } else {
        world.send(&mine, 0, SAMPLE)?;
    }
    world.bcast(&mut splitters, 0)?;
    Ok(splitters)
}

/// Sends every rank its numbers, and returns the numbers of this rank.
fn exchange(world: &Communicator, sorted: &[u64], splitters: &[u64]) -> Result<Vec<u64>> {
    let bound = |rank: usize| match rank.checked_sub(1) {
        None => 0,
        Some(below) if below < splitters.len() => sorted.partition_point(|&n| n < splitters[below]),
        Some(_) => sorted.len(),
    };
    let sends: Vec<_> = (0..world.size())
        .map(|to| world.isend_owned(sorted[bound(to)..bound(to + 1)].to_vec(), to, PART))
        .collect::<Result<_>>()?;
    let mut mine = Vec::new();
    for _ in 0..world.size() {
        let message = world.mprobe(Source::Any, Tag::Is(PART))?;
        mine.extend(message.recv_vec::<u64>()?.0);
    }
    for send in sends {
        send.wait()?;
    }
    Ok(mine)
}

fn main() -> Result<()> {
    let universe = Universe::init()?;
    let world = universe.world();
    let mut sorted = numbers(world.rank());
    sorted.sort_unstable();
    let splitters = splitters(world, &sorted)?;
    let mut mine = exchange(world, &sorted, &splitters)?;
    mine.sort_unstable();

    // All numbers are still there, and each rank has only numbers of its range.
    let all: Vec<u64> = (0..world.size()).flat_map(numbers).collect();
    let first = world
        .rank()
        .checked_sub(1)
        .map_or(0, |below| splitters[below]);
    let end = splitters.get(world.rank()).copied().unwrap_or(u64::MAX);
    assert!(mine.iter().all(|&number| first <= number && number <= end));
    let sum = |numbers: &[u64]| numbers.iter().fold(0_u64, |sum, &n| sum.wrapping_add(n));
    let mut total = [sum(&mine), mine.len() as u64];
    world.allreduce_in_place(&mut total, Op::Sum)?;
    assert_eq!(total, [sum(&all), all.len() as u64]);
    if world.rank() == 0 {
        println!("{} numbers sorted by {} ranks", total[1], world.size());
    }
    universe.finalize()
}
