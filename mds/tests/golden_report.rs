//! Reports, letter by letter. After a change that is meant: `BLESS=1 cargo test -p mds`, and read the diff.

use std::path::Path;
use std::{env, fs};

use mds::dump::{NodeDump, RankDump};
use mds::emds::{SliceFigures, SliceRecorder, StrobeFigures, StrobeRecorder};
use mds::mmds::{Primitive, RankRecorder};
use mds::report::{self, Whose};

const MS: u64 = 1_000_000;

/// Two ranks: non-blocking neighbours, then a reduction, as the steps of SAGE are.
fn ranks() -> Vec<RankDump> {
    let run = |rank: u32| {
        let rank_ns = u64::from(rank) * 250_000;
        let mut recorder = RankRecorder::new(rank, 0);
        let mut now_ns = 0;
        for step in 1..=20 {
            now_ns += 9 * MS + step * 10_000;
            recorder.record(Primitive::Isend, 4 * MS + rank_ns + step, Some(8_192));
            recorder.record(Primitive::Irecv, 4 * MS + rank_ns, Some(8_192));
            recorder.blocking_begin(now_ns);
            now_ns += MS + rank_ns;
            recorder.blocking_end(now_ns);
            recorder.record(Primitive::Waitall, MS + rank_ns, None);
            now_ns += 2 * MS;
            recorder.blocking_begin(now_ns);
            now_ns += 2_690_501 - rank_ns;
            recorder.blocking_end(now_ns);
            recorder.record(Primitive::Allreduce, 2_690_501 - rank_ns, Some(8));
        }
        if rank == 1 {
            recorder.record(Primitive::Probe, 271_000, None);
        }
        recorder.finish(now_ns + 500)
    };
    (0..2).map(run).collect()
}

fn nodes() -> Vec<NodeDump> {
    let run = |node: u32| {
        let mut slices = SliceRecorder::new(node, 0);
        let mut strobes = StrobeRecorder::new(0);
        // A barrier every 9 slices, as in section 5.3.
        for slice in (0..90_u64).step_by(9) {
            let strobe_ns = slice * 250_000;
            slices.slice(&SliceFigures {
                slice,
                strobe_ns,
                ltdem_ns: Some(12_000 + slice * 10),
                lmsm_ns: Some(15_500),
                ltbbm_ns: Some(9_000),
                ltts_ns: 60_000,
                ncolldem: 1,
                ncollmsm: 1,
                bpts: 2,
                ..Default::default()
            });
            strobes.slice(&StrobeFigures {
                slice,
                strobe_ns,
                gtdem_ns: Some(14_000),
                gtmsm_ns: Some(17_000),
                gtts_ns: 66_000,
                usrdem: 2,
                ..Default::default()
            });
        }
        let global = (node == 0).then(|| strobes.finish());
        NodeDump {
            global,
            ..slices.finish(90)
        }
    };
    (0..2).map(run).collect()
}

fn assert_golden(name: &str, found: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name);
    if env::var_os("BLESS").is_some() {
        fs::write(&path, format!("{found}\n")).unwrap();
    }
    let golden = fs::read_to_string(&path).unwrap();
    assert_eq!(format!("{found}\n"), golden, "{name} differs:\n{found}");
}

#[test]
fn all_ranks_merged() {
    let table = report::table_5_3(&ranks(), Whose::AllRanks).unwrap();
    let run_time = report::run_time(&ranks(), Whose::AllRanks).unwrap();
    assert_golden("all_ranks.txt", &format!("{table}\n{run_time}"));
}

#[test]
fn one_rank() {
    let table = report::table_5_3(&ranks(), Whose::Rank(0)).unwrap();
    let run_time = report::run_time(&ranks(), Whose::Rank(0)).unwrap();
    assert_golden("rank_0.txt", &format!("{table}\n{run_time}"));
}

#[test]
fn nodes_and_their_microphases() {
    assert_golden("nodes.txt", &report::table_nodes(&nodes()));
}
