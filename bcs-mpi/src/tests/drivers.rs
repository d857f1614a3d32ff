//! The same program over every driver of the NICs.

use super::Machine;
use crate::{Op, Source, Tag, Universe};
use bcs_core::job::{IntranodeTransport, NicThreading, Settings, StrobeMode};

/// Sends messages of all kinds to the next rank, and makes collectives of two communicators.
fn everything(universe: &Universe) {
    let world = universe.world();
    let (me, ranks) = (world.rank(), world.size());
    let (next, last) = ((me + 1) % ranks, (me + ranks - 1) % ranks);
    let part = world.split(Some(u32::from(me % 2 == 1)), 0).unwrap();
    let part = part.unwrap();
    for len in [1, 100, 5_000, 300_000] {
        let (out, mut into) = (vec![me; len], vec![ranks; len]);
        let from = (&mut into[..], Source::Rank(last), Tag::Is(1));
        world.sendrecv((&out[..], next, 1), from).unwrap();
        assert_eq!(into, vec![last; len]);
        let mut sums = vec![me as u64; len];
        part.allreduce_in_place(&mut sums, Op::Sum).unwrap();
        let sum = (0..ranks).filter(|rank| rank % 2 == me % 2).sum::<usize>();
        assert_eq!(sums, vec![sum as u64; len]);
        world.bcast(&mut into, 1).unwrap();
        assert_eq!(into, vec![0; len]);
    }
}

#[test]
fn every_driver_does_the_same() {
    for driver in [
        NicThreading::Shared,
        NicThreading::Coprocessor,
        NicThreading::Dedicated,
    ] {
        for strobe in [StrobeMode::Elastic, StrobeMode::Fixed, StrobeMode::Auto] {
            for intranode in [IntranodeTransport::Smartmap, IntranodeTransport::Nic] {
                let settings = Settings {
                    driver,
                    strobe,
                    intranode,
                    ..Settings::default()
                };
                Machine::new(5, 3, settings).run(everything);
            }
        }
    }
}

/// Operations within a node need no NIC: it does not even learn of communicators.
#[test]
fn a_job_on_one_node_strikes_no_slice() {
    let slices = Machine::new(4, 1, Settings::default()).run(|universe| {
        everything(universe);
        let world = universe.world();
        let (me, ranks) = (world.rank(), world.size());
        // The receive is from any source, so the NIC might have its message, too.
        for comm in [world, &world.dup().unwrap()] {
            comm.send(&[me], (me + 1) % ranks, 3).unwrap();
            let found = comm.probe(Source::Any, Tag::Is(3)).unwrap();
            let mut from = [0];
            let status = comm.recv(&mut from, Source::Any, Tag::Any).unwrap();
            assert_eq!((status.source, status), (from[0], found));
        }
    });
    assert_eq!(slices, 0);
}
