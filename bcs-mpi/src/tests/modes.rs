//! The send modes other than the standard one, and exchanges in place.

use super::run;
use crate::{ErrorClass, Source, Tag};

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
        assert!(error.to_string().starts_with(wanted), "{error}");
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

/// Both send before they receive, far above the eager limit: only buffered sends may do that.
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
