//! The dumps of an invented run: six ranks on three nodes, in slices of 250 us by the clock. In
//! each step of nine slices a rank posts a receive from its left, computes, sends to its right,
//! waits for both, computes again, and enters a barrier. Rank 2 computes 300 us longer before it
//! sends, so rank 3 waits for it.
//!
//! ```text
//! slice  0        1    2    3    4    5      6          7    8        9
//!        Irecv    .... computes ...   Isend  Waitall    .... Barrier  released
//!                                     4.0 or 5.2        7.6
//! ```
#![allow(
    dead_code,
    reason = "each test that includes this file uses a part of it"
)]

use std::collections::BTreeMap;
use std::path::Path;

use mds::Distribution;
use mds::dump::{
    self, CallRow, CommunicatorDump, DistributionDump, LocalSliceRow, MessageRow, MessageTransport,
    NONE, NodeDump, PeerDump, PrimitiveDump, RankDump, RunDump, RunDumps, SiteDump, SliceRow,
    StrobeDump, StrobeRow,
};
use mds::mmds::Primitive;

pub(crate) const RANKS: u32 = 6;
pub(crate) const STEPS: u64 = 20;
pub(crate) const SLICE_NS: u64 = 250_000;
pub(crate) const BEGAN_NS: u64 = 1_000_000_000;
/// Slices of a step.
const STEP: u64 = 9;
const BYTES: u64 = 4_096;
const SITES: [(&str, Option<Primitive>); 5] = [
    ("elsewhere", None),
    ("src/ring.rs:10:5", Some(Primitive::Irecv)),
    ("src/ring.rs:14:5", Some(Primitive::Isend)),
    ("src/ring.rs:15:5", Some(Primitive::Waitall)),
    ("src/ring.rs:18:5", Some(Primitive::Barrier)),
];

/// The size of a run.
#[derive(Clone, Copy)]
pub(crate) struct Size {
    pub(crate) ranks: u32,
    pub(crate) steps: u64,
}

/// Returns all dumps of the run.
pub(crate) fn dumps() -> RunDumps {
    dumps_of(Size {
        ranks: RANKS,
        steps: STEPS,
    })
}

/// Returns those of another size, with two ranks on a node.
pub(crate) fn dumps_of(size: Size) -> RunDumps {
    RunDumps {
        run: Some(run(size)),
        ranks: (0..size.ranks).map(|number| rank(size, number)).collect(),
        nodes: (0..size.ranks / 2)
            .map(|number| node(size, number))
            .collect(),
        faults: Vec::new(),
    }
}

/// Writes the dumps.
pub(crate) fn write(dir: &Path, dumps: &RunDumps) {
    for rank in &dumps.ranks {
        dump::write_rank(dir, rank).unwrap();
    }
    for node in &dumps.nodes {
        dump::write_node(dir, node).unwrap();
    }
    if let Some(run) = &dumps.run {
        dump::write_run(dir, run).unwrap();
    }
}

fn run(size: Size) -> RunDump {
    RunDump {
        job: "18c7-42".to_owned(),
        command: ["./ring", "--steps", "20"].map(str::to_owned).to_vec(),
        version: "0.1.0".to_owned(),
        machine: "crescendo".to_owned(),
        began_unix_ns: 1_100_000_000_000_000_000,
        began_ns: BEGAN_NS,
        ended_ns: strobe_ns(size.steps * STEP) + 500_000,
        exit_code: 0,
        nodes: size.ranks / 2,
        ranks: size.ranks,
        time_slice_ns: SLICE_NS,
        strobe: "fixed".to_owned(),
        nic_threads: "shared".to_owned(),
        intranode: "smartmap".to_owned(),
        eager_limit: 4096,
        bandwidth: 4_000_000_000,
        bandwidth_measured_unix_s: Some(1_099_000_000),
        recorded: "mmds,emds".to_owned(),
    }
}

/// Returns when a slice is struck: every third one is 10 us late.
fn strobe_ns(slice: u64) -> u64 {
    BEGAN_NS + slice * SLICE_NS + late_ns(slice)
}

fn late_ns(slice: u64) -> u64 {
    if slice.is_multiple_of(3) { 10_000 } else { 0 }
}

pub(crate) fn distribution(figures: impl IntoIterator<Item = u64>) -> DistributionDump {
    let mut live = Distribution::new();
    figures.into_iter().for_each(|figure| live.record(figure));
    (&live).into()
}

/// Returns when a rank sends, from the first strobe of a step on.
fn sends_ns(rank: u32) -> u64 {
    if rank == 2 { 1_302_000 } else { 1_002_000 }
}

/// Returns whether two neighbours are on one node, so that a message needs no slice.
fn is_near(one: u32, other: u32) -> bool {
    one / 2 == other / 2
}

/// Returns when a message of the step from slice `first` on is complete for its receiver: at once,
/// or by the strobe after that of its slice.
fn completes_ns(first: u64, from: u32, to: u32) -> u64 {
    match is_near(from, to) {
        true => BEGAN_NS + first * SLICE_NS + sends_ns(from) + 1_000,
        false => strobe_ns(first + sends_ns(from) / SLICE_NS + 2) + 3_000,
    }
}

fn rank(size: Size, rank: u32) -> RankDump {
    let Size { ranks, steps } = size;
    let (left, right) = ((rank + ranks - 1) % ranks, (rank + 1) % ranks);
    let (mut calls, mut messages, mut near) = (Vec::new(), Vec::new(), Vec::new());
    for step in 0..steps {
        let first = step * STEP;
        let at_ns = BEGAN_NS + first * SLICE_NS;
        let (posts_ns, sends_ns) = (at_ns + 2_000, at_ns + sends_ns(rank));
        let completed_ns = completes_ns(first, left, rank);
        let released_ns = completed_ns.max(sends_ns + 4_000);
        let barrier_ns = at_ns + 1_902_000 + u64::from(rank % 64) * 1_000;
        let call = |begun_ns: u64, ended_ns: u64, primitive: Primitive, site: u64| CallRow {
            begun_ns,
            ended_ns,
            slice: (begun_ns - BEGAN_NS) / SLICE_NS,
            primitive: primitive as u64,
            site,
            context: 0,
            peer: NONE,
            tag: NONE,
            bytes: 0,
        };
        let to_peer = |peer: u32, call: CallRow| CallRow {
            peer: u64::from(peer),
            tag: 7,
            bytes: BYTES,
            ..call
        };
        calls.extend([
            to_peer(left, call(posts_ns, posts_ns + 500, Primitive::Irecv, 1)),
            to_peer(right, call(sends_ns, sends_ns + 800, Primitive::Isend, 2)),
            call(sends_ns + 1_000, released_ns + 2_000, Primitive::Waitall, 3),
            call(
                barrier_ns,
                strobe_ns(first + STEP) + 1_000,
                Primitive::Barrier,
                4,
            ),
        ]);
        let message = |received: u64, peer: u32, posted_ns: u64, completed_ns: u64| MessageRow {
            received,
            posted_ns,
            completed_ns,
            slice: (posted_ns - BEGAN_NS) / SLICE_NS,
            site: 2 - received,
            context: 0,
            peer: u64::from(peer),
            tag: 7,
            bytes: BYTES,
            ordinal: step,
            road: match is_near(rank, peer) {
                true => MessageTransport::Smartmap as u64,
                false => MessageTransport::Nic as u64,
            },
        };
        messages.extend([
            message(0, right, sends_ns, sends_ns + 600),
            message(1, left, posts_ns, completed_ns),
        ]);
        if is_near(rank, right) {
            near.push(LocalSliceRow {
                slice: (sends_ns - BEGAN_NS) / SLICE_NS,
                messages: 1,
                bytes: BYTES,
                collectives: 0,
            });
        }
    }
    RankDump {
        job: "18c7-42".to_owned(),
        rank,
        node: rank / 2,
        began_ns: BEGAN_NS,
        run_ns: steps * STEP * SLICE_NS + 100_000,
        finalized: true,
        peers: vec![
            peer(left, is_near(left, rank), [0, steps]),
            peer(right, is_near(rank, right), [steps, 0]),
        ],
        communicators: vec![CommunicatorDump {
            context: 0,
            sent: steps,
            sent_bytes: steps * BYTES,
            received: steps,
            received_bytes: steps * BYTES,
            collectives: steps,
            collective_bytes: 0,
        }],
        near,
        messages,
        ..of_calls(size, calls)
    }
}

fn peer(rank: u32, near: bool, [sent, received]: [u64; 2]) -> PeerDump {
    PeerDump {
        rank,
        road: if near {
            MessageTransport::Smartmap
        } else {
            MessageTransport::Nic
        },
        sent,
        sent_bytes: sent * BYTES,
        received,
        received_bytes: received * BYTES,
    }
}

/// Returns what a recorder would have gathered from these calls.
fn of_calls(size: Size, calls: Vec<CallRow>) -> RankDump {
    let mut primitives: BTreeMap<Primitive, (Vec<u64>, Vec<u64>)> = BTreeMap::new();
    let mut sites = vec![Vec::new(); SITES.len()];
    let (mut computation, mut communication, mut since_ns) = (Vec::new(), Vec::new(), BEGAN_NS);
    for call in &calls {
        let primitive = Primitive::ALL[usize::try_from(call.primitive).unwrap()];
        let took_ns = call.ended_ns - call.begun_ns;
        let seen = primitives.entry(primitive).or_default();
        seen.0.push(took_ns);
        if primitive.has_size() {
            seen.1.push(call.bytes);
        }
        sites[usize::try_from(call.site).unwrap()].push((took_ns, call.bytes));
        if matches!(primitive, Primitive::Waitall | Primitive::Barrier) {
            computation.push(call.begun_ns - since_ns);
            communication.push(took_ns);
            since_ns = call.ended_ns;
        }
    }
    computation.push(BEGAN_NS + size.steps * STEP * SLICE_NS + 100_000 - since_ns);
    let primitives = primitives
        .into_iter()
        .map(|(primitive, (times_ns, sizes))| {
            let seen = PrimitiveDump {
                latency_ns: distribution(times_ns),
                size_bytes: primitive.has_size().then(|| distribution(sizes)),
            };
            (primitive, seen)
        });
    let sites = SITES
        .iter()
        .zip(sites)
        .map(|((place, primitive), calls)| SiteDump {
            place: (*place).to_owned(),
            primitive: *primitive,
            time_ns: distribution(calls.iter().map(|call| call.0)),
            bytes: calls.iter().map(|call| call.1).sum(),
        });
    RankDump {
        primitives: primitives.collect(),
        computation_granularity_ns: distribution(computation),
        communication_overhead_ns: distribution(communication),
        sites: sites.collect(),
        calls,
        ..RankDump::default()
    }
}

/// A function that returns a figure of a row.
type Pick = fn(&SliceRow) -> u64;

fn node(size: Size, node: u32) -> NodeDump {
    let slices: Vec<SliceRow> = (1..=size.steps * STEP)
        .map(|slice| slice_row(node, slice))
        .collect();
    let column = |pick: fn(&SliceRow) -> u64| {
        let words = slices.iter().map(pick).filter(|word| *word != NONE);
        distribution(words.collect::<Vec<_>>())
    };
    let worked = |pick: fn(&SliceRow) -> u64| {
        let times_ns = slices.iter().map(pick).filter(|time_ns| *time_ns > 0);
        distribution(times_ns.collect::<Vec<_>>())
    };
    let sum = |pick: fn(&SliceRow) -> u64| slices.iter().map(pick).sum::<u64>();
    let threads: [(&str, Pick); 3] = [
        ("sr", |row| row.ltr_sr_ns),
        ("br", |row| row.ltr_br_ns),
        ("dh", |row| row.ltr_dh_ns),
    ];
    NodeDump {
        job: "18c7-42".to_owned(),
        node,
        slices_struck: size.steps * STEP,
        empty_runs: distribution([1]),
        letts_ns: column(|row| row.letts_ns),
        ltdem_ns: column(|row| row.ltdem_ns),
        ltmsm_ns: column(|row| row.ltmsm_ns),
        ltpm_ns: column(|row| row.ltpm_ns),
        ltbbm_ns: column(|row| row.ltbbm_ns),
        ltrm_ns: column(|row| row.ltrm_ns),
        ltts_ns: column(|row| row.ltts_ns),
        np2pdem: sum(|row| row.np2pdem),
        np2pmsm: sum(|row| row.np2pmsm),
        ncolldem: sum(|row| row.ncolldem),
        ncollmsm: sum(|row| row.ncollmsm),
        bpts: sum(|row| row.bpts),
        ltr_ns: threads
            .map(|(name, pick)| (name.to_owned(), worked(pick)))
            .into_iter()
            .collect(),
        budget_bytes: sum(|row| row.budget_bytes),
        scheduled_bytes: sum(|row| row.scheduled_bytes),
        carried_bytes: sum(|row| row.carried_bytes),
        demanded: 0,
        placed_bytes: 0,
        copied_bytes: 0,
        slices_dropped: 0,
        global: (node == 0).then(|| strobes(&slices)),
        slices,
    }
}

fn slice_row(node: u32, slice: u64) -> SliceRow {
    let at = slice % STEP;
    let (moves, barrier) = (at == 5, at == 8);
    SliceRow {
        slice,
        strobe_ns: strobe_ns(slice),
        letts_ns: match slice {
            1 => NONE,
            _ => SLICE_NS + late_ns(slice) - late_ns(slice - 1),
        },
        ltdem_ns: 12_000 + u64::from(node) * 1_000,
        ltmsm_ns: if moves || barrier { 15_000 } else { NONE },
        ltpm_ns: if moves { 20_000 } else { NONE },
        ltbbm_ns: if barrier { 9_000 } else { NONE },
        ltrm_ns: NONE,
        ltts_ns: if moves { 60_000 } else { 20_000 },
        np2pdem: if moves { 2 } else { 0 },
        np2pmsm: u64::from(moves),
        ncolldem: u64::from(barrier),
        ncollmsm: u64::from(barrier),
        bpts: if at >= 8 { 2 } else { 0 },
        ltr_sr_ns: 3_000,
        ltr_bs_ns: if moves { 2_000 } else { 0 },
        ltr_br_ns: 6_000,
        ltr_dh_ns: if moves { 11_000 } else { 0 },
        ltr_ch_ns: 0,
        ltr_rh_ns: 0,
        budget_bytes: 1_000_000,
        scheduled_bytes: if moves { BYTES } else { 0 },
        carried_bytes: 0,
        receives_waiting: u64::from(at < 5),
        messages_waiting: 0,
        collectives_waiting: 0,
        demanded: 0,
    }
}

fn strobes(slices: &[SliceRow]) -> StrobeDump {
    let row = |row: &SliceRow| StrobeRow {
        slice: row.slice,
        strobe_ns: row.strobe_ns - 500,
        getts_ns: row.letts_ns,
        gtdem_ns: 15_000,
        gtmsm_ns: match row.ltmsm_ns {
            NONE => NONE,
            time_ns => time_ns + 1_500,
        },
        gtts_ns: row.ltts_ns + 4_000,
        usrsts: 0,
        usrdem: 1,
        usrmsm: u64::from(row.ltmsm_ns != NONE),
        demanded: 0,
        length_ns: SLICE_NS,
    };
    let strobes: Vec<StrobeRow> = slices.iter().map(row).collect();
    let column = |pick: fn(&StrobeRow) -> u64| {
        let words = strobes.iter().map(pick).filter(|word| *word != NONE);
        distribution(words.collect::<Vec<_>>())
    };
    StrobeDump {
        getts_ns: column(|row| row.getts_ns),
        gtdem_ns: column(|row| row.gtdem_ns),
        gtmsm_ns: column(|row| row.gtmsm_ns),
        gtts_ns: column(|row| row.gtts_ns),
        usrsts: column(|row| row.usrsts),
        usrdem: column(|row| row.usrdem),
        usrmsm: column(|row| row.usrmsm),
        strobes_dropped: 0,
        strobes,
    }
}
