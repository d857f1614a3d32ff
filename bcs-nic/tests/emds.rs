//! The record that NICs make of their slices, in a program whose figures were all computed by hand.

use bcs_core::check_bits::CheckBits;
use bcs_core::descriptor::{
    CollectiveKind, Payload, ReceiveDescriptor, ReceiveKind, SendDescriptor,
};
use bcs_core::job::{Settings, StrobeMode};
use bcs_core::layout::Location;
use bcs_core::reduction::{Datatype, Op};
use bcs_core::wait_state::{WaitReason, WaitState};
use bcs_nic::bounds::Bounds;
use bcs_nic::simulator::workbench::Workbench;
use mds::dump::{NONE, NodeDump, SliceRow, StrobeRow};

/// A link that brings in 50,000 bytes in a slice of 500 µs. Collectives get 43,750 of these bytes,
/// as 42 tokens of 1,041.
const BUDGET: u64 = 50_000;

/// Ranks 0 and 1 on node 0, rank 2 on node 1, rank 3 on node 2.
fn bench(strobe: StrobeMode) -> Workbench {
    let settings = Settings {
        strobe,
        link_bandwidth: 100_000_000,
        time_slice_ns: 500_000,
        ..Settings::default()
    };
    Workbench::with_settings(4, 3, Bounds::default(), settings)
}

/// Posts a message of 120,000 bytes from rank 2 to rank 0, with a completion when they have moved.
fn long_message(bench: &mut Workbench) {
    let request = bench.request(2);
    let send = SendDescriptor {
        request,
        needs_completion: true,
        context: 0,
        destination: 0,
        tag: 5,
        len: 120_000,
        check_bits: CheckBits::NONE,
        payload: Payload::Memory(Location::contiguous(0)),
        one_sided: None,
    };
    bench.post_send(2, &send);
    let request = bench.request(0);
    let receive = ReceiveDescriptor {
        request,
        context: 0,
        source: Some(2),
        tag: Some(5),
        kind: ReceiveKind::Receive {
            into: Location::contiguous(0),
            capacity: 120_000,
            shared: false,
        },
    };
    bench.post_receive(0, &receive);
}

/// Runs eight slices, each of which counts something else.
fn eight_slices() -> Vec<NodeDump> {
    let mut bench = bench(StrobeMode::Elastic);
    // 1: four messages of a byte without receives yet, a receive without a send, and a probe.
    for tag in 1..=4 {
        bench.send(0, 3, tag, false);
    }
    bench.receive(2, Some(0), Some(9));
    bench.post_receive_kind(3, Some(0), Some(99), ReceiveKind::ProbeOnce);
    bench.run_slices(1);
    // 2: the four receives, and a message that takes three slices. Ranks 2 and 3 wait.
    for tag in 1..=4 {
        bench.receive(3, Some(0), Some(tag));
    }
    long_message(&mut bench);
    let waits = WaitState {
        waits: vec![WaitReason::Request],
        ..WaitState::default()
    };
    bench.memory(2).publish_wait_state(&waits);
    let said = bench.memory(3).publish_wait_state(&waits);
    bench.run_slices(1);
    // 3 and 4: its rest. Rank 3 does not wait any more.
    bench.memory(3).clear_wait_state(said);
    bench.run_slices(2);
    // 5: a barrier that rank 1 has not entered.
    for rank in [0, 2, 3] {
        bench.call(rank, 0, 0, CollectiveKind::Barrier);
    }
    bench.run_slices(1);
    // 6: rank 1 enters it.
    bench.call(1, 0, 0, CollectiveKind::Barrier);
    bench.run_slices(1);
    // 7: a sum of four bytes.
    let sum = CollectiveKind::Reduce {
        root: None,
        op: Op::Sum,
        datatype: Datatype::Int32,
    };
    for rank in 0..4 {
        bench.add(rank, 0, 1, sum);
    }
    bench.run_slices(1);
    // 8: an empty slice, at a regular time.
    bench.arm();
    bench.settle();
    assert_eq!(bench.failures(), []);
    bench.take_recorded()
}

/// When each of them was struck, and how long it took all nodes.
///
/// By the latencies of the simulated fabric a microstrobe (56 bytes, 150 of which go in a
/// microsecond) takes 5,373 ns, and a Compare-And-Write 8,000. So a microphase without any work
/// takes all nodes 13,373, and the test whether one is needed 8,000.
///
/// 1. DEM: four descriptors of 128 bytes and 64 more take 8,840. The Strobe Sender polls 8,000
///    after the microstrobe, too early, and 8,000 after the report of node 0, which is at 5,373 +
///    8,840: 22,213. To ask for MSM, MSM, and to ask for the three others: 8,000 + 13,373 + 24,000.
/// 2. DEM 13,373, because the one descriptor takes 6,280. 8,000 + MSM 13,373 + 8,000. PM: 50,000
///    bytes take 338,333, after the microstrobe and before the poll: 351,706. To ask for BBM and
///    RM: 16,000.
/// 3. The same.
/// 4. The same with 20,000 bytes, which take 138,333, and a block with one completion (32 bytes),
///    5,213.
/// 5. As the first, with a DEM of 13,373.
/// 6. The barrier takes a Compare-And-Write in MSM, so that the first poll is too early: 21,373. To
///    ask for PM, for BBM, BBM itself, to ask for RM.
/// 7. The sum takes three of them (all are there, a token, go): 37,373. To ask for PM, BBM and RM.
///    RM: the parts of nodes 1 and 2 (68 bytes) take 5,453, and so does the sum on its way back;
///    the report is 10,906 after the microstrobe, and the poll 8,000 after that.
/// 8. DEM, and to ask for MSM. The clock strikes it at a multiple of 500,000.
const STRUCK: [(u64, u64); 8] = [
    (0, 67_586),
    (67_586, 410_452),
    (478_038, 410_452),
    (888_490, 215_665),
    (1_104_155, 58_746),
    (1_162_901, 80_119),
    (1_243_020, 107_025),
    (1_500_000, 21_373),
];

/// From one strobe to the next.
const GAPS: [u64; 8] = [
    NONE, 67_586, 410_452, 410_452, 215_665, 58_746, 80_119, 256_980,
];

#[test]
fn every_column_of_the_strobe_sender_is_as_computed_by_hand() {
    let dumps = eight_slices();
    // GTDEM, GTMSM; polls in vain in all, in DEM, in MSM; whether demanded. Where the first poll is
    // in vain, so are those after the reports of the two other nodes.
    let figures = [
        [22_213, 13_373, 3, 3, 0, 1],
        [13_373, 13_373, 3, 0, 0, 1],
        [13_373, 13_373, 3, 0, 0, 1],
        [13_373, 13_373, 3, 0, 0, 1],
        [13_373, 13_373, 0, 0, 0, 1],
        [13_373, 21_373, 3, 0, 3, 1],
        // In RM all nodes report at the same time, so that one poll is in vain.
        [13_373, 37_373, 4, 0, 3, 1],
        [13_373, NONE, 0, 0, 0, 0],
    ];
    let rows = (1..).zip(STRUCK).zip(GAPS).zip(figures);
    let expected: Vec<StrobeRow> = rows
        .map(|(((slice, struck), getts_ns), figures)| {
            let [gtdem_ns, gtmsm_ns, usrsts, usrdem, usrmsm, demanded] = figures;
            StrobeRow {
                slice,
                strobe_ns: struck.0,
                getts_ns,
                gtdem_ns,
                gtmsm_ns,
                gtts_ns: struck.1,
                usrsts,
                usrdem,
                usrmsm,
                demanded,
                length_ns: 500_000,
            }
        })
        .collect();
    let strobes = dumps[0].global.as_ref().unwrap();
    assert_eq!(strobes.strobes, expected);
    assert_eq!((strobes.usrsts.total, strobes.usrmsm.count), (19, 7));
    assert_eq!(
        (strobes.getts_ns.count, strobes.getts_ns.total),
        (7, 1_500_000)
    );
    assert!(dumps[1..].iter().all(|dump| dump.global.is_none()));
}

/// The figures of a node in a slice that differ between nodes or slices.
struct Figures {
    /// DEM, MSM, PM, BBM, RM.
    phases_ns: [u64; 5],
    ltts_ns: u64,
    /// NP2PDEM, NP2PMSM, NCOLLDEM, NCOLLMSM, BPTS.
    counts: [u64; 5],
    /// Bytes that may move, that move, and that are left.
    bytes: [u64; 3],
    /// Receives, messages, collectives.
    waiting: [u64; 3],
}

/// The figures of each slice for each node. A microphase takes a node only the time that the fabric
/// takes: DEM for a descriptor (6,280; for four 8,840), MSM where the master is, and so on as
/// above. LTTS is from the arrival of the strobe until the node has finished the last microphase,
/// whose strobe took as long to arrive.
#[rustfmt::skip]
fn of_nodes() -> [[Figures; 3]; 8] {
    let f = |phases_ns, ltts_ns, counts, bytes, waiting| Figures { phases_ns, ltts_ns, counts, bytes, waiting };
    let msm = [0, 0, NONE, NONE, NONE];
    let pm = |ns| [0, 0, ns, NONE, NONE];
    let none = [BUDGET, 0, 0];
    [
        [
            f([8_840, 0, NONE, NONE, NONE], 30_213, [4, 0, 0, 0, 0], none, [0, 0, 0]),
            f(msm, 30_213, [1, 0, 0, 0, 0], none, [1, 0, 0]),
            f(msm, 30_213, [0, 0, 0, 0, 0], none, [0, 4, 0]),
        ],
        [
            f(pm(338_333), 381_079, [1, 1, 0, 0, 0], [BUDGET, 50_000, 70_000], [0, 0, 0]),
            f([6_280, 0, 0, NONE, NONE], 42_746, [1, 0, 0, 0, 1], none, [1, 0, 0]),
            f(pm(0), 42_746, [4, 4, 0, 0, 1], none, [0, 0, 0]),
        ],
        [
            f(pm(338_333), 381_079, [0, 1, 0, 0, 0], [BUDGET, 50_000, 20_000], [0, 0, 0]),
            f(pm(0), 42_746, [0, 0, 0, 0, 1], none, [1, 0, 0]),
            f(pm(0), 42_746, [0, 0, 0, 0, 0], none, [0, 0, 0]),
        ],
        [
            f(pm(143_546), 186_292, [0, 1, 0, 0, 0], [BUDGET, 20_000, 0], [0, 0, 0]),
            f(pm(0), 42_746, [0, 0, 0, 0, 1], none, [1, 0, 0]),
            f(pm(0), 42_746, [0, 0, 0, 0, 0], none, [0, 0, 0]),
        ],
        [
            f(msm, 21_373, [0, 0, 0, 0, 0], none, [0, 0, 1]),
            f(msm, 21_373, [0, 0, 1, 0, 1], none, [1, 0, 1]),
            f(msm, 21_373, [0, 0, 1, 0, 0], none, [0, 0, 1]),
        ],
        [
            f([0, 8_000, NONE, 0, NONE], 58_746, [0, 0, 1, 1, 0], none, [0, 0, 0]),
            f([0, 0, NONE, 0, NONE], 58_746, [0, 0, 0, 1, 1], none, [1, 0, 0]),
            f([0, 0, NONE, 0, NONE], 58_746, [0, 0, 0, 1, 0], none, [0, 0, 0]),
        ],
        [
            f([0, 24_000, NONE, NONE, 10_906], 93_652, [0, 0, 1, 1, 0], [48_959, 0, 0], [0, 0, 0]),
            f([0, 0, NONE, NONE, 10_906], 93_652, [0, 0, 1, 1, 1], [48_959, 0, 0], [1, 0, 0]),
            f([0, 0, NONE, NONE, 10_906], 93_652, [0, 0, 1, 1, 0], [48_959, 0, 0], [0, 0, 0]),
        ],
        [
            f([0, NONE, NONE, NONE, NONE], 0, [0, 0, 0, 0, 0], none, [0, 0, 0]),
            f([0, NONE, NONE, NONE, NONE], 0, [0, 0, 0, 0, 1], none, [1, 0, 0]),
            f([0, NONE, NONE, NONE, NONE], 0, [0, 0, 0, 0, 0], none, [0, 0, 0]),
        ],
    ]
}

fn row(at: usize, figures: &Figures) -> SliceRow {
    let [ltdem_ns, ltmsm_ns, ltpm_ns, ltbbm_ns, ltrm_ns] = figures.phases_ns;
    let [np2pdem, np2pmsm, ncolldem, ncollmsm, bpts] = figures.counts;
    let [budget_bytes, scheduled_bytes, carried_bytes] = figures.bytes;
    let [receives_waiting, messages_waiting, collectives_waiting] = figures.waiting;
    SliceRow {
        slice: at as u64 + 1,
        strobe_ns: STRUCK[at].0 + 5_373,
        letts_ns: GAPS[at],
        ltdem_ns,
        ltmsm_ns,
        ltpm_ns,
        ltbbm_ns,
        ltrm_ns,
        ltts_ns: figures.ltts_ns,
        np2pdem,
        np2pmsm,
        ncolldem,
        ncollmsm,
        bpts,
        // In virtual time routines take no time.
        ltr_sr_ns: 0,
        ltr_bs_ns: 0,
        ltr_br_ns: 0,
        ltr_dh_ns: 0,
        ltr_ch_ns: 0,
        ltr_rh_ns: 0,
        budget_bytes,
        scheduled_bytes,
        carried_bytes,
        receives_waiting,
        messages_waiting,
        collectives_waiting,
        demanded: u64::from(at < 7),
    }
}

#[test]
fn every_column_of_every_node_is_as_computed_by_hand() {
    let dumps = eight_slices();
    let all = of_nodes();
    for (node, dump) in dumps.iter().enumerate() {
        for (at, figures) in all.iter().enumerate() {
            let found = dump.slices[at];
            assert_eq!(
                found,
                row(at, &figures[node]),
                "node {node}, slice {}",
                at + 1
            );
        }
        assert_eq!((dump.slices.len(), dump.slices_struck), (8, 8));
    }
    let totals = dumps.iter().map(|dump| {
        [
            dump.np2pdem,
            dump.np2pmsm,
            dump.ncolldem,
            dump.ncollmsm,
            dump.bpts,
        ]
    });
    let expected = [[5, 3, 2, 2, 0], [2, 0, 2, 2, 7], [4, 4, 2, 2, 1]];
    assert_eq!(totals.collect::<Vec<_>>(), expected);
    let bytes = [
        dumps[0].budget_bytes,
        dumps[0].scheduled_bytes,
        dumps[0].carried_bytes,
    ];
    assert_eq!(bytes, [7 * BUDGET + 48_959, 120_000, 90_000]);
    assert_eq!(dumps[0].demanded, 7);
}

/// A long broadcast has 98 steps of 1,024 bytes, of two tokens each, because two ranks arrive on
/// node 0. So a slice has room for 21, and the fifth for the last 14.
#[test]
fn a_collective_that_takes_several_slices_counts_in_each_on_all_its_nodes() {
    let mut bench = bench(StrobeMode::Elastic);
    let broadcast = CollectiveKind::Broadcast { root: 0 };
    for rank in 0..4 {
        bench.arrive(rank, broadcast, 100_000, [0, 200_000]);
    }
    bench.settle();
    for (node, dump) in bench.take_recorded().iter().enumerate() {
        let of = |figure: fn(&SliceRow) -> u64| dump.slices.iter().map(figure).collect::<Vec<_>>();
        assert_eq!(of(|row| row.ncolldem), [1, 0, 0, 0, 0], "node {node}");
        assert_eq!(of(|row| row.ncollmsm), [1, 1, 1, 1, 1], "node {node}");
        assert_eq!(
            of(|row| row.collectives_waiting),
            [1, 1, 1, 1, 0],
            "node {node}"
        );
        // It reserves all 42 tokens, and 28 in the end.
        let (all, last) = (BUDGET - 42 * 1_041, BUDGET - 28 * 1_041);
        assert_eq!(
            of(|row| row.budget_bytes),
            [all, all, all, all, last],
            "node {node}"
        );
        assert_eq!((dump.ncolldem, dump.ncollmsm), (1, 5));
    }
}

/// Slice numbers follow time, completions wait for the next strobe, and a demand only arms the
/// strobe.
#[test]
fn with_fixed_strobes_slices_are_struck_by_the_clock() {
    let mut bench = bench(StrobeMode::Fixed);
    bench.send(0, 2, 7, false);
    bench.receive(2, Some(0), Some(7));
    bench.settle();
    let dumps = bench.take_recorded();
    let strobes = &dumps[0].global.as_ref().unwrap().strobes;
    let struck = |row: &StrobeRow| [row.slice, row.strobe_ns, row.getts_ns, row.demanded];
    let struck: Vec<_> = strobes.iter().map(struck).collect();
    let expected = [[1, 500_000, NONE, 0], [2, 1_000_000, 500_000, 0]];
    assert_eq!(struck, expected);
    let scheduled: Vec<u64> = dumps[1].slices.iter().map(|row| row.np2pmsm).collect();
    assert_eq!(
        scheduled,
        [1, 0],
        "the second slice releases what the first has moved"
    );
    assert!(dumps.iter().all(|dump| dump.demanded == 0));
}

/// Slices are short at first. While no rank waits for them, and the NICs work for most of the time,
/// they grow to the maximum; and they are short again when a rank waits. Their numbers go on.
#[test]
fn with_auto_strobes_slices_are_as_long_as_the_program_needs() {
    let mut bench = bench(StrobeMode::Auto);
    let messages = |bench: &mut Workbench| {
        for _ in 0..100 {
            bench.send(0, 2, 7, false);
            bench.receive(2, Some(0), Some(7));
            bench.settle();
        }
    };
    messages(&mut bench);
    // There is one core, so no rank loses time while another one uses it.
    (0..4).for_each(|_| bench.block());
    messages(&mut bench);
    let dumps = bench.take_recorded();
    let strobes = &dumps[0].global.as_ref().unwrap().strobes;
    let lengths: Vec<u64> = strobes.iter().map(|row| row.length_ns).collect();
    assert_eq!(lengths[0], 50_000);
    assert_eq!(lengths.iter().max(), Some(&500_000));
    assert!(lengths.last() <= Some(&100_000), "{lengths:?}");
    let pairs = strobes.iter().zip(&strobes[1..]);
    for (before, row) in pairs {
        assert!(row.slice > before.slice, "{before:?}, {row:?}");
        let passed = (row.slice - before.slice) * row.length_ns;
        assert_eq!(row.getts_ns, passed, "{before:?}, {row:?}");
    }
}
