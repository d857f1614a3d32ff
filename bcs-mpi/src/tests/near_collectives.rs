//! Collectives that the ranks of a node perform without a NIC, by several threads at once and in
//! any order of arrival.

use super::{Machine, run};
use crate::mpi::request::waitall;
use crate::{Op, Source, Tag};
use bcs_core::job::Settings;

/// Lengths that go through records, inline and beside, and from memory to memory.
const LENGTHS: [usize; 5] = [1, 13, 512, 3_000, 40_000];

#[test]
fn threads_of_a_rank_are_in_collectives_of_several_communicators() {
    run(3, 1, |universe| {
        let world = universe.world();
        let (me, ranks) = (world.rank(), world.size());
        let comms: Vec<_> = (0..3).map(|_| world.dup().unwrap()).collect();
        std::thread::scope(|threads| {
            for (thread, comm) in comms.iter().enumerate() {
                threads.spawn(move || {
                    for round in 0..60 {
                        let len = LENGTHS[(round + thread) % LENGTHS.len()];
                        let value = |rank: usize| (rank * 1_000 + round + thread) as u64;
                        let mut data = vec![value(me); len];
                        comm.allreduce_in_place(&mut data, Op::Sum).unwrap();
                        let sum: u64 = (0..ranks).map(value).sum();
                        assert!(data.iter().all(|&found| found == sum));
                        let root = round % ranks;
                        let mut data = vec![value(me); len];
                        comm.bcast(&mut data, root).unwrap();
                        assert!(data.iter().all(|&found| found == value(root)));
                        comm.barrier().unwrap();
                    }
                });
            }
            // Messages go on beside them.
            for round in 0..200_u64 {
                let next = (me + 1) % ranks;
                let mut found = [0_u64];
                world.send(&[round], next, 0).unwrap();
                let from = Source::Rank((me + ranks - 1) % ranks);
                world.recv(&mut found, from, Tag::Is(0)).unwrap();
                assert_eq!(found, [round]);
            }
        });
    });
}

/// More ranks than cores: a rank that waits for the others sleeps, and the rank that ends a phase
/// wakes it.
#[test]
fn many_ranks_share_few_cores() {
    Machine::new(12, 1, Settings::default()).run(|universe| {
        let world = universe.world();
        let (me, ranks) = (world.rank(), world.size());
        for round in 0..30 {
            let len = LENGTHS[round % LENGTHS.len()];
            let data: Vec<u64> = (0..len).map(|at| (at + me) as u64).collect();
            let mut found = vec![0; len];
            world.allreduce(&data, &mut found, Op::Max).unwrap();
            assert!((0..).zip(&found).all(|(at, &found)| found == at + 11));
            let root = round % ranks;
            let mut found = vec![0; if me == root { len } else { 0 }];
            world.reduce(&data, &mut found, Op::Min, root).unwrap();
            assert!((0..).zip(&found).all(|(at, &found)| found == at));
        }
    });
}

/// One rank posts many collectives before any other comes, and completes them at the end.
#[test]
fn collectives_of_a_node_wait_for_late_ranks_in_order() {
    run(3, 1, |universe| {
        let world = universe.world();
        let me = world.rank();
        let mut sums = vec![vec![me as u64; 700]; 40];
        if me != 0 {
            world
                .recv(&mut [0_u8], Source::Rank(0), Tag::Is(1))
                .unwrap();
        }
        crate::scope(|scope| {
            for sum in &mut sums {
                world.iallreduce_in_place(scope, sum, Op::Sum)?;
            }
            if me == 0 {
                for rank in 1..3 {
                    world.send(&[0_u8], rank, 1)?;
                }
            }
            Ok(())
        })
        .unwrap();
        assert!(sums.iter().flatten().all(|&sum| sum == 3));
        let mut barriers: Vec<_> = (0..100)
            .map(|_| world.untyped().ibarrier().unwrap())
            .collect();
        waitall(&mut barriers)
            .into_iter()
            .for_each(|done| assert!(done.is_ok()));
    });
}

/// As with the NICs: all ranks get an error, and the communicator stays usable.
#[test]
fn ranks_of_a_node_that_do_not_call_the_same_are_told() {
    run(3, 1, |universe| {
        let world = universe.world();
        let me = world.rank();
        for len in [4, 4_000] {
            let mut data = vec![1_u64; if me == 1 { len + 1 } else { len }];
            let error = world.allreduce_in_place(&mut data, Op::Sum).unwrap_err();
            let other = usize::from(me != 1);
            let said = error.to_string();
            assert!(said.contains("did not call the same"), "{said}");
            assert!(
                said.contains(&format!("rank {other} is at a reduction")),
                "{said}"
            );
            world.barrier().unwrap();
        }
    });
}
