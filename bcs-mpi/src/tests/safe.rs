//! Behaviour that only the safe layer has.

use super::{Machine, run};
use crate::{ErrorClass, Source, Tag};
use bcs_core::job::Settings;
use std::panic::{AssertUnwindSafe, catch_unwind};

#[test]
fn a_scope_waits_for_what_was_not_waited_for() {
    run(2, 2, |universe| {
        let world = universe.world();
        let peer = 1 - world.rank();
        let out = vec![world.rank(); 20_000];
        let mut into = vec![9; 20_000];
        crate::scope(|scope| {
            world.irecv(scope, &mut into, Source::Rank(peer), Tag::Is(0))?;
            world.isend(scope, &out, peer, 0)?;
            Ok(())
        })
        .unwrap();
        assert_eq!(into, vec![peer; 20_000]);
    });
}

#[test]
fn a_panic_in_a_scope_cancels_receives_and_waits_for_sends() {
    run(2, 1, |universe| {
        let world = universe.world();
        if world.rank() == 1 {
            let mut into = vec![0u8; 10_000];
            world.recv(&mut into, Source::Rank(0), Tag::Is(0)).unwrap();
            assert_eq!(into, vec![3u8; 10_000]);
            // Rank 0 must have left the scope first: an earlier message would rightly go to the
            // receive that is to be cancelled.
            world
                .recv(&mut into[..1], Source::Rank(0), Tag::Is(2))
                .unwrap();
            world.send(&[4u8], 0, 1).unwrap();
            return;
        }
        let out = vec![3u8; 10_000];
        let mut never = vec![0u8; 10];
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            crate::scope(|scope| -> crate::Result<()> {
                world.irecv(scope, &mut never, Source::Rank(1), Tag::Is(1))?;
                world.isend(scope, &out, 1, 0)?;
                std::panic::resume_unwind(Box::new("on purpose"));
            })
        }));
        assert!(panicked.is_err());
        drop(out);
        world.send(&[5u8], 1, 2).unwrap();
        // The receive of the scope was cancelled: this one gets the message.
        let mut data = [0u8];
        world.recv(&mut data, Source::Rank(1), Tag::Is(1)).unwrap();
        assert_eq!((data, never), ([4], vec![0; 10]));
    });
}

#[test]
fn a_receive_in_a_scope_is_cancelled() {
    run(2, 2, |universe| {
        let world = universe.world();
        let mut never = [9_u8; 10];
        crate::scope(|scope| {
            let receive = world.irecv(scope, &mut never, Source::Any, Tag::Is(3))?;
            receive.cancel();
            let (slice, status) = receive.wait()?;
            assert!(status.cancelled);
            assert_eq!(slice, [9; 10]);
            Ok(())
        })
        .unwrap();
    });
}

#[test]
fn a_failure_in_a_scope_is_not_lost() {
    run(2, 1, |universe| {
        let world = universe.world();
        if world.rank() == 0 {
            world.send(&[1u8; 100], 1, 0).unwrap();
        } else {
            let mut into = [0u8; 10];
            let error = crate::scope(|scope| {
                world.irecv(scope, &mut into, Source::Rank(0), Tag::Is(0))?;
                Ok(())
            })
            .unwrap_err();
            assert_eq!(error.class, ErrorClass::Truncate);
        }
    });
}

#[test]
fn the_mds_gets_its_dump() {
    let machine = Machine::new(2, 1, Settings::default());
    let dumps = machine.run_recorded(|universe| {
        let world = universe.world();
        if world.rank() == 0 {
            world.send(&[1u8; 10], 1, 0).unwrap();
            world
                .isend_owned(vec![1u8; 20], 1, 0)
                .unwrap()
                .wait()
                .unwrap();
        } else {
            let mut data = [0u8; 20];
            world.recv(&mut data, Source::Any, Tag::Any).unwrap();
            world.recv(&mut data, Source::Any, Tag::Any).unwrap();
        }
        world.barrier().unwrap();
    });
    let calls = |rank: usize| -> Vec<(String, u64)> {
        let primitives = dumps[rank].primitives.iter();
        primitives
            .map(|(name, dump)| (name.to_string(), dump.latency_ns.count))
            .collect()
    };
    let named = |calls: &[(&str, u64)]| -> Vec<(String, u64)> {
        calls
            .iter()
            .map(|&(name, count)| (name.to_owned(), count))
            .collect()
    };
    let sender = [
        ("MPI_Send", 1),
        ("MPI_Isend", 1),
        ("MPI_Wait", 1),
        ("MPI_Barrier", 1),
        ("MPI_Finalize", 1),
    ];
    assert_eq!(calls(0), named(&sender));
    assert_eq!(
        calls(1),
        named(&[("MPI_Recv", 2), ("MPI_Barrier", 1), ("MPI_Finalize", 1)])
    );
}
