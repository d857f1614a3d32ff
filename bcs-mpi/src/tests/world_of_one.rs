//! A world of one.
#![expect(unsafe_code, reason = "messages from memory that there is not")]

use super::end_of_all;
use crate::bcs::Endpoint;
use crate::mpi::process::memory_alone;
use crate::mpi::{Buffer, ErrorClass, Process, ThreadLevel};
use crate::recording::Recording;
use crate::rust::universe::Universe;
use crate::{Op, Source, Tag};
use bcs_core::job::Placement;
use bcs_core::reduction::Datatype;
use bcs_core::wake::bell::{self, ASLEEP};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

fn alone() -> Universe {
    Universe::over(Process::init().unwrap())
}

#[test]
fn messages_to_oneself() {
    let universe = alone();
    let world = universe.world();
    assert_eq!((world.rank(), world.size()), (0, 1));
    assert_eq!(world.iprobe(Source::Any, Tag::Any).unwrap(), None);
    for size in [0usize, 64, 65, 4096] {
        world.send(&vec![7u8; size], 0, 3).unwrap();
        let found = world.iprobe(Source::Any, Tag::Any).unwrap().unwrap();
        assert_eq!(found.bytes, size);
        let mut data = vec![0u8; size];
        world.recv(&mut data, Source::Rank(0), Tag::Is(3)).unwrap();
        assert_eq!(data, vec![7u8; size]);
        assert_eq!(world.iprobe(Source::Any, Tag::Any).unwrap(), None);
    }
    let request = world.isend_owned(vec![1.5f64; 100_000], 0, 0).unwrap();
    let mut data = vec![0.0; 100_000];
    world.recv(&mut data, Source::Any, Tag::Any).unwrap();
    assert_eq!(request.wait().unwrap().0, data);
    universe.finalize().unwrap();
}

#[test]
fn what_a_program_says_of_its_threads_is_believed_until_another_one_calls() {
    for (level, others) in [
        (ThreadLevel::Single, false),
        (ThreadLevel::Funneled, false),
        (ThreadLevel::Serialized, true),
        (ThreadLevel::Multiple, true),
    ] {
        let process = Process::init_thread(level).unwrap();
        assert_eq!(process.thread_level(), level);
        assert_eq!(process.endpoint().may_others_call(), others);
        let comm = process.world();
        let asks = move || comm.iprobe(0, 1).map(drop);
        std::thread::spawn(asks).join().unwrap().unwrap();
        assert!(process.endpoint().may_others_call());
        process.finalize().unwrap();
    }
}

/// Regression: such requests each kept their slot for ever.
#[test]
fn requests_that_are_dropped_take_no_slots_when_they_are_done() {
    let process = Process::init().unwrap();
    let comm = process.world();
    let (mut out, mut into) = ([1_u8], [0_u8]);
    for _ in 0..1_000 {
        // SAFETY: it stays until the process ends.
        let data = unsafe { Buffer::new(into.as_mut_ptr(), 1, Datatype::Byte) };
        drop(comm.irecv(data, 0, 1).unwrap());
        // SAFETY: it stays during the call.
        let data = unsafe { Buffer::new(out.as_mut_ptr(), 1, Datatype::Byte) };
        comm.send(data, 0, 1).unwrap();
    }
    let left = process.endpoint().bcs_leak_counts().requests;
    assert!(left < 100, "{left}");
    process.finalize().unwrap();
    assert_eq!(process.endpoint().bcs_leak_counts().requests, 0);
}

#[test]
fn ten_thousand_small_messages_to_oneself() {
    let universe = alone();
    let world = universe.world();
    for tag in 0..10_000 {
        world.send(&[tag], 0, tag).unwrap();
    }
    for tag in (0..10_000).rev() {
        let mut data = [0];
        world.recv(&mut data, Source::Any, Tag::Is(tag)).unwrap();
        assert_eq!(data, [tag]);
    }
    universe.finalize().unwrap();
}

#[test]
fn collectives_of_one() {
    let universe = alone();
    let world = universe.world();
    world.barrier().unwrap();
    let mut data = [1.0, 2.0];
    world.bcast(&mut data, 0).unwrap();
    let mut result = [0.0; 2];
    world.allreduce(&data, &mut result, Op::Sum).unwrap();
    assert_eq!(result, data);
    let part = world.split(Some(3), 1).unwrap().unwrap();
    assert!(world.split(None, 1).unwrap().is_none());
    let twin = part.dup().unwrap();
    twin.send(&[1u8], 0, 0).unwrap();
    part.send(&[2u8], 0, 0).unwrap();
    let mut data = [0u8];
    part.recv(&mut data, Source::Any, Tag::Any).unwrap();
    assert_eq!(data, [2]);
    twin.recv(&mut data, Source::Any, Tag::Any).unwrap();
    assert_eq!(data, [1]);
    universe.finalize().unwrap();
}

/// A thread waits for a message that another thread of the rank sends.
#[test]
fn threads_of_a_rank_wake_each_other() {
    let universe = alone();
    let world = universe.world();
    std::thread::scope(|threads| {
        for tag in 0..8 {
            threads.spawn(move || {
                let mut data = [0];
                for turn in 0..200 {
                    world
                        .recv(&mut data, Source::Rank(0), Tag::Is(tag))
                        .unwrap();
                    assert_eq!(data, [turn]);
                }
            });
        }
        for turn in 0..200 {
            for tag in (0..8).rev() {
                world.send(&[turn], 0, tag).unwrap();
            }
        }
    });
    universe.finalize().unwrap();
}

/// The clock does not go back in another thread, either: all threads use one clock.
#[test]
fn the_time_does_not_go_back() {
    let (before, universe) = (crate::wtime(), alone());
    universe.finalize().unwrap();
    let after = std::thread::spawn(crate::wtime).join().unwrap();
    assert!(0.0 < before && before <= after, "{before} {after}");
}

#[test]
fn calls_after_the_end_are_refused() {
    let universe = alone();
    let (world, process) = (universe.world().clone(), universe.process().clone());
    assert!(!process.is_finalized());
    universe.finalize().unwrap();
    assert!(process.is_finalized());
    let error = world.send(&[1u8], 0, 0).unwrap_err();
    assert!(
        error.to_string().ends_with("called after MPI_Finalize"),
        "{error}"
    );
}

/// A synchronous send is complete when its receive has the message. The receive may be posted
/// before or after it.
#[test]
fn synchronous_sends_to_oneself() {
    let universe = alone();
    let world = universe.world();
    for len in [0, 3, 9, 5_000, 100_000, 400_000] {
        let out: Vec<u32> = (0..len).collect();
        let receive = world.irecv_owned(vec![0; out.len()], Source::Any, Tag::Is(1));
        world.ssend(&out, 0, 1).unwrap();
        assert_eq!(receive.unwrap().wait().unwrap().0, out);
        // SAFETY: it stays, and is not used otherwise, until the operation is complete.
        let data = unsafe { Buffer::read_only(out.as_ptr(), out.len(), Datatype::Uint32) };
        let mut send = world.untyped().issend(data, 0, 1).unwrap();
        assert!(send.test().unwrap().is_none(), "nobody has asked for it");
        let mut into = vec![0; out.len()];
        world.recv(&mut into, Source::Any, Tag::Any).unwrap();
        send.wait().unwrap();
        assert_eq!(into, out);
    }
    universe.finalize().unwrap();
}

#[test]
fn probes_and_cancels_to_oneself() {
    let universe = alone();
    let world = universe.world();
    assert!(world.improbe(Source::Any, Tag::Any).unwrap().is_none());
    let never = world.irecv_owned(vec![9_u8], Source::Rank(0), Tag::Is(1));
    let never = never.unwrap();
    never.cancel();
    let (data, status) = never.wait().unwrap();
    assert_eq!((data, status.cancelled), (vec![9], true));
    for len in [1, 2_000, 70_000] {
        world.send(&vec![1_u8; len], 0, 1).unwrap();
        world.send(&[2_u8], 0, 1).unwrap();
        let found = world.mprobe(Source::Any, Tag::Is(1)).unwrap();
        let mut next = [0];
        world.recv(&mut next, Source::Any, Tag::Any).unwrap();
        assert_eq!(next, [2], "the first one was taken out");
        assert_eq!(found.recv_vec::<u8>().unwrap().0, vec![1; len]);
    }
    universe.finalize().unwrap();
}

/// Makes more communicators, one after the other, than there are ids.
#[test]
fn communicators_of_one_are_made_and_freed() {
    let universe = alone();
    let world = universe.world();
    for number in 0..3_000_u32 {
        let copy = world.dup().unwrap();
        copy.send(&[number], 0, 0).unwrap();
        let mut sum = [number];
        copy.allreduce_in_place(&mut sum, Op::Sum).unwrap();
        let mut into = [0];
        copy.recv(&mut into, Source::Any, Tag::Any).unwrap();
        assert_eq!((sum, into), ([number], [number]));
    }
    universe.finalize().unwrap();
}

/// A message from invalid memory is an error on both sides, and the next message comes.
#[test]
fn a_message_to_oneself_from_memory_that_is_not_there() {
    let universe = alone();
    let world = universe.world().untyped();
    let (len, mut into) = (100_000, vec![0_u8; 100_000]);
    // SAFETY: it stays, and is not used otherwise, until the operation is complete.
    let nowhere = unsafe {
        Buffer::read_only(
            std::ptr::without_provenance::<u8>(4096),
            len,
            Datatype::Byte,
        )
    };
    // SAFETY: it stays, and is not used otherwise, until the operation is complete.
    let room = unsafe { Buffer::new(into.as_mut_ptr(), len, Datatype::Byte) };
    let mut send = world.issend(nowhere, 0, 0).unwrap();
    let received = world.recv(room, 0, 0);
    assert_eq!(received.unwrap_err().class, ErrorClass::Buffer);
    assert_eq!(send.wait().unwrap_err().class, ErrorClass::Buffer);
    universe.world().send(&[1_u8], 0, 0).unwrap();
    let mut byte = [0_u8];
    let from = (Source::Rank(0), Tag::Is(0));
    universe.world().recv(&mut byte, from.0, from.1).unwrap();
    universe.finalize().unwrap();
}

/// A rank that waits for a message that never comes uses no core, and demands no slice.
#[test]
fn a_world_of_one_that_waits_sleeps() {
    let memory = memory_alone().unwrap();
    let endpoint = Endpoint::alone(memory.clone());
    let placement = Placement::block(1, 1).unwrap();
    let process = Process::with_endpoint(
        endpoint,
        placement,
        None,
        Recording::new(None, memory.page.clone()),
    );
    let universe = Universe::over(process);
    let world = universe.world();
    std::thread::scope(|threads| {
        for source in [Source::Any, Source::Rank(0)] {
            let waits = threads.spawn(move || {
                let mut data = [0_u64; 1];
                world.recv(&mut data, source, Tag::Any).unwrap();
                data
            });
            let start = Instant::now();
            while bell::state(memory.nic.bell().load(Ordering::Acquire)) != ASLEEP {
                if start.elapsed() > Duration::from_secs(20) {
                    end_of_all("a_world_of_one_that_waits_sleeps", "it does not sleep");
                }
                std::thread::yield_now();
            }
            assert_eq!(memory.page.wanted(), (false, false));
            world.send(&[7_u64], 0, 0).unwrap();
            assert_eq!(waits.join().unwrap(), [7]);
        }
    });
    universe.finalize().unwrap();
}
