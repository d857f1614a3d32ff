//! Dumps on disk: a written dump is read back. Any other file is a clear error that affects no
//! other file.

mod sample_run;

use std::fs;
use std::path::{Path, PathBuf};

use mds::dump::{self, DumpError, RankDump, RunDumps};
use proptest::prelude::*;

fn same(found: &RunDumps, expected: &RunDumps) {
    assert_eq!(found.run, expected.run);
    assert_eq!(found.ranks, expected.ranks);
    assert_eq!(found.nodes, expected.nodes);
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_directory_gives_back_what_was_written_in_order_of_rank() {
    let dir = tempfile::tempdir().unwrap();
    let deep = dir.path().join("made/on/the/way");
    let mut written = sample_run::dumps();
    written.ranks.reverse();
    sample_run::write(&deep, &written);
    fs::write(deep.join("notes.txt"), "not ours").unwrap();
    let found = dump::read_dir(&deep).unwrap().require_complete().unwrap();
    same(&found, &sample_run::dumps());

    let names = names(&deep);
    let of_rank_3: Vec<&String> = names.iter().filter(|name| name.contains("00003")).collect();
    let expected = ["calls", "hlog", "json", "messages"].map(|end| format!("rank-00003.{end}"));
    assert_eq!(of_rank_3, expected.iter().collect::<Vec<_>>());
    let of_nodes: Vec<&String> = names
        .iter()
        .filter(|name| name.starts_with("node-000"))
        .collect();
    let expected = [
        "node-0000.hlog",
        "node-0000.json",
        "node-0000.slices",
        "node-0000.strobes",
    ];
    assert_eq!(of_nodes[..4], expected);
    // Four files for each rank, one more for ranks that send within their node, three for each
    // node, and these.
    assert_eq!(
        names.len(),
        6 * 4 + 3 + 3 * 3 + 1 + ["run.json", "notes.txt"].len()
    );
}

#[test]
fn summaries_are_read_without_calls_and_messages() {
    let dir = tempfile::tempdir().unwrap();
    sample_run::write(dir.path(), &sample_run::dumps());
    let found = dump::read_summaries(dir.path())
        .unwrap()
        .require_complete()
        .unwrap();
    assert!(
        found
            .ranks
            .iter()
            .all(|rank| rank.calls.is_empty() && rank.messages.is_empty())
    );
    assert!(!found.ranks[0].near.is_empty() && !found.nodes[0].slices.is_empty());
}

#[test]
fn the_first_members_say_what_the_file_is_and_the_last_which_tables_lie_beside_it() {
    let dir = tempfile::tempdir().unwrap();
    let dumps = sample_run::dumps();
    let rank = dump::write_rank(dir.path(), &dumps.ranks[3]).unwrap();
    assert_eq!(rank.file_name().unwrap(), "rank-00003.json");
    let text = fs::read_to_string(rank).unwrap();
    let head = r#"{"format":"bcs-mds-rank","version":2,"job":"18c7-42","rank":3,"node":1,"#;
    assert!(text.starts_with(head), "{text}");
    assert!(
        text.ends_with(r#""tables":{"calls":80,"messages":40}}"#),
        "{text}"
    );
    let receive = r#""MPI_Irecv":{"latency_ns":{"count":20,"min":500,"average":500.0,"max":500,"total":10000},"#;
    assert!(text.contains(receive), "{text}");

    let node = dump::write_node(dir.path(), &dumps.nodes[0]).unwrap();
    assert_eq!(node.file_name().unwrap(), "node-0000.json");
    let text = fs::read_to_string(node).unwrap();
    assert!(text.starts_with(r#"{"format":"bcs-mds-node","version":2,"#));
    let run = dump::write_run(dir.path(), dumps.run.as_ref().unwrap()).unwrap();
    let text = fs::read_to_string(run).unwrap();
    assert!(text.starts_with(r#"{"format":"bcs-mds-run","version":2,"job":"18c7-42","#));
}

/// A dump of a run with one changed file, for reading it again.
struct Changed {
    dir: tempfile::TempDir,
    file: PathBuf,
    whole: Vec<u8>,
}

impl Changed {
    /// The run is small, so that many ways to break it can be tried.
    fn of(file: &str) -> Self {
        let mut dumps = sample_run::dumps();
        dumps.ranks.truncate(2);
        dumps.nodes.truncate(1);
        for rank in &mut dumps.ranks {
            rank.calls.truncate(3);
            rank.messages.truncate(2);
            rank.near.truncate(2);
        }
        dumps.nodes[0].slices.truncate(2);
        dumps.nodes[0].global.as_mut().unwrap().strobes.truncate(2);
        dumps.run.as_mut().unwrap().ranks = 2;
        dumps.run.as_mut().unwrap().nodes = 1;
        let dir = tempfile::tempdir().unwrap();
        sample_run::write(dir.path(), &dumps);
        let file = dir.path().join(file);
        let whole = fs::read(&file).unwrap();
        Self { dir, file, whole }
    }

    fn read(&self, content: &[u8]) -> RunDumps {
        fs::write(&self.file, content).unwrap();
        dump::read_dir(self.dir.path()).unwrap()
    }
}

/// One file of each kind.
const KINDS: [&str; 9] = [
    "run.json",
    "rank-00000.json",
    "rank-00000.hlog",
    "rank-00000.calls",
    "rank-00000.messages",
    "rank-00000.near",
    "node-0000.hlog",
    "node-0000.slices",
    "node-0000.strobes",
];

#[test]
fn a_file_cut_short_at_any_byte_is_named_and_the_rest_is_there() {
    for kind in KINDS {
        let changed = Changed::of(kind);
        let every = if changed.whole.len() > 4_000 { 7 } else { 1 };
        for length in (0..changed.whole.len()).step_by(every) {
            let found = changed.read(&changed.whole[..length]);
            let fault = found.faults.first();
            let fault = fault.unwrap_or_else(|| panic!("{kind} cut at {length} is not noticed"));
            assert!(
                fault.to_string().contains(kind),
                "{kind} cut at {length}: {fault}"
            );
            let ranks = if kind == "rank-00000.json" { 1 } else { 2 };
            assert_eq!(
                (found.ranks.len(), found.nodes.len()),
                (ranks, 1),
                "{kind} at {length}"
            );
        }
        let whole = changed.read(&changed.whole);
        assert!(whole.faults.is_empty(), "{:?}", whole.faults);
    }
}

#[test]
fn a_json_file_or_table_that_is_cut_says_where() {
    for kind in [
        "run.json",
        "rank-00000.json",
        "rank-00000.calls",
        "node-0000.slices",
    ] {
        let changed = Changed::of(kind);
        for length in [0, 1, 30, changed.whole.len() - 1] {
            let found = changed.read(&changed.whole[..length]);
            let cut = |fault: &DumpError| matches!(fault, DumpError::Truncated { length: at, .. } if *at == length);
            assert!(
                found.faults.iter().any(cut),
                "{kind} at {length}: {:?}",
                found.faults
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// If a file holds other bytes, there is no panic, and the other dumps show what was written.
    #[test]
    fn bytes_that_were_changed_stop_no_reader(
        kind in 0..KINDS.len(),
        at in any::<prop::sample::Index>(),
        flips in prop::collection::vec((0_usize..64, 1_u8..), 1..6),
    ) {
        let changed = Changed::of(KINDS[kind]);
        let mut bytes = changed.whole.clone();
        let at = at.index(bytes.len());
        for (offset, flip) in flips {
            let place = (at + offset) % bytes.len();
            bytes[place] ^= flip;
        }
        let found = changed.read(&bytes);
        prop_assert!(found.ranks.iter().any(|rank| rank.rank == 1));
        shown(&found);
    }
}

/// Does what every reader does with dumps, whatever they hold.
fn shown(dumps: &RunDumps) {
    drop(mds_reports::figures::blame(dumps));
    drop(mds_reports::figures::flows(dumps));
    drop(mds_reports::report::full_report(
        dumps,
        mds_reports::report::ReportScope::AllRanks,
        None,
    ));
    drop(mds_reports::page::page(dumps, &[]));
    drop(mds_reports::trace::write(
        dumps,
        mds_reports::trace::TraceWindow::ALL,
        &mut std::io::sink(),
    ));
    let series = mds_reports::figures::Series::of(dumps, None, 0, u64::MAX);
    let gaps = mds_reports::figures::column("GETTS").unwrap();
    drop(mds_reports::plot::plot(&series, &gaps, "gaps"));
}

#[test]
fn words_of_tables_may_say_anything() {
    for kind in [
        "rank-00000.calls",
        "rank-00000.messages",
        "node-0000.slices",
        "node-0000.strobes",
    ] {
        let changed = Changed::of(kind);
        let head = changed
            .whole
            .iter()
            .position(|byte| *byte == b'\n')
            .unwrap()
            + 1;
        for word in [0_u64, u64::MAX, u64::MAX - 1, 1 << 63] {
            for at in (head..changed.whole.len()).step_by(8) {
                let mut bytes = changed.whole.clone();
                bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
                shown(&changed.read(&bytes));
            }
        }
    }
}

/// Returns the fault of a run in which `rank-00000.json` has this content.
fn refusal(content: &str) -> String {
    let changed = Changed::of("rank-00000.json");
    let found = changed.read(content.as_bytes());
    let message = found.faults[0].to_string();
    assert!(
        message.contains(changed.file.to_str().unwrap()),
        "names the file: {message}"
    );
    assert_eq!(found.ranks.len(), 1, "the other rank is there: {message}");
    message
}

#[test]
fn foreign_files_and_newer_versions_are_named_as_such() {
    let good = String::from_utf8(Changed::of("rank-00000.json").whole).unwrap();
    let cases = [
        (
            "PAR1 some other format".to_owned(),
            "found what is not JSON",
        ),
        ("[1, 2, 3]".to_owned(), "found another JSON value"),
        ("\"bcs-mds-rank\"".to_owned(), "found another JSON value"),
        (
            "{\"name\": \"package.json\"}".to_owned(),
            "found an object without one",
        ),
        (
            good.replace("bcs-mds-rank", "bcs-mds-node"),
            "found \"bcs-mds-node\"",
        ),
        (
            good.replace("\"version\":2", "\"version\":3"),
            "version 3 of its format",
        ),
        (
            good.replace("\"version\":2", "\"version\":1"),
            "version 1 of its format",
        ),
        (
            good.replace("\"version\":2", "\"version\":0"),
            "never was a version 0",
        ),
        (good.replace("\"version\":2,", ""), "it has no version"),
        (good.replace("MPI_Irecv", "MPI_Receive"), "MPI_Receive"),
        (
            good.replace("\"run_ns\"", "\"run\""),
            "missing field `run_ns`",
        ),
        (good.replace("\"rank\":0", "\"rank\":1"), "rank-00001.json"),
        (format!("{good}{good}"), "trailing characters"),
    ];
    for (content, expected) in cases {
        let message = refusal(&content);
        assert!(message.contains(expected), "{expected:?} in {message:?}");
    }
}

#[test]
fn a_table_of_other_rows_than_its_summary_counts_is_not_believed() {
    let changed = Changed::of("rank-00000.json");
    let whole = String::from_utf8(changed.whole.clone()).unwrap();
    let found = changed.read(whole.replace("\"calls\":3", "\"calls\":4").as_bytes());
    let message = found.faults[0].to_string();
    assert!(
        message.contains("it has 3 rows") && message.contains("says 4"),
        "{message}"
    );
    let found = changed.read(whole.replace("\"calls\":3", "\"secrets\":3").as_bytes());
    let message = found.faults[0].to_string();
    assert!(
        message.contains("rank-00000.secrets, of which"),
        "{message}"
    );
}

#[test]
fn dumps_of_another_run_are_left_out() {
    let dir = tempfile::tempdir().unwrap();
    let dumps = sample_run::dumps();
    sample_run::write(dir.path(), &dumps);
    let stale = RankDump {
        job: "job 0".to_owned(),
        ..dumps.ranks[1].clone()
    };
    dump::write_rank(dir.path(), &stale).unwrap();
    let found = dump::read_dir(dir.path()).unwrap();
    let messages: Vec<String> = found.faults.iter().map(ToString::to_string).collect();
    assert!(
        messages[0].contains("rank-00001.json") && messages[0].contains("\"job 0\""),
        "{messages:?}"
    );
    assert!(messages[1].contains("dumps of rank 1 in"), "{messages:?}");
    assert_eq!(found.ranks.len(), 5);
    // The header of an earlier run, without any other file of that run.
    let run = dump::write_run(
        dir.path(),
        &dump::RunDump {
            job: "job 0".to_owned(),
            ..dumps.run.unwrap()
        },
    );
    dump::write_rank(dir.path(), &dumps.ranks[1]).unwrap();
    let found = dump::read_dir(dir.path()).unwrap();
    assert!(
        found.faults[0]
            .to_string()
            .contains(run.unwrap().to_str().unwrap())
    );
    assert_eq!((found.run, found.ranks.len()), (None, 6));
}

#[test]
fn ranks_and_files_that_are_missing_are_named() {
    let dir = tempfile::tempdir().unwrap();
    sample_run::write(dir.path(), &sample_run::dumps());
    for name in [
        "rank-00002.json",
        "rank-00003.json",
        "rank-00005.json",
        "node-0001.slices",
    ] {
        fs::remove_file(dir.path().join(name)).unwrap();
    }
    let found = dump::read_dir(dir.path()).unwrap();
    let messages: Vec<String> = found.faults.iter().map(ToString::to_string).collect();
    assert!(
        messages[0].contains("node-0001.slices, of which"),
        "{messages:?}"
    );
    assert!(
        messages[1].contains("dumps of ranks 2 and 3, 5 in"),
        "{messages:?}"
    );
    assert_eq!(messages.len(), 2);
    assert_eq!((found.ranks.len(), found.nodes.len()), (3, 3));
    assert!(found.require_complete().is_err());
}

#[test]
fn a_directory_without_dumps_says_where_dumps_come_from() {
    let dir = tempfile::tempdir().unwrap();
    let message = dump::read_dir(dir.path()).unwrap_err().to_string();
    assert!(message.contains("--mds"), "{message}");
    let missing = dir.path().join("missing");
    assert!(
        matches!(dump::read_dir(&missing), Err(DumpError::Read { path, .. }) if path == missing)
    );
}

#[test]
fn a_dump_that_cannot_be_written_leaves_no_part_of_a_file_behind() {
    let dir = tempfile::tempdir().unwrap();
    let rank = &sample_run::dumps().ranks[0];
    // A directory has the name of the file, so the rename fails after the partial file was written.
    fs::create_dir(dir.path().join("rank-00000.hlog")).unwrap();
    let error = dump::write_rank(dir.path(), rank).unwrap_err();
    assert!(matches!(error, DumpError::Write { .. }), "{error}");
    assert_eq!(names(dir.path()), ["rank-00000.hlog"]);

    let in_the_way = dir.path().join("file");
    fs::write(&in_the_way, "").unwrap();
    let error = dump::write_rank(Path::new(&in_the_way), rank).unwrap_err();
    let message = error.to_string();
    assert!(
        message.starts_with("failed to write the MDS dump"),
        "{message}"
    );
}
