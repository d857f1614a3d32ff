//! The send modes other than the standard one, and exchanges in place.
#![expect(unsafe_code, reason = "some of them are calls of the untyped core")]

use super::run;
use crate::mpi::{Buffer, Status};
use crate::{ErrorClass, Source, Tag};
use bcs_core::reduction::Datatype;

#[test]
fn buffered_sends_need_a_buffer_with_room() {
    run(2, 1, |universe| {
        let world = universe.world();
        if world.rank() == 1 {
            let mut data = [0u8; 60];
            for _ in 0..2 {
                world.recv(&mut data, Source::Rank(0), Tag::Is(0)).unwrap();
                assert_eq!(data, [1; 60]);
            }
            return;
        }
        let error = world.bsend(&[1u8; 60], 1, 0).unwrap_err();
        assert_eq!(error.class, ErrorClass::Buffer);
        let wanted = "failed to MPI_Bsend 60 bytes to rank 1 with tag 0: 0 of the 0 bytes attached";
        assert!(error.of_itself().starts_with(wanted), "{error}");
        assert_eq!(
            universe.detach_buffer().unwrap_err().class,
            ErrorClass::Buffer
        );
        universe.attach_buffer(100).unwrap();
        assert_eq!(
            universe.attach_buffer(1).unwrap_err().class,
            ErrorClass::Buffer
        );
        assert_eq!(
            world.bsend(&[1u8; 101], 1, 0).unwrap_err().class,
            ErrorClass::Buffer
        );
        world.bsend(&[1u8; 60], 1, 0).unwrap();
        assert_eq!(universe.detach_buffer().unwrap(), 100);
        universe.attach_buffer(60).unwrap();
        world.bsend(&[1u8; 60], 1, 0).unwrap(); // Finalize waits for it.
    });
}

/// Both ranks send before they receive, far above the eager limit. Only buffered sends may do that.
#[test]
fn buffered_sends_return_at_once_whatever_their_size() {
    run(2, 2, |universe| {
        let world = universe.world();
        let peer = 1 - world.rank();
        universe.attach_buffer(3_000_000).unwrap();
        for number in 0..3u8 {
            world.bsend(&vec![number; 1_000_000], peer, 0).unwrap();
        }
        for number in 0..3u8 {
            let mut data = vec![9u8; 1_000_000];
            world
                .recv(&mut data, Source::Rank(peer), Tag::Is(0))
                .unwrap();
            assert_eq!(data, vec![number; 1_000_000]);
        }
        assert_eq!(universe.detach_buffer().unwrap(), 3_000_000);
    });
}

#[test]
fn a_ready_send_meets_its_receive() {
    run(2, 2, |universe| {
        let world = universe.world();
        if world.rank() == 0 {
            world.recv(&mut [0u8], Source::Rank(1), Tag::Is(1)).unwrap();
            return world.rsend(&[5u64; 1_000], 1, 0).unwrap();
        }
        let receive = world
            .irecv_owned(vec![0u64; 1_000], Source::Rank(0), Tag::Is(0))
            .unwrap();
        world.send(&[1u8], 0, 1).unwrap();
        assert_eq!(receive.wait().unwrap().0, vec![5; 1_000]);
    });
}

/// Each request is done before its buffer is freed.
#[test]
fn sends_of_all_modes_are_under_way_in_a_scope() {
    run(2, 2, |universe| {
        let world = universe.world();
        let (peer, out) = (1 - world.rank(), vec![7_u32; 5_000]);
        let (mut synchronous, mut ready) = (vec![0; 5_000], vec![0; 5_000]);
        crate::scope(|scope| {
            let first = world.irecv(scope, &mut synchronous, Source::Rank(peer), Tag::Is(1))?;
            let second = world.irecv(scope, &mut ready, Source::Rank(peer), Tag::Is(2))?;
            // Now both have posted their receives.
            world.barrier()?;
            let ends = world.issend(scope, &out, peer, 1)?;
            world.irsend(scope, &out, peer, 2)?.wait()?;
            assert_eq!(first.wait()?.0, out);
            assert_eq!(second.wait()?.0, out);
            ends.wait()
        })
        .unwrap();
    });
}

#[test]
fn a_buffered_send_has_its_data_when_it_returns() {
    run(2, 1, |universe| {
        let (world, process) = (universe.world().untyped(), universe.process());
        let peer = 1 - world.rank();
        let mut data = vec![3_u64; 4_000];
        let buffer =
            // SAFETY: it stays, and is not used otherwise, until the operation is complete.
            |data: &mut [u64]| unsafe { Buffer::new(data.as_mut_ptr(), data.len(), Datatype::Uint64) };
        process.attach_buffer(100_000).unwrap();
        let mut sent = world.ibsend(buffer(&mut data), peer, 1).unwrap();
        data.fill(4);
        assert_eq!(sent.wait().unwrap(), Status::EMPTY);
        let mut into = vec![0_u64; 4_000];
        world.recv(buffer(&mut into), peer, 1).unwrap();
        assert_eq!(into, [3; 4_000]);
        // Both have received, so nothing is left to wait for.
        universe.world().barrier().unwrap();
        process.flush_buffer().unwrap();
        let mut receive = world.irecv(buffer(&mut into), peer, 2).unwrap();
        universe.world().barrier().unwrap();
        let mut ready = world.irsend(buffer(&mut data), peer, 2).unwrap();
        ready.wait().unwrap();
        receive.wait().unwrap();
        assert_eq!(into, data);
        assert_eq!(process.detach_buffer().unwrap(), 100_000);
    });
}

#[test]
fn a_ring_replaces_what_it_sends_by_what_it_receives() {
    run(3, 2, |universe| {
        let world = universe.world();
        let (rank, size) = (world.rank(), world.size());
        let (to, from) = ((rank + 1) % size, (rank + size - 1) % size);
        for len in [0, 1, 10_000] {
            let mut data = vec![rank; len];
            let status = world
                .sendrecv_replace(&mut data, (to, 3), (Source::Rank(from), Tag::Is(3)))
                .unwrap();
            assert_eq!(
                (status.source, status.bytes),
                (from, len * size_of::<usize>())
            );
            assert_eq!(data, vec![from; len]);
        }
    });
}
