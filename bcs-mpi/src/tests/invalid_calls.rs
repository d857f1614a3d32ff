//! One rank calls a collective with a wrong argument. The ranks that wait for it get an error, and
//! the communicator stays usable.

use super::Machine;
use crate::{Blocks, Communicator, ErrorClass, Op, Result};
use bcs_core::job::{CollectiveMode, IntranodeTransport, Settings, StrobeMode};

/// Ranks and nodes.
const LAYOUTS: [(usize, usize); 5] = [(2, 1), (4, 1), (2, 2), (6, 2), (5, 3)];

fn settings() -> impl Iterator<Item = Settings> {
    let ways = [
        (
            IntranodeTransport::Smartmap,
            CollectiveMode::Hierarchical,
            StrobeMode::Elastic,
        ),
        (
            IntranodeTransport::Smartmap,
            CollectiveMode::Nic,
            StrobeMode::Elastic,
        ),
        (
            IntranodeTransport::Nic,
            CollectiveMode::Hierarchical,
            StrobeMode::Elastic,
        ),
        (
            IntranodeTransport::Smartmap,
            CollectiveMode::Hierarchical,
            StrobeMode::Fixed,
        ),
    ];
    ways.into_iter()
        .map(|(intranode, collectives, strobe)| Settings {
            intranode,
            collectives,
            strobe,
            ..Settings::default()
        })
}

/// This rank's result of a call for which `wrong` had a wrong argument; `waits` tells whether this
/// rank waits for that one.
struct CallOutcome<'a> {
    call: &'a str,
    class: ErrorClass,
    wrong: usize,
    waits: bool,
}

impl CallOutcome<'_> {
    fn check(&self, comm: &Communicator, came: &Result<()>) {
        let Self {
            call,
            class,
            wrong,
            waits,
        } = *self;
        let at = format!(
            "{call} at rank {} of {}: {came:?}",
            comm.rank(),
            comm.size()
        );
        match came {
            Ok(()) => assert!(!waits && comm.rank() != wrong, "{at}"),
            Err(error) => {
                assert_eq!(error.class, class, "{at}");
                let said = format!("rank {wrong} called {call} with ");
                assert_eq!(
                    error.reason.starts_with(&said),
                    comm.rank() != wrong,
                    "{at}"
                );
            }
        }
        // Later calls find nothing of it.
        let mut sum = [0u64];
        comm.allreduce(&[comm.rank() as u64 + 1], &mut sum, Op::Sum)
            .unwrap();
        let size = comm.size() as u64;
        assert_eq!(sum, [size * (size + 1) / 2], "{at}");
        let mut all = vec![0u64; comm.size()];
        comm.allgather(&[comm.rank() as u64], &mut all).unwrap();
        assert!(all.iter().copied().eq(0..size), "{at}");
    }
}

fn collectives_of(comm: &Communicator, wrong: usize, len: usize) {
    let (me, size) = (comm.rank(), comm.size());
    let is_wrong = me == wrong;
    let root = (wrong + 1) % size;
    let one = vec![1u64; len];
    let many = vec![1u64; len * size];
    let (mut to_one, mut to_many) = (vec![0u64; len], vec![0u64; len * size]);
    let short = len - usize::from(is_wrong);
    let came = |call, class, waits| CallOutcome {
        call,
        class,
        wrong,
        waits,
    };

    let result = comm.allreduce(&one[..short], &mut to_one, Op::Sum);
    came("MPI_Allreduce", ErrorClass::Count, true).check(comm, &result);
    let result = comm.alltoall(&many[..short * size], &mut to_many);
    came("MPI_Alltoall", ErrorClass::Count, true).check(comm, &result);
    let result = comm.allgather(&one[..short], &mut to_many);
    came("MPI_Allgather", ErrorClass::Count, true).check(comm, &result);
    let result = comm.scan(&one[..short], &mut to_one, Op::Sum);
    came("MPI_Scan", ErrorClass::Count, me > wrong).check(comm, &result);

    let there = if is_wrong { size } else { root };
    let result = comm.bcast(&mut to_one, there);
    came("MPI_Bcast", ErrorClass::Root, false).check(comm, &result);
    let result = comm.gather(&one, &mut to_many, there);
    came("MPI_Gather", ErrorClass::Root, me == root).check(comm, &result);
    let result = comm.scatter(&many, &mut to_one, there);
    came("MPI_Scatter", ErrorClass::Root, false).check(comm, &result);
    // The others wait at the root.
    let there = if is_wrong { size } else { wrong };
    let result = comm.bcast(&mut to_one, there);
    came("MPI_Bcast", ErrorClass::Root, true).check(comm, &result);
    let result = comm.scatter(&many, &mut to_one, there);
    came("MPI_Scatter", ErrorClass::Root, true).check(comm, &result);
}

/// Slices that do not consist of whole blocks, and blocks that are not in their slice. The safe
/// layer refuses them before it calls the untyped core.
fn collectives_with_wrong_blocks(comm: &Communicator, wrong: usize, len: usize) {
    let (me, size) = (comm.rank(), comm.size());
    let is_wrong = me == wrong;
    let many = vec![1u64; len * size];
    let (mut to_one, mut to_many) = (vec![0u64; len], vec![0u64; len * size]);
    let no_whole = len * size - usize::from(is_wrong);
    let came = |call, class, waits| CallOutcome {
        call,
        class,
        wrong,
        waits,
    };

    let result = comm.alltoall(&many[..no_whole], &mut to_many);
    came("MPI_Alltoall", ErrorClass::Count, true).check(comm, &result);
    let result = comm.allgather(&many[..len], &mut to_many[..no_whole]);
    came("MPI_Allgather", ErrorClass::Count, true).check(comm, &result);
    let result = comm.scatter(&many[..no_whole], &mut to_one, wrong);
    came("MPI_Scatter", ErrorClass::Count, true).check(comm, &result);
    let result = comm.gather(&many[..len], &mut to_many[..no_whole], wrong);
    came("MPI_Gather", ErrorClass::Count, false).check(comm, &result);
    let result = comm.reduce_scatter_block_in_place(&mut to_many[..no_whole], Op::Sum);
    came("MPI_Reduce_scatter_block", ErrorClass::Count, true).check(comm, &result);

    let counts = vec![len; size];
    let displacements: Vec<usize> = (0..size).map(|rank| rank * len).collect();
    let blocks = Blocks {
        counts: &counts,
        displacements: &displacements,
    };
    let result = comm.alltoallv(&many[..no_whole], &mut to_many, blocks, blocks);
    came("MPI_Alltoallv", ErrorClass::Arg, true).check(comm, &result);
    let result = comm.gatherv(&many[..len], &mut to_many[..no_whole], blocks, wrong);
    came("MPI_Gatherv", ErrorClass::Arg, false).check(comm, &result);
}

#[test]
fn a_wrong_argument_of_one_rank_is_told_to_those_who_wait_and_the_communicator_goes_on() {
    for settings in settings() {
        for (ranks, nodes) in LAYOUTS {
            let mut machine = Machine::new(ranks, nodes, settings.clone());
            // A rank with an invalid root leaves messages behind, because it cannot know that no
            // rank receives them.
            machine.may_leave = true;
            machine.run(|universe| {
                let world = universe.world();
                for wrong in [0, ranks - 1] {
                    let comm = world.dup().unwrap();
                    for len in [1, 3_000] {
                        collectives_of(&comm, wrong, len);
                        collectives_with_wrong_blocks(&comm, wrong, len);
                    }
                }
                let comm = world.dup().unwrap();
                comm.barrier().unwrap();
            });
        }
    }
}

/// All ranks pass a wrong argument at once, and no rank waits.
#[test]
fn a_communicator_goes_on_when_all_ranks_had_wrong_arguments() {
    for settings in settings() {
        for (ranks, nodes) in LAYOUTS {
            Machine::new(ranks, nodes, settings.clone()).run(|universe| {
                let comm = universe.world().dup().unwrap();
                for _ in 0..20 {
                    let error = comm.bcast(&mut [0u8], ranks).unwrap_err();
                    assert_eq!(error.class, ErrorClass::Root);
                    let error = comm.alltoall(&vec![0u8; ranks], &mut vec![0; 2 * ranks]);
                    assert_eq!(error.unwrap_err().class, ErrorClass::Count);
                    comm.barrier().unwrap();
                }
            });
        }
    }
}

/// The world is never closed, so its parts in wrong calls are taken when the next one comes.
#[test]
fn parts_in_wrong_calls_of_the_world_hold_no_requests() {
    for settings in settings() {
        for (ranks, nodes) in LAYOUTS {
            Machine::new(ranks, nodes, settings.clone()).run(|universe| {
                let world = universe.world();
                for _ in 0..20 {
                    let error = world.alltoall(&vec![0u8; ranks], &mut vec![0; 2 * ranks]);
                    assert_eq!(error.unwrap_err().class, ErrorClass::Count);
                    world.barrier().unwrap();
                }
                let mut state = universe.process().endpoint().lock();
                state.reap_invalid();
                let held = state.held_by_invalid();
                assert!(held < 10, "the parts of 20 calls hold {held} requests");
            });
        }
    }
}

/// Neighbours of a rank whose slices do not consist of whole blocks are notified.
#[test]
fn a_wrong_slice_for_neighbors_is_told_to_them() {
    for settings in settings() {
        for (ranks, nodes) in LAYOUTS {
            Machine::new(ranks, nodes, settings.clone()).run(|universe| {
                let ring = universe.world().cart_create(&[ranks], &[true]).unwrap();
                let ring = ring.unwrap();
                let me = ring.rank();
                let is_near = me <= 1 || me == ranks - 1;
                let (own, mut all) = ([me; 2], [0; 2]);
                let len = 2 - usize::from(me == 0);
                let came = ring.neighbor_alltoall(&own[..len], &mut all);
                assert_eq!(came.is_err(), is_near, "{came:?}");
                ring.neighbor_alltoall(&own, &mut all).unwrap();
                assert_eq!(all, [(me + ranks - 1) % ranks, (me + 1) % ranks]);
            });
        }
    }
}

/// The program has not made the requests of its parts in wrong calls, so they are not reported to
/// it, also if the communicator is never freed.
#[test]
fn a_communicator_that_stays_has_no_requests_of_wrong_calls() {
    for settings in settings() {
        for (ranks, nodes) in LAYOUTS {
            let mut machine = Machine::new(ranks, nodes, settings.clone());
            machine.may_leave = true;
            machine.run(|universe| {
                let comm = universe.world().dup().unwrap();
                let wrong = comm.rank() == 0;
                let one = vec![0u8; ranks - usize::from(wrong)];
                assert!(comm.alltoall(&one, &mut vec![0; ranks]).is_err());
                comm.barrier().unwrap();
                let endpoint = universe.process().endpoint();
                assert_eq!(endpoint.bcs_leak_counts().requests, 0);
                std::mem::forget(comm);
            });
        }
    }
}
