//! The untyped core.
#![expect(unsafe_code, reason = "buffers are named by address")]

use super::run;
use crate::mpi::request::{testall, testany, testsome, waitall, waitany, waitsome};
use crate::mpi::{ANY_TAG, Buffer, Comm, Datatype, ErrorClass, PROC_NULL, Request, Status};
use bcs_core::reduction::Datatype as Elementary;

fn buffer(data: &mut [i32]) -> Buffer {
    // SAFETY: it stays, and nobody else uses it, until the operation is over.
    unsafe { Buffer::new(data.as_mut_ptr(), data.len(), Elementary::INT) }
}

fn isend(comm: &Comm, data: &mut [i32], to: i32) -> Request {
    comm.isend(buffer(data), to, 0).unwrap()
}

fn irecv(comm: &Comm, data: &mut [i32], from: i32) -> Request {
    comm.irecv(buffer(data), from, ANY_TAG).unwrap()
}

/// A test that failed was told once, and a wait for the same request then said success.
#[test]
fn a_request_that_has_failed_says_so_as_often_as_it_is_asked() {
    run(2, 1, |universe| {
        let comm = universe.world().untyped();
        let peer = 1 - comm.rank();
        let mut out = [[1, 2], [3, 4]];
        let mut into = [[0], [0]];
        let mut sends: Vec<_> = out.iter_mut().map(|data| isend(comm, data, peer)).collect();
        let mut receives: Vec<_> = into
            .iter_mut()
            .map(|data| irecv(comm, data, peer))
            .collect();
        let failed = loop {
            match receives[0].test() {
                Ok(status) => assert_eq!(status, None, "it is cut"),
                Err(error) => break error,
            }
        };
        assert_eq!(failed.class, ErrorClass::Truncate);
        assert!(!receives[0].is_active());
        assert_eq!(receives[0].wait(), Err(failed.clone()));
        assert_eq!(receives[0].test(), Err(failed.clone()));
        let all = waitall(&mut receives);
        assert_eq!(all[0], Err(failed));
        assert_eq!(all[1].as_ref().unwrap_err().class, ErrorClass::Truncate);
        // Who waits for any or some is told of those that were not told.
        assert!(waitany(&mut receives).is_none() && waitsome(&mut receives).is_empty());
        assert!(waitall(&mut sends).into_iter().all(|sent| sent.is_ok()));
    });
}

#[test]
fn waits_and_tests_of_many_requests() {
    run(2, 1, |universe| {
        let comm = universe.world().untyped();
        let peer = 1 - comm.rank();
        let mut out = [[1], [2], [3], [4], [5], [6]];
        let mut into = [[0]; 6];
        let mut sends: Vec<_> = out.iter_mut().map(|data| isend(comm, data, peer)).collect();
        let mut receives: Vec<_> = into
            .iter_mut()
            .map(|data| irecv(comm, data, peer))
            .collect();
        let (index, status) = waitany(&mut receives).unwrap();
        assert_eq!(
            (status.unwrap().bytes, receives[index].is_active()),
            (4, false)
        );
        let some = waitsome(&mut receives);
        assert!(!some.is_empty());
        let active = receives
            .iter()
            .filter(|request| request.is_active())
            .count();
        assert_eq!(active, 5 - some.len());
        for (_, status) in testsome(&mut receives) {
            assert_eq!(status.unwrap().source, peer);
        }
        while let Some((_, status)) = testany(&mut receives) {
            status.unwrap();
        }
        for status in waitall(&mut receives) {
            status.unwrap();
        }
        assert_eq!(into, [[1], [2], [3], [4], [5], [6]]);
        assert!(waitany(&mut receives).is_none() && waitsome(&mut receives).is_empty());
        let statuses = loop {
            if let Some(statuses) = testall(&mut sends) {
                break statuses;
            }
        };
        assert!(
            statuses
                .into_iter()
                .all(|status| status.unwrap() == Status::EMPTY)
        );
        assert_eq!(
            sends[0].wait().unwrap(),
            Status::EMPTY,
            "an inactive request is done"
        );
    });
}

#[test]
fn nobody_sends_and_receives_at_once() {
    run(1, 1, |universe| {
        let comm = universe.world().untyped();
        assert_eq!(
            isend(comm, &mut [1], PROC_NULL).wait().unwrap(),
            Status::EMPTY
        );
        let status = irecv(comm, &mut [1], PROC_NULL).wait().unwrap();
        assert_eq!(
            (status.source, status.tag, status.bytes),
            (PROC_NULL, ANY_TAG, 0)
        );
        assert_eq!(comm.probe(PROC_NULL, 3).unwrap(), Status::PROC_NULL);
    });
}

#[test]
fn buffers_that_cannot_be_are_refused() {
    run(1, 1, |universe| {
        let comm = universe.world().untyped();
        // SAFETY: it stays, and nobody else uses it, until the operation is over.
        let nowhere = unsafe { Buffer::new(std::ptr::null_mut::<i32>(), 3, Elementary::INT) };
        let error = comm.send(nowhere, 0, 0).unwrap_err();
        assert_eq!(error.class, ErrorClass::Buffer);
        let mut data = [0];
        // SAFETY: it stays, and nobody else uses it, until the operation is over.
        let endless = unsafe { Buffer::new(data.as_mut_ptr(), usize::MAX / 2, Elementary::INT) };
        let error = comm.recv(endless, 0, 0).unwrap_err();
        assert_eq!(error.class, ErrorClass::Count);
        let pairs = Datatype::predefined(Elementary::INT).contiguous(2).unwrap();
        // SAFETY: it stays, and nobody else uses it, until the operation is over.
        let pair = unsafe { Buffer::new(data.as_mut_ptr(), 0, pairs) };
        let error = comm
            .allreduce(pair.clone(), pair, crate::Op::Sum)
            .unwrap_err();
        assert_eq!(error.class, ErrorClass::Type);
    });
}

#[test]
fn a_status_counts_whole_elements() {
    let status = Status {
        bytes: 12,
        ..Status::EMPTY
    };
    assert_eq!(status.count(&Elementary::INT.into()), Some(3));
    assert_eq!(status.count(&Elementary::Double.into()), None);
    let none = Datatype::BYTE.contiguous(0).unwrap();
    assert_eq!(status.count(&none), None);
    assert_eq!(Status::EMPTY.count(&none), Some(0));
}

/// Two threads of each rank make communicators of different parents at the same time.
#[test]
fn threads_make_communicators_side_by_side() {
    run(2, 1, |universe| {
        let world = universe.world();
        let (one, other) = (world.dup().unwrap(), world.dup().unwrap());
        std::thread::scope(|threads| {
            for parent in [&one, &other] {
                threads.spawn(move || {
                    for turn in 0..20u64 {
                        let child = parent.dup().unwrap();
                        let mut sum = [turn];
                        child.allreduce_in_place(&mut sum, crate::Op::Sum).unwrap();
                        assert_eq!(sum, [2 * turn]);
                    }
                });
            }
        });
    });
}
