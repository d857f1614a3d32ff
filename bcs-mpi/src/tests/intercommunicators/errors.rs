//! Errors on an intercommunicator, and their messages.
#![expect(unsafe_code, reason = "the untyped core names buffers by address")]

use super::super::run;
use crate::mpi::{Buffer, Comm, Op, PROC_NULL, ROOT};
use crate::{ErrorClass, Universe};
use bcs_core::reduction::Datatype;

/// Returns an intercommunicator of the ranks below 2 and the others.
fn halves(universe: &Universe) -> (Comm, Comm) {
    let world = universe.world().untyped();
    let second = world.rank() >= 2;
    let local = world.split(Some(u32::from(second)), 0).unwrap().unwrap();
    let other = if second { 0 } else { 2 };
    let comm = local.intercomm_create(0, Some(world), other, 0).unwrap();
    (local, comm)
}

fn class<T>(result: crate::Result<T>, text: &str) -> ErrorClass {
    let Err(error) = result else {
        panic!("{text} is expected")
    };
    assert!(error.to_string().contains(text), "{error}");
    error.class
}

fn buffer(data: &mut [u64]) -> Buffer {
    // SAFETY: it stays, and is not used otherwise, until the operation is complete.
    unsafe { Buffer::new(data.as_mut_ptr(), data.len(), Datatype::Uint64) }
}

#[test]
fn calls_for_one_group_say_so() {
    run(5, 2, |universe| {
        let (local, comm) = halves(universe);
        let within = "is for intracommunicators";
        let world = universe.world().untyped();
        let errors = [
            class(comm.intercomm_create(0, Some(world), 0, 0), within),
            class(comm.create_group(&comm.group(), 0), within),
            class(comm.cart_create(&[1], &[false]), within),
            class(comm.graph_create(&[], &[]), within),
            class(comm.dist_graph_create_adjacent(&[], &[], None), within),
            class(comm.dist_graph_create(&[], &[], &[], None), within),
            class(local.remote_size(), "no intercommunicator"),
            class(local.remote_group(), "no intercommunicator"),
            class(local.intercomm_merge(true), "no intercommunicator"),
        ];
        assert_eq!(errors, [ErrorClass::Comm; 9]);
        let (mut one, mut other) = ([1], [2]);
        let errors = [
            class(
                comm.scan(Some(buffer(&mut one)), buffer(&mut other), Op::Sum),
                within,
            ),
            class(
                comm.exscan(Some(buffer(&mut one)), buffer(&mut other), Op::Sum),
                within,
            ),
        ];
        assert_eq!(errors, [ErrorClass::Comm; 2]);
        let error = comm.neighbor_allgather(buffer(&mut one), buffer(&mut other));
        assert_eq!(class(error, "no topology"), ErrorClass::Topology);
        comm.barrier().unwrap();
    });
}

#[test]
fn nothing_is_in_place() {
    run(4, 2, |universe| {
        let (_, comm) = halves(universe);
        let mut data = [1; 4];
        let (one, all) = (buffer(&mut data[..1]), buffer(&mut data[..]));
        let text = "no MPI_IN_PLACE";
        let errors = [
            class(comm.allreduce(one.clone(), one.clone(), Op::Sum), text),
            class(comm.allgather(None, one.clone()), text),
            class(comm.alltoall(None, one.clone()), text),
            class(comm.reduce_scatter_block(None, one.clone(), Op::Sum), text),
            class(
                comm.reduce_scatter(None, one.clone(), &[1, 1], Op::Sum),
                text,
            ),
        ];
        assert_eq!(errors, [ErrorClass::Buffer; 5]);
        // The second group sends to, and receives from, the first member of the first group, with a
        // null buffer.
        let errors = match (universe.world().rank(), comm.rank()) {
            (0, _) => {
                let gathered = comm.gather(None, one.clone(), ROOT);
                let scattered = comm.scatter(one.clone(), None, ROOT);
                assert_eq!(gathered.unwrap_err().class, ErrorClass::Buffer);
                [
                    ErrorClass::Buffer,
                    scattered.map_or_else(|told| told.class, |()| ErrorClass::Buffer),
                ]
            }
            (1, _) => {
                comm.gather(None, all.clone(), PROC_NULL).unwrap();
                comm.scatter(all, None, PROC_NULL).unwrap();
                [ErrorClass::Buffer; 2]
            }
            _ => [
                class(comm.gather(None, all.clone(), 0), text),
                class(comm.scatter(all, None, 0), text),
            ],
        };
        assert_eq!(errors, [ErrorClass::Buffer; 2]);
        comm.barrier().unwrap();
    });
}

#[test]
fn ranks_and_roots_are_told_against_the_other_group() {
    run(5, 2, |universe| {
        let (_, comm) = halves(universe);
        let remote = comm.remote_size().unwrap();
        let text = format!(
            "the remote group has no rank {remote}, but 0 to {}",
            remote - 1
        );
        let mut data = [0];
        let data = buffer(&mut data);
        let errors = [
            class(comm.send(data.clone(), remote, 0), &text),
            class(comm.recv(data.clone(), remote, 0), &text),
            class(comm.probe(remote, 0), &text),
            class(comm.mprobe(remote, 0), &text),
            class(comm.send_init(data.clone(), remote, 0), &text),
        ];
        assert_eq!(errors, [ErrorClass::Rank; 5]);
        let error = comm.bcast(data.clone(), remote);
        assert_eq!(class(error, &text), ErrorClass::Root);
        let error = comm.gather(Some(data.clone()), data.clone(), remote);
        assert_eq!(class(error, &text), ErrorClass::Root);
        let world = universe.world().untyped();
        for root in [ROOT, PROC_NULL] {
            let error = world.bcast(data.clone(), root);
            assert_eq!(
                class(error, "the communicator has no rank"),
                ErrorClass::Root
            );
        }
        comm.barrier().unwrap();
    });
}

/// The groups disagree about a length. The receivers get an error, and the next collective
/// succeeds.
#[test]
fn lengths_that_differ_between_groups_are_told() {
    run(4, 2, |universe| {
        let (_, comm) = halves(universe);
        let second = universe.world().rank() >= 2;
        let mut data = vec![1_u64; if second { 2 } else { 3 }];
        let mut result = vec![0_u64; data.len()];
        let error = comm.allreduce(buffer(&mut data), buffer(&mut result), Op::Sum);
        let (text, expected) = if second {
            ("sent 24 bytes, and 16 were expected", ErrorClass::Truncate)
        } else {
            ("sent 16 bytes, and 24 were expected", ErrorClass::Count)
        };
        assert_eq!(class(error, text), expected);
        let good = comm.allreduce(buffer(&mut data[..1]), buffer(&mut result[..1]), Op::Sum);
        good.unwrap();
        assert_eq!(result[0], 2);
    });
}

/// One rank is in both groups, or a leader is. All ranks that can be notified get the error.
#[test]
fn groups_with_a_common_member_are_told() {
    run(4, 2, |universe| {
        let world = universe.world().untyped();
        let common = "a member in common";
        for other in [0, 1] {
            let error = world.intercomm_create(0, Some(world), other, 0);
            let text = if world.rank() == 0 {
                common
            } else {
                "see its error"
            };
            assert_eq!(class(error, text), ErrorClass::Comm);
        }
        // Rank 1 is in both, with two threads.
        let group = |ranks: &[i32]| world.group().include(ranks).unwrap();
        let make = |ranks: &[i32], tag: i32, other: i32| {
            let local = world.create_group(&group(ranks), tag).unwrap().unwrap();
            let made = local.intercomm_create(0, Some(world), other, 7);
            let text = if local.rank() == 0 {
                common
            } else {
                "see its error"
            };
            assert_eq!(class(made, text), ErrorClass::Comm);
        };
        match world.rank() {
            0 => make(&[0, 1], 1, 2),
            1 => std::thread::scope(|threads| {
                threads.spawn(|| make(&[0, 1], 1, 2));
                make(&[2, 3, 1], 2, 0);
            }),
            _ => make(&[2, 3, 1], 2, 0),
        }
        world.barrier().unwrap();
    });
}

#[test]
fn what_a_leader_finds_wrong_all_of_its_group_are_told() {
    run(4, 2, |universe| {
        let world = universe.world().untyped();
        let local = world.split(Some(u32::from(world.rank() >= 2)), 0).unwrap();
        let local = local.unwrap();
        let told = |error: crate::Result<Comm>, text: &str| {
            let text = if local.rank() == 0 {
                text
            } else {
                "the leader of the local group"
            };
            class(error, text)
        };
        let none = local.intercomm_create(0, None, 0, 0);
        assert_eq!(told(none, "peer communicator"), ErrorClass::Comm);
        let none = local.intercomm_create(0, Some(world), 4, 0);
        assert_eq!(told(none, "has no rank 4"), ErrorClass::Rank);
        let none = local.intercomm_create(0, Some(world), PROC_NULL, 0);
        assert_eq!(told(none, "has no rank -3"), ErrorClass::Rank);
        let none = local.intercomm_create(0, Some(world), 0, -1);
        assert_eq!(told(none, "tags are"), ErrorClass::Tag);
        let none = local.intercomm_create(2, Some(world), 0, 0);
        assert_eq!(class(none, "has no rank 2"), ErrorClass::Rank);
        let (_, comm) = halves(universe);
        let say = comm.rank() == 0;
        let error = comm.intercomm_merge(say);
        assert_eq!(class(error, "do not all say the same"), ErrorClass::NotSame);
        comm.barrier().unwrap();
    });
}

/// One group is at a barrier while the other makes a duplicate. Both get an error, in ranks that
/// mean the same to both.
#[test]
fn groups_that_do_not_call_the_same_are_told_in_ranks_of_the_world() {
    run(5, 2, |universe| {
        let (_, comm) = halves(universe);
        let second = universe.world().rank() >= 2;
        let result = if second {
            comm.barrier()
        } else {
            comm.dup().map(drop)
        };
        let text = "did not call the same (in ranks of the world): rank";
        assert_eq!(class(result, text), ErrorClass::Other);
        comm.barrier().unwrap();
    });
}
