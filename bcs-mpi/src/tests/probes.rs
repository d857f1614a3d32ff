//! Probe and iprobe.
#![expect(unsafe_code, reason = "some of them are calls of the untyped core")]

use super::run;
use crate::mpi::{Buffer, Message};
use crate::{ErrorClass, Source, Tag};
use bcs_core::reduction::Datatype;

fn until<T>(mut look: impl FnMut() -> Option<T>) -> T {
    loop {
        if let Some(found) = look() {
            return found;
        }
    }
}

#[test]
fn a_probe_finds_the_message_and_leaves_it() {
    run(2, 2, |universe| {
        let world = universe.world();
        for size in [0, 64, 65, 5_000] {
            if world.rank() == 0 {
                world.send(&vec![1u8; size], 1, 4).unwrap();
            } else {
                let found = world.probe(Source::Any, Tag::Any).unwrap();
                assert_eq!((found.source, found.tag, found.bytes), (0, 4, size));
                let mut data = vec![0u8; found.bytes];
                let status = world.recv(&mut data, Source::Rank(0), Tag::Is(4)).unwrap();
                assert_eq!(status, found);
            }
        }
    });
}

/// In the untyped core, a request receives the message that a probe found.
#[test]
fn a_message_that_a_probe_takes_out_is_received_by_a_request() {
    run(2, 2, |universe| {
        let world = universe.world().untyped();
        if world.rank() == 0 {
            universe.world().send(&[6_u8; 5_000], 1, 4).unwrap();
            return;
        }
        let found = until(|| world.iprobe(0, 4).unwrap());
        assert_eq!((found.source, found.tag, found.bytes), (0, 4, 5_000));
        let mut message: Message = until(|| world.improbe(0, 4).unwrap());
        assert_eq!(message.status(), found);
        let mut data = [0_u8; 5_000];
        // SAFETY: it stays, and is not used otherwise, until the operation is complete.
        let into = unsafe { Buffer::new(data.as_mut_ptr(), data.len(), Datatype::Byte) };
        let mut request = message.irecv(into.clone()).unwrap();
        assert_eq!(request.wait().unwrap(), found);
        assert_eq!(data, [6; 5_000]);
        let error = message.irecv(into).unwrap_err();
        assert_eq!(error.class, ErrorClass::Request);
    });
}

#[test]
fn iprobe_finds_a_message_at_last() {
    run(2, 2, |universe| {
        let world = universe.world();
        if world.rank() == 0 {
            world.barrier().unwrap();
            world.send(&[5u8; 10], 1, 4).unwrap();
        } else {
            assert_eq!(world.iprobe(Source::Rank(0), Tag::Is(4)).unwrap(), None);
            world.barrier().unwrap();
            let found = until(|| world.iprobe(Source::Rank(0), Tag::Is(4)).unwrap());
            assert_eq!(found.bytes, 10);
            let again = world.iprobe(Source::Rank(0), Tag::Is(4)).unwrap();
            assert_eq!(again, Some(found), "nothing took it meanwhile");
            let mut data = [0u8; 10];
            world.recv(&mut data, Source::Any, Tag::Any).unwrap();
        }
    });
}

/// An answer of iprobe is void once a receive that may take the message was posted.
#[test]
fn iprobe_does_not_find_what_a_receive_has_taken() {
    run(2, 1, |universe| {
        let world = universe.world();
        if world.rank() == 0 {
            world.send(&[1u8], 1, 4).unwrap();
            world.send(&[2u8], 1, 5).unwrap();
            world.barrier().unwrap();
        } else {
            // One probe is not answered yet, and one is.
            until(|| world.iprobe(Source::Any, Tag::Is(4)).unwrap());
            until(|| world.iprobe(Source::Any, Tag::Is(5)).unwrap());
            let mut data = [0u8];
            world.recv(&mut data, Source::Any, Tag::Is(4)).unwrap();
            for _ in 0..100 {
                assert_eq!(world.iprobe(Source::Any, Tag::Is(4)).unwrap(), None);
            }
            let other = world.iprobe(Source::Any, Tag::Is(5)).unwrap();
            assert!(
                other.is_some(),
                "a receive that cannot take it does not void it"
            );
            world.recv(&mut data, Source::Any, Tag::Is(5)).unwrap();
            world.barrier().unwrap();
        }
    });
}

#[test]
fn a_question_is_void_even_before_it_is_answered() {
    run(2, 1, |universe| {
        let world = universe.world();
        if world.rank() == 0 {
            world.send(&[1u8], 1, 4).unwrap();
            world.barrier().unwrap();
        } else {
            // The rank polls; BR may find the message. The receive then takes it.
            let _old = world.iprobe(Source::Any, Tag::Any).unwrap();
            let mut data = [0u8];
            world.recv(&mut data, Source::Any, Tag::Is(4)).unwrap();
            for _ in 0..100 {
                assert_eq!(world.iprobe(Source::Any, Tag::Any).unwrap(), None);
            }
            world.barrier().unwrap();
        }
    });
}
