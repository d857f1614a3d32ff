//! Demands for slices (law 2). Only the test strobes these NICs.

use super::Machine;
use crate::transport::Transport;
use crate::{Op, Source, Tag, Universe};
use bcs_core::job::{IntranodeTransport, Settings, StrobeMode};
use bcs_nic::driver::ManualNics;
use std::time::{Duration, Instant};

/// The longest that a test waits for an event that should come at once.
const SOON: Duration = Duration::from_secs(10);

#[derive(Debug, PartialEq)]
enum SliceDemand {
    Nothing,
    Armed,
    Demanded,
}

fn wanted(machine: &Machine) -> SliceDemand {
    match machine.page.wanted() {
        (_, true) => SliceDemand::Demanded,
        (true, false) => SliceDemand::Armed,
        (false, false) => SliceDemand::Nothing,
    }
}

fn machine(strobe: StrobeMode) -> (Machine, Vec<Universe>) {
    let machine = Machine::new(
        3,
        1,
        Settings {
            strobe,
            intranode: IntranodeTransport::Nic,
            ..Settings::default()
        },
    );
    let universes = (0..3)
        .map(|rank| Universe::over(machine.process(rank, None)))
        .collect();
    (machine, universes)
}

fn slice(nics: &mut ManualNics) {
    assert_eq!(nics.slice(), []);
}

fn end(universes: Vec<Universe>) {
    for universe in universes {
        std::mem::forget(universe); // There is no strobe for it to finalise.
    }
}

#[test]
fn a_send_arms_and_demands_if_somebody_is_blocked() {
    let (machine, ranks) = machine(StrobeMode::Elastic);
    ranks[0].world().send(&[1u8], 1, 0).unwrap();
    assert_eq!(wanted(&machine), SliceDemand::Armed);
    machine.page.begin_slice(false);
    machine.page.count_blocked(true);
    ranks[0].world().send(&[1u8], 1, 0).unwrap();
    assert_eq!(wanted(&machine), SliceDemand::Demanded);
    machine.page.count_blocked(false);
    end(ranks);
}

#[test]
fn a_lone_receive_asks_for_nothing() {
    let (machine, ranks) = machine(StrobeMode::Elastic);
    let mut nics = ManualNics::new(&machine.nics());
    let receive = || {
        ranks[1]
            .world()
            .irecv_owned(vec![0u8], Source::Any, Tag::Is(9))
            .unwrap()
    };
    std::mem::forget(receive());
    assert_eq!(wanted(&machine), SliceDemand::Nothing);
    ranks[0].world().send(&[1u8], 1, 0).unwrap();
    slice(&mut nics);
    // Now BR holds a message for the rank.
    std::mem::forget(receive());
    assert_eq!(wanted(&machine), SliceDemand::Armed);
    end(ranks);
}

#[test]
fn a_test_that_finds_nothing_demands_once() {
    let (machine, ranks) = machine(StrobeMode::Elastic);
    let world = ranks[0].world();
    let mut request = world.isend_owned(vec![0u8; 10_000], 1, 0).unwrap();
    assert_eq!(wanted(&machine), SliceDemand::Armed);
    assert!(!request.test().unwrap());
    assert_eq!(wanted(&machine), SliceDemand::Demanded);
    machine.page.begin_slice(false);
    assert!(!request.test().unwrap());
    assert_eq!(
        wanted(&machine),
        SliceDemand::Nothing,
        "nothing has changed"
    );
    let other = world.isend_owned(vec![0u8; 10_000], 1, 0).unwrap();
    assert!(!request.test().unwrap());
    assert_eq!(
        wanted(&machine),
        SliceDemand::Demanded,
        "there is more to do"
    );
    slice(&mut ManualNics::new(&machine.nics()));
    assert!(!request.test().unwrap());
    assert_eq!(wanted(&machine), SliceDemand::Nothing, "all was exchanged");
    std::mem::forget((request, other));
    end(ranks);
}

/// It has nothing to do itself, but an operation that another thread has armed may be what it waits
/// for.
#[test]
fn who_blocks_demands_what_another_one_has_armed() {
    let (machine, ranks) = machine(StrobeMode::Elastic);
    ranks[0].world().send(&[1u8], 1, 0).unwrap();
    assert_eq!(wanted(&machine), SliceDemand::Armed);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            let mut into = [0_u8];
            let from = (Source::Rank(0), Tag::Is(0));
            ranks[1].world().recv(&mut into, from.0, from.1).unwrap();
        });
        let start = Instant::now();
        while wanted(&machine) != SliceDemand::Demanded {
            if start.elapsed() > SOON {
                // It sleeps until there is a slice, and only this test strobes.
                slice(&mut ManualNics::new(&machine.nics()));
                panic!("it blocks, and asks for nothing");
            }
            std::thread::yield_now();
        }
        slice(&mut ManualNics::new(&machine.nics()));
    });
    end(ranks);
}

#[test]
fn the_last_of_a_node_demands_its_collective() {
    let (machine, ranks) = machine(StrobeMode::Elastic);
    let barrier = |rank: usize| ranks[rank].world().untyped().ibarrier().unwrap();
    let early = [barrier(2), barrier(0)];
    assert_eq!(wanted(&machine), SliceDemand::Nothing);
    let last = barrier(1);
    assert_eq!(wanted(&machine), SliceDemand::Demanded);
    std::mem::forget((early, last));
    end(ranks);
}

#[test]
fn fixed_strobes_are_only_armed() {
    let (machine, ranks) = machine(StrobeMode::Fixed);
    machine.page.count_blocked(true);
    let world = ranks[0].world();
    let mut request = world.isend_owned(vec![0u8; 10_000], 1, 0).unwrap();
    assert!(!request.test().unwrap());
    assert_eq!(wanted(&machine), SliceDemand::Armed);
    machine.page.begin_slice(false);
    let barriers: Vec<_> = ranks
        .iter()
        .map(|rank| rank.world().untyped().ibarrier().unwrap())
        .collect();
    assert_eq!(wanted(&machine), SliceDemand::Armed);
    machine.page.count_blocked(false);
    std::mem::forget((request, barriers));
    end(ranks);
}

/// The withdrawal of a receive demands no slice, until a thread waits for the end. A rank that had
/// not announced before that it would demand nothing more waited for ever, unless a slice came for
/// another reason.
#[test]
fn a_withdrawn_receive_asks_for_a_slice_at_the_end() {
    for (strobe, asked) in [
        (StrobeMode::Elastic, SliceDemand::Demanded),
        (StrobeMode::Fixed, SliceDemand::Armed),
        (StrobeMode::Auto, SliceDemand::Armed),
    ] {
        let settings = Settings {
            strobe,
            ..Settings::default()
        };
        let machine = Machine::new(3, 2, settings);
        let processes = [0, 1].map(|rank| machine.process(rank, None));
        let ranks: Vec<_> = processes.iter().cloned().map(Universe::over).collect();
        let mut receive = ranks[0]
            .world()
            .irecv_owned(vec![0u8], Source::Any, Tag::Is(1))
            .unwrap();
        ranks[1].world().send(&[7u8], 0, 1).unwrap();
        assert!(receive.test().unwrap());
        assert_eq!(wanted(&machine), SliceDemand::Nothing);
        assert!(!processes[0].endpoint().lock().mux.is_over());
        assert_eq!(wanted(&machine), asked);
        end(ranks);
    }
}

/// A collective costs about one slice, not one for each rank that arrives.
#[test]
fn collectives_of_many_ranks_take_few_slices() {
    let settings = Settings {
        intranode: IntranodeTransport::Nic,
        ..Settings::default()
    };
    let slices = Machine::new(8, 1, settings).run(|universe| {
        for _ in 0..50 {
            let mut sum = [1u64];
            universe
                .world()
                .allreduce_in_place(&mut sum, Op::Sum)
                .unwrap();
        }
    });
    assert!(
        (50..=110).contains(&slices),
        "{slices} slices for 50 reductions"
    );
}
