//! All-to-alls and allgathers that go by the leaders of nodes.
#![expect(unsafe_code, reason = "non-blocking collectives that outlive a scope")]

use super::Machine;
use super::hierarchical::{run, teams};
use crate::mpi::Buffer;
use bcs_core::job::{CollectiveMode, Settings};
use bcs_core::reduction::Datatype;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

/// An all-to-all or allgather of short blocks takes one message for each pair of nodes, and not for
/// each pair of ranks.
#[test]
fn leaders_collect_where_collectives_are_hierarchical_and_there_are_several_nodes() {
    for (collectives, nodes, by_leaders) in [
        (CollectiveMode::Hierarchical, 2, true),
        (CollectiveMode::Hierarchical, 1, false),
        (CollectiveMode::Nic, 2, false),
    ] {
        let settings = Settings {
            collectives,
            ..Settings::default()
        };
        Machine::new(8, nodes, settings).run(|universe| {
            let world = universe.world();
            let found = world.untyped().nodes().is_some();
            assert_eq!(found, by_leaders, "{collectives:?} on {nodes} nodes");
        });
    }
}

/// Lengths of blocks that go by leaders and of blocks that do not.
const BLOCKS: [usize; 7] = [0, 1, 5, 100, 512, 513, 6_000];

fn block(from: usize, to: usize, case: usize, len: usize) -> Vec<u64> {
    let value = |at: usize| (from * 10_007 + to * 101 + at * 7 + case) as u64;
    (0..len).map(value).collect()
}

fn blocks(size: usize, of: impl Fn(usize) -> Vec<u64>) -> Vec<u64> {
    (0..size).flat_map(of).collect()
}

#[test]
fn blocks_of_all_lengths_several_all_to_alls_at_a_time() {
    for collectives in [CollectiveMode::Hierarchical, CollectiveMode::Nic] {
        run(collectives, |universe| {
            let world = universe.world();
            let mut own = ChaCha8Rng::seed_from_u64(2_000 + world.rank() as u64);
            for comm in teams(world) {
                let (me, size) = (comm.rank(), comm.size());
                let mut posted = Vec::new();
                for (case, len) in BLOCKS.into_iter().chain([3, 0, 700]).enumerate() {
                    let mut data = blocks(size, |to| block(me, to, case, len));
                    let mut result = vec![99_u64; data.len()];
                    let buffer =
                        // SAFETY: it stays, and is not used otherwise, until the operation is
                        // complete.
                        |of: &mut Vec<u64>| unsafe { Buffer::new(of.as_mut_ptr(), len, Datatype::Uint64) };
                    let (out, into, in_place) =
                        (buffer(&mut data), buffer(&mut result), case % 3 == 1);
                    let (input, output) = if in_place {
                        (None, out)
                    } else {
                        (Some(out), into)
                    };
                    let request = comm.untyped().ialltoall(input, output);
                    let (found, kept) = if in_place {
                        (data, result)
                    } else {
                        (result, data)
                    };
                    posted.push((request.unwrap(), (found, kept), case, len));
                    if case % 4 == 0 {
                        comm.barrier().unwrap();
                    }
                }
                posted.shuffle(&mut own);
                for (mut request, (found, _kept), case, len) in posted {
                    request.wait().unwrap();
                    let right = blocks(size, |from| block(from, me, case, len));
                    assert!(found == right, "{len} words, case {case}");
                }
            }
        });
    }
}

/// As without leaders: a rank that receives a block of another length gets an error, no rank waits
/// for ever, and nothing is left behind.
#[test]
fn all_to_alls_of_different_lengths_are_failures_at_the_receivers() {
    run(CollectiveMode::Hierarchical, |universe| {
        let world = universe.world();
        let (me, size) = (world.rank(), world.size());
        for odd in [0, 1, size - 1] {
            for [usual, other] in [[1, 2], [2, 1], [3, 6_000], [6_000, 3], [0, 1], [512, 513]] {
                let len = if me == odd { other } else { usual };
                let data = vec![1_u64; len * size];
                let done = world.alltoall(&data, &mut vec![0; len * size]);
                assert!(done.is_err(), "{usual} {other} {odd}");
                let data = blocks(size, |to| block(me, to, odd, usual));
                let mut result = vec![0; data.len()];
                world.alltoall(&data, &mut result).unwrap();
                assert!(result == blocks(size, |from| block(from, me, odd, usual)));
            }
        }
    });
}

/// The sender packs elements with gaps between them, and the receiver unpacks them.
#[test]
fn blocks_with_gaps_go_by_leaders_too() {
    run(CollectiveMode::Hierarchical, |universe| {
        let world = universe.world();
        let (me, size) = (world.rank(), world.size());
        let pairs = crate::mpi::Datatype::from(Datatype::Uint64)
            .vector(2, 1, 2)
            .unwrap();
        let spread = pairs.resized(0, 32).unwrap();
        spread.commit().unwrap();
        let mut data: Vec<u64> = (0..4 * size).map(|at| (me * 1_000 + at) as u64).collect();
        let mut result = vec![7_u64; data.len()];
        // SAFETY: it stays, and is not used otherwise, until the operation is complete.
        let out = unsafe { Buffer::new(data.as_mut_ptr(), 1, spread.clone()) };
        // SAFETY: it stays, and is not used otherwise, until the operation is complete.
        let into = unsafe { Buffer::new(result.as_mut_ptr(), 1, spread) };
        world.untyped().alltoall(Some(out), into).unwrap();
        for (from, found) in result.chunks(4).enumerate() {
            let sent = |at: usize| (from * 1_000 + 4 * me + at) as u64;
            assert_eq!(found, [sent(0), 7, sent(2), 7]);
        }
    });
}

/// Several at a time, in place or not, with lengths that go by leaders and lengths that do not.
#[test]
fn blocks_of_all_lengths_several_allgathers_at_a_time() {
    for collectives in [CollectiveMode::Hierarchical, CollectiveMode::Nic] {
        run(collectives, |universe| {
            let world = universe.world();
            let mut own = ChaCha8Rng::seed_from_u64(3_000 + world.rank() as u64);
            for comm in teams(world) {
                let (me, size) = (comm.rank(), comm.size());
                let mut posted = Vec::new();
                for (case, len) in BLOCKS.into_iter().chain([3, 0, 700]).enumerate() {
                    let mut data = block(me, 0, case, len);
                    let mut result = vec![99_u64; len * size];
                    let in_place = case % 3 == 1;
                    if in_place {
                        result[me * len..(me + 1) * len].copy_from_slice(&data);
                    }
                    let buffer =
                        // SAFETY: it stays, and is not used otherwise, until the operation is
                        // complete.
                        |of: &mut Vec<u64>| unsafe { Buffer::new(of.as_mut_ptr(), len, Datatype::Uint64) };
                    let input = (!in_place).then(|| buffer(&mut data));
                    let request = comm.untyped().iallgather(input, buffer(&mut result));
                    posted.push((request.unwrap(), (result, data), case, len));
                    if case % 4 == 0 {
                        comm.barrier().unwrap();
                    }
                }
                posted.shuffle(&mut own);
                for (mut request, (found, _kept), case, len) in posted {
                    request.wait().unwrap();
                    let right = blocks(size, |from| block(from, 0, case, len));
                    assert!(found == right, "{len} words, case {case}");
                }
            }
        });
    }
}

#[test]
fn allgathers_of_different_lengths_are_failures_at_the_receivers() {
    run(CollectiveMode::Hierarchical, |universe| {
        let world = universe.world();
        let (me, size) = (world.rank(), world.size());
        for odd in [0, 1, size - 1] {
            for [usual, other] in [[1, 2], [2, 1], [3, 6_000], [6_000, 3], [0, 1], [512, 513]] {
                let len = if me == odd { other } else { usual };
                let done = world.allgather(&vec![1_u64; len], &mut vec![0; len * size]);
                assert!(done.is_err(), "{usual} {other} {odd}");
                let mut result = vec![0; usual * size];
                world
                    .allgather(&block(me, 0, odd, usual), &mut result)
                    .unwrap();
                assert!(result == blocks(size, |from| block(from, 0, odd, usual)));
            }
        }
    });
}
