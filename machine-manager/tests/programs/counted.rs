//! NICs' records of their slices (EMDS), in a real job whose counts were all computed by hand.

use crate::program::fixture;
use mds::dump::{NONE, RunDumps, SliceRow, StrobeRow, read_dir};
use std::process::{Command, Stdio};

/// Slices so long that all ranks go on between two strobes, and links that carry 100,000 bytes in
/// each.
const SLICES: &str = "--strobe fixed --time-slice 100ms --link-bandwidth 1000000";

const BUDGET: u64 = 100_000;

/// The bytes of a token: 64 tokens share the 87,500 bytes of a slice that belong to collectives.
const TOKEN: u64 = 1_367;

/// Ranks 0 and 1 on node 0, rank 2 on node 1, rank 3 on node 2.
fn counted(driver: &str) -> RunDumps {
    let dir = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_bcs"))
        .args(["run", "--timeout", "60s", "-n", "4", "--nodes", "3"])
        .args(SLICES.split_whitespace())
        .args(["--intranode", "nic", "--nic-threads", driver])
        .arg("--mds")
        .arg(dir.path())
        .arg(fixture("counted"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{driver}: {said}");
    read_dir(dir.path()).unwrap()
}

/// The counts of a slice on the three nodes.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Counts {
    np2pdem: [u64; 3],
    np2pmsm: [u64; 3],
    ncolldem: [u64; 3],
    /// It is the same on all nodes.
    ncollmsm: u64,
    /// The other nodes get nothing.
    scheduled_and_carried: [u64; 2],
    receives: [u64; 3],
    messages: [u64; 3],
    collectives: [u64; 3],
}

const NOTHING: Counts = Counts {
    np2pdem: [0; 3],
    np2pmsm: [0; 3],
    ncolldem: [0; 3],
    ncollmsm: 0,
    scheduled_and_carried: [0; 2],
    receives: [0; 3],
    messages: [0; 3],
    collectives: [0; 3],
};

/// Returns the counts of the slices after the first barrier, which strikes the slice before them. A
/// descriptor that is posted after a strobe is taken at the next one. An operation that is complete
/// then is released at the one after that. So every other slice is struck only for that.
fn script() -> [Counts; 15] {
    let late = Counts {
        receives: [0, 1, 0],
        ..NOTHING
    };
    let unmatched = Counts {
        messages: [0, 0, 4],
        ..late
    };
    [
        NOTHING,
        // Four sends, a receive of the last message, and the second barrier.
        Counts {
            np2pdem: [4, 1, 0],
            ncolldem: [1, 1, 1],
            ncollmsm: 1,
            ..unmatched
        },
        unmatched,
        // Four receives, and a message that takes three slices. Rank 1 enters the third barrier.
        Counts {
            np2pdem: [1, 1, 4],
            np2pmsm: [1, 0, 4],
            scheduled_and_carried: [100_000, 150_000],
            collectives: [1, 0, 0],
            ..late
        },
        Counts {
            np2pmsm: [1, 0, 0],
            scheduled_and_carried: [100_000, 50_000],
            collectives: [1, 0, 0],
            ..late
        },
        // Rank 3, which has its four messages, enters.
        Counts {
            np2pmsm: [1, 0, 0],
            ncolldem: [0, 0, 1],
            scheduled_and_carried: [50_000, 0],
            collectives: [1, 0, 1],
            ..late
        },
        Counts {
            collectives: [1, 0, 1],
            ..late
        },
        // Ranks 0 and 2 enter.
        Counts {
            ncolldem: [1, 1, 0],
            ncollmsm: 1,
            ..late
        },
        late,
        // The sum.
        Counts {
            ncolldem: [1, 1, 1],
            ncollmsm: 1,
            ..late
        },
        late,
        // The messages whose receives were posted long ago are sent. All but rank 2 enter the last
        // barrier.
        Counts {
            np2pdem: [1, 0, 0],
            np2pmsm: [0, 1, 0],
            ncolldem: [1, 0, 1],
            collectives: [1, 0, 1],
            ..NOTHING
        },
        Counts {
            collectives: [1, 0, 1],
            ..NOTHING
        },
        // Rank 2 enters.
        Counts {
            ncolldem: [0, 1, 0],
            ncollmsm: 1,
            ..NOTHING
        },
        NOTHING,
    ]
}

/// Converts the rows of a slice on the three nodes to counts.
fn counts(rows: [&SliceRow; 3]) -> Counts {
    let of = |figure: fn(&SliceRow) -> u64| rows.map(figure);
    let everywhere = |figure: fn(&SliceRow) -> u64| {
        let [first, others @ ..] = rows.map(figure);
        assert_eq!(others, [first; 2], "{rows:?}");
        first
    };
    let here_alone = |figure: fn(&SliceRow) -> u64| {
        let [first, others @ ..] = rows.map(figure);
        assert_eq!(others, [0; 2], "{rows:?}");
        first
    };
    Counts {
        np2pdem: of(|row| row.np2pdem),
        np2pmsm: of(|row| row.np2pmsm),
        ncolldem: of(|row| row.ncolldem),
        ncollmsm: everywhere(|row| row.ncollmsm),
        scheduled_and_carried: [
            here_alone(|row| row.scheduled_bytes),
            here_alone(|row| row.carried_bytes),
        ],
        receives: of(|row| row.receives_waiting),
        messages: of(|row| row.messages_waiting),
        collectives: of(|row| row.collectives_waiting),
    }
}

/// Checks which microphases a slice had: MSM if anything was exchanged or is left, or if all ranks
/// of node 0, which grants barriers, have entered one (12); the others if data moved in them.
fn has_phases(row: &SliceRow, expected: &Counts, at: usize) {
    let is_exchange = at % 2 == 1 || expected.scheduled_and_carried[0] > 0 || at == 12;
    let sum = at == 9;
    let has = [
        row.ltdem_ns,
        row.ltmsm_ns,
        row.ltpm_ns,
        row.ltbbm_ns,
        row.ltrm_ns,
    ]
    .map(|time_ns| time_ns != NONE);
    let expected = [
        true,
        is_exchange,
        expected.scheduled_and_carried[0] > 0,
        expected.ncollmsm > 0 && !sum,
        sum,
    ];
    assert_eq!(has, expected, "slice {at}: {row:?}");
}

/// Returns a time, or nothing where there was none.
fn time(time_ns: u64) -> u64 {
    if time_ns == NONE { 0 } else { time_ns }
}

/// Microphases come one after the other, and no node is in them longer than all are.
fn times_are_consistent(row: &SliceRow, strobe: &StrobeRow) {
    let phases = [
        row.ltdem_ns,
        row.ltmsm_ns,
        row.ltpm_ns,
        row.ltbbm_ns,
        row.ltrm_ns,
    ];
    let sum: u64 = phases.into_iter().map(time).sum();
    assert!(sum <= row.ltts_ns, "{row:?}");
    assert!(row.strobe_ns >= strobe.strobe_ns, "{row:?} {strobe:?}");
    let ends = |strobe_ns, took_ns| strobe_ns + took_ns;
    let (local, global) = (
        ends(row.strobe_ns, row.ltts_ns),
        ends(strobe.strobe_ns, strobe.gtts_ns),
    );
    assert!(local <= global, "{row:?} {strobe:?}");
    assert!(row.ltdem_ns <= strobe.gtdem_ns, "{row:?} {strobe:?}");
    assert!(
        time(row.ltmsm_ns) <= time(strobe.gtmsm_ns),
        "{row:?} {strobe:?}"
    );
    assert!(strobe.gtdem_ns + time(strobe.gtmsm_ns) <= strobe.gtts_ns);
    // The threads that have worked have taken time, and no more than the slice has.
    let worked = [
        (row.ltr_sr_ns, true),
        (row.ltr_bs_ns, true),
        (row.ltr_br_ns, true),
        (row.ltr_dh_ns, row.ltpm_ns != NONE),
        (row.ltr_ch_ns, row.ltbbm_ns != NONE),
        (row.ltr_rh_ns, row.ltrm_ns != NONE),
    ];
    for (took_ns, has_worked) in worked {
        assert!(!has_worked || took_ns > 0, "{row:?}");
        assert!(took_ns < 100_000_000, "{row:?}");
    }
}

/// Checks how often the Strobe Sender polls. If one OS thread has all NICs, the nodes report
/// between the first poll and the second. Otherwise there is at most one more poll for each report.
fn looks_are_few(strobe: &StrobeRow, row: &SliceRow, driver: &str) {
    let later = [row.ltmsm_ns, row.ltpm_ns, row.ltbbm_ns, row.ltrm_ns];
    let phases = 1 + later.iter().filter(|time_ns| **time_ns != NONE).count() as u64;
    let msm = u64::from(row.ltmsm_ns != NONE);
    let looks = [strobe.usrsts, strobe.usrdem, strobe.usrmsm];
    let once = [phases, 1, msm];
    match driver {
        "shared" => assert_eq!(looks, once, "{strobe:?}"),
        _ => assert!(
            looks
                .iter()
                .zip(once)
                .all(|(looks, once)| *looks <= 4 * once),
            "{strobe:?}"
        ),
    }
    assert!(looks[1] + looks[2] <= looks[0]);
}

#[test]
fn every_column_of_a_real_job_is_as_computed_by_hand() {
    for driver in ["shared", "coprocessor", "dedicated"] {
        let dumps = counted(driver);
        let nodes: [_; 3] = dumps.nodes.try_into().unwrap();
        let strobes = &nodes[0].global.as_ref().unwrap().strobes;
        let first = nodes[0].slices.iter().position(|row| row.ncollmsm > 0);
        let first = first.expect("the first barrier went");
        for (at, expected) in script().iter().enumerate() {
            let index = first + 1 + at;
            let rows = [0, 1, 2].map(|node| &nodes[node].slices[index]);
            let strobe = &strobes[index];
            let what = format!("{driver}, slice {at}: {rows:?}");
            assert_eq!(counts(rows), *expected, "{what}");
            let sum = if at == 9 { TOKEN } else { 0 };
            assert_eq!(
                rows.map(|row| row.budget_bytes),
                [BUDGET - sum; 3],
                "{what}"
            );
            assert_eq!(rows.map(|row| row.bpts), [2, 1, 1], "all wait: {what}");
            assert_eq!(strobe.demanded, 0);
            looks_are_few(strobe, rows[0], driver);
            for (node, row) in rows.into_iter().enumerate() {
                let before = &nodes[node].slices[index - 1];
                assert_eq!((row.slice, row.demanded), (before.slice + 1, 0), "{what}");
                assert_eq!(row.slice, strobe.slice);
                assert_eq!(row.letts_ns, row.strobe_ns - before.strobe_ns, "{what}");
                has_phases(row, expected, at);
                times_are_consistent(row, strobe);
            }
            assert_eq!(
                strobe.getts_ns,
                strobe.strobe_ns - strobes[index - 1].strobe_ns
            );
        }
        let totals = nodes
            .each_ref()
            .map(|node| (node.np2pdem, node.np2pmsm, node.ncolldem));
        assert_eq!(totals, [(6, 3, 5), (2, 1, 5), (4, 4, 5)], "{driver}");
        assert!(nodes.iter().all(|node| node.ncollmsm == 5), "{driver}");
        assert_eq!(nodes[0].scheduled_bytes, 250_000, "{driver}");
    }
}

/// Nothing is recorded without the option.
#[test]
fn slices_are_recorded_where_and_when_it_was_asked_for() {
    for (record, expected) in [
        ("none", [None, None, None]),
        ("mmds", [None, None, None]),
        ("emds:nodes=0+2", [Some(true), None, Some(false)]),
        ("emds:1000-2000", [Some(true), Some(false), Some(false)]),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let status = Command::new(env!("CARGO_BIN_EXE_bcs"))
            .args(["run", "--timeout", "60s", "-n", "3", "--nodes", "3"])
            .args(["--mds-record", record, "--mds"])
            .arg(dir.path())
            .arg(fixture("barriers"))
            .args(["10", "3"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .status()
            .unwrap();
        assert!(status.success(), "{record}");
        let nodes = read_dir(dir.path()).map_or(Vec::new(), |dumps| dumps.nodes);
        let found = [0, 1, 2].map(|number| {
            let node = nodes.iter().find(|node| node.node == number);
            node.map(|node| node.global.is_some())
        });
        assert_eq!(found, expected, "{record}");
        let rows: usize = nodes.iter().map(|node| node.slices.len()).sum();
        assert_eq!(rows > 0, record.contains("nodes"), "{record}: {rows} rows");
    }
}

/// Otherwise it would go on for an hour.
#[test]
fn a_job_that_is_ended_leaves_what_its_nics_recorded() {
    for driver in ["shared", "coprocessor"] {
        let dir = tempfile::tempdir().unwrap();
        let status = Command::new(env!("CARGO_BIN_EXE_bcs"))
            .args(["run", "--timeout", "1s", "-n", "2", "--nodes", "2"])
            .args(["--nic-threads", driver, "--mds"])
            .arg(dir.path())
            .arg(fixture("barriers"))
            .args(["1000", "3600000"])
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        assert!(!status.success(), "{driver}");
        let nodes = read_dir(dir.path()).unwrap().nodes;
        assert_eq!(nodes.len(), 2, "{driver}");
        for node in &nodes {
            assert!(node.ncollmsm > 0 && !node.slices.is_empty(), "{driver}");
        }
        assert!(nodes[0].global.is_some(), "{driver}");
    }
}
