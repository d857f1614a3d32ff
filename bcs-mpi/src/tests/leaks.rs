//! The contents of ranks' tables when they end.
#![expect(unsafe_code, reason = "requests that nobody waits for")]

use super::{Machine, run};
use crate::mpi::Buffer;
use crate::{Source, Tag};
use bcs_core::job::{IntranodeTransport, Settings};
use bcs_core::reduction::Datatype;

/// A leak is counted, and ends no rank.
#[test]
fn what_a_program_leaves_harms_nobody() {
    for (intranode, nodes) in [
        (IntranodeTransport::Smartmap, 1),
        (IntranodeTransport::Smartmap, 2),
        (IntranodeTransport::Nic, 1),
    ] {
        let settings = Settings {
            intranode,
            ..Settings::default()
        };
        let mut machine = Machine::new(4, nodes, settings);
        machine.may_leave = true;
        machine.run(|universe| {
            let world = universe.world();
            let (me, ranks) = (world.rank(), world.size());
            let opposite = (me + 2) % ranks;
            let into = Box::leak(Box::new(0_u8));
            // SAFETY: it stays, and is not used otherwise, until the operation is complete.
            let never = unsafe { Buffer::new(into, 1, Datatype::Byte) };
            for source in [crate::mpi::ANY_SOURCE, i32::try_from(opposite).unwrap()] {
                let request = world.untyped().irecv(never.clone(), source, 1);
                std::mem::forget(request.unwrap());
            }
            std::mem::forget(world.untyped().ibarrier().unwrap());
            for bytes in [3, 50] {
                world.send(&vec![1_u8; bytes], opposite, 2).unwrap();
            }
            // So the earlier messages have come.
            let found = world.probe(Source::Rank(opposite), Tag::Is(2)).unwrap();
            assert_eq!(found.bytes, 3);
            world.send(&[1_u8], opposite, 3).unwrap();
            let last = (Source::Rank(opposite), Tag::Is(3));
            world.recv(&mut [0_u8], last.0, last.1).unwrap();
            let process = universe.process();
            process.finalize().unwrap();
            let left = process.endpoint().bcs_leak_counts();
            // Both transports may know the receive from any source, and a leader may have posted
            // its node's part of the barrier at the NIC.
            assert!((3..=5).contains(&left.requests), "{left}");
            assert_eq!(left.messages, 2, "{left}");
        });
    }
}

/// They are in the library's tables and in the NIC's, and no call waits for them.
#[test]
fn questions_and_withdrawn_receives_are_over_at_the_end() {
    run(4, 2, |universe| {
        let world = universe.world();
        let neighbour = world.rank() ^ 1;
        for tag in 0..20 {
            // A local message completes the receive, and the NIC must then be notified.
            let any = world.irecv_owned(vec![0_u8], Source::Any, Tag::Is(tag));
            world.send(&[7_u8], neighbour, tag).unwrap();
            assert_eq!(any.unwrap().wait().unwrap().0, [7]);
            // Polls, and does not come back for the answer.
            for source in [Source::Any, Source::Rank((world.rank() + 2) % 4)] {
                let found = world.iprobe(source, Tag::Is(tag + 100)).unwrap();
                assert_eq!(found, None);
            }
        }
    });
}

/// Contexts that were closed and payload slots that were used, each by the last call of all.
#[test]
fn what_the_last_calls_used_is_given_back() {
    run(4, 2, |universe| {
        let world = universe.world();
        let (me, ranks) = (world.rank(), world.size());
        let (next, last) = ((me + 1) % ranks, (me + ranks - 1) % ranks);
        let copy = world.dup().unwrap();
        for tag in 0..400 {
            copy.send(&[1_u8; 1_000], next, tag).unwrap();
        }
        for tag in (0..400).rev() {
            let from = (Source::Rank(last), Tag::Is(tag));
            copy.recv(&mut [0_u8; 1_000], from.0, from.1).unwrap();
        }
        copy.send(&[1_u8; 1_000], next, 0).unwrap();
        let mut into = [0_u8; 1_000];
        copy.recv(&mut into, Source::Any, Tag::Any).unwrap();
        drop(copy);
    });
}

/// A test of another file that leaks something fails.
#[test]
#[should_panic(expected = "1 requests that nobody waited for, 0 messages that nobody received")]
fn a_test_notices_what_is_left() {
    let machine = Machine::new(1, 1, Settings::default());
    let universe = crate::Universe::over(machine.process(0, None));
    let into = Box::leak(Box::new(0_u8));
    // SAFETY: it stays, and is not used otherwise, until the operation is complete.
    let never = unsafe { Buffer::new(into, 1, Datatype::Byte) };
    let request = universe.world().untyped().irecv(never, 0, 1);
    std::mem::forget(request.unwrap());
    let process = universe.process().clone();
    universe.finalize().unwrap();
    machine.look_at_the_end(&process);
}
