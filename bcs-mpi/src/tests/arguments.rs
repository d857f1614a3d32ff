//! Arguments of collectives that are made of messages: errors in them, and what the MDS records of
//! them.
#![expect(unsafe_code, reason = "some of them are calls of the untyped core")]
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "ranks are small"
)]

use super::{Machine, run};
use crate::mpi::{self, Buffer};
use crate::{Blocks, ErrorClass, Op};
use bcs_core::job::Settings;
use bcs_core::reduction::Datatype;

#[test]
fn lengths_that_differ_between_ranks_are_failures_at_the_receiver() {
    run(3, 2, |universe| {
        let world = universe.world();
        let me = world.rank();
        for (len, class) in [(5, ErrorClass::Truncate), (0, ErrorClass::Count)] {
            // Rank 1 contributes more, or less, than the others.
            let data = vec![me as u64; if me == 1 { len } else { 1 }];
            let (mut result, mut folded) = ([7u64; 3], vec![7u64; data.len()]);
            let gathered = world.gather(&data, &mut result, 0);
            if me == 0 {
                let error = gathered.unwrap_err();
                let said = format!("rank 1 sent {} bytes, and 8 were expected", len * 8);
                assert_eq!((error.class, error.reason), (class, said));
            } else {
                gathered.unwrap();
            }
            let scanned = world.scan(&data, &mut folded, Op::Sum);
            assert_eq!(scanned.is_err(), me > 0);
            // The failed call leaves nothing behind for the next one.
            world.allgather(&[me], &mut [0; 3]).unwrap();
            world.barrier().unwrap();
        }
    });
}

#[test]
fn wrong_arguments_of_collectives_are_refused() {
    run(2, 1, |universe| {
        let world = universe.world();
        let mut data = [0i32; 4];
        let error = world.gather(&[1i32], &mut data, 2).unwrap_err();
        assert_eq!(error.class, ErrorClass::Root);
        assert!(
            error.to_string().contains("MPI_Gather 4 bytes with root 2"),
            "{error}"
        );
        let blocks = Blocks {
            counts: &[2, 3],
            displacements: &[0, 2],
        };
        let error = world.allgatherv(&[1i32, 2], &mut data, blocks).unwrap_err();
        assert_eq!(error.class, ErrorClass::Arg);
        assert!(
            error.reason.contains("3 elements from 2 on, for rank 1"),
            "{error}"
        );
        let blocks = Blocks {
            counts: &[2],
            displacements: &[0],
        };
        assert_eq!(
            world
                .alltoallv_in_place(&mut data, blocks)
                .unwrap_err()
                .class,
            ErrorClass::Arg
        );
        let error = world.allgather(&[1i32], &mut data[..3]).unwrap_err();
        assert_eq!(error.class, ErrorClass::Count);
        let error = world.scan(&[1i32, 2], &mut data, Op::Sum).unwrap_err();
        assert_eq!(error.class, ErrorClass::Count);
        let error = world.scan(&[1.0f32], &mut [0.0], Op::Band).unwrap_err();
        assert_eq!(error.class, ErrorClass::Op);
        let error = world
            .reduce_scatter(&[1i32; 4], &mut data, &[1, 2], Op::Sum)
            .unwrap_err();
        assert_eq!(error.class, ErrorClass::Count);

        let untyped = world.untyped();
        let start = data.as_mut_ptr();
        let (counts, overlapping, zeros) = ([2i64, 2], [0i64, 1], [0i64; 2]);
        // SAFETY: it stays, and is not used otherwise, until the operation is complete.
        let own = unsafe { Buffer::new(start, 2, Datatype::INT) };
        // SAFETY: it stays, and is not used otherwise, until the operation is complete.
        let into = |counts, at| unsafe { mpi::Blocks::new(start, counts, at, Datatype::INT) };
        // SAFETY: the calls refuse their arguments.
        unsafe {
            let error = untyped
                .allgatherv(Some(own.clone()), into(&counts, &overlapping))
                .unwrap_err();
            assert_eq!(error.class, ErrorClass::Arg);
            assert!(
                error.reason.contains("from ranks 0 and 1 overlap"),
                "{error}"
            );
            let error = untyped.alltoallv(None, into(&[1, -3], &zeros)).unwrap_err();
            assert_eq!(error.class, ErrorClass::Count);
            assert!(error.reason.contains("rank 1 is -3"), "{error}");
            // Rank 1 passes a wrong argument, and the root gets an error.
            let error = untyped.gather(None, own.clone(), 0).unwrap_err();
            assert_eq!(error.class, ErrorClass::Buffer);
            // The root of a scatter need not wait for the others, but it may get their error.
            match untyped.scatter(own.clone(), None, 0) {
                Ok(()) => assert_eq!(untyped.rank(), 0),
                Err(error) => assert_eq!(error.class, ErrorClass::Buffer),
            }
            let nowhere =
                mpi::Blocks::new(std::ptr::null_mut::<i32>(), &counts, &zeros, Datatype::INT);
            let error = untyped.allgatherv(Some(own), nowhere).unwrap_err();
            assert_eq!(error.class, ErrorClass::Buffer);
            let error = untyped
                .alltoallv(None, into(&[1, i64::MAX], &zeros))
                .unwrap_err();
            assert_eq!(error.class, ErrorClass::Count);
            assert!(error.reason.contains("for rank 1"), "{error}");
        }
        assert_eq!(data, [0; 4]);
        // The rank that is done first goes on with its part in the call that the other still waits
        // for.
        untyped.barrier().unwrap();
    });
}

#[test]
fn blocks_of_different_types() {
    run(2, 2, |universe| {
        let world = universe.world().untyped();
        let me = world.rank();
        // Rank 0 gets two bytes from each rank, rank 1 one number of 64 bits.
        let types = |to: i32| mpi::Datatype::from([Datatype::Byte, Datatype::Uint64][to as usize]);
        let mut out = [u64::from_le_bytes([me as u8 + 1; 8]), u64::MAX - me as u64];
        let mut into = [0u64; 2];
        let (counts, own) = ([2, 1], [[2, 2], [1, 1]][me as usize]);
        let (from, to) = ([types(0), types(1)], [types(me), types(me)]);
        // SAFETY: it stays, and is not used otherwise, until the operation is complete.
        let out = unsafe { mpi::Blocks::of_types(out.as_mut_ptr(), &counts, &[0, 8], &from) };
        // SAFETY: it stays, and is not used otherwise, until the operation is complete.
        let result = unsafe { mpi::Blocks::of_types(into.as_mut_ptr(), &own, &[8, 0], &to) };
        world.alltoallw(Some(out), result).unwrap();
        assert_eq!(
            into,
            [[0x0202, 0x0101], [u64::MAX - 1, u64::MAX]][me as usize]
        );
    });
}

#[test]
fn the_mds_gets_collectives_too() {
    let machine = Machine::new(2, 1, Settings::default());
    let dumps = machine.run_recorded(|universe| {
        let world = universe.world();
        world.allgather(&[1u64], &mut [0; 2]).unwrap();
        let mut result = [0u64; 2];
        crate::scope(|scope| {
            world
                .ialltoall(scope, &[1; 2], &mut result)?
                .wait()
                .map(|_| ())
        })
        .unwrap();
    });
    let names: Vec<_> = dumps[0]
        .primitives
        .keys()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        names,
        ["MPI_Wait", "MPI_Allgather", "MPI_Ialltoall", "MPI_Finalize"]
    );
}
