//! Operations of the program, and those on complex numbers and values with their places.
#![expect(unsafe_code, reason = "some of them are calls of the untyped core")]
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "ranks and counts of a test are small"
)]

use super::{Machine, run};
use crate::mpi::{self, AnyOp, Buffer, Comm};
use crate::{Communicator, Complex, DoubleInt, ErrorClass, Op, TwoInt, UserOp, reduce_local};
use bcs_core::job::Settings;
use bcs_core::reduction::Datatype;
use bcs_core::reduction::arithmetic::{ArithmeticPath, combine};
use std::process::Command;

/// Composes two steps x → ax + b in numbers modulo 2^32, as (a, b). The result is a step again:
/// associative, but not commutative.
fn after(first: u64, second: u64) -> u64 {
    let parts = |step: u64| (step as u32, (step >> 32) as u32);
    let ((a, b), (c, d)) = (parts(first), parts(second));
    let factor = c.wrapping_mul(a);
    let summand = c.wrapping_mul(b).wrapping_add(d);
    u64::from(factor) | u64::from(summand) << 32
}

fn step(rank: usize, index: usize) -> u64 {
    let number = (rank as u64 * 1_000_003 + index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    number | 1
}

fn steps(rank: usize, count: usize) -> Vec<u64> {
    (0..count).map(|index| step(rank, index)).collect()
}

/// Returns the combination of each element over the ranks below `ranks`.
fn folded(ranks: usize, count: usize) -> Vec<u64> {
    let one = |index| (0..ranks).map(|rank| step(rank, index)).reduce(after);
    (0..count).map(|index| one(index).unwrap_or(99)).collect()
}

fn same(found: &[u64], expected: &[u64], what: &str) {
    assert!(found == expected, "{what} of {} elements", expected.len());
}

fn buffer(data: &mut [u64]) -> Buffer {
    // SAFETY: it stays, and is not used otherwise, until the operation is complete.
    unsafe { Buffer::new(data.as_mut_ptr(), data.len(), Datatype::Uint64) }
}

/// Waits for a request of the untyped core.
fn wait(request: crate::Result<mpi::Request>) {
    request.unwrap().wait().unwrap();
}

/// Calls every reduction of `count` elements a rank, blocking.
fn every_reduction(world: &Communicator, count: usize) {
    let (me, size) = (world.rank(), world.size());
    let op = UserOp::new(after);
    let (data, all) = (steps(me, count), folded(size, count));
    for root in [0, size - 1] {
        let mut result = vec![99; if me == root { count } else { 0 }];
        world.reduce(&data, &mut result, &op, root).unwrap();
        same(&result, &all[..result.len()], "reduce");
    }
    let mut result = vec![99; count];
    world.allreduce(&data, &mut result, &op).unwrap();
    same(&result, &all, "allreduce");
    let mut in_place = data.clone();
    world.allreduce_in_place(&mut in_place, &op).unwrap();
    same(&in_place, &all, "allreduce in place");
    world.scan(&data, &mut result, &op).unwrap();
    same(&result, &folded(me + 1, count), "scan");
    let mut in_place = data.clone();
    world.scan_in_place(&mut in_place, &op).unwrap();
    same(&in_place, &folded(me + 1, count), "scan in place");
    let mut result = vec![99; count];
    world.exscan(&data, &mut result, &op).unwrap();
    same(&result, &folded(me, count), "exscan");
    let mut in_place = data;
    world.exscan_in_place(&mut in_place, &op).unwrap();
    let below = if me == 0 {
        steps(0, count)
    } else {
        folded(me, count)
    };
    same(&in_place, &below, "exscan in place");

    let (mut data, all) = (steps(me, size * count), folded(size, size * count));
    let mine = &all[me * count..][..count];
    let mut result = vec![99; count];
    world.reduce_scatter_block(&data, &mut result, &op).unwrap();
    same(&result, mine, "reduce_scatter_block");
    world.reduce_scatter_block_in_place(&mut data, &op).unwrap();
    same(&data[..count], mine, "reduce_scatter_block in place");
    let counts: Vec<usize> = (0..size).map(|rank| rank * count / 2).collect();
    let (before, len) = (counts[..me].iter().sum::<usize>(), counts.iter().sum());
    let (mut data, all) = (steps(me, len), folded(size, len));
    let mine = &all[before..][..counts[me]];
    let mut result = vec![99; counts[me]];
    world
        .reduce_scatter(&data, &mut result, &counts, &op)
        .unwrap();
    same(&result, mine, "reduce_scatter");
    world
        .reduce_scatter_in_place(&mut data, &counts, &op)
        .unwrap();
    same(&data[..counts[me]], mine, "reduce_scatter in place");
}

/// Applies `after` in the form that the untyped core calls.
fn all_after(invec: *const u8, inoutvec: *mut u8, count: usize, datatype: mpi::Datatype) {
    assert_eq!(datatype.elementary(), Some(Datatype::Uint64));
    // SAFETY: as `create` promises; both are aligned for every datatype.
    let left = unsafe { std::slice::from_raw_parts(invec.cast::<u64>(), count) };
    // SAFETY: as above.
    let right = unsafe { std::slice::from_raw_parts_mut(inoutvec.cast::<u64>(), count) };
    for (left, right) in left.iter().zip(right) {
        *right = after(*left, *right);
    }
}

/// Starts every non-blocking reduction of the untyped core, all of them at the same time.
fn every_request(comm: &Comm, count: usize) {
    let (me, size) = (comm.rank() as usize, comm.size() as usize);
    // SAFETY: it uses the elements that it is given.
    let op = unsafe { mpi::UserOp::create(all_after, false) };
    let data = steps(me, size * count);
    let [mut reduced, mut scanned, mut below] = [const { Vec::new() }; 3].map(|mut result| {
        result.resize(count, 99);
        result
    });
    let mut everything = data.clone();
    let mut mine = data.clone();
    let mut at_root = data.clone();
    // SAFETY: it stays, and is not used otherwise, until the operation is complete.
    let input = unsafe { Buffer::read_only(data.as_ptr(), count, Datatype::Uint64) };
    // SAFETY: it stays, and is not used otherwise, until the operation is complete.
    let mine_out = unsafe { Buffer::new(mine.as_mut_ptr(), count, Datatype::Uint64) };
    let (all, root) = (buffer(&mut everything), buffer(&mut at_root));
    let mut requests = [
        comm.iallreduce(all.clone(), all, &op),
        comm.ireduce(root.clone(), root, &op, 0),
        comm.iscan(Some(input.clone()), buffer(&mut scanned), &op),
        comm.iexscan(Some(input.clone()), buffer(&mut below), &op),
        comm.ireduce_scatter_block(None, mine_out, &op),
        comm.iallreduce(input, buffer(&mut reduced), &op),
    ];
    // A handle may be freed while reductions with it are in progress.
    AnyOp::from(op).free().unwrap();
    requests.reverse();
    requests.into_iter().for_each(wait);
    let expected = folded(size, size * count);
    same(&everything, &expected, "iallreduce in place");
    same(
        &at_root,
        if me == 0 { &expected } else { &data },
        "ireduce in place",
    );
    same(&scanned, &folded(me + 1, count), "iscan");
    same(&below, &folded(me, count), "iexscan");
    same(
        &mine[..count],
        &expected[me * count..][..count],
        "ireduce_scatter_block in place",
    );
    same(&reduced, &folded(size, count), "iallreduce");
}

#[test]
fn a_programs_operation_folds_in_the_order_of_the_ranks_in_every_layout() {
    for (ranks, nodes) in [(1, 1), (2, 1), (4, 3), (5, 2)] {
        run(ranks, nodes, |universe| {
            for count in [0, 1, 8, 9, 1_000] {
                every_reduction(universe.world(), count);
                every_request(universe.world().untyped(), count);
            }
        });
    }
}

/// Contributions that do not fit the window together, and are not eager.
#[test]
fn long_contributions_are_folded_one_after_the_other() {
    let settings = Settings {
        eager_limit: 0,
        ..Settings::default()
    };
    Machine::new(4, 2, settings).run(|universe| every_reduction(universe.world(), 70_000));
}

#[test]
fn the_order_is_that_of_the_communicator() {
    run(4, 2, |universe| {
        let world = universe.world();
        let me = world.rank();
        let backwards = world.split(Some(0), -(me as i32)).unwrap().unwrap();
        let mut result = [0];
        let op = UserOp::new(after);
        backwards
            .allreduce(&[step(me, 0)], &mut result, &op)
            .unwrap();
        let expected = (0..4).rev().map(|rank| step(rank, 0)).reduce(after);
        assert_eq!(Some(result[0]), expected);
    });
}

/// Sums of numbers that round. They are associated as a fold from the left.
#[test]
fn sums_by_a_closure_have_the_bits_of_a_fold() {
    let value = |rank: usize, index: usize| (rank as f64 + 0.1).powi(7) / (index as f64 + 3.0);
    for (ranks, nodes) in [(5, 1), (5, 3)] {
        run(ranks, nodes, |universe| {
            let world = universe.world();
            let data: Vec<f64> = (0..100).map(|index| value(world.rank(), index)).collect();
            let mut result = vec![0.0; 100];
            let sum = UserOp::commutative(|one: f64, other: f64| one + other);
            world.allreduce(&data, &mut result, &sum).unwrap();
            for (index, result) in result.into_iter().enumerate() {
                let fold = (0..ranks)
                    .map(|rank| value(rank, index))
                    .reduce(|a, b| a + b);
                assert_eq!(Some(result.to_bits()), fold.map(f64::to_bits), "{index}");
            }
        });
    }
}

#[test]
fn complex_numbers_and_places_are_reduced_by_the_nics() {
    run(4, 2, |universe| {
        let world = universe.world();
        let me = world.rank();
        for count in [1, 4, 5, 3_000] {
            let at = |index: usize, rank: usize| (index * 7 + rank * 5) % 11;
            let number = |index, rank| Complex {
                re: at(index, rank) as f64,
                im: rank as f64,
            };
            let data: Vec<_> = (0..count).map(|index| number(index, me)).collect();
            let mut product = vec![Complex::default(); count];
            world.allreduce(&data, &mut product, Op::Prod).unwrap();
            let times = |a: Complex<f64>, b: Complex<f64>| Complex {
                re: a.re * b.re - a.im * b.im,
                im: a.re * b.im + a.im * b.re,
            };
            for (index, product) in product.into_iter().enumerate() {
                // These are small integers, which no association rounds.
                let expected = (0..4).map(|rank| number(index, rank)).reduce(times);
                assert_eq!(Some(product), expected);
            }
            let place = |index, rank| DoubleInt::new((at(index, rank) / 3) as f64, rank as i32);
            let data: Vec<_> = (0..count).map(|index| place(index, me)).collect();
            let mut least = vec![DoubleInt::default(); count];
            world.allreduce(&data, &mut least, Op::MinLoc).unwrap();
            let mut greatest = vec![DoubleInt::default(); count];
            world.scan(&data, &mut greatest, Op::MaxLoc).unwrap();
            for (index, (least, greatest)) in least.into_iter().zip(greatest).enumerate() {
                let all = || (0..4).map(|rank| place(index, rank));
                // `min_by` takes the first of equal values, and so does the library.
                let expected = all().min_by(|a, b| a.value.total_cmp(&b.value));
                assert_eq!(Some(least), expected);
                let lower = all().take(me + 1).rev();
                let expected = lower.max_by(|a, b| a.value.total_cmp(&b.value));
                assert_eq!(Some(greatest), expected);
            }
        }
    });
}

/// The whole table of MPI 5.0, 6.9.2. Combinations in it give the bits of a fold from the left
/// (that is the order of this machine's NIC), and all others are refused.
#[test]
fn every_predefined_operation_on_every_predefined_type() {
    let bytes = |rank: usize, len: usize| -> Vec<u8> {
        let byte = |at: usize| (step(rank, at) >> 24) as u8;
        (0..len).map(byte).collect()
    };
    run(3, 2, |universe| {
        let world = universe.world();
        let (comm, me) = (world.untyped(), world.rank());
        let pairs = Op::ALL
            .into_iter()
            .flat_map(|op| Datatype::ALL.map(|of| (op, of)));
        for (op, datatype) in pairs {
            // One count fits into a descriptor, the other does not.
            for count in [2, 37] {
                let len = count * datatype.size();
                let mut data = bytes(me, len);
                // SAFETY: it stays, and is not used otherwise, until the operation is complete.
                let both = unsafe { Buffer::new(data.as_mut_ptr(), count, datatype) };
                let result = comm.allreduce(both.clone(), both, op);
                if !op.allowed(datatype) {
                    assert_eq!(
                        result.unwrap_err().class,
                        ErrorClass::Op,
                        "{op} of {datatype}"
                    );
                    continue;
                }
                result.unwrap();
                let mut expected = bytes(0, len);
                for rank in 1..3 {
                    combine(
                        op,
                        datatype,
                        ArithmeticPath::Soft,
                        &mut expected,
                        &bytes(rank, len),
                    )
                    .unwrap();
                }
                assert!(data == expected, "{op} of {count} {datatype}");
            }
        }
    });
}

#[test]
fn reductions_without_communication() {
    let mut result = [step(1, 0), step(1, 1)];
    let data = [step(0, 0), step(0, 1)];
    reduce_local(&data, &mut result, &UserOp::new(after)).unwrap();
    assert_eq!(
        result,
        [after(step(0, 0), step(1, 0)), after(step(0, 1), step(1, 1))]
    );
    let mut result = [TwoInt::new(5, 7), TwoInt::new(5, 1)];
    let data = [TwoInt::new(5, 6), TwoInt::new(6, 9)];
    reduce_local(&data, &mut result, Op::MaxLoc).unwrap();
    assert_eq!(result, [TwoInt::new(5, 6), TwoInt::new(6, 9)]);
    reduce_local(&[] as &[f64], &mut [], Op::Sum).unwrap();
    let class = |result: crate::Result<()>| result.unwrap_err().class;
    assert_eq!(
        class(reduce_local(&[1.0], &mut [1.0, 2.0], Op::Sum)),
        ErrorClass::Count
    );
    assert_eq!(
        class(reduce_local(&[1.0], &mut [1.0], Op::Bor)),
        ErrorClass::Op
    );
    let (mut out, data) = ([1u64], [1.0f64]);
    // SAFETY: it stays, and is not used otherwise, until the operation is complete.
    let input = unsafe { Buffer::read_only(data.as_ptr(), 1, Datatype::Double) };
    let mixed = mpi::reduce_local(input, buffer(&mut out), Op::Sum);
    assert_eq!(class(mixed), ErrorClass::Type);
}

/// Values with their places have gaps, which the arithmetic copies, too.
#[test]
fn pairs_with_gaps_are_reduced_by_everything_that_reduces() {
    run(3, 2, |universe| {
        let world = universe.world();
        let (me, size, count) = (world.rank(), world.size(), 700);
        let at = |rank: usize, index: usize| ((rank + index) % size) as f64;
        let of = |rank| (0..count).map(move |index| DoubleInt::new(at(rank, index), rank as i32));
        let least = |ranks: usize, index: usize| {
            let all = (0..ranks).map(|rank| DoubleInt::new(at(rank, index), rank as i32));
            all.reduce(|one, other| if other.value < one.value { other } else { one })
        };
        let data: Vec<_> = of(me).collect();
        let mut found = vec![DoubleInt::default(); count];
        world.scan(&data, &mut found, Op::MinLoc).unwrap();
        let right = |ranks: usize, first: usize, found: &[DoubleInt]| {
            let mut numbered = (first..).zip(found);
            numbered.all(|(index, found)| least(ranks, index) == Some(*found))
        };
        assert!(right(me + 1, 0, &found));
        let counts = [300, 0, 400];
        let first: usize = counts[..me].iter().sum();
        let mut part = vec![DoubleInt::default(); counts[me]];
        let scatter = world.reduce_scatter(&data, &mut part, &counts, Op::MinLoc);
        scatter.unwrap();
        assert!(right(size, first, &part));
        let mine = UserOp::new(
            |one: DoubleInt, other: DoubleInt| {
                if other.value < one.value { other } else { one }
            },
        );
        world.allreduce(&data, &mut found, &mine).unwrap();
        assert!(right(size, 0, &found));
        let mut local: Vec<_> = of(1).collect();
        let zero: Vec<_> = of(0).collect();
        reduce_local(&zero, &mut local, Op::MinLoc).unwrap();
        assert!(right(2, 0, &local));
    });
}

#[test]
fn operations_say_what_they_are() {
    // SAFETY: it uses nothing.
    let op = unsafe { mpi::UserOp::create(|_, _, _, _| {}, true) };
    assert!(AnyOp::from(&op).commutative() && AnyOp::from(Op::MinLoc).commutative());
    // SAFETY: it uses nothing.
    let other = unsafe { mpi::UserOp::create(|_, _, _, _| {}, false) };
    assert!(!AnyOp::from(other).commutative());
    assert!(AnyOp::from(op).free().is_ok());
    let error = AnyOp::from(Op::Sum).free().unwrap_err();
    assert_eq!(error.class, ErrorClass::Op);
    assert_eq!(
        error.of_itself(),
        "failed to MPI_Op_free: MPI_SUM is a predefined operation"
    );
}

#[test]
fn datatypes_that_differ_are_refused_at_once() {
    run(2, 1, |universe| {
        let comm = universe.world().untyped();
        let (mut data, mut wide) = ([1i32; 4], [0u64; 2]);
        // SAFETY: it stays, and is not used otherwise, until the operation is complete.
        let input = unsafe { Buffer::new(data.as_mut_ptr(), 4, Datatype::INT) };
        // SAFETY: it uses nothing.
        let op = unsafe { mpi::UserOp::create(|_, _, _, _| {}, true) };
        let error = comm.allreduce(input, buffer(&mut wide), &op).unwrap_err();
        assert_eq!(error.class, ErrorClass::Type);
    });
}

/// A schedule has the last handle of its function, and the function has the last handle of a
/// communicator. Freeing that locks the endpoint, which is locked when the schedule ends.
#[test]
fn a_function_that_owns_a_communicator_is_dropped_without_a_hang() {
    run(3, 2, |universe| {
        let world = universe.world();
        for _ in 0..20 {
            let owned = world.dup().unwrap();
            let op = UserOp::new(move |left: u64, right: u64| {
                assert_eq!(owned.size(), 3);
                after(left, right)
            });
            let mut result = [0];
            let data = [step(world.rank(), 0)];
            crate::scope(|scope| {
                let request = world.iscan(scope, &data, &mut result, &op)?;
                drop(op);
                request.wait()?;
                Ok(())
            })
            .unwrap();
            assert_eq!(result, folded(world.rank() + 1, 1)[..]);
        }
    });
}

/// The variable that tells a test that it runs as a child of itself.
const CHILD: &str = "BCS_TEST_OPERATION";

/// Runs a test of this program again, in a child process that may end in any way. Returns its exit
/// code and its output.
fn in_a_child(test: &str) -> (Option<i32>, String) {
    let program = std::env::current_exe().unwrap();
    let mut command = Command::new(program);
    command.args([
        &format!("tests::operations::{test}"),
        "--exact",
        "--nocapture",
    ]);
    let output = command.env(CHILD, "1").output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), said)
}

#[test]
fn a_function_that_panics_ends_the_job_with_a_message() {
    if std::env::var_os(CHILD).is_some() {
        return run(3, 2, |universe| {
            let op = UserOp::new(|left: i32, right: i32| {
                assert!(right != 2, "two is more than it can bear");
                left + right
            });
            let mut result = [0];
            let me = [universe.world().rank() as i32];
            // Only rank 2 calls the function with a 2. The others would wait for ever.
            let _unreached = universe.world().scan(&me, &mut result, &op);
            let _unreached = universe.world().barrier();
        });
    }
    let (code, said) = in_a_child("a_function_that_panics_ends_the_job_with_a_message");
    assert_eq!(code, Some(101), "{said}");
    let expected = "aborted: the function of a reduction operation panicked: two is more than";
    assert!(said.contains(expected), "{said}");
}

/// In an allreduce every rank calls the function equally often, so it can be a ring.
#[test]
fn a_function_may_send_and_receive_on_another_communicator() {
    for (ranks, nodes) in [(2, 1), (2, 2), (3, 2)] {
        run(ranks, nodes, |universe| {
            let world = universe.world();
            let other = world.dup().unwrap();
            let (me, size) = (world.rank(), world.size());
            let (next, last) = ((me + 1) % size, (me + size - 1) % size);
            let op = UserOp::new(move |left: u64, right: u64| {
                let mut came = [0];
                other
                    .sendrecv(
                        (&[left], next, 7),
                        (&mut came, crate::Source::Rank(last), crate::Tag::Is(7)),
                    )
                    .unwrap();
                // All ranks fold the same number of elements, so as much was received as was sent.
                assert_eq!(came, [left]);
                left + right
            });
            for round in 0..20 {
                let mut sum = [0];
                let mine = [round + me as u64];
                if round % 2 == 0 {
                    world.allreduce(&mine, &mut sum, &op).unwrap();
                } else {
                    crate::scope(|scope| {
                        let request = world.iallreduce(scope, &mine, &mut sum, &op)?;
                        request.wait()
                    })
                    .unwrap();
                }
                let ranks = size as u64;
                assert_eq!(sum[0], ranks * round + ranks * (ranks - 1) / 2);
            }
        });
    }
}
