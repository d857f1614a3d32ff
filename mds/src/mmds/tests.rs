//! A rank's calls, made by hand, and the contents of its recorder.

mod account;

use std::sync::atomic::{AtomicU64, Ordering};

use proptest::prelude::*;

use super::{
    CallInfo, CallOrigin, MessageInfo, OTHER_PLACES, Primitive, RankTimes, RankTraffic, Recorder,
    RecorderLayout, Site, UncheckedWords as _, WordMemory as _, read, take_snapshot,
};
use crate::dump::{CallRow, LocalSliceRow, MessageRow, MessageTransport, NONE, RankDump};
use crate::selection::Selection;

const RANKS: usize = 4;

struct Rank {
    recorder: Recorder<Box<[AtomicU64]>>,
    layout: RecorderLayout,
}

impl Rank {
    fn recording(what: &str, began_ns: u64) -> Self {
        let selection: Selection = what.parse().unwrap();
        let mmds = selection.mmds.clone().unwrap_or_default();
        let layout = RecorderLayout::new(&mmds, selection.window(), RANKS);
        let memory: Box<[AtomicU64]> = (0..layout.words()).map(|_| AtomicU64::new(0)).collect();
        let recorder = Recorder::new(memory, layout, &mmds, selection.window(), began_ns);
        Self { recorder, layout }
    }

    fn new(began_ns: u64) -> Self {
        Self::recording("mmds", began_ns)
    }

    /// A blocking call from one time to another one.
    fn blocks(&mut self, site: Site, called: CallInfo, (from_ns, to_ns): (u64, u64)) -> CallOrigin {
        let begun = self.recorder.enter(site, &called, from_ns, 3);
        self.recorder.leave(&begun, &called, to_ns);
        self.recorder
            .latency(called.primitive, to_ns - from_ns, called.bytes);
        begun
    }

    fn dump(&self, seen_ns: u64) -> RankDump {
        read(self.recorder.memory(), &self.layout, seen_ns).unwrap()
    }

    fn finished(mut self, end_ns: u64) -> RankDump {
        self.recorder.finish(end_ns);
        self.dump(u64::MAX)
    }
}

fn blocking(primitive: Primitive, bytes: u64) -> CallInfo {
    CallInfo {
        bytes,
        ..CallInfo::plain(primitive, true)
    }
}

fn message(peer: u32, tag: i32, road: MessageTransport) -> MessageInfo {
    MessageInfo {
        context: 0,
        peer,
        tag,
        bytes: 100,
        road,
    }
}

/// Figure 5.1: P2 receives from t0 to t1, computes to t2, sends to t3.
#[test]
fn the_ping_pong_of_figure_5_1() {
    let mut rank = Rank::new(1_000);
    rank.blocks(Site::here(), blocking(Primitive::Recv, 8), (1_500, 1_900));
    rank.blocks(Site::here(), blocking(Primitive::Send, 8), (2_600, 2_700));
    let dump = rank.finished(3_000);
    let computation = &dump.computation_granularity_ns;
    assert_eq!(
        (computation.count, computation.min, computation.max),
        (3, 300, 700)
    );
    assert_eq!(computation.total, 500 + 700 + 300);
    let overhead = &dump.communication_overhead_ns;
    assert_eq!((overhead.count, overhead.min, overhead.max), (2, 100, 400));
    assert_eq!(computation.total + overhead.total, dump.run_ns);
    assert_eq!(dump.primitives.len(), 2);
    assert_eq!(dump.primitives[&Primitive::Recv].latency_ns.total, 400);
    assert_eq!(
        (dump.began_ns, dump.run_ns, dump.finalized),
        (1_000, 2_000, true)
    );
}

#[test]
fn blocking_calls_of_two_threads_at_once_count_once() {
    let mut rank = Rank::new(0);
    let called = blocking(Primitive::Recv, 0);
    let first = rank.recorder.enter(Site::here(), &called, 10, 0);
    let second = rank.recorder.enter(Site::here(), &called, 20, 0);
    rank.recorder.leave(&first, &called, 30);
    rank.recorder.leave(&second, &called, 50);
    let dump = rank.finished(60);
    assert_eq!(dump.communication_overhead_ns.histogram, [(40, 1)]);
    assert_eq!(dump.computation_granularity_ns.total, 20);
}

#[test]
fn a_rank_knows_what_it_has_recorded_so_far() {
    let mut rank = Rank::new(100);
    let mut begun = rank.blocks(Site::here(), blocking(Primitive::Send, 100), (150, 180));
    rank.recorder
        .posted(&mut begun, &message(1, 7, MessageTransport::Smartmap));
    let other = MessageInfo {
        context: 5,
        ..message(2, 7, MessageTransport::Nic)
    };
    rank.recorder.received(&begun, &other, 190);
    let recorder = &rank.recorder;
    assert_eq!(recorder.calls_so_far(), Some(1));
    let traffic = RankTraffic {
        sent: 1,
        sent_bytes: 100,
        received: 1,
        received_bytes: 100,
    };
    assert_eq!(recorder.traffic_so_far(), Some(traffic));
    let times = |communication_ns, computation_ns| RankTimes {
        communication_ns,
        computation_ns,
    };
    assert_eq!(recorder.times_so_far(200), times(30, 70));
    rank.recorder
        .enter(Site::here(), &blocking(Primitive::Recv, 8), 210, 4);
    assert_eq!(rank.recorder.times_so_far(250), times(70, 80));
    rank.recorder.finish(300);
    assert_eq!(rank.recorder.times_so_far(1_000), times(120, 80));
}

#[test]
fn what_is_not_recorded_is_not_known() {
    let rank = Rank::recording("mmds:metrics=latency", 0);
    assert_eq!(rank.recorder.calls_so_far(), None);
    assert_eq!(rank.recorder.traffic_so_far(), None);
}

#[test]
fn a_rank_that_dies_while_blocked_loses_no_time_and_says_where_it_was() {
    let mut rank = Rank::new(100);
    rank.blocks(Site::here(), blocking(Primitive::Send, 8), (120, 130));
    let called = CallInfo {
        peer: Some(2),
        tag: Some(7),
        context: Some(0),
        ..blocking(Primitive::Recv, 64)
    };
    rank.recorder.enter(Site::here(), &called, 150, 9);
    let line = line!() - 1;
    let dump = rank.dump(250);
    assert_eq!(dump.computation_granularity_ns.total, 20 + 20);
    assert_eq!(dump.communication_overhead_ns.total, 10 + 100);
    assert_eq!((dump.run_ns, dump.finalized), (150, false));
    let last = dump.calls.last().unwrap();
    let expected = CallRow {
        begun_ns: 150,
        ended_ns: NONE,
        slice: 9,
        primitive: Primitive::Recv as u64,
        site: 2,
        context: 0,
        peer: 2,
        tag: 7,
        bytes: 64,
    };
    assert_eq!((*last, dump.calls.len()), (expected, 2));
    assert!(dump.sites[2].place.contains(&format!("tests.rs:{line}:")));
    let computing = Rank::new(100).dump(250);
    assert_eq!(computing.computation_granularity_ns.histogram.len(), 1);
    assert_eq!(computing.computation_granularity_ns.total, 150);
    assert_eq!(computing.communication_overhead_ns.count, 0);
}

#[test]
fn sizes_are_kept_only_where_data_moves() {
    let mut rank = Rank::new(0);
    rank.recorder.latency(Primitive::Isend, 5, 4096);
    rank.recorder.latency(Primitive::Waitall, 9, 1);
    let dump = rank.finished(10);
    let sizes = dump.primitives[&Primitive::Isend]
        .size_bytes
        .as_ref()
        .unwrap();
    assert_eq!((sizes.count, sizes.total), (1, 4096));
    assert!(dump.primitives[&Primitive::Waitall].size_bytes.is_none());
}

#[test]
fn a_site_is_a_place_and_a_call() {
    let mut rank = Rank::new(0);
    for (from, to) in [(10, 20), (30, 60)] {
        rank.blocks(Site::here(), blocking(Primitive::Send, 5), (from, to));
    }
    rank.blocks(
        Site::Address(0x40_1000),
        blocking(Primitive::Wait, 0),
        (70, 71),
    );
    let dump = rank.finished(80);
    assert_eq!(dump.sites.len(), 3);
    assert_eq!(
        (dump.sites[0].place.as_str(), dump.sites[0].primitive),
        (OTHER_PLACES, None)
    );
    let times = &dump.sites[1].time_ns;
    assert_eq!(
        (times.count, times.min, times.max, times.total),
        (2, 10, 30, 40)
    );
    assert_eq!(
        (dump.sites[1].bytes, dump.sites[1].primitive),
        (10, Some(Primitive::Send))
    );
    assert_eq!(dump.sites[2].place, "0x401000");
    let sites: Vec<u64> = dump.calls.iter().map(|call| call.site).collect();
    assert_eq!(sites, [1, 1, 2]);
}

#[test]
fn sites_without_room_are_counted_together() {
    let mut rank = Rank::new(0);
    for address in 0..1_100 {
        rank.blocks(
            Site::Address(address),
            blocking(Primitive::Send, 1),
            (address, address + 1),
        );
    }
    let dump = rank.finished(2_000);
    let of_their_own = dump.sites.len() as u64 - 1;
    assert!((960..1_024).contains(&of_their_own), "{of_their_own}");
    assert_eq!(dump.sites[0].time_ns.count, 1_100 - of_their_own);
    assert_eq!(dump.sites.iter().map(|site| site.bytes).sum::<u64>(), 1_100);
}

#[test]
fn messages_are_counted_by_peer_road_and_communicator() {
    let mut rank = Rank::new(0);
    let called = CallInfo::plain(Primitive::Isend, false);
    let mut begun = rank.recorder.enter(Site::here(), &called, 5, 2);
    rank.recorder
        .posted(&mut begun, &message(1, 7, MessageTransport::Smartmap));
    rank.recorder.leave(&begun, &called, 6);
    rank.recorder
        .sent(&begun, &message(1, 7, MessageTransport::Smartmap), 9);
    let far = MessageInfo {
        context: 600,
        ..message(3, 0, MessageTransport::Nic)
    };
    rank.recorder.received(&begun, &far, 12);
    rank.recorder.received(&begun, &far, 13);
    rank.recorder.collective(600, 64, true, 4);
    rank.recorder.collective(600, 8, false, 4);
    let dump = rank.finished(20);
    let peers: Vec<_> = dump
        .peers
        .iter()
        .map(|peer| {
            (
                peer.rank,
                peer.road,
                peer.sent,
                peer.sent_bytes,
                peer.received,
                peer.received_bytes,
            )
        })
        .collect();
    assert_eq!(
        peers,
        [
            (1, MessageTransport::Smartmap, 1, 100, 0, 0),
            (3, MessageTransport::Nic, 0, 0, 2, 200)
        ]
    );
    let communicators: Vec<_> = dump
        .communicators
        .iter()
        .map(|comm| {
            (
                comm.context,
                comm.sent,
                comm.received_bytes,
                comm.collectives,
                comm.collective_bytes,
            )
        })
        .collect();
    assert_eq!(communicators, [(0, 1, 0, 0, 0), (600, 0, 200, 2, 72)]);
    let near = |slice, messages, bytes, collectives| LocalSliceRow {
        slice,
        messages,
        bytes,
        collectives,
    };
    assert_eq!(dump.near, [near(2, 1, 100, 0), near(4, 0, 0, 1)]);
    let sent = MessageRow {
        received: 0,
        posted_ns: 5,
        completed_ns: 9,
        slice: 2,
        site: 1,
        context: 0,
        peer: 1,
        tag: 7,
        bytes: 100,
        ordinal: 0,
        road: 1,
    };
    assert_eq!(dump.messages[0], sent);
    let ordinals: Vec<_> = dump
        .messages
        .iter()
        .map(|row| (row.received, row.road, row.ordinal))
        .collect();
    assert_eq!(ordinals, [(0, 1, 0), (1, 0, 0), (1, 0, 1)]);
}

#[test]
fn messages_are_numbered_in_the_order_of_their_posts_also_if_they_complete_in_another() {
    let mut rank = Rank::new(0);
    let called = CallInfo::plain(Primitive::Irecv, false);
    let begun: Vec<CallOrigin> = (0..3)
        .map(|at| rank.recorder.enter(Site::here(), &called, 10 + at, 0))
        .collect();
    for nth in [2, 0, 1] {
        rank.recorder
            .received(&begun[nth], &message(1, 7, MessageTransport::Nic), 20);
    }
    rank.recorder
        .received(&begun[0], &message(1, 8, MessageTransport::Nic), 20);
    let dump = rank.finished(30);
    let numbered: Vec<_> = dump
        .messages
        .iter()
        .map(|row| (row.tag, row.posted_ns, row.ordinal))
        .collect();
    assert_eq!(numbered, [(7, 12, 2), (7, 10, 0), (7, 11, 1), (8, 10, 0)]);
}

#[test]
fn the_last_rows_are_kept_and_the_others_counted() {
    let mut rank = Rank::recording("mmds:calls=4:messages=3,emds:rows=2", 0);
    for at in 0..10 {
        let mut begun = rank.blocks(
            Site::here(),
            blocking(Primitive::Send, 1),
            (10 * at, 10 * at + 1),
        );
        begun.slice = at;
        rank.recorder
            .posted(&mut begun, &message(0, 0, MessageTransport::Smartmap));
        rank.recorder.sent(
            &begun,
            &message(0, 0, MessageTransport::Smartmap),
            10 * at + 1,
        );
    }
    let killed = rank.dump(100);
    let begun: Vec<u64> = killed.calls.iter().map(|call| call.begun_ns).collect();
    assert_eq!(
        (begun, killed.calls_dropped),
        (vec![70, 80, 90], 7),
        "one may be torn"
    );
    let dump = rank.finished(100);
    let begun: Vec<u64> = dump.calls.iter().map(|call| call.begun_ns).collect();
    assert_eq!((begun, dump.calls_dropped), (vec![60, 70, 80, 90], 6));
    let ordinals: Vec<u64> = dump.messages.iter().map(|row| row.ordinal).collect();
    assert_eq!((ordinals, dump.messages_dropped), (vec![7, 8, 9], 7));
    let slices: Vec<u64> = dump.near.iter().map(|row| row.slice).collect();
    assert_eq!((slices, dump.near_dropped), (vec![8, 9], 8));
    assert_eq!(dump.sites[1].time_ns.count, 10, "figures are of all");
}

#[test]
fn rows_of_a_window_of_slices_are_those_of_the_window() {
    let mut rank = Rank::recording("mmds,emds:3-5", 0);
    for slice in 0..9 {
        rank.recorder.collective(0, 1, true, slice);
    }
    let dump = rank.finished(1);
    let slices: Vec<u64> = dump.near.iter().map(|row| row.slice).collect();
    assert_eq!((slices, dump.near_dropped), (vec![3, 4, 5], 0));
    assert_eq!(dump.communicators[0].collectives, 9);
}

#[test]
fn what_was_not_selected_is_left_out() {
    let mut rank = Rank::recording("mmds:only=MPI_Send:metrics=latency+calls", 0);
    rank.blocks(Site::here(), blocking(Primitive::Recv, 5), (10, 20));
    let mut begun = rank.blocks(Site::here(), blocking(Primitive::Send, 5), (30, 40));
    rank.recorder
        .posted(&mut begun, &message(0, 0, MessageTransport::Smartmap));
    rank.recorder
        .sent(&begun, &message(0, 0, MessageTransport::Smartmap), 40);
    let dump = rank.finished(50);
    assert_eq!(
        dump.primitives.keys().collect::<Vec<_>>(),
        [&Primitive::Send]
    );
    assert!(dump.primitives[&Primitive::Send].size_bytes.is_none());
    assert_eq!(dump.calls.len(), 1);
    assert_eq!((dump.sites.len(), dump.sites[0].time_ns.count), (1, 0));
    assert!(dump.peers.is_empty() && dump.communicators.is_empty() && dump.messages.is_empty());
    assert!(dump.near.is_empty());
    assert_eq!(
        dump.communication_overhead_ns.total, 20,
        "always of all calls"
    );
}

#[test]
fn more_communicators_than_there_is_room_for_are_counted_together() {
    let mut rank = Rank::new(0);
    for context in 0..600 {
        rank.recorder.collective(context, 1, false, 0);
    }
    let dump = rank.finished(1);
    assert_eq!(dump.communicators.len(), 513);
    let last = dump.communicators.last().unwrap();
    assert_eq!((last.context, last.collectives), (NONE, 600 - 512));
}

#[test]
fn a_rank_that_never_began_has_an_empty_dump() {
    let rank = Rank::new(0);
    let nothing: Box<[AtomicU64]> = (0..rank.layout.words())
        .map(|_| AtomicU64::new(0))
        .collect();
    assert_eq!(
        read(&nothing, &rank.layout, 99).unwrap(),
        RankDump::default()
    );
    let short: Box<[AtomicU64]> = (0..99).map(|_| AtomicU64::new(1)).collect();
    assert!(read(&short, &rank.layout, 99).is_err());
}

#[test]
fn rows_of_large_jobs_are_fewer() {
    let rows = |chosen: &str, ranks| {
        let selection: Selection = chosen.parse().unwrap();
        let layout =
            RecorderLayout::new(&selection.mmds.clone().unwrap(), selection.window(), ranks);
        (layout.near_rows, layout.call_rows, layout.message_rows)
    };
    assert_eq!(rows("mmds", 4), (10_000, 1 << 16, 1 << 16));
    assert_eq!(rows("mmds", 1_000), (786, 786, 786));
    assert_eq!(rows("mmds", 3 << 20), (1, 1, 1));
    assert_eq!(
        rows("mmds:calls=70000:messages=0,emds:rows=20000", 1_000),
        (20_000, 70_000, 0)
    );
}

proptest! {
    /// Section 5.4: the total computation time plus the total communication time is the run time.
    #[test]
    fn computation_and_overhead_add_up_to_the_run(
        steps in prop::collection::vec((0_u64..1 << 30, any::<bool>()), 0..100), ends in any::<bool>(),
    ) {
        let mut now_ns = 5_000;
        let mut rank = Rank::new(now_ns);
        let called = blocking(Primitive::Recv, 0);
        let mut under_way = Vec::new();
        for (step_ns, enters) in steps {
            now_ns += step_ns;
            if enters {
                under_way.push(rank.recorder.enter(Site::here(), &called, now_ns, 0));
            } else if let Some(begun) = under_way.pop() {
                rank.recorder.leave(&begun, &called, now_ns);
            }
        }
        now_ns += 77;
        let dump = if ends { rank.finished(now_ns) } else { rank.dump(now_ns) };
        let sum = dump.computation_granularity_ns.total + dump.communication_overhead_ns.total;
        prop_assert_eq!(sum, dump.run_ns);
        prop_assert_eq!(dump.run_ns, now_ns - 5_000);
    }

    /// The dump of a recorder can be written and read, whatever a rank writes over the recorder.
    #[test]
    fn any_words_are_a_dump(
        seed in any::<u64>(), scribbles in prop::collection::vec((any::<u32>(), any::<u64>()), 1..200),
        head in prop::collection::vec(any::<u64>(), 14), whole_head in any::<bool>(),
    ) {
        let mut rank = Rank::recording("mmds:digits=1:calls=8:messages=8,emds:rows=8", seed >> 1);
        rank.blocks(Site::here(), blocking(Primitive::Send, 5), (30, 40));
        let words = rank.recorder.memory().words();
        for (at, value) in scribbles {
            words[at as usize % words.len()].store(value, Ordering::Relaxed);
        }
        for (word, value) in words.iter().zip(head).filter(|_| whole_head) {
            word.store(value, Ordering::Relaxed);
        }
        let dump = rank.dump(seed);
        let _seen = take_snapshot(rank.recorder.memory(), &rank.layout, seed).unwrap();
        let text = serde_json::to_string(&dump).unwrap();
        let again: RankDump = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(again.sites.len(), dump.sites.len());
        prop_assert_eq!(again.primitives.len(), dump.primitives.len());
        prop_assert!(dump.calls.iter().all(|row| row.site < dump.sites.len() as u64));
        prop_assert!(dump.messages.iter().all(|row| row.site < dump.sites.len() as u64));
        let mut first = [0];
        rank.recorder.memory().read(0, &mut first).unwrap();
    }
}

/// Two calls have ended, and the third continues: a reader sees the state until now.
#[test]
fn a_glance_is_what_a_running_rank_has_done_so_far() {
    let mut rank = Rank::new(1_000);
    let at =
        |rank: &Rank, now_ns| take_snapshot(rank.recorder.memory(), &rank.layout, now_ns).unwrap();
    rank.blocks(Site::here(), blocking(Primitive::Recv, 8), (1_500, 1_900));
    let seen = at(&rank, 2_000).unwrap();
    assert_eq!((seen.calls, seen.run_ns, seen.in_mpi_ns), (1, 1_000, 400));
    assert_eq!((seen.call, &*seen.place), (None, ""));
    let called = blocking(Primitive::Barrier, 0);
    let begun = rank.recorder.enter(Site::here(), &called, 2_600, 3);
    let seen = at(&rank, 3_000).unwrap();
    assert_eq!((seen.calls, seen.run_ns, seen.in_mpi_ns), (1, 2_000, 800));
    assert_eq!(seen.call, Some(Primitive::Barrier));
    assert!(seen.place.contains("tests.rs:"), "{}", seen.place);
    // A clock that is behind, and a rank that has ended.
    assert_eq!(at(&rank, 0).unwrap().in_mpi_ns, 0);
    rank.recorder.leave(&begun, &called, 3_100);
    rank.recorder.finish(3_200);
    let seen = at(&rank, u64::MAX).unwrap();
    assert_eq!((seen.run_ns, seen.in_mpi_ns, seen.call), (2_200, 900, None));
}

#[test]
fn nothing_is_seen_of_a_recorder_that_nobody_has() {
    let rank = Rank::new(0);
    let empty: Box<[AtomicU64]> = (0..rank.layout.words())
        .map(|_| AtomicU64::new(0))
        .collect();
    assert_eq!(take_snapshot(&empty, &rank.layout, 7).unwrap(), None);
}

/// `cargo test --release -p mds recording_costs -- --ignored --nocapture`: without clock and lock.
#[test]
#[ignore = "a measurement"]
fn recording_costs() {
    const CALLS: u32 = 2_000_000;
    let mut now_ns = 1;
    let mut time = |what: &str, mut call: Box<dyn FnMut(u64)>| {
        let mut best = f64::MAX;
        for _ in 0..7 {
            let start = std::time::Instant::now();
            for _ in 0..CALLS {
                now_ns += 100;
                call(now_ns);
            }
            best = best.min(start.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS));
        }
        println!("{what}: {best:.1} ns");
    };
    let called = blocking(Primitive::Send, 8);
    let message = message(1, 7, MessageTransport::Smartmap);
    let mut rank = Rank::new(0);
    let enter =
        move |at| std::hint::black_box(_ = rank.recorder.enter(Site::here(), &called, at, 3));
    time("enter", Box::new(enter));
    let mut rank = Rank::new(0);
    let wait = move |at| {
        let begun = rank.recorder.enter(Site::here(), &called, at, 3);
        rank.recorder.leave(&begun, &called, at + 50);
    };
    time("enter, leave", Box::new(wait));
    let mut rank = Rank::new(0);
    let wait = move |at| _ = rank.blocks(Site::here(), called, (at, at + 50));
    time("enter, leave, latency", Box::new(wait));
    let mut rank = Rank::new(0);
    let send = move |at| {
        let mut begun = rank.recorder.enter(Site::here(), &called, at, 3);
        rank.recorder.posted(&mut begun, &message);
        rank.recorder.sent(&begun, &message, at + 40);
        rank.recorder.leave(&begun, &called, at + 50);
        rank.recorder.latency(called.primitive, 50, 8);
    };
    time("a send", Box::new(send));
}
