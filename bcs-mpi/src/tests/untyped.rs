//! The untyped core.
#![expect(unsafe_code, reason = "buffers are named by address")]

use super::run;
use crate::mpi::request::{testall, testany, testsome, waitall, waitany, waitsome};
use crate::mpi::{ANY_TAG, Buffer, Comm, Datatype, ErrorClass, PROC_NULL, Request, Status};
use bcs_core::reduction::Datatype as Elementary;

fn buffer(data: &mut [i32]) -> Buffer {
    // SAFETY: it stays, and is not used otherwise, until the operation is complete.
    unsafe { Buffer::new(data.as_mut_ptr(), data.len(), Elementary::INT) }
}

fn isend(comm: &Comm, data: &mut [i32], to: i32) -> Request {
    comm.isend(buffer(data), to, 0).unwrap()
}

fn irecv(comm: &Comm, data: &mut [i32], from: i32) -> Request {
    comm.irecv(buffer(data), from, ANY_TAG).unwrap()
}

/// A test reported a failure once, and a wait for the same request then reported success.
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
        // Waits for any or some report the requests that were not reported.
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

/// A receive and a send that are one request are done when both are, by any kind of wait.
#[test]
fn requests_of_two_parts() {
    // Longer than an eager message of both transports.
    const LONG: usize = 1 << 15;
    for nodes in [1, 2] {
        run(2, nodes, |universe| {
            let comm = universe.world().untyped();
            let (me, peer) = (comm.rank(), 1 - comm.rank());
            for len in [1, LONG] {
                for way in 0..7 {
                    let mut out = vec![10 * me + way; len];
                    let mut into = vec![-1; len + 1];
                    let parts = (
                        (buffer(&mut out), peer, way),
                        (buffer(&mut into), peer, ANY_TAG),
                    );
                    let mut requests = [
                        Request::inactive(),
                        comm.isendrecv(parts.0, parts.1).unwrap(),
                    ];
                    let status = match way {
                        0 => requests[1].wait().unwrap(),
                        1 => waitall(&mut requests).pop().unwrap().unwrap(),
                        2 => waitany(&mut requests).unwrap().1.unwrap(),
                        3 => waitsome(&mut requests).pop().unwrap().1.unwrap(),
                        4 => loop {
                            if let Some(status) = requests[1].test().unwrap() {
                                break status;
                            }
                        },
                        5 => loop {
                            if let Some(mut statuses) = testall(&mut requests) {
                                break statuses.pop().unwrap().unwrap();
                            }
                        },
                        _ => loop {
                            if let Some(status) = requests[1].peek().unwrap() {
                                assert_eq!(requests[1].peek(), Ok(Some(status)));
                                break requests[1].wait().unwrap();
                            }
                        },
                    };
                    let bytes = 4 * len as u64;
                    assert_eq!(
                        (status.source, status.tag, status.bytes),
                        (peer, way, bytes)
                    );
                    assert_eq!(
                        (into[0], into[len - 1], into[len]),
                        (10 * peer + way, 10 * peer + way, -1)
                    );
                    assert!(requests.iter().all(|request| !request.is_active()));
                }
                let mut data = vec![me; len];
                let mut replaced = comm
                    .isendrecv_replace(buffer(&mut data), (peer, 7), (peer, 7))
                    .unwrap();
                replaced.wait().unwrap();
                assert_eq!(data, vec![peer; len]);
            }
            // Freeing a request does not change what it sends.
            let mut data = vec![me; LONG];
            if me == 0 {
                let data = buffer(&mut data);
                drop(
                    comm.isendrecv_replace(data, (peer, 8), (PROC_NULL, 0))
                        .unwrap(),
                );
            } else {
                comm.recv(buffer(&mut data), peer, 8).unwrap();
                assert_eq!(data, vec![peer; LONG]);
            }
            // If one part fails, the request fails; the other part is complete all the same.
            let (mut out, mut into) = ([1, 2], [0]);
            let parts = ((buffer(&mut out), peer, 9), (buffer(&mut into), peer, 9));
            let failed = comm.isendrecv(parts.0, parts.1).unwrap().wait();
            assert_eq!(failed.unwrap_err().class, ErrorClass::Truncate);
        });
    }
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
        // SAFETY: it stays, and is not used otherwise, until the operation is complete.
        let nowhere = unsafe { Buffer::new(std::ptr::null_mut::<i32>(), 3, Elementary::INT) };
        let error = comm.send(nowhere, 0, 0).unwrap_err();
        assert_eq!(error.class, ErrorClass::Buffer);
        let mut data = [0];
        // SAFETY: it stays, and is not used otherwise, until the operation is complete.
        let endless = unsafe { Buffer::new(data.as_mut_ptr(), usize::MAX / 2, Elementary::INT) };
        let error = comm.recv(endless, 0, 0).unwrap_err();
        assert_eq!(error.class, ErrorClass::Count);
        let pairs = Datatype::predefined(Elementary::INT).contiguous(2).unwrap();
        // SAFETY: it stays, and is not used otherwise, until the operation is complete.
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
