//! Intercommunicators made of communicators, and communicators made of them.
#![expect(unsafe_code, reason = "the untyped core names buffers by address")]

use super::super::{Machine, run};
use super::{Pair, draw, pair, rank, rng};
use crate::mpi::{Buffer, Comm, Comparison, ErrorHandler, Keyval};
use crate::{ErrorClass, Op};
use bcs_core::job::Settings;
use bcs_core::reduction::Datatype;
use rand::Rng;
use rand::seq::SliceRandom;

/// Returns the sum of the world ranks of the contributors: all members, or the other group.
fn sum(comm: &Comm) -> u64 {
    let (own, mut sum) = ([u64::from(comm.process().world_rank())], [0]);
    // SAFETY: it stays, and is not used otherwise, until the operation is complete.
    let input = unsafe { Buffer::read_only(own.as_ptr(), 1, Datatype::Uint64) };
    // SAFETY: it stays, and is not used otherwise, until the operation is complete.
    let output = unsafe { Buffer::new(sum.as_mut_ptr(), 1, Datatype::Uint64) };
    comm.allreduce(input, output, Op::Sum).unwrap();
    sum[0]
}

fn total(members: &[u32]) -> u64 {
    members.iter().map(|&member| u64::from(member)).sum()
}

#[test]
fn merged_groups_are_in_the_order_that_they_say() {
    run(7, 3, |universe| {
        let world = universe.world().untyped();
        for seed in 0..16 {
            let mut rng = rng(seed);
            let Some(pair) = pair(world, &mut rng, 1) else {
                continue;
            };
            let highs: [bool; 2] = [rng.random(), rng.random()];
            let merged = pair.comm.intercomm_merge(highs[pair.side]).unwrap();
            let [first, second] = &pair.groups;
            let second_is_first = match highs {
                [false, true] => false,
                [true, false] => true,
                _ => second.iter().min() < first.iter().min(),
            };
            let expected = match second_is_first {
                true => [&second[..], first].concat(),
                false => [&first[..], second].concat(),
            };
            assert!(!merged.is_inter());
            assert_eq!(merged.members(), expected);
            assert_eq!(sum(&merged), total(&expected));
            assert_eq!(sum(&pair.comm), total(pair.remote()));
        }
    });
}

#[test]
fn duplicates_have_what_is_copied() {
    run(4, 2, |universe| {
        let world = universe.world().untyped();
        let Some(mut pair) = pair(world, &mut rng(3), 1) else {
            return;
        };
        let (copied, kept) = (Keyval::copied(), Keyval::uncopied());
        pair.comm.set_attr(&copied, 7).unwrap();
        pair.comm.set_attr(&kept, 8).unwrap();
        pair.comm.set_name("two groups");
        pair.comm.set_error_handler(ErrorHandler::Abort).unwrap();
        let copy = pair.comm.dup().unwrap();
        assert_eq!(copy.attr(&copied).unwrap(), Some(7));
        assert_eq!(copy.attr(&kept).unwrap(), None);
        assert_eq!(copy.name(), "");
        assert!(matches!(copy.error_handler(), ErrorHandler::Abort));
        assert_eq!(copy.compare(&pair.comm), Comparison::Congruent);
        assert_eq!(pair.comm.compare(&pair.comm.clone()), Comparison::Identical);
        let merged = pair.comm.intercomm_merge(false).unwrap();
        assert_eq!(merged.attr(&copied).unwrap(), None);
        assert_eq!(merged.compare(&copy), Comparison::Unequal);
        let old = std::mem::replace(&mut pair.comm, copy);
        old.free().unwrap();
        assert_eq!(old.barrier().unwrap_err().class, ErrorClass::Comm);
        pair.check();
        assert_eq!(sum(&pair.comm), total(pair.remote()));
    });
}

/// Returns a part of each group, in another order.
fn part(members: &[u32], color: u32, colors: &[Option<u32>], keys: &[i32]) -> Vec<u32> {
    let mut part: Vec<(i32, usize, u32)> = Vec::new();
    for (place, &member) in members.iter().enumerate() {
        if colors[member as usize] == Some(color) {
            part.push((keys[member as usize], place, member));
        }
    }
    part.sort_unstable();
    part.into_iter().map(|(_, _, member)| member).collect()
}

#[test]
fn a_split_makes_pairs_of_those_with_one_colour() {
    run(9, 3, |universe| {
        let world = universe.world().untyped();
        for seed in 0..16 {
            let mut rng = rng(seed);
            let Some(pair) = pair(world, &mut rng, 1) else {
                continue;
            };
            let color =
                |rng: &mut rand_chacha::ChaCha8Rng| Some(rng.random_range(0..3)).filter(|&c| c < 2);
            let colors: Vec<Option<u32>> = (0..9).map(|_| color(&mut rng)).collect();
            let keys: Vec<i32> = (0..9).map(|_| rng.random_range(-2..3)).collect();
            let me = world.process().world_rank() as usize;
            let made = pair.comm.split(colors[me], keys[me]).unwrap();
            let groups = colors[me].map(|color| {
                [0, 1].map(|side: usize| part(&pair.groups[side], color, &colors, &keys))
            });
            let groups = groups.filter(|[one, other]| !one.is_empty() && !other.is_empty());
            assert_eq!(made.is_some(), groups.is_some());
            if let (Some(comm), Some(groups)) = (made, groups) {
                let side = pair.side;
                let child = Pair { comm, groups, side };
                child.check();
                assert_eq!(sum(&child.comm), total(child.remote()));
                // Merges that communicator, too.
                let merged = child.comm.intercomm_merge(child.side == 1).unwrap();
                assert_eq!(merged.members(), child.groups.concat());
            }
        }
    });
}

#[test]
fn a_part_of_each_group_makes_one_of_its_own() {
    run(7, 3, |universe| {
        let world = universe.world().untyped();
        for seed in 0..16 {
            let mut rng = rng(seed);
            let Some(pair) = pair(world, &mut rng, 1) else {
                continue;
            };
            let groups = [0, 1].map(|side: usize| {
                let mut ranks: Vec<i32> = (0..rank(pair.groups[side].len())).collect();
                ranks.shuffle(&mut rng);
                ranks.truncate(rng.random_range(0..=ranks.len()));
                ranks
            });
            let group = pair.comm.group().include(&groups[pair.side]).unwrap();
            let made = pair.comm.create(&group).unwrap();
            let here = group.rank().is_some() && groups.iter().all(|group| !group.is_empty());
            assert_eq!(made.is_some(), here);
            if let Some(comm) = made {
                let world_ranks = |side: usize| {
                    let ranks = groups[side].iter();
                    let member = |&rank: &i32| pair.groups[side][usize::try_from(rank).unwrap()];
                    ranks.map(member).collect()
                };
                let child = Pair {
                    comm,
                    groups: [world_ranks(0), world_ranks(1)],
                    side: pair.side,
                };
                child.check();
                assert_eq!(sum(&child.comm), total(child.remote()));
            }
            assert_eq!(sum(&pair.comm), total(pair.remote()));
        }
    });
}

#[test]
fn orders_of_groups_compare() {
    run(4, 2, |universe| {
        let world = universe.world().untyped();
        let side = world.rank() / 2;
        let color = Some(side.unsigned_abs());
        let pair = |key: i32| {
            let local = world.split(color, key).unwrap().unwrap();
            // The first rank of each group leads.
            let of_other = if key >= 0 { 0 } else { 1 };
            local
                .intercomm_create(0, Some(world), 2 * (1 - side) + of_other, 0)
                .unwrap()
        };
        let (one, same, other) = (pair(world.rank()), pair(0), pair(-world.rank()));
        assert_eq!(one.compare(&same), Comparison::Congruent);
        assert_eq!(one.compare(&other), Comparison::Similar);
        let local = world.split(color, 0).unwrap().unwrap();
        assert_eq!(one.compare(&local), Comparison::Unequal);
        // Makes an intercommunicator of parts of both groups.
        let color = Some(u32::from(world.rank() % 2 == 0));
        let part = one.split(color, 0).unwrap().unwrap();
        assert_eq!((part.size(), part.remote_size().unwrap()), (1, 1));
        assert_eq!(part.compare(&one), Comparison::Unequal);
    });
}

/// The same two groups meet again and again, and others in between. An id becomes free without a
/// call of the whole world.
#[test]
fn contexts_of_pairs_are_used_again() {
    Machine::new(4, 2, Settings::default()).run(|universe| {
        let world = universe.world().untyped();
        if world.rank() == 3 {
            return; // Rank 0 calls nothing.
        }
        let alone = world.process().itself();
        let group = world.group().include(&[0, 1]).unwrap();
        let two = match world.rank() {
            2 => alone,
            _ => world.create_group(&group, 0).unwrap().unwrap(),
        };
        let other = if world.rank() == 2 { 0 } else { 2 };
        for round in 0..2_200 {
            let pair = two.intercomm_create(0, Some(world), other, 4).unwrap();
            if round % 100 == 0 {
                let merged = pair.intercomm_merge(false).unwrap();
                assert_eq!(sum(&merged), 3);
                assert_eq!(sum(&pair), if world.rank() == 2 { 1 } else { 2 });
            }
        }
    });
}

/// Threads make pairs with one peer communicator concurrently. Their tags tell them apart.
#[test]
fn threads_make_pairs_at_a_time() {
    run(5, 2, |universe| {
        let world = universe.world().untyped();
        std::thread::scope(|threads| {
            for tag in 0..4_i32 {
                threads.spawn(move || {
                    for round in 0..6 {
                        let seed = u64::from(tag.unsigned_abs()) * 100 + round;
                        if let Some(pair) = pair(world, &mut rng(seed), tag) {
                            assert_eq!(sum(&pair.comm), total(pair.remote()));
                            let merged = pair.comm.intercomm_merge(true).unwrap();
                            assert_eq!(sum(&merged), total(&pair.groups.concat()));
                        }
                    }
                });
            }
        });
    });
}

/// Two intercommunicators whose leaders meet in an intercommunicator.
#[test]
fn leaders_may_meet_between_groups() {
    run(6, 2, |universe| {
        let world = universe.world().untyped();
        let (groups, _) = draw(world, &mut rng(1));
        assert!(groups.iter().all(|group| !group.is_empty()));
        let side = world.rank() % 2;
        let local = world.split(Some(side.unsigned_abs()), 0).unwrap().unwrap();
        let peer = local.intercomm_create(0, Some(world), 1 - side, 0).unwrap();
        let part = local.split((local.rank() > 0).then_some(0), 0).unwrap();
        if let Some(part) = part {
            // Its rank 0 is rank 1 of the group.
            let comm = part.intercomm_create(0, Some(&peer), 1, 0).unwrap();
            assert_eq!(comm.members().len(), 2);
            assert_eq!(sum(&comm), [3 + 5, 2 + 4][usize::try_from(side).unwrap()]);
        }
    });
}
