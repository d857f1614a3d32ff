//! A world of one.

use crate::mpi::Process;
use crate::rust::universe::Universe;
use crate::{Op, Source, Tag};

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

/// A thread that waits for a message that another thread of the rank sends.
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

#[test]
fn calls_after_the_end_are_refused() {
    let universe = alone();
    let world = universe.world().clone();
    universe.finalize().unwrap();
    let error = world.send(&[1u8], 0, 0).unwrap_err();
    assert!(
        error.to_string().ends_with("called after MPI_Finalize"),
        "{error}"
    );
}
