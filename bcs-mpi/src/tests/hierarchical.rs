//! Collectives of communicators that span nodes. The ranks of a node do a part of them without the
//! NIC.
#![expect(unsafe_code, reason = "non-blocking collectives that outlive a scope")]

use super::Machine;
use crate::mpi::{Buffer, Comm, Request};
use crate::{Communicator, Op, Universe};
use bcs_core::job::{CollectiveMode, Settings, StrobeMode};
use bcs_core::reduction::Datatype;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// These lengths go through records, inline and beside, from memory to memory, in one step of a NIC
/// and in several.
const LENGTHS: [usize; 7] = [0, 1, 13, 512, 600, 3_000, 60_000];

/// Ranks and nodes. Some leaders lead other ranks, some only themselves.
const LAYOUTS: [(usize, usize); 4] = [(4, 2), (7, 2), (4, 3), (10, 3)];

pub(super) fn run(collectives: CollectiveMode, body: impl Fn(&Universe) + Sync) {
    for (number, (ranks, nodes)) in LAYOUTS.into_iter().enumerate() {
        let settings = Settings {
            strobe: [StrobeMode::Elastic, StrobeMode::Fixed][number / 3],
            collectives,
            ..Settings::default()
        };
        Machine::new(ranks, nodes, settings).run(&body);
    }
}

/// Returns the world, the world with its nodes interleaved and its ends first, and parts of it.
pub(super) fn teams(world: &Communicator) -> Vec<Communicator> {
    let me = i32::try_from(world.rank()).unwrap();
    let keys = [(0, me * 5 % 7), (0, -me), (u32::from(me % 3 == 1), me)];
    let team = |(color, key)| world.split(Some(color), key).unwrap().unwrap();
    let mut teams: Vec<Communicator> = keys.map(team).into();
    teams.push(world.dup().unwrap());
    teams
}

/// A collective in progress, with its data and expected result.
struct PostedCollective {
    request: Request,
    data: Vec<u64>,
    expected: Option<Vec<u64>>,
}

fn contribution(rank: usize, case: usize, len: usize) -> Vec<u64> {
    let value = |at: usize| (rank * 7_919 + at * 31 + case * 101) as u64;
    (0..len).map(value).collect()
}

fn sum(comm: &Communicator, case: usize, len: usize) -> Vec<u64> {
    let mut sum = vec![0; len];
    for rank in 0..comm.size() {
        let of_rank = contribution(rank, case, len);
        sum.iter_mut().zip(of_rank).for_each(|(sum, it)| *sum += it);
    }
    sum
}

/// Posts case `case`, which is the same for all ranks.
fn post(comm: &Communicator, case: usize, common: &mut ChaCha8Rng) -> PostedCollective {
    let len = LENGTHS[common.random_range(0..LENGTHS.len())];
    let root = common.random_range(0..comm.size());
    let (me, untyped): (_, &Comm) = (comm.rank(), comm.untyped());
    let mut data = contribution(me, case, len);
    let address = data.as_mut_ptr();
    // SAFETY: it stays, and is not used otherwise, until the operation is complete.
    let buffer = || unsafe { Buffer::new(address, len, Datatype::Uint64) };
    let root_rank = i32::try_from(root).unwrap();
    let (request, expected) = match common.random_range(0..5) {
        0 => (untyped.ibarrier(), Some(data.clone())),
        1 => {
            let posted = untyped.ibcast(buffer(), root_rank);
            (posted, Some(contribution(root, case, len)))
        }
        2 => {
            let posted = untyped.ireduce(buffer(), buffer(), Op::Sum, root_rank);
            (posted, (me == root).then(|| sum(comm, case, len)))
        }
        _ => {
            let posted = untyped.iallreduce(buffer(), buffer(), Op::Sum);
            (posted, Some(sum(comm, case, len)))
        }
    };
    PostedCollective {
        request: request.unwrap(),
        data,
        expected,
    }
}

/// All members post the same collectives in the same order, and each waits for them in an order of
/// its own.
fn many_at_a_time(universe: &Universe) {
    let world = universe.world();
    let teams = teams(world);
    let mut own = ChaCha8Rng::seed_from_u64(1_000 + world.rank() as u64);
    for round in 0..12 {
        let mut posted = Vec::new();
        for case in 0..12 {
            // Members of different teams draw alike, too.
            let mut common = ChaCha8Rng::seed_from_u64(round * 100 + case);
            let team = &teams[common.random_range(0..teams.len())];
            posted.push(post(team, usize::try_from(case).unwrap(), &mut common));
        }
        posted.shuffle(&mut own);
        for (at, mut one) in posted.into_iter().enumerate() {
            one.request.wait().unwrap();
            let as_it_should = one.expected.is_none_or(|expected| one.data == expected);
            assert!(as_it_should, "the {at}th of round {round}");
        }
    }
}

#[test]
fn many_at_a_time_by_the_ranks_of_a_node() {
    run(CollectiveMode::Hierarchical, many_at_a_time);
}

#[test]
fn many_at_a_time_by_the_nics_alone() {
    run(CollectiveMode::Nic, many_at_a_time);
}

/// Ranks that do not call the same, on one node or on different ones.
#[test]
fn ranks_that_do_not_call_the_same_are_told_on_all_nodes() {
    for collectives in [CollectiveMode::Nic, CollectiveMode::Hierarchical] {
        run(collectives, |universe| {
            let world = universe.world();
            let (me, ranks) = (world.rank(), world.size());
            for (odd, lengths) in [
                (0, [4, 60_000]),
                (1, [60_000, 4]),
                (ranks - 1, [60_000, 60_001]),
                (0, [1, 2]),
                (1, [2_000, 2_001]),
            ] {
                let comm = world.dup().unwrap();
                for round in 0..3 {
                    let mut data = vec![1_u64; lengths[usize::from(me == odd)]];
                    let error = comm.allreduce_in_place(&mut data, Op::Sum).unwrap_err();
                    let said = error.to_string();
                    assert!(said.contains("did not call the same"), "{said}");
                    assert!(said.contains("is at a reduction"), "{said}");
                    // Matching calls before and after succeed.
                    let mut data = vec![1_u64; 5_000 * (round + 1)];
                    comm.allreduce_in_place(&mut data, Op::Sum).unwrap();
                    assert!(data.iter().all(|&sum| sum == ranks as u64));
                    comm.barrier().unwrap();
                }
            }
        });
    }
}

/// Two collectives at a time, crossed: one rank calls first what the other calls second.
#[test]
fn crossed_collectives_are_errors_one_by_one() {
    run(CollectiveMode::Nic, |universe| {
        let world = universe.world();
        for odd in [0, 1, world.size() - 1] {
            let comm = world.dup().unwrap();
            let mut lengths = [2, 50_000, 2, 50_000, 2];
            if world.rank() == odd {
                lengths.rotate_left(1);
                lengths[4] = 2;
            }
            let mut data = lengths.map(|len| vec![1_u64; len]);
            let requests: Vec<Request> = data
                .iter_mut()
                .map(|data| {
                    let (address, len) = (data.as_mut_ptr(), data.len());
                    // SAFETY: it stays, and is not used otherwise, until the operation is complete.
                    let buffer = || unsafe { Buffer::new(address, len, Datatype::Uint64) };
                    comm.untyped()
                        .iallreduce(buffer(), buffer(), Op::Sum)
                        .unwrap()
                })
                .collect();
            for (at, mut request) in requests.into_iter().enumerate().rev() {
                let done = request.wait();
                assert_eq!(done.is_ok(), at == 4, "{at}: {done:?}");
            }
            comm.barrier().unwrap();
        }
    });
}
