//! The records of ranks, against values computed by hand.

use super::Machine;
use crate::rust::universe::Universe;
use crate::{Op, Source, Tag};
use bcs_core::job::{IntranodeTransport, Settings};
use mds::dump::{CallRow, MessageTransport, NONE, RankDump};
use mds::mmds::Primitive;

/// Rank 0 sends 3 x 100 bytes to rank 1, and 2 x 2,000 to rank 2, which waits for them in the other
/// order. The ranks of one parity add a number. All meet at a barrier.
fn program(universe: &Universe) {
    let world = universe.world();
    let alike = world
        .split(u32::try_from(world.rank() % 2).ok(), 0)
        .unwrap()
        .unwrap();
    let mut data = [0_u8; 4_000];
    match world.rank() {
        0 => {
            for _ in 0..3 {
                world.send(&data[..100], 1, 7).unwrap();
            }
            for _ in 0..2 {
                world
                    .isend_owned(vec![0_u8; 2_000], 2, 9)
                    .unwrap()
                    .wait()
                    .unwrap();
            }
        }
        1 => {
            for _ in 0..3 {
                world.recv(&mut data, Source::Any, Tag::Any).unwrap();
            }
        }
        2 => {
            let post = || {
                world
                    .irecv_owned(vec![0_u8; 3_000], Source::Rank(0), Tag::Is(9))
                    .unwrap()
            };
            let (first, second) = (post(), post());
            second.wait().unwrap();
            first.wait().unwrap();
        }
        _ => {}
    }
    alike.allreduce_in_place(&mut [1.0], Op::Sum).unwrap();
    world.barrier().unwrap();
}

fn near(dump: &RankDump) -> (u64, u64, u64) {
    assert!(dump.near.is_sorted_by(|one, other| one.slice < other.slice));
    let add = |(messages, bytes, collectives), row: &mds::dump::LocalSliceRow| {
        (
            messages + row.messages,
            bytes + row.bytes,
            collectives + row.collectives,
        )
    };
    dump.near.iter().fold((0, 0, 0), add)
}

fn names(calls: &[CallRow]) -> Vec<&str> {
    let name = |call: &CallRow| Primitive::ALL[usize::try_from(call.primitive).unwrap()].name();
    calls.iter().map(name).collect()
}

#[test]
fn rows_are_what_was_done_on_both_roads_and_one_or_two_nodes() {
    use IntranodeTransport::{Nic, Smartmap};
    // Rank 0's operations by SMARTMAP: messages, bytes, collectives.
    for (nodes, intranode, expected) in [
        (1, Smartmap, (5, 4_300, 2)),
        (1, Nic, (0, 0, 0)),
        (2, Smartmap, (3, 300, 1)),
        (2, Nic, (0, 0, 0)),
    ] {
        let settings = Settings {
            intranode,
            ..Settings::default()
        };
        let dumps = Machine::new(4, nodes, settings).run_recorded(program);
        assert_eq!(near(&dumps[0]), expected, "{nodes} {intranode:?}");
        let sent = &dumps[0].messages;
        let road = |peer: u64| {
            let here = intranode == Smartmap && (nodes == 1 || peer == 1);
            (if here {
                MessageTransport::Smartmap
            } else {
                MessageTransport::Nic
            }) as u64
        };
        let expected: Vec<_> = [
            (1, 7, 100, 0),
            (1, 7, 100, 1),
            (1, 7, 100, 2),
            (2, 9, 2_000, 0),
            (2, 9, 2_000, 1),
        ]
        .map(|(peer, tag, bytes, ordinal)| (peer, tag, bytes, ordinal, road(peer)))
        .into();
        let seen: Vec<_> = sent
            .iter()
            .map(|row| (row.peer, row.tag, row.bytes, row.ordinal, row.road))
            .collect();
        assert_eq!(seen, expected);
        assert!(
            sent.iter()
                .all(|row| row.received == 0 && row.posted_ns <= row.completed_ns)
        );
        // Messages have the numbers of their posts, whichever was complete first.
        let received = dumps[2].messages.iter();
        let mut received: Vec<_> = received.map(|row| (row.posted_ns, row.ordinal)).collect();
        received.sort_unstable();
        let ordinals: Vec<u64> = received.iter().map(|row| row.1).collect();
        assert_eq!(ordinals, [0, 1]);
        check_calls(&dumps);
    }
}

fn check_calls(dumps: &[RankDump]) {
    let expected = [
        "MPI_Comm_split",
        "MPI_Send",
        "MPI_Send",
        "MPI_Send",
        "MPI_Isend",
        "MPI_Wait",
        "MPI_Isend",
        "MPI_Wait",
        "MPI_Allreduce",
        "MPI_Barrier",
        "MPI_Finalize",
    ];
    assert_eq!(names(&dumps[0].calls), expected);
    let send = dumps[0].calls[1];
    assert_eq!(
        (send.peer, send.tag, send.bytes, send.context),
        (1, 7, 100, 0)
    );
    let wildcard = dumps[1].calls[1];
    assert_eq!(
        (wildcard.peer, wildcard.tag, wildcard.bytes),
        (NONE, NONE, 100)
    );
    let allreduce = dumps[0].calls[8];
    assert_eq!(
        (allreduce.context, allreduce.bytes),
        (dumps[2].calls[5].context, 8)
    );
    assert_ne!(allreduce.context, 0);
    for dump in dumps {
        let all = dump.computation_granularity_ns.total + dump.communication_overhead_ns.total;
        assert_eq!(all, dump.run_ns);
        assert!(dump.calls.iter().all(|call| call.begun_ns <= call.ended_ns));
        let blocking: u64 = dump
            .calls
            .iter()
            .filter(|call| !["MPI_Isend", "MPI_Irecv"].contains(&names(&[**call])[0]))
            .map(|call| call.ended_ns - call.begun_ns)
            .sum();
        assert_eq!(blocking, dump.communication_overhead_ns.total);
        let here = |site: &mds::dump::SiteDump| site.place.contains("tests/recorded.rs:");
        let finalize = |site: &&mds::dump::SiteDump| site.primitive != Some(Primitive::Finalize);
        assert!(
            dump.sites[1..].iter().filter(finalize).all(here),
            "{:?}",
            dump.sites
        );
    }
}

#[test]
fn nothing_is_recorded_while_the_program_does_not_want_it() {
    let dumps = Machine::new(1, 1, Settings::default()).run_recorded(|universe| {
        let world = universe.world();
        world.barrier().unwrap();
        universe.pcontrol(0);
        world.barrier().unwrap();
        universe.process().pcontrol(2);
        world.barrier().unwrap();
    });
    assert_eq!(
        names(&dumps[0].calls),
        ["MPI_Barrier", "MPI_Barrier", "MPI_Finalize"]
    );
    assert_eq!(dumps[0].primitives[&Primitive::Barrier].latency_ns.count, 2);
}

#[test]
fn starts_are_calls_and_what_they_start_has_its_latency() {
    let dumps = Machine::new(2, 1, Settings::default()).run_recorded(|universe| {
        let world = universe.world();
        let mut sum = world.allreduce_init(vec![1.0], vec![0.0], Op::Sum).unwrap();
        for _ in 0..3 {
            sum.start().unwrap().wait().unwrap();
        }
    });
    let dump = &dumps[0];
    let count = |primitive| dump.primitives[&primitive].latency_ns.count;
    assert_eq!(
        (count(Primitive::Start), count(Primitive::Iallreduce)),
        (3, 3)
    );
    assert_eq!(
        dump.communicators
            .iter()
            .map(|comm| comm.collectives)
            .sum::<u64>(),
        3
    );
}
