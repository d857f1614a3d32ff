//! Planted waits, and what they are put down to. The times are hand-computed.

use mds::dump::{
    CallRow, Dumps, MessageRow, NONE, NodeDump, RankDump, Road, SiteDump, StrobeDump, StrobeRow,
};
use mds::figures::{Blame, Cause, blame};
use mds::mmds::Primitive;

const MS: u64 = 1_000_000;
const SLICE_NS: u64 = 250_000;

fn site(place: &str) -> SiteDump {
    SiteDump {
        place: place.to_owned(),
        ..SiteDump::default()
    }
}

fn rank(rank: u32, calls: Vec<CallRow>, messages: Vec<MessageRow>) -> RankDump {
    RankDump {
        rank,
        node: rank,
        run_ns: 1_000 * MS,
        sites: vec![
            site("elsewhere"),
            site(&format!("rank{rank}.rs:1")),
            site("barrier.rs:7"),
        ],
        calls,
        messages,
        ..RankDump::default()
    }
}

fn call(primitive: Primitive, begun_ns: u64, ended_ns: u64) -> CallRow {
    CallRow {
        begun_ns,
        ended_ns,
        slice: begun_ns / SLICE_NS,
        primitive: primitive as u64,
        site: if primitive == Primitive::Barrier {
            2
        } else {
            1
        },
        context: 0,
        peer: NONE,
        tag: NONE,
        bytes: 0,
    }
}

fn message(received: u64, posted_ns: u64, completed_ns: u64, road: Road) -> MessageRow {
    MessageRow {
        received,
        posted_ns,
        completed_ns,
        slice: posted_ns / SLICE_NS,
        site: 1,
        context: 0,
        peer: 1 - received,
        tag: 0,
        bytes: 8,
        ordinal: 0,
        road: road as u64,
    }
}

/// Slices that are struck by the clock, up to 100 ms.
fn nodes() -> Vec<NodeDump> {
    let row = |slice| StrobeRow {
        slice,
        strobe_ns: slice * SLICE_NS,
        ..StrobeRow::default()
    };
    let global = StrobeDump {
        strobes: (0..400).map(row).collect(),
        ..StrobeDump::default()
    };
    vec![NodeDump {
        global: Some(global),
        ..NodeDump::default()
    }]
}

/// Rank 1 calls MPI_Recv at 1 ms, rank 0 sends at `sent_ns`, and the message is there at `done_ns`.
fn one_message(sent_ns: u64, done_ns: u64, road: Road) -> Blame {
    let send = call(Primitive::Send, sent_ns, sent_ns + 500);
    let receive = call(Primitive::Recv, MS, done_ns + 1_000);
    blame(&Dumps {
        ranks: vec![
            rank(
                0,
                vec![send],
                vec![message(0, sent_ns, sent_ns + 400, road)],
            ),
            rank(1, vec![receive], vec![message(1, MS, done_ns, road)]),
        ],
        nodes: nodes(),
        ..Dumps::default()
    })
}

fn assert_blamed(blame: &Blame, expected: (Cause, u32, &str), waited_ns: u64) {
    let first = &blame.culprits[0];
    assert_eq!(
        (first.cause, first.rank, first.place.as_str()),
        expected,
        "{blame:?}"
    );
    let total: u64 = blame.total().iter().sum();
    assert!(
        first.waited_ns * 100 >= total * 95,
        "{} of {total}",
        first.waited_ns
    );
    assert_eq!(first.waited_ns, waited_ns);
}

#[test]
fn a_rank_that_computes_too_long_posts_late_on_both_roads() {
    for (road, done_ns) in [
        (Road::Smartmap, 21 * MS + 2_000),
        (Road::Nic, 21 * MS + 90_000),
    ] {
        // Rank 0 computes 20 ms too long.
        let blame = one_message(21 * MS, done_ns, road);
        assert_blamed(&blame, (Cause::PostedLate, 0, "rank0.rs:1"), 20 * MS);
    }
}

#[test]
fn a_message_that_waits_for_a_budget_is_scheduled_late() {
    // Posted before the receive; ten slices until the last bytes are scheduled, in the slice at 3.5 ms.
    let blame = one_message(MS - 1_000, 3 * MS + 540_000, Road::Nic);
    assert_blamed(
        &blame,
        (Cause::ScheduledLate, 1, "rank1.rs:1"),
        2 * MS + 500_000,
    );
}

#[test]
fn a_pair_that_posts_just_after_the_strobe_is_scheduled_late() {
    // Rank 0 posts 2 us after the strobe at 1 ms; the next one is at 1.25 ms, and it moves in 5 us.
    let blame = one_message(MS + 2_000, MS + 255_000, Road::Nic);
    assert_blamed(&blame, (Cause::ScheduledLate, 0, "rank0.rs:1"), 248_000);
}

#[test]
fn bytes_that_take_long_within_a_node_are_moved_late() {
    let blame = one_message(MS - 1_000, 31 * MS, Road::Smartmap);
    assert_blamed(&blame, (Cause::MovedLate, 0, "rank0.rs:1"), 30 * MS);
}

#[test]
fn whoever_enters_a_barrier_last_is_to_blame() {
    let ranks = (0..3).map(|number| {
        let enters_ns = MS + if number == 2 { 20 * MS } else { 0 };
        let mut dump = rank(
            number,
            vec![call(Primitive::Barrier, enters_ns, 21 * MS + 100_000)],
            vec![],
        );
        dump.node = 0;
        dump
    });
    let blame = blame(&Dumps {
        ranks: ranks.collect(),
        nodes: nodes(),
        ..Dumps::default()
    });
    assert_blamed(&blame, (Cause::PostedLate, 2, "barrier.rs:7"), 2 * 20 * MS);
}

#[test]
fn collectives_are_counted_from_the_end_when_the_first_are_not_kept() {
    let barrier = |begun_ns| call(Primitive::Barrier, begun_ns, begun_ns + MS);
    let all = [10 * MS, 20 * MS, 30 * MS];
    let mut ranks = [
        rank(0, all.map(barrier).to_vec(), vec![]),
        rank(
            1,
            all[1..].iter().map(|at| barrier(at + 900_000)).collect(),
            vec![],
        ),
    ];
    for dump in &mut ranks {
        dump.node = 0;
        dump.communicators = vec![mds::dump::CommunicatorDump {
            collectives: 3,
            ..Default::default()
        }];
    }
    let blame = blame(&Dumps {
        ranks: ranks.to_vec(),
        ..Dumps::default()
    });
    let posted_late = blame.sufferers[0].split[0];
    assert_eq!(
        posted_late,
        2 * 900_000,
        "the second and the third meet, the first has no other"
    );
}

#[test]
fn what_nobody_knows_of_is_other() {
    let receive = call(Primitive::Recv, MS, 5 * MS);
    let blame = blame(&Dumps {
        ranks: vec![rank(
            1,
            vec![receive],
            vec![message(1, MS, 5 * MS, Road::Nic)],
        )],
        ..Dumps::default()
    });
    assert_eq!(blame.total(), [0, 0, 0, 4 * MS]);
    assert_eq!(blame.culprits, []);
}
