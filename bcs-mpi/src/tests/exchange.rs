//! Collectives that are made of messages, against a sequential oracle.
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "random numbers may lose bits, and ranks are small"
)]

use super::{Machine, run};
use crate::{Blocks, Communicator, Equivalence, Op};
use bcs_core::job::Settings;
use std::fmt::Debug;

/// Returns a pseudo-random number that depends on a few others.
fn random(of: &[u64]) -> u64 {
    let step = |state: u64, number: &u64| {
        let mixed = (state ^ number).wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb) ^ (mixed >> 31)
    };
    of.iter().fold(7, step)
}

/// The values that the test sends. Their sums depend on the order.
trait Value: Equivalence + Debug {
    fn new(random: u64) -> Self;
    fn bits(self) -> u64;
    fn plus(self, other: Self) -> Self;
}

macro_rules! values {
    ($($type:ty: $new:expr, $bits:expr, $plus:expr;)*) => {
        $(impl Value for $type {
            fn new(random: u64) -> Self { ($new)(random) }
            fn bits(self) -> u64 { ($bits)(self) }
            fn plus(self, other: Self) -> Self { ($plus)(self, other) }
        })*
    };
}

values! {
    i32: |random: u64| random as i32, |own: i32| u64::from(own.cast_unsigned()), i32::wrapping_add;
    u64: |random: u64| random, |own: u64| own, u64::wrapping_add;
    f32: |random: u64| (random as i32) as f32 * 1e-3, |own: f32| u64::from(own.to_bits()),
        |one: f32, other: f32| one + other;
    f64: |random: u64| (random as i64) as f64 * 1e-9, f64::to_bits, |one: f64, other: f64| one + other;
}

fn same<T: Value>(found: &[T], expected: &[T], what: &dyn Debug) {
    let bits = |values: &[T]| values.iter().map(|&value| value.bits()).collect::<Vec<_>>();
    assert_eq!(bits(found), bits(expected), "{what:?}");
}

/// Calls a collective, or starts it in a scope and waits for it.
macro_rules! call {
    ($case:expr, $blocking:ident, $nonblocking:ident, $($argument:expr),*) => {
        if $case.blocking {
            $case.world.$blocking($($argument),*).unwrap();
        } else {
            crate::scope(|scope| {
                $case.world.$nonblocking(scope, $($argument),*)?.wait()?;
                Ok(())
            })
            .unwrap();
        }
    };
}

/// A collective and its arguments, which all ranks know.
#[derive(Clone, Copy)]
struct Case<'a> {
    world: &'a Communicator,
    seed: u64,
    count: usize,
    in_place: bool,
    blocking: bool,
}

impl Case<'_> {
    fn value<T: Value>(&self, rank: usize, index: usize) -> T {
        T::new(random(&[self.seed, rank as u64, index as u64]))
    }

    fn root(&self) -> usize {
        random(&[self.seed, 1]) as usize % self.world.size()
    }

    fn values<T: Value>(&self, rank: usize, count: usize) -> Vec<T> {
        (0..count).map(|index| self.value(rank, index)).collect()
    }

    fn nothing<T: Value>(&self, count: usize) -> Vec<T> {
        vec![T::new(99); count]
    }

    /// Returns a count for this pair of ranks. In place, it is the same in both directions.
    fn count_of(&self, one: usize, other: usize) -> usize {
        let (one, other) = if self.in_place {
            (one.min(other), one.max(other))
        } else {
            (one, other)
        };
        let random = random(&[self.seed, 2, one as u64, other as u64]);
        [0, 1, 7, self.count][random as usize % 4]
    }

    fn what(&self, name: &'static str) -> (&'static str, usize, u64, usize, bool, bool) {
        let (rank, seed) = (self.world.rank(), self.seed);
        (name, rank, seed, self.count, self.in_place, self.blocking)
    }
}

/// Returns blocks with gaps, the last one first, and the length of a slice that holds them.
fn spread(counts: &[usize]) -> (Vec<usize>, usize) {
    let mut displacements = vec![0; counts.len()];
    let mut end = 0;
    for (displacement, count) in displacements.iter_mut().zip(counts).rev() {
        *displacement = end + 1;
        end += 1 + count;
    }
    (displacements, end + 2)
}

fn scatters<T: Value>(case: Case<'_>) {
    let (me, size, root) = (case.world.rank(), case.world.size(), case.root());
    let all: Vec<T> = case.values(root, size * case.count);
    let mine = &all[me * case.count..][..case.count];
    let what = case.what("scatter");
    if case.in_place {
        let mut data = if me == root {
            all.clone()
        } else {
            case.nothing(case.count)
        };
        call!(case, scatter_in_place, iscatter_in_place, &mut data, root);
        same(&data, if me == root { &all } else { mine }, &what);
    } else {
        let data = if me == root { &all[..] } else { &[] };
        let mut result = case.nothing(case.count);
        call!(case, scatter, iscatter, data, &mut result, root);
        same(&result, mine, &what);
    }
    let what = case.what("scatterv");
    let counts: Vec<_> = (0..size).map(|rank| case.count_of(rank, rank)).collect();
    let (displacements, len) = spread(&counts);
    let all: Vec<T> = case.values(root, len);
    let mine = &all[displacements[me]..][..counts[me]];
    let (counts, displacements) = (&counts[..], &displacements[..]);
    let blocks = Blocks {
        counts,
        displacements,
    };
    if case.in_place {
        let mut data = if me == root {
            all.clone()
        } else {
            case.nothing(counts[me])
        };
        call!(
            case,
            scatterv_in_place,
            iscatterv_in_place,
            &mut data,
            blocks,
            root
        );
        same(&data, if me == root { &all } else { mine }, &what);
    } else {
        let mut result = case.nothing(counts[me]);
        call!(case, scatterv, iscatterv, &all, &mut result, blocks, root);
        same(&result, mine, &what);
    }
}

fn gathers<T: Value>(case: Case<'_>) {
    let (me, size, root) = (case.world.rank(), case.world.size(), case.root());
    let mine: Vec<T> = case.values(me, case.count);
    let all: Vec<T> = (0..size)
        .flat_map(|rank| case.values(rank, case.count))
        .collect();
    let own = me * case.count..(me + 1) * case.count;
    let mut filled = case.nothing(all.len());
    filled[own].copy_from_slice(&mine);
    if case.in_place {
        let mut data = if me == root {
            filled.clone()
        } else {
            mine.clone()
        };
        call!(case, gather_in_place, igather_in_place, &mut data, root);
        same(
            &data,
            if me == root { &all } else { &mine },
            &case.what("gather"),
        );
        call!(case, allgather_in_place, iallgather_in_place, &mut filled);
        same(&filled, &all, &case.what("allgather"));
    } else {
        let mut result = case.nothing(if me == root { all.len() } else { 0 });
        call!(case, gather, igather, &mine, &mut result, root);
        same(
            &result,
            if me == root { &all } else { &[] },
            &case.what("gather"),
        );
        let mut result = case.nothing(all.len());
        call!(case, allgather, iallgather, &mine, &mut result);
        same(&result, &all, &case.what("allgather"));
    }
    let counts: Vec<_> = (0..size).map(|rank| case.count_of(rank, rank)).collect();
    let (displacements, len) = spread(&counts);
    let mine: Vec<T> = case.values(me, counts[me]);
    let mut all = case.nothing(len);
    for (rank, (&count, &displacement)) in counts.iter().zip(&displacements).enumerate() {
        all[displacement..displacement + count].copy_from_slice(&case.values(rank, count));
    }
    let mut empty = case.nothing(len);
    let mut filled = empty.clone();
    filled[displacements[me]..][..counts[me]].copy_from_slice(&mine);
    let (counts, displacements) = (&counts[..], &displacements[..]);
    let blocks = Blocks {
        counts,
        displacements,
    };
    if case.in_place {
        let mut data = if me == root {
            filled.clone()
        } else {
            mine.clone()
        };
        call!(
            case,
            gatherv_in_place,
            igatherv_in_place,
            &mut data,
            blocks,
            root
        );
        same(
            &data,
            if me == root { &all } else { &mine },
            &case.what("gatherv"),
        );
        call!(
            case,
            allgatherv_in_place,
            iallgatherv_in_place,
            &mut filled,
            blocks
        );
        same(&filled, &all, &case.what("allgatherv"));
    } else {
        let untouched = empty.clone();
        call!(case, gatherv, igatherv, &mine, &mut empty, blocks, root);
        same(
            &empty,
            if me == root { &all } else { &untouched },
            &case.what("gatherv"),
        );
        let mut result = untouched;
        call!(case, allgatherv, iallgatherv, &mine, &mut result, blocks);
        same(&result, &all, &case.what("allgatherv"));
    }
}

fn all_to_alls<T: Value>(case: Case<'_>) {
    let (me, size, n) = (case.world.rank(), case.world.size(), case.count);
    let mut data: Vec<T> = case.values(me, size * n);
    let from = |rank: usize| (0..n).map(move |index| case.value(rank, me * n + index));
    let expected: Vec<T> = (0..size).flat_map(from).collect();
    if case.in_place {
        call!(case, alltoall_in_place, ialltoall_in_place, &mut data);
        same(&data, &expected, &case.what("alltoall"));
    } else {
        let mut result = case.nothing(data.len());
        call!(case, alltoall, ialltoall, &data, &mut result);
        same(&result, &expected, &case.what("alltoall"));
    }
    let counts = |from: usize| (0..size).map(move |to| case.count_of(from, to));
    let out: Vec<_> = counts(me).collect();
    let into: Vec<_> = (0..size).map(|from| case.count_of(from, me)).collect();
    let (out_at, out_len) = spread(&out);
    let (into_at, into_len) = spread(&into);
    let mut data: Vec<T> = case.values(me, out_len);
    let gaps = if case.in_place {
        data.clone()
    } else {
        case.nothing(into_len)
    };
    let mut expected = gaps.clone();
    for from in 0..size {
        let (at, _) = spread(&counts(from).collect::<Vec<_>>());
        for index in 0..into[from] {
            expected[into_at[from] + index] = case.value(from, at[me] + index);
        }
    }
    let out = Blocks {
        counts: &out,
        displacements: &out_at,
    };
    let into = Blocks {
        counts: &into,
        displacements: &into_at,
    };
    if case.in_place {
        call!(
            case,
            alltoallv_in_place,
            ialltoallv_in_place,
            &mut data,
            into
        );
        same(&data, &expected, &case.what("alltoallv"));
    } else {
        let mut result = gaps;
        call!(case, alltoallv, ialltoallv, &data, &mut result, out, into);
        same(&result, &expected, &case.what("alltoallv"));
    }
}

fn reductions<T: Value>(case: Case<'_>) {
    let (me, size, n) = (case.world.rank(), case.world.size(), case.count);
    // The bits of a sum depend on the tree over nodes, so an allreduce is the oracle here.
    let mut data: Vec<T> = case.values(me, size * n);
    let mut sums = case.nothing(data.len());
    case.world.allreduce(&data, &mut sums, Op::Sum).unwrap();
    let mine = &sums[me * n..][..n];
    if case.in_place {
        call!(
            case,
            reduce_scatter_block_in_place,
            ireduce_scatter_block_in_place,
            &mut data,
            Op::Sum
        );
        same(&data[..n], mine, &case.what("reduce_scatter_block"));
    } else {
        let mut result = case.nothing(n);
        call!(
            case,
            reduce_scatter_block,
            ireduce_scatter_block,
            &data,
            &mut result,
            Op::Sum
        );
        same(&result, mine, &case.what("reduce_scatter_block"));
    }
    let counts: Vec<_> = (0..size).map(|rank| case.count_of(rank, rank)).collect();
    let (before, len) = (counts[..me].iter().sum::<usize>(), counts.iter().sum());
    let mut data: Vec<T> = case.values(me, len);
    let mut sums = case.nothing(len);
    case.world.allreduce(&data, &mut sums, Op::Sum).unwrap();
    let mine = &sums[before..][..counts[me]];
    if case.in_place {
        call!(
            case,
            reduce_scatter_in_place,
            ireduce_scatter_in_place,
            &mut data,
            &counts,
            Op::Sum
        );
        same(&data[..counts[me]], mine, &case.what("reduce_scatter"));
    } else {
        let mut result = case.nothing(counts[me]);
        call!(
            case,
            reduce_scatter,
            ireduce_scatter,
            &data,
            &mut result,
            &counts,
            Op::Sum
        );
        same(&result, mine, &case.what("reduce_scatter"));
    }
}

fn scans<T: Value>(case: Case<'_>) {
    let (me, n) = (case.world.rank(), case.count);
    let data: Vec<T> = case.values(me, n);
    let fold = |ranks: usize| -> Vec<T> {
        let sum = |index| {
            let lower = (1..ranks).map(|rank| case.value(rank, index));
            lower.fold(case.value(0, index), T::plus)
        };
        (0..n).map(sum).collect()
    };
    let (below, nothing) = (fold(me), case.nothing(n));
    let mut result = if case.in_place {
        data.clone()
    } else {
        nothing.clone()
    };
    if case.in_place {
        call!(case, scan_in_place, iscan_in_place, &mut result, Op::Sum);
    } else {
        call!(case, scan, iscan, &data, &mut result, Op::Sum);
    }
    same(&result, &fold(me + 1), &case.what("scan"));
    let mut result = if case.in_place { data.clone() } else { nothing };
    let before = result.clone();
    if case.in_place {
        call!(
            case,
            exscan_in_place,
            iexscan_in_place,
            &mut result,
            Op::Sum
        );
    } else {
        call!(case, exscan, iexscan, &data, &mut result, Op::Sum);
    }
    same(
        &result,
        if me == 0 { &before } else { &below },
        &case.what("exscan"),
    );
}

fn every_collective<T: Value>(case: Case<'_>) {
    scatters::<T>(case);
    gathers::<T>(case);
    all_to_alls::<T>(case);
    reductions::<T>(case);
    scans::<T>(case);
}

/// Calls all collectives, with each count, in place or not, blocking or not. The seed determines
/// the type.
fn with_all_arguments(world: &Communicator, seed: u64) {
    for (nth, count) in [0, 1, 7, 1_000].into_iter().enumerate() {
        for variant in 0..4u64 {
            let seed = random(&[seed, nth as u64, variant]);
            let (in_place, blocking) = (variant & 1 == 1, variant & 2 == 2);
            let case = Case {
                world,
                seed,
                count,
                in_place,
                blocking,
            };
            match (seed + variant) % 4 {
                0 => every_collective::<i32>(case),
                1 => every_collective::<u64>(case),
                2 => every_collective::<f32>(case),
                _ => every_collective::<f64>(case),
            }
        }
    }
}

#[test]
fn every_collective_gives_what_the_oracle_says() {
    for (ranks, nodes) in [(1, 1), (2, 1), (2, 2), (3, 2), (5, 3), (8, 1), (8, 3)] {
        run(ranks, nodes, |universe| {
            with_all_arguments(universe.world(), (ranks * 10 + nodes) as u64);
        });
    }
}

#[test]
fn every_type_gives_what_the_oracle_says() {
    let machine = Machine::new(3, 2, Settings::default());
    machine.run(|universe| {
        for (seed, in_place) in [(1, false), (2, true), (3, false)] {
            let (world, count, blocking) = (universe.world(), 7, in_place);
            let case = Case {
                world,
                seed,
                count,
                in_place,
                blocking,
            };
            every_collective::<i32>(case);
            every_collective::<u64>(case);
            every_collective::<f32>(case);
            every_collective::<f64>(case);
        }
    });
}

/// The same in a communicator whose order is not the world's.
#[test]
fn ranks_are_those_of_the_communicator() {
    run(5, 2, |universe| {
        let world = universe.world();
        let me = i32::try_from(world.rank()).unwrap();
        let half = world
            .split(Some(world.rank() as u32 % 2), -me)
            .unwrap()
            .unwrap();
        for variant in 0..4u64 {
            let (in_place, blocking) = (variant & 1 == 1, variant & 2 == 2);
            let case = Case {
                world: &half,
                seed: variant,
                count: 7,
                in_place,
                blocking,
            };
            every_collective::<f64>(case);
        }
    });
}

/// The same without eager messages, and with contributions that do not fit the window of a scan.
#[test]
fn long_messages_and_no_eager_ones() {
    let settings = Settings {
        eager_limit: 0,
        ..Settings::default()
    };
    Machine::new(4, 2, settings).run(|universe| {
        let world = universe.world();
        for (seed, count) in [(1, 3), (2, 60_000)] {
            for in_place in [false, true] {
                let case = Case {
                    world,
                    seed,
                    count,
                    in_place,
                    blocking: !in_place,
                };
                every_collective::<f64>(case);
            }
        }
    });
}
