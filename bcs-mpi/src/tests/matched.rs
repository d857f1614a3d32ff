//! Matched probes.
#![expect(unsafe_code, reason = "the untyped core names buffers by address")]

use super::run;
use crate::{ErrorClass, Message, Source, Tag, Universe};
use std::sync::atomic::{AtomicU32, Ordering};

#[test]
fn a_matched_probe_takes_the_message_out() {
    run(2, 2, |universe| {
        let world = universe.world();
        if world.rank() == 0 {
            for number in 0..3u32 {
                world.send(&[number], 1, 5).unwrap();
            }
            return;
        }
        let first = world.mprobe(Source::Any, Tag::Any).unwrap();
        let status = first.status();
        assert_eq!((status.source, status.tag, status.bytes), (0, 5, 4));
        let mut second = [9u32];
        world
            .recv(&mut second, Source::Rank(0), Tag::Is(5))
            .unwrap();
        let third = world.mprobe(Source::Rank(0), Tag::Is(5)).unwrap();
        let (third, _) = third.recv_vec::<u32>().unwrap();
        let mut data = [9u32; 4];
        assert_eq!(first.recv(&mut data).unwrap(), status);
        assert_eq!((data[0], second[0], third[0]), (0, 1, 2));
    });
}

#[test]
fn messages_of_all_sizes_are_received_after_a_matched_probe() {
    let sizes = [0, 1, 64, 65, 4_096, 4_097, 300_000];
    run(2, 1, move |universe| {
        let world = universe.world();
        if world.rank() == 0 {
            for size in sizes {
                world
                    .send(&vec![u8::try_from(size % 251).unwrap(); size], 1, 0)
                    .unwrap();
            }
            return;
        }
        for size in sizes {
            let message = world.mprobe(Source::Rank(0), Tag::Any).unwrap();
            let (data, status) = message.recv_vec::<u8>().unwrap();
            assert_eq!(status.bytes, size);
            assert_eq!(data, vec![u8::try_from(size % 251).unwrap(); size]);
        }
    });
}

#[test]
fn a_message_that_was_found_may_be_too_long_for_its_receive() {
    run(2, 1, |universe| {
        let world = universe.world();
        if world.rank() == 0 {
            return world.send(&[7u8; 100], 1, 0).unwrap();
        }
        let message = world.mprobe(Source::Any, Tag::Any).unwrap();
        let mut data = [0u8; 10];
        let error = message.recv(&mut data).unwrap_err();
        assert_eq!((error.class, data), (ErrorClass::Truncate, [7; 10]));
        assert!(
            error
                .of_itself()
                .starts_with("failed to MPI_Mrecv 10 bytes from rank 0")
        );
    });
}

#[test]
fn improbe_finds_nothing_where_there_is_nothing_and_a_message_at_last() {
    run(2, 2, |universe| {
        let world = universe.world();
        if world.rank() == 0 {
            world.recv(&mut [0u8], Source::Rank(1), Tag::Is(1)).unwrap();
            return world.send(&[3u8], 1, 0).unwrap();
        }
        for _ in 0..3 {
            assert!(world.improbe(Source::Any, Tag::Any).unwrap().is_none());
        }
        world.send(&[0u8], 0, 1).unwrap();
        let message: Message = loop {
            if let Some(message) = world.improbe(Source::Any, Tag::Any).unwrap() {
                break message;
            }
        };
        let mut data = [0u8];
        message.recv(&mut data).unwrap();
        assert_eq!(data, [3]);
    });
}

/// The purpose of matched probes: several threads receive, and none gets another's message.
#[test]
fn threads_that_probe_and_receive_get_each_message_once() {
    const MESSAGES: u32 = 200;
    let body = |universe: &Universe| {
        let world = universe.world();
        if world.rank() == 0 {
            for number in 0..MESSAGES {
                let len = 1 + number as usize % 40;
                world.send(&vec![number; len], 1, 0).unwrap();
            }
            return;
        }
        let (taken, sum) = (AtomicU32::new(0), AtomicU32::new(0));
        std::thread::scope(|threads| {
            for blocking in [true, false, false] {
                let (taken, sum) = (&taken, &sum);
                threads.spawn(move || {
                    while taken.fetch_add(1, Ordering::Relaxed) < MESSAGES {
                        let message = if blocking {
                            world.mprobe(Source::Any, Tag::Any).unwrap()
                        } else {
                            loop {
                                if let Some(message) = world.improbe(Source::Any, Tag::Any).unwrap()
                                {
                                    break message;
                                }
                            }
                        };
                        let (data, _) = message.recv_vec::<u32>().unwrap();
                        assert_eq!(data, vec![data[0]; 1 + data[0] as usize % 40]);
                        sum.fetch_add(data[0], Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(sum.into_inner(), (0..MESSAGES).sum::<u32>());
    };
    run(2, 1, body);
}

#[test]
fn a_message_is_received_once() {
    run(1, 1, |universe| {
        let world = universe.world().untyped();
        let mut data = [0u8; 4];
        let buffer =
            // SAFETY: it stays, and is not used otherwise, until the operation is complete.
            unsafe { crate::mpi::Buffer::new(data.as_mut_ptr(), 4, bcs_core::reduction::Datatype::Byte) };
        universe.world().send(&[1u8; 4], 0, 0).unwrap();
        let mut message = world.mprobe(0, 0).unwrap();
        let mut receive = || message.recv(buffer.clone());
        let (first, second) = (receive(), receive());
        assert_eq!(first.unwrap().bytes, 4);
        let error = second.unwrap_err();
        assert_eq!(error.class, ErrorClass::Request);
        assert!(error.to_string().contains("received before"), "{error}");
        let nobody = world.mprobe(crate::mpi::PROC_NULL, 0).unwrap();
        assert_eq!(nobody.status(), crate::mpi::Status::PROC_NULL);
    });
}
