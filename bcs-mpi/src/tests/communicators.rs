//! Split and dup.

use super::{Machine, run};
use crate::{Op, Source, Tag};
use bcs_core::job::{IntranodeTransport, Settings};

#[test]
fn messages_of_one_communicator_are_not_seen_in_another() {
    run(2, 2, |universe| {
        let world = universe.world();
        let other = world.dup().unwrap();
        if world.rank() == 0 {
            other.send(&[1u8], 1, 0).unwrap();
            world.send(&[2u8], 1, 0).unwrap();
        } else {
            let mut data = [0u8];
            world.recv(&mut data, Source::Any, Tag::Any).unwrap();
            assert_eq!(data, [2]);
            other.recv(&mut data, Source::Any, Tag::Any).unwrap();
            assert_eq!(data, [1]);
        }
    });
}

#[test]
fn a_split_makes_rows_in_the_order_of_their_keys() {
    run(6, 3, |universe| {
        let world = universe.world();
        let me = world.rank();
        let row = u32::try_from(me / 3).unwrap();
        let key = -i32::try_from(me).unwrap();
        let comm = world.split(Some(row), key).unwrap().unwrap();
        assert_eq!((comm.rank(), comm.size()), (2 - me % 3, 3));
        let mut sum = [0u64];
        comm.allreduce(&[me as u64], &mut sum, Op::Sum).unwrap();
        assert_eq!(sum[0], [3, 12][me / 3]);
        // Ranks are those of the communicator, in a status, too.
        let (next, last) = ((comm.rank() + 1) % 3, (comm.rank() + 2) % 3);
        let mut from = [0u64];
        let out = [comm.rank() as u64];
        let status = comm
            .sendrecv((&out, next, 0), (&mut from, Source::Any, Tag::Any))
            .unwrap();
        assert_eq!((status.source, from[0]), (last, last as u64));
        let none = world.split((me == 0).then_some(4), 0).unwrap();
        assert_eq!(none.map(|alone| alone.size()), (me == 0).then_some(1));
    });
}

/// Groups that have a node in common but no rank make communicators independently at the same time.
/// Their contexts must differ, or their collectives would meet in the NIC.
#[test]
fn halves_split_again_on_their_own() {
    run(8, 2, |universe| {
        let world = universe.world();
        let half = world
            .split(Some(u32::from(world.rank() % 2 == 1)), 0)
            .unwrap()
            .unwrap();
        for round in 0..30 {
            let color = u32::try_from(half.rank() / 2).unwrap();
            let quarter = half.split(Some(color), 0).unwrap().unwrap();
            let twin = quarter.dup().unwrap();
            let mut sum = [0u64];
            twin.allreduce(&[world.rank() as u64 + round], &mut sum, Op::Sum)
                .unwrap();
            let first = (world.rank() % 4 % 2 + world.rank() / 4 * 4) as u64;
            assert_eq!(sum[0], 2 * first + 2 + 2 * round);
        }
    });
}

#[test]
fn contexts_are_used_again_after_their_communicators() {
    run(3, 2, |universe| {
        let world = universe.world();
        for round in 0..2_200 / 20 {
            let comms: Vec<_> = (0..20).map(|_| world.dup().unwrap()).collect();
            if round % 10 == 0 {
                comms.iter().for_each(|comm| comm.barrier().unwrap());
            }
        }
    });
}

/// The same, with NICs that know the communicators.
#[test]
fn too_many_communicators_are_an_error_on_all_ranks() {
    for (nodes, intranode) in [
        (1, IntranodeTransport::Smartmap),
        (1, IntranodeTransport::Nic),
        (2, IntranodeTransport::Smartmap),
    ] {
        let settings = Settings {
            intranode,
            ..Settings::default()
        };
        Machine::new(2, nodes, settings).run(|universe| {
            let world = universe.world();
            let mut comms = Vec::new();
            let error = loop {
                match world.dup() {
                    Ok(comm) => comms.push(comm),
                    Err(error) => break error,
                }
            };
            assert_eq!(comms.len(), bcs_core::limits::MAX_CONTEXTS - 1);
            assert!(
                error.to_string().contains("no context id is free"),
                "{error}"
            );
            comms.truncate(100);
            world.dup().unwrap().barrier().unwrap();
        });
    }
}
