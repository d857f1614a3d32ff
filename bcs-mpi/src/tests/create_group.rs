//! Communicators that a part of the ranks makes without the others.

use super::{Machine, run};
use crate::mpi::{Buffer, Comm, Group};
use crate::{ErrorClass, Op};
use bcs_core::job::Settings;
use bcs_core::reduction::Datatype;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Returns the sum of all members' world ranks, by a reduction on the communicator.
#[expect(unsafe_code, reason = "the untyped core names buffers by address")]
fn sum(comm: &Comm) -> u64 {
    let mut sum = [u64::from(comm.process().world_rank())];
    // SAFETY: it stays, and is not used otherwise, until the operation is complete.
    let data = unsafe { Buffer::new(sum.as_mut_ptr(), 1, Datatype::Uint64) };
    comm.allreduce(data.clone(), data, Op::Sum).unwrap();
    sum[0]
}

fn expected(group: &Group) -> u64 {
    group
        .members()
        .iter()
        .map(|&member| u64::from(member))
        .sum()
}

/// Makes random groups that have no member in common. Ranks in no group call nothing.
#[test]
fn only_the_members_of_a_group_call() {
    for (ranks, nodes) in [(6, 3), (3, 1)] {
        run(ranks, nodes, |universe| {
            let world = universe.world().untyped();
            let twin = world.dup().unwrap();
            let mut kept = Vec::new();
            for seed in 0..20 {
                let mut rng = ChaCha8Rng::seed_from_u64(seed);
                let mut order: Vec<i32> = (0..world.size()).collect();
                order.shuffle(&mut rng);
                let parts = order
                    .chunks(rng.random_range(1..=ranks))
                    .map(<[i32]>::to_vec);
                let parts: Vec<Vec<i32>> = parts.collect();
                let absent = rng.random_range(0..parts.len() + 1);
                let mine = parts
                    .iter()
                    .position(|part| part.contains(&world.rank()))
                    .unwrap();
                if mine == absent {
                    continue;
                }
                let parent = if seed % 2 == 0 { world } else { &twin };
                let group = parent.group().include(&parts[mine]).unwrap();
                let comm = parent.create_group(&group, 5).unwrap().unwrap();
                assert_eq!(comm.members(), group.members());
                assert_eq!(comm.topology(), None);
                assert_eq!(sum(&comm), expected(&group), "seed {seed}");
                let copy = comm.dup().unwrap();
                assert_eq!(sum(&copy), expected(&group), "seed {seed}");
                if seed % 3 == 0 {
                    kept.push((comm, group));
                }
            }
            for (comm, group) in &kept {
                assert_eq!(sum(comm), expected(group));
            }
            assert_eq!(sum(world), expected(&world.group()));
        });
    }
}

/// Groups of a group, each made by its members alone.
#[test]
fn groups_are_made_of_groups() {
    run(4, 2, |universe| {
        let world = universe.world().untyped();
        if world.rank() == 3 {
            return;
        }
        let group = world.group().include(&[2, 0, 1]).unwrap();
        let three = world.create_group(&group, 0).unwrap().unwrap();
        assert_eq!(
            three.rank(),
            [1, 2, 0][world.process().world_rank() as usize]
        );
        if three.rank() == 2 {
            return;
        }
        let pair = three.group().include(&[1, 0]).unwrap();
        let pair = three.create_group(&pair, 0).unwrap().unwrap();
        assert_eq!(pair.members(), [0, 2]);
        assert_eq!(sum(&pair), 2);
    });
}

/// The same groups make communicators again and again, and others in between. An id becomes free
/// without a call of the whole parent.
#[test]
fn contexts_of_groups_are_used_again() {
    Machine::new(3, 2, Settings::default()).run(|universe| {
        let world = universe.world().untyped();
        if world.rank() == 2 {
            return;
        }
        let groups = [[0, 1], [1, 0]].map(|ranks| world.group().include(&ranks).unwrap());
        for round in 0..2_200 {
            let group = &groups[usize::from(round % 7 == 0)];
            let comm = world.create_group(group, 1).unwrap().unwrap();
            if round % 100 == 0 {
                assert_eq!(sum(&comm), 1);
            }
        }
    });
}

/// Threads make communicators of the same and of overlapping groups concurrently. Their tags tell
/// them apart, and their contexts differ.
#[test]
fn threads_make_groups_at_a_time() {
    run(4, 2, |universe| {
        let world = universe.world().untyped();
        let me = world.rank();
        let groups = [&[0, 1, 2, 3][..], &[3, 1, 0], &[1, 2], &[2, 1, 3]];
        std::thread::scope(|threads| {
            for (tag, ranks) in (0..).zip(groups).filter(|(_, ranks)| ranks.contains(&me)) {
                threads.spawn(move || {
                    let group = world.group().include(ranks).unwrap();
                    let mut kept = Vec::new();
                    for _ in 0..10 {
                        let comm = world.create_group(&group, tag).unwrap().unwrap();
                        assert_eq!(sum(&comm), expected(&group));
                        kept.push(comm);
                    }
                    kept.iter()
                        .for_each(|comm| assert_eq!(sum(comm), expected(&group)));
                });
            }
        });
    });
}

#[test]
fn a_group_that_cannot_be_says_why() {
    run(2, 1, |universe| {
        let world = universe.world().untyped();
        let group = world.group();
        let alone = group.include(&[world.rank()]).unwrap();
        assert_eq!(
            world.create_group(&group, -1).unwrap_err().class,
            ErrorClass::Tag
        );
        let mine = world.create_group(&alone, 0).unwrap().unwrap();
        assert_eq!(
            (mine.size(), sum(&mine)),
            (1, u64::from(alone.members()[0]))
        );
        let error = mine.create_group(&group, 0).unwrap_err();
        assert_eq!(error.class, ErrorClass::Group);
        let other = group.exclude(&[world.rank()]).unwrap();
        assert!(world.create_group(&other, 0).unwrap().is_none());
    });
}
