//! Threads of each rank start collectives and compute while these are under way: each thread on a
//! communicator of its own, with operations that the program makes.
//!
//! Each rank knows what has to come out, and the program exits with 1 otherwise.
#![forbid(unsafe_code)]

use bcs_mpi::mpi::ThreadLevel;
use bcs_mpi::{Communicator, Equivalence, Op, Result, Universe, UserOp};
use std::process::ExitCode;

bcs_mpi::slot_heap!();

const THREADS: usize = 3;
const ROUNDS: u64 = 40;
const LEN: usize = 200;
const PRIME: u64 = 1_000_003;

/// A linear function of numbers below the prime; what one does after another is one, too, and the
/// order matters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Equivalence)]
struct Linear {
    factor: u64,
    offset: u64,
}

impl Linear {
    fn of(rank: usize, round: u64) -> Self {
        let rank = rank as u64;
        Self {
            factor: (rank + 2 + round) % PRIME,
            offset: (7 * rank + round) % PRIME,
        }
    }

    fn then(self, next: Self) -> Self {
        Self {
            factor: self.factor * next.factor % PRIME,
            offset: (self.offset * next.factor + next.offset) % PRIME,
        }
    }
}

/// The largest value, and who had it first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Equivalence)]
struct Largest<T> {
    value: T,
    rank: u32,
    is_alone: bool,
}

impl Largest<i64> {
    fn of(rank: usize, round: u64, nth: usize) -> Self {
        let value = ((rank as u64 * 31 + round * 17 + nth as u64 * 7) % 13) as i64 - 6;
        Self {
            value,
            rank: rank as u32,
            is_alone: true,
        }
    }

    fn with(self, other: Self) -> Self {
        match self.value.cmp(&other.value) {
            std::cmp::Ordering::Less => other,
            std::cmp::Ordering::Greater => self,
            std::cmp::Ordering::Equal => Self {
                is_alone: false,
                ..self
            },
        }
    }
}

/// Something to do meanwhile.
fn compute(until: &mut impl FnMut() -> Result<bool>) -> Result<u64> {
    let mut value = 1_u64;
    while !until()? {
        for _ in 0..100 {
            value = value
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
        }
    }
    Ok(value)
}

/// Does the rounds of one thread. Returns whether all results were correct.
fn rounds(comm: &Communicator, thread: usize) -> Result<bool> {
    let (me, size) = (comm.rank(), comm.size());
    let compose = UserOp::new(Linear::then);
    let largest = UserOp::new(Largest::with);
    for round in (0..ROUNDS).map(|round| round + 1000 * thread as u64) {
        let own = [Linear::of(me, round)];
        let values: Vec<_> = (0..LEN).map(|nth| Largest::of(me, round, nth)).collect();
        let (mut composed, mut found) = ([Linear::default()], vec![Largest::default(); LEN]);
        let mut told = [if me == 0 { round } else { 0 }; 2];
        let sent: Vec<u64> = (0..size)
            .map(|to| round + (me * size + to) as u64)
            .collect();
        let (mut came, mut sums) = (vec![0; size], [0_u64; 1]);
        bcs_mpi::scope(|scope| {
            let mut first = comm.iscan(scope, &own, &mut composed, &compose)?;
            let second = comm.iallreduce(scope, &values, &mut found, &largest)?;
            comm.ibcast(scope, &mut told, 0)?;
            let numbers = vec![
                comm.ialltoall(scope, &sent, &mut came)?,
                comm.iallreduce(scope, &sent[..1], &mut sums, Op::Sum)?,
            ];
            compute(&mut || first.test())?;
            second.wait()?;
            bcs_mpi::wait_all(numbers).map(|_| ())
        })?;
        let ranks = 1..=me;
        let expected = ranks.fold(Linear::of(0, round), |all, rank| {
            all.then(Linear::of(rank, round))
        });
        let largest = |nth| {
            let all = (0..size).map(|rank| Largest::of(rank, round, nth));
            all.reduce(Largest::with)
        };
        let from = |rank: usize| round + (rank * size + me) as u64;
        let sum = (0..size)
            .map(|rank| round + (rank * size) as u64)
            .sum::<u64>();
        let is_right = composed == [expected]
            && found
                .iter()
                .enumerate()
                .all(|(nth, found)| largest(nth) == Some(*found))
            && told == [round; 2]
            && came
                .iter()
                .enumerate()
                .all(|(rank, came)| *came == from(rank))
            && sums == [sum];
        if !is_right {
            eprintln!(
                "rank {me}, thread {thread}, round {round}: {composed:?} {told:?} {came:?} {sums:?}"
            );
            return Ok(false);
        }
    }
    Ok(true)
}

fn main() -> Result<ExitCode> {
    let universe = Universe::init_thread(ThreadLevel::Multiple)?;
    let world = universe.world();
    let comms: Vec<_> = (0..THREADS).map(|_| world.dup()).collect::<Result<_>>()?;
    for (thread, comm) in comms.iter().enumerate() {
        comm.set_name(&format!("thread {thread}"));
    }
    let answers: Vec<Result<bool>> = std::thread::scope(|scope| {
        let start = |(thread, comm)| scope.spawn(move || rounds(comm, thread));
        let threads: Vec<_> = comms.iter().enumerate().map(start).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
            thread.join().expect("it does not panic")
        };
        threads.into_iter().map(join).collect()
    });
    let mut is_right = true;
    for answer in answers {
        is_right &= answer?;
    }
    let all_right = world.allreduce_one(is_right, Op::Land)?;
    if world.rank() == 0 {
        println!(
            "{THREADS} threads, {ROUNDS} rounds each: {}",
            if all_right { "right" } else { "wrong" }
        );
    }
    drop(comms);
    universe.finalize()?;
    Ok(ExitCode::from(u8::from(!all_right)))
}
