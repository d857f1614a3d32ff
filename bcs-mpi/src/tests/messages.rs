//! Point-to-point messages.

use super::{run, run_with};
use crate::{ErrorClass, OwnedRequest, Source, Tag, Universe};
use bcs_core::job::Settings;

const SIZES: [usize; 9] = [0, 1, 63, 64, 65, 4095, 4096, 4097, 1 << 20];

fn pattern(len: usize, seed: usize) -> Vec<u8> {
    (0..len)
        .map(|index| u8::try_from((index * 7 + seed) % 251).unwrap())
        .collect()
}

#[test]
fn messages_of_all_sizes_arrive_whole() {
    run(2, 2, |universe| {
        let world = universe.world();
        for (number, size) in SIZES.into_iter().enumerate() {
            let tag = i32::try_from(number).unwrap();
            if world.rank() == 0 {
                world.send(&pattern(size, number), 1, tag).unwrap();
            } else {
                let mut data = vec![0; size + 3];
                let status = world
                    .recv(&mut data, Source::Rank(0), Tag::Is(tag))
                    .unwrap();
                assert_eq!((status.source, status.tag, status.bytes), (0, tag, size));
                assert_eq!(data[..size], pattern(size, number));
                assert_eq!(data[size..], [0; 3]);
            }
        }
    });
}

#[test]
fn rendezvous_of_all_sizes_without_eager_sends() {
    let settings = Settings {
        eager_limit: 0,
        ..Settings::default()
    };
    run_with(2, 1, &settings, |universe| {
        let world = universe.world();
        let peer = 1 - world.rank();
        for size in SIZES {
            let mut data = vec![0; size];
            let out = pattern(size, world.rank());
            let out = (&out[..], peer, 1);
            let into = (&mut data[..], Source::Rank(peer), Tag::Is(1));
            let status = world.sendrecv(out, into).unwrap();
            assert_eq!(status.bytes, size);
            assert_eq!(data, pattern(size, peer));
        }
    });
}

#[test]
fn long_messages_are_copied_by_both_sides() {
    run(3, 1, |universe| {
        let world = universe.world();
        let (me, ranks) = (world.rank(), world.size());
        let (next, last) = ((me + 1) % ranks, (me + ranks - 1) % ranks);
        for round in 0..20_usize {
            let size = (1 << 20) + round * 70_000;
            let room = size - [0, 100_001][round % 2];
            let mut data = vec![0; size];
            let (out, expected) = (pattern(size, me + round), pattern(size, last + round));
            let out = (&out[..], next, 1);
            let into = (&mut data[..room], Source::Rank(last), Tag::Is(1));
            let received = world.sendrecv(out, into);
            assert_eq!(
                received.is_ok(),
                room == size,
                "what is too long is an error"
            );
            assert!(data[..room] == expected[..room]);
            assert!(
                data[room..].iter().all(|&byte| byte == 0),
                "beyond its room"
            );
        }
    });
}

#[test]
fn synchronous_sends_end_after_their_receives_began() {
    run(2, 1, |universe| {
        let world = universe.world();
        if world.rank() == 0 {
            world.ssend(&[1u8], 1, 0).unwrap();
            world.send(&[2u8], 1, 1).unwrap();
        } else {
            // If the send were complete without a receive, the second message could be here first.
            let mut data = [0u8];
            assert_eq!(world.iprobe(Source::Rank(0), Tag::Is(1)).unwrap(), None);
            world.recv(&mut data, Source::Rank(0), Tag::Is(0)).unwrap();
            world.recv(&mut data, Source::Rank(0), Tag::Is(1)).unwrap();
            assert_eq!(data, [2]);
        }
    });
}

/// Law 4: more sends than the ring has entries and than there are payload slots, before any
/// receive.
#[test]
fn five_thousand_sends_before_any_receive() {
    const SENDS: i32 = 5_000;
    let exchange = |universe: &Universe, bytes: usize, reverse: bool| {
        let world = universe.world();
        let peer = 1 - world.rank();
        let sends: Vec<_> = (0..SENDS)
            .map(|tag| {
                let mut data = vec![0u8; bytes];
                data[..4].copy_from_slice(&tag.to_le_bytes());
                world.isend_owned(data, peer, tag).unwrap()
            })
            .collect();
        let mut tags: Vec<i32> = (0..SENDS).collect();
        if reverse {
            tags.reverse();
        }
        let receive = |&tag| world.irecv_owned(vec![0; bytes], Source::Rank(peer), Tag::Is(tag));
        let receives: Vec<_> = tags.iter().map(|tag| receive(tag).unwrap()).collect();
        for (receive, tag) in receives.into_iter().zip(tags) {
            assert_eq!(receive.wait().unwrap().0[..4], tag.to_le_bytes());
        }
        for send in sends {
            send.wait().unwrap();
        }
    };
    for (bytes, reverse) in [
        (8, false),
        (8, true),
        (200, false),
        (200, true),
        (5_000, true),
    ] {
        run(2, 2, |universe| exchange(universe, bytes, reverse));
    }
}

/// The thread that listens to the bell waits for a message, the thread behind it for room in the
/// ring.
#[test]
fn a_thread_waits_for_room_while_another_waits_for_a_message() {
    const SENDS: u32 = 3_000;
    run(2, 2, |universe| {
        let world = universe.world();
        if world.rank() == 1 {
            let mut data = [0u32];
            for number in 0..SENDS {
                world.recv(&mut data, Source::Rank(0), Tag::Is(0)).unwrap();
                assert_eq!(data, [number]);
            }
            world.send(&[7u8], 0, 1).unwrap();
            return;
        }
        std::thread::scope(|threads| {
            threads.spawn(|| {
                let mut last = [0u8];
                world.recv(&mut last, Source::Rank(1), Tag::Is(1)).unwrap();
                assert_eq!(last, [7]);
            });
            let send = |number| world.isend_owned(vec![number], 1, 0).unwrap();
            let sends: Vec<_> = (0..SENDS).map(send).collect();
            sends.into_iter().for_each(|send| _ = send.wait().unwrap());
        });
    });
}

#[test]
fn messages_do_not_overtake_each_other_whatever_their_size() {
    run(2, 2, |universe| {
        let world = universe.world();
        let sizes = [4097, 1, 0, 65, 1 << 16, 64];
        if world.rank() == 0 {
            let requests: Vec<OwnedRequest<u8>> = (0..600)
                .map(|turn| {
                    world
                        .isend_owned(pattern(sizes[turn % 6], turn), 1, 5)
                        .unwrap()
                })
                .collect();
            for request in requests {
                request.wait().unwrap();
            }
        } else {
            let mut data = vec![0; 1 << 16];
            for turn in 0..600 {
                let status = world.recv(&mut data, Source::Any, Tag::Any).unwrap();
                assert_eq!(data[..status.bytes], pattern(sizes[turn % 6], turn));
            }
        }
    });
}

#[test]
fn wildcards_take_what_comes() {
    run(4, 2, |universe| {
        let world = universe.world();
        if world.rank() == 0 {
            let mut seen = [0; 4];
            for _ in 0..30 {
                let mut data = [0u64];
                let status = world.recv(&mut data, Source::Any, Tag::Any).unwrap();
                assert_eq!(data[0], status.source as u64 * 100 + seen[status.source]);
                assert_eq!(u64::try_from(status.tag).unwrap(), seen[status.source]);
                seen[status.source] += 1;
            }
            assert_eq!(seen, [0, 10, 10, 10]);
        } else {
            for turn in 0..10 {
                let data = [world.rank() as u64 * 100 + turn];
                world.send(&data, 0, i32::try_from(turn).unwrap()).unwrap();
            }
        }
    });
}

#[test]
fn a_message_that_is_too_long_is_an_error_that_says_so() {
    run(2, 1, |universe| {
        let world = universe.world();
        for size in [64, 100, 5_000] {
            if world.rank() == 0 {
                world.send(&pattern(size, 0), 1, 7).unwrap();
            } else {
                let mut data = [0xee; 16];
                let error = world
                    .recv(&mut data[..10], Source::Rank(0), Tag::Is(7))
                    .unwrap_err();
                assert_eq!(error.class, ErrorClass::Truncate);
                assert_eq!(
                    error.of_itself(),
                    format!(
                        "failed to MPI_Recv 10 bytes from rank 0 with tag 7: message truncated: \
                         {size} bytes arrived"
                    )
                );
                assert_eq!(data[..10], pattern(10, 0));
                assert_eq!(data[10..], [0xee; 6]);
            }
        }
    });
}

#[test]
fn a_receive_can_be_cancelled() {
    run(2, 1, |universe| {
        let world = universe.world();
        if world.rank() == 0 {
            let request = world
                .irecv_owned(vec![0u8; 4], Source::Rank(1), Tag::Is(1))
                .unwrap();
            request.cancel();
            let (_, status) = request.wait().unwrap();
            assert!(status.cancelled);
            // A dropped receive is cancelled, and does not take the message that comes later.
            drop(
                world
                    .irecv_owned(vec![0u8; 4], Source::Rank(1), Tag::Is(1))
                    .unwrap(),
            );
            world.barrier().unwrap();
            let mut data = [0u8];
            let status = world.recv(&mut data, Source::Rank(1), Tag::Is(1)).unwrap();
            assert!(!status.cancelled);
            assert_eq!(data, [9]);
        } else {
            world.barrier().unwrap();
            world.send(&[9u8], 0, 1).unwrap();
        }
    });
}

#[test]
fn any_some_and_all() {
    run(3, 1, |universe| {
        let world = universe.world();
        if world.rank() == 0 {
            let mut requests: Vec<_> = (0..20)
                .map(|turn| {
                    let from = Source::Rank(1 + turn % 2);
                    world.irecv_owned(vec![0u8; 100], from, Tag::Any).unwrap()
                })
                .collect();
            let mut received = 0;
            while let Some((_, data, status)) = OwnedRequest::wait_any(&mut requests).unwrap() {
                assert_eq!(data[..status.bytes], pattern(status.bytes, status.source));
                received += 1;
            }
            assert_eq!(received, 20);
        } else {
            for turn in 0..10 {
                world.send(&pattern(turn * 10, world.rank()), 0, 3).unwrap();
            }
        }
    });
}

#[test]
fn a_rank_sends_to_itself() {
    run(1, 1, |universe| {
        let world = universe.world();
        for size in SIZES {
            let out = pattern(size, 1);
            let mut into = vec![0; size];
            crate::scope(|scope| {
                let receive = world.irecv(scope, &mut into, Source::Rank(0), Tag::Is(0))?;
                world.isend(scope, &out, 0, 0)?;
                assert_eq!(receive.wait()?.1.bytes, size);
                Ok(())
            })
            .unwrap();
            assert_eq!(into, out);
        }
    });
}

/// Programs that rely on small sends being buffered must run, and finalising must not lose them.
#[test]
fn a_rank_finalises_while_its_eager_sends_are_pending() {
    run(2, 2, |universe| {
        let world = universe.world();
        if world.rank() == 0 {
            for size in [1, 64, 65, 4096] {
                world.send(&pattern(size, 3), 1, 0).unwrap();
            }
        } else {
            std::thread::yield_now();
            for size in [1, 64, 65, 4096] {
                let mut data = vec![0; size];
                world.recv(&mut data, Source::Rank(0), Tag::Is(0)).unwrap();
                assert_eq!(data, pattern(size, 3));
            }
        }
    });
}

#[test]
fn wrong_arguments_are_named() {
    run(2, 1, |universe| {
        let world = universe.world();
        let error = world.send(&[1u8, 2], 7, 3).unwrap_err();
        assert_eq!(error.class, ErrorClass::Rank);
        assert_eq!(
            error.of_itself(),
            "failed to MPI_Send 2 bytes to rank 7 with tag 3: the communicator has no rank 7, but 0 to 1"
        );
        let error = world.send(&[1u8], 0, -5).unwrap_err();
        assert_eq!(error.class, ErrorClass::Tag);
        assert!(
            error
                .of_itself()
                .ends_with("tags are 0 to 2147483647, not -5"),
            "{error}"
        );
        let error = world.bcast(&mut [0u8], 2).unwrap_err();
        assert_eq!(error.class, ErrorClass::Root);
        let error = world
            .allreduce(&[1.0], &mut [0.0], crate::Op::Band)
            .unwrap_err();
        assert_eq!(error.class, ErrorClass::Op);
        assert!(
            error
                .of_itself()
                .contains("MPI_BAND is not defined on MPI_DOUBLE"),
            "{error}"
        );
    });
}
