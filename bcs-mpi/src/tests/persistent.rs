//! Persistent requests.
#![expect(unsafe_code, reason = "the untyped core names buffers by address")]

use super::run;
use crate::ErrorClass;
use crate::mpi::persistent::startall;
use crate::mpi::request::waitall;
use crate::mpi::{ANY_SOURCE, ANY_TAG, Buffer, PROC_NULL, Status};
use bcs_core::reduction::Datatype;

fn buffer(data: &mut [u64]) -> Buffer {
    // SAFETY: it stays, and is not used otherwise, until the operation is complete.
    unsafe { Buffer::new(data.as_mut_ptr(), data.len(), Datatype::Uint64) }
}

#[test]
fn requests_are_started_again_and_again() {
    for len in [1, 100, 20_000] {
        run(2, 2, move |universe| {
            let world = universe.world().untyped();
            let peer = 1 - world.rank();
            let (mut out, mut into) = (vec![0_u64; len], vec![0_u64; len]);
            let mut requests = [
                world.recv_init(buffer(&mut into), peer, 3).unwrap(),
                world.send_init(buffer(&mut out), peer, 3).unwrap(),
            ];
            for round in 0..20 {
                // SAFETY: nothing is started, so the buffer is not used otherwise.
                unsafe { std::ptr::from_mut(&mut out[len - 1]).write_volatile(round) };
                startall(&mut requests).unwrap();
                for request in &mut requests {
                    request.started().wait().unwrap();
                    assert!(!request.started().is_active());
                }
                // SAFETY: as above.
                let came = unsafe { std::ptr::from_ref(&into[len - 1]).read_volatile() };
                assert_eq!(came, round);
            }
        });
    }
}

#[test]
fn every_mode_can_be_started() {
    run(2, 1, |universe| {
        let world = universe.world().untyped();
        let mut data = [7_u64; 30];
        if world.rank() == 1 {
            let mut receive = world
                .recv_init(buffer(&mut data), ANY_SOURCE, ANY_TAG)
                .unwrap();
            for tag in 0..4 {
                receive.start().unwrap();
                let status = receive.started().wait().unwrap();
                assert_eq!((status.source, status.tag, status.bytes), (0, tag, 240));
            }
            return;
        }
        universe.attach_buffer(1_000).unwrap();
        let data = buffer(&mut data);
        let mut sends = [
            world.send_init(data.clone(), 1, 0).unwrap(),
            world.ssend_init(data.clone(), 1, 1).unwrap(),
            world.bsend_init(data.clone(), 1, 2).unwrap(),
            world.rsend_init(data.clone(), 1, 3).unwrap(),
        ];
        for send in &mut sends {
            send.start().unwrap();
            let started = std::mem::replace(send.started(), crate::mpi::Request::inactive());
            assert_eq!(waitall(&mut [started]), [Ok(Status::EMPTY)]);
        }
    });
}

#[test]
fn what_cannot_be_started_says_why() {
    run(1, 1, |universe| {
        let world = universe.world().untyped();
        let mut data = [0_u64; 2];
        let data = buffer(&mut data);
        let error = world.send_init(data.clone(), 5, 0).unwrap_err();
        assert_eq!(error.class, ErrorClass::Rank);
        assert!(
            error
                .of_itself()
                .starts_with("failed to MPI_Send_init 16 bytes to rank 5")
        );
        assert_eq!(
            world.recv_init(data.clone(), 0, -7).unwrap_err().class,
            ErrorClass::Tag
        );
        let mut receive = world.recv_init(data.clone(), 0, 0).unwrap();
        receive.start().unwrap();
        let error = receive.start().unwrap_err();
        assert_eq!(error.class, ErrorClass::Request);
        assert!(
            error.to_string().contains("MPI_Recv_init is active"),
            "{error}"
        );
        receive.started().cancel();
        assert!(receive.started().wait().unwrap().cancelled);
        let mut nobody = world.recv_init(data.clone(), PROC_NULL, 0).unwrap();
        nobody.start().unwrap();
        assert_eq!(nobody.started().wait(), Ok(Status::PROC_NULL));
        assert_eq!(nobody.started().wait(), Ok(Status::EMPTY), "it is inactive");
    });
}
