//! Planted waits, and the causes that the analysis finds. The times are computed by hand.

use mds::dump::{
    CallRow, MessageRow, MessageTransport, NONE, NodeDump, RankDump, RunDump, RunDumps, SiteDump,
    SliceRow, StrobeDump, StrobeRow,
};
use mds::mmds::Primitive;
use mds_reports::figures::{Blame, WaitCause, blame};

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

fn message(received: u64, posted_ns: u64, completed_ns: u64, road: MessageTransport) -> MessageRow {
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

/// Rank 1 calls MPI_Recv at 1 ms, rank 0 sends at `sent_ns`, and the message is complete at
/// `done_ns`.
fn one_message(sent_ns: u64, done_ns: u64, road: MessageTransport) -> Blame {
    one_message_by(nodes(), sent_ns, done_ns, road)
}

fn one_message_by(
    nodes: Vec<NodeDump>,
    sent_ns: u64,
    done_ns: u64,
    road: MessageTransport,
) -> Blame {
    let send = call(Primitive::Send, sent_ns, sent_ns + 500);
    let receive = call(Primitive::Recv, MS, done_ns + 1_000);
    blame(&RunDumps {
        ranks: vec![
            rank(
                0,
                vec![send],
                vec![message(0, sent_ns, sent_ns + 400, road)],
            ),
            rank(1, vec![receive], vec![message(1, MS, done_ns, road)]),
        ],
        nodes,
        ..RunDumps::default()
    })
}

fn assert_blamed(blame: &Blame, expected: (WaitCause, u32, &str), waited_ns: u64) {
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
        (MessageTransport::Smartmap, 21 * MS + 2_000),
        (MessageTransport::Nic, 21 * MS + 90_000),
    ] {
        // Rank 0 computes 20 ms too long.
        let blame = one_message(21 * MS, done_ns, road);
        assert_blamed(&blame, (WaitCause::PostedLate, 0, "rank0.rs:1"), 20 * MS);
    }
}

#[test]
fn a_message_that_waits_for_a_budget_is_scheduled_late() {
    // Posted before the receive; ten slices until the last bytes are scheduled, in the slice at 3.5
    // ms.
    let blame = one_message(MS - 1_000, 3 * MS + 540_000, MessageTransport::Nic);
    assert_blamed(
        &blame,
        (WaitCause::ScheduledLate, 1, "rank1.rs:1"),
        2 * MS + 500_000,
    );
}

#[test]
fn a_pair_that_posts_just_after_the_strobe_is_scheduled_late() {
    // Rank 0 posts 2 us after the strobe at 1 ms; the next strobe is at 1.25 ms, and the message
    // moves in 5 us.
    let blame = one_message(MS + 2_000, MS + 255_000, MessageTransport::Nic);
    assert_blamed(&blame, (WaitCause::ScheduledLate, 0, "rank0.rs:1"), 248_000);
}

/// Rank 0 posts 2 us after the strobe at 1 ms, which its node receives 1 us later still. So the
/// message moves at once, and takes two slices.
#[test]
fn what_is_posted_before_its_node_hears_the_strobe_waits_for_no_other() {
    let sent_ns = MS + 2_000;
    let heard = |node| NodeDump {
        node,
        slices: vec![SliceRow {
            slice: 4,
            strobe_ns: sent_ns + 1_000,
            ..SliceRow::default()
        }],
        ..NodeDump::default()
    };
    let mut nodes = nodes();
    nodes[0].slices = heard(0).slices;
    nodes.push(heard(1));
    let blame = one_message_by(nodes, sent_ns, MS + 502_000, MessageTransport::Nic);
    assert_blamed(&blame, (WaitCause::MovedLate, 0, "rank0.rs:1"), 500_000);
}

#[test]
fn bytes_that_take_long_within_a_node_are_moved_late() {
    let blame = one_message(MS - 1_000, 31 * MS, MessageTransport::Smartmap);
    assert_blamed(&blame, (WaitCause::MovedLate, 0, "rank0.rs:1"), 30 * MS);
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
    let blame = blame(&RunDumps {
        ranks: ranks.collect(),
        nodes: nodes(),
        ..RunDumps::default()
    });
    assert_blamed(
        &blame,
        (WaitCause::PostedLate, 2, "barrier.rs:7"),
        2 * 20 * MS,
    );
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
    let blame = blame(&RunDumps {
        ranks: ranks.to_vec(),
        ..RunDumps::default()
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
    let blame = blame(&RunDumps {
        ranks: vec![rank(
            1,
            vec![receive],
            vec![message(1, MS, 5 * MS, MessageTransport::Nic)],
        )],
        ..RunDumps::default()
    });
    assert_eq!(blame.total(), [0, 0, 0, 4 * MS]);
    assert_eq!(blame.culprits, []);
}

/// Rank 1 waits for both of two messages. That of rank 0 is late, but its row precedes that of rank
/// 2, which was early.
#[test]
fn a_wait_for_all_is_for_whoever_posts_last_in_whichever_order_it_is_told() {
    let done_ns = 21 * MS + 5_000;
    let early = MessageRow {
        peer: 2,
        ..message(1, MS, done_ns + 1, MessageTransport::Smartmap)
    };
    let late = message(1, MS, done_ns, MessageTransport::Smartmap);
    let sent = |at_ns| MessageRow {
        peer: 1,
        ..message(0, at_ns, at_ns + 400, MessageTransport::Smartmap)
    };
    let send = |at_ns| call(Primitive::Send, at_ns, at_ns + 500);
    let wait = call(Primitive::Waitall, 2 * MS, done_ns + 100);
    let blame = blame(&RunDumps {
        ranks: vec![
            rank(0, vec![send(21 * MS)], vec![sent(21 * MS)]),
            rank(1, vec![wait], vec![late, early]),
            rank(2, vec![send(MS)], vec![sent(MS)]),
        ],
        ..RunDumps::default()
    });
    assert_blamed(&blame, (WaitCause::PostedLate, 0, "rank0.rs:1"), 19 * MS);
}

/// The strobe that the one message needs comes after the other one was posted.
#[test]
fn a_wait_for_all_ends_with_what_needs_a_strobe() {
    let done_ns = MS + 260_000;
    let near = MessageRow {
        peer: 2,
        ..message(1, MS, done_ns, MessageTransport::Smartmap)
    };
    let far = message(1, MS, done_ns, MessageTransport::Nic);
    let sent = |at_ns, road| MessageRow {
        peer: 1,
        ..message(0, at_ns, at_ns + 400, road)
    };
    let blame = blame(&RunDumps {
        ranks: vec![
            rank(0, vec![], vec![sent(MS + 2_000, MessageTransport::Nic)]),
            rank(
                1,
                vec![call(Primitive::Waitall, MS, done_ns + 100)],
                vec![far, near],
            ),
            rank(
                2,
                vec![],
                vec![sent(MS + 5_000, MessageTransport::Smartmap)],
            ),
        ],
        nodes: nodes(),
        ..RunDumps::default()
    });
    assert_blamed(&blame, (WaitCause::ScheduledLate, 0, "rank0.rs:1"), 248_000);
}

#[test]
fn nobody_waits_for_a_rank_that_comes_when_it_has_returned() {
    // Rank 0 broadcasts, rank 1 has it at once, and rank 2 enters 20 ms later.
    let enter = |begun_ns| call(Primitive::Bcast, begun_ns, begun_ns + 10_000);
    let ranks = [MS, MS + 1_000, 21 * MS];
    let ranks = (0..3).zip(ranks).map(|(number, at_ns)| RankDump {
        node: 0,
        ..rank(number, vec![enter(at_ns)], vec![])
    });
    let blame = blame(&RunDumps {
        ranks: ranks.collect(),
        ..RunDumps::default()
    });
    // The wait is not 20 ms.
    assert_eq!(blame.total(), [1_000, 0, 29_000, 0]);
    // Nor does a receiver wait that posts after an eager send is complete.
    let receive = call(Primitive::Recv, 21 * MS, 21 * MS + 1_000);
    let blame = mds_reports::figures::blame(&RunDumps {
        ranks: vec![
            rank(
                0,
                vec![call(Primitive::Send, MS, MS + 500)],
                vec![message(0, MS, MS + 400, MessageTransport::Smartmap)],
            ),
            rank(
                1,
                vec![receive],
                vec![message(
                    1,
                    21 * MS,
                    21 * MS + 900,
                    MessageTransport::Smartmap,
                )],
            ),
        ],
        ..RunDumps::default()
    });
    assert_eq!(blame.sufferers[0].split, [0, 0, 0, 500]);
}

#[test]
fn a_wait_is_not_for_the_message_of_another_thread() {
    // A thread of rank 1 receives at 1 ms a message that comes at 21 ms; another thread gets a
    // message of rank 0 meanwhile.
    let other = MessageRow {
        tag: 5,
        ..message(1, 2 * MS, 20 * MS, MessageTransport::Smartmap)
    };
    let sent = |at_ns, tag| MessageRow {
        tag,
        ..message(0, at_ns, at_ns + 400, MessageTransport::Smartmap)
    };
    let own = message(1, MS, 21 * MS, MessageTransport::Smartmap);
    let blame = blame(&RunDumps {
        ranks: vec![
            rank(0, vec![], vec![sent(10 * MS, 5), sent(2 * MS, 0)]),
            rank(
                1,
                vec![call(Primitive::Recv, MS, 21 * MS)],
                vec![other, own],
            ),
        ],
        ..RunDumps::default()
    });
    assert_eq!(blame.total(), [MS, 0, 19 * MS, 0]);
}

#[test]
fn what_waits_for_a_slice_that_nobody_keeps_is_other() {
    let mut dumps = RunDumps {
        ranks: vec![
            rank(
                0,
                vec![],
                vec![message(0, 3 * MS, 3 * MS + 400, MessageTransport::Nic)],
            ),
            rank(
                1,
                vec![call(Primitive::Recv, MS, 5 * MS)],
                vec![message(1, MS, 5 * MS, MessageTransport::Nic)],
            ),
        ],
        ..RunDumps::default()
    };
    assert_eq!(blame(&dumps).total(), [2 * MS, 0, 0, 2 * MS]);
    // The rows that are kept are those before, or after.
    for kept in [0..2, 10..20] {
        dumps.nodes = nodes();
        let strobes = &mut dumps.nodes[0].global.as_mut().unwrap().strobes;
        strobes.retain(|row| kept.contains(&(row.strobe_ns / MS)));
        assert_eq!(blame(&dumps).total(), [2 * MS, 0, 0, 2 * MS], "{kept:?}");
    }
    dumps.nodes = nodes();
    assert_eq!(blame(&dumps).total(), [2 * MS, 2 * MS, 0, 0]);
}

/// The rank of a long message is not awake when the next slice is struck for another rank.
#[test]
fn a_message_has_waited_for_the_slice_that_brought_the_rest_of_it() {
    let row = |slice, carried_bytes| SliceRow {
        carried_bytes,
        ..SliceRow::struck(slice, slice * SLICE_NS)
    };
    let mut dumps = RunDumps {
        ranks: vec![
            rank(
                0,
                vec![],
                vec![message(0, MS, 4 * MS, MessageTransport::Nic)],
            ),
            rank(
                1,
                vec![call(Primitive::Recv, MS, 4 * MS)],
                vec![message(1, MS, 4 * MS, MessageTransport::Nic)],
            ),
        ],
        nodes: nodes(),
        ..RunDumps::default()
    };
    dumps.nodes.push(NodeDump {
        node: 1,
        slices: (0..400)
            .map(|slice| row(slice, u64::from(slice < 8)))
            .collect(),
        ..NodeDump::default()
    });
    assert_eq!(blame(&dumps).total(), [0, MS, 2 * MS, 0]);
    // A strobe releases the completion.
    dumps.run = Some(RunDump {
        strobe: "fixed".to_owned(),
        ..RunDump::default()
    });
    assert_eq!(blame(&dumps).total(), [0, 3 * MS, 0, 0]);
}
