//! Collectives that are made of messages, beside each other, beside messages and beside threads.
#![expect(unsafe_code, reason = "some of them are calls of the untyped core")]

use super::run;
use crate::mpi::{self, Buffer};
use crate::{Op, Source, Tag};
use bcs_core::reduction::Datatype;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Several collectives on two communicators at once, waited for backwards, among messages that
/// wildcards receive.
#[test]
fn collectives_side_by_side_and_wildcards_do_not_meet() {
    run(3, 2, |universe| {
        let world = universe.world();
        let other = world.dup().unwrap();
        let (me, size) = (world.rank(), world.size());
        let data: Vec<Vec<u64>> = (0..20u64)
            .map(|round| {
                (0..size as u64)
                    .map(|to| round * 100 + me as u64 * 10 + to)
                    .collect()
            })
            .collect();
        let mut swapped = vec![vec![0; size]; data.len()];
        let mut sums = vec![vec![0; size]; data.len()];
        let (mut from_any, mut empty) = ([0u64; 3], [0u64; 0]);
        crate::scope(|scope| {
            let received = world.irecv(scope, &mut from_any, Source::Any, Tag::Any)?;
            let mut requests = Vec::new();
            let results = swapped.iter_mut().zip(&mut sums);
            for (round, (data, (swapped, sums))) in data.iter().zip(results).enumerate() {
                let (one, two) = if round % 2 == 0 {
                    (world, &other)
                } else {
                    (&other, world)
                };
                requests.push(one.ialltoall(scope, data, swapped)?);
                requests.push(two.iscan(scope, data, sums, Op::Sum)?);
            }
            requests.push(world.iscan_in_place(scope, &mut empty, Op::Max)?);
            world.send(&[me as u64; 3], (me + 1) % size, 5)?;
            while let Some(request) = requests.pop() {
                request.wait()?;
            }
            let (came, status) = received.wait()?;
            let before = (me + size - 1) % size;
            assert_eq!(
                (status.source, status.tag, &came[..]),
                (before, 5, &[before as u64; 3][..])
            );
            Ok(())
        })
        .unwrap();
        for round in 0..data.len() {
            let (base, to) = (round as u64 * 100, me as u64);
            let came: Vec<_> = (0..size as u64).map(|from| base + from * 10 + to).collect();
            assert_eq!(swapped[round], came);
            let sum = |to| (0..=me as u64).map(|from| base + from * 10 + to).sum();
            let sum: Vec<u64> = (0..size as u64).map(sum).collect();
            assert_eq!(sums[round], sum);
        }
        assert_eq!(
            world.iprobe(Source::Any, Tag::Any).unwrap(),
            None,
            "nothing is left"
        );
    });
}

/// Law 5: a schedule moves on while its rank waits for something else.
#[test]
fn a_collective_moves_on_while_its_rank_waits_for_a_message() {
    run(3, 1, |universe| {
        let world = universe.world();
        let me = world.rank();
        // The second of three contributions that exceed the window of a scan is received only after
        // the first has come.
        let data = vec![me as u64 + 1; 200_000];
        let (mut sums, mut told) = (vec![0; data.len()], [0u8; 0]);
        crate::scope(|scope| {
            let scan = world.iscan(scope, &data, &mut sums, Op::Sum)?;
            if me == 2 {
                world.recv(&mut told, Source::Rank(0), Tag::Is(1))?;
                scan.wait()?;
            } else {
                // This wait ends only if rank 2 has received this rank's contribution.
                scan.wait()?;
                world.send(&[0u8; 0], 1 - me, 0)?;
                world.recv(&mut told, Source::Rank(1 - me), Tag::Is(0))?;
                if me == 0 {
                    world.send(&[0u8; 0], 2, 1)?;
                }
            }
            Ok(())
        })
        .unwrap();
        assert_eq!(sums, vec![[1, 3, 6][me]; data.len()]);
    });
}

#[test]
fn schedules_and_messages_in_one_wait() {
    run(2, 1, |universe| {
        let world = universe.world().untyped();
        let (me, peer) = (world.rank(), 1 - world.rank());
        let mut own = [me + 1];
        let mut all = [[0; 2]; 2];
        let mut came = [0];
        // SAFETY: it stays, and is not used otherwise, until the operation is complete.
        let buffer =
            |data: &mut [i32]| unsafe { Buffer::new(data.as_mut_ptr(), data.len(), Datatype::INT) };
        // SAFETY: it stays, and is not used otherwise, until the operation is complete.
        let block = |data: &mut [i32]| unsafe { Buffer::new(data.as_mut_ptr(), 1, Datatype::INT) };
        let mut requests = {
            let own = buffer(&mut own);
            vec![
                world
                    .iallgather(Some(own.clone()), block(&mut all[0]))
                    .unwrap(),
                world.irecv(buffer(&mut came), peer, 3).unwrap(),
                mpi::Request::inactive(),
                world.ibarrier().unwrap(),
                world
                    .iallgather(Some(own.clone()), block(&mut all[1]))
                    .unwrap(),
                world.isend(own, peer, 3).unwrap(),
            ]
        };
        let mut done = vec![mpi::request::waitany(&mut requests).unwrap().0];
        done.extend(
            mpi::request::waitsome(&mut requests)
                .iter()
                .map(|(index, _)| *index),
        );
        while let Some((index, status)) = mpi::request::testany(&mut requests) {
            status.unwrap();
            done.push(index);
        }
        assert!(done.iter().all(|&index| !requests[index].is_active()));
        for status in mpi::request::waitall(&mut requests) {
            status.unwrap();
        }
        assert!(mpi::request::testall(&mut requests).is_some());
        assert_eq!((all, came), ([[1, 2]; 2], [peer + 1]));
    });
}

#[test]
fn a_panic_in_a_scope_waits_for_its_collectives() {
    run(2, 1, |universe| {
        let world = universe.world();
        let data = vec![world.rank() as u64; 10_000];
        let mut result = vec![9; 20_000];
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            crate::scope(|scope| -> crate::Result<()> {
                world.iallgather(scope, &data, &mut result)?;
                std::panic::resume_unwind(Box::new("on purpose"));
            })
        }));
        assert!(panicked.is_err());
        drop(data);
        assert_eq!((result[0], result[10_000]), (0, 1), "it has ended");
    });
}

/// Threads of a rank wait for collectives on communicators of their own.
#[test]
fn threads_use_communicators_side_by_side() {
    run(3, 2, |universe| {
        let world = universe.world();
        let communicators = [
            world.dup().unwrap(),
            world.dup().unwrap(),
            world.dup().unwrap(),
        ];
        std::thread::scope(|threads| {
            for (nth, communicator) in communicators.iter().enumerate() {
                threads.spawn(move || {
                    for round in 0..30 {
                        let own = [round * 10 + nth, communicator.rank()];
                        let mut all = [0; 6];
                        communicator.allgather(&own, &mut all).unwrap();
                        let first = round * 10 + nth;
                        assert_eq!(all, [first, 0, first, 1, first, 2]);
                    }
                });
            }
        });
    });
}
