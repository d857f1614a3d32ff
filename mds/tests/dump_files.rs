//! Dumps on disk: what is written is read back, and everything else is a clear error.

use std::fs;
use std::path::Path;

use mds::dump::{self, DumpError, NodeDump, RankDump};
use mds::emds::{SliceFigures, SliceRecorder, StrobeFigures, StrobeRecorder};
use mds::mmds::{Primitive, RankRecorder};

fn rank_dump(rank: u32) -> RankDump {
    let mut recorder = RankRecorder::new(rank, 1_000);
    recorder.blocking_begin(4_000 + u64::from(rank));
    recorder.blocking_end(9_000);
    recorder.record(Primitive::Recv, 5_000, Some(123_456));
    recorder.record(Primitive::Barrier, 77, None);
    let mut dump = recorder.finish(12_000);
    dump.job = "job 1".to_owned();
    dump
}

fn node_dump(node: u32) -> NodeDump {
    let mut slices = SliceRecorder::new(node, 0);
    slices.slice(&SliceFigures {
        slice: 3,
        ltts_ns: 40_000,
        np2pdem: 2,
        ..Default::default()
    });
    let mut strobes = StrobeRecorder::new(0);
    strobes.slice(&StrobeFigures {
        slice: 3,
        gtts_ns: 50_000,
        ..Default::default()
    });
    let mut dump = slices.finish(9);
    dump.job = "job 1".to_owned();
    dump.global = (node == 0).then(|| strobes.finish());
    dump
}

#[test]
fn a_directory_gives_back_what_was_written_in_order_of_rank() {
    let dir = tempfile::tempdir().unwrap();
    let deep = dir.path().join("made/on/the/way");
    for rank in [10, 2, 0] {
        dump::write_rank(&deep, &rank_dump(rank)).unwrap();
    }
    dump::write_node(&deep, &node_dump(1)).unwrap();
    dump::write_node(&deep, &node_dump(0)).unwrap();
    fs::write(deep.join("notes.txt"), "not ours").unwrap();

    let dumps = dump::read_dir(&deep).unwrap();
    assert_eq!(dumps.ranks, [rank_dump(0), rank_dump(2), rank_dump(10)]);
    assert_eq!(dumps.nodes, [node_dump(0), node_dump(1)]);

    let mut names: Vec<_> = fs::read_dir(&deep)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    let expected = [
        "node-0000.json",
        "node-0001.json",
        "notes.txt",
        "rank-00000.json",
        "rank-00002.json",
        "rank-00010.json",
    ];
    assert_eq!(names, expected, "nothing else may be left behind");
}

#[test]
fn the_first_members_say_what_the_file_is() {
    let dir = tempfile::tempdir().unwrap();
    let rank = dump::write_rank(dir.path(), &rank_dump(3)).unwrap();
    assert_eq!(rank.file_name().unwrap(), "rank-00003.json");
    let text = fs::read_to_string(rank).unwrap();
    let head = r#"{"format":"bcs-mds-rank","version":1,"job":"job 1","rank":3,"run_ns":11000,"#;
    assert!(text.starts_with(head), "{text}");
    let barrier = r#""MPI_Barrier":{"latency_ns":{"count":1,"min":77,"average":77.0,"max":77,"total":77,"histogram":[[77,1]]}}"#;
    assert!(text.contains(barrier), "{text}");

    let node = dump::write_node(dir.path(), &node_dump(4)).unwrap();
    assert_eq!(node.file_name().unwrap(), "node-0004.json");
    assert!(
        fs::read_to_string(node)
            .unwrap()
            .starts_with(r#"{"format":"bcs-mds-node","version":1,"#)
    );
}

#[test]
fn a_file_cut_short_at_any_byte_is_an_error_that_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let rank = dump::write_rank(dir.path(), &rank_dump(0)).unwrap();
    let node = dump::write_node(dir.path(), &node_dump(0)).unwrap();
    let rank_bytes = fs::read(&rank).unwrap();
    for length in 0..rank_bytes.len() {
        fs::write(&rank, &rank_bytes[..length]).unwrap();
        assert_truncated(dump::read_rank(&rank).unwrap_err(), length);
    }
    let node_bytes = fs::read(&node).unwrap();
    for length in 0..node_bytes.len() {
        fs::write(&node, &node_bytes[..length]).unwrap();
        assert_truncated(dump::read_node(&node).unwrap_err(), length);
    }
}

fn assert_truncated(error: DumpError, at: usize) {
    assert!(
        matches!(error, DumpError::Truncated { length, .. } if length == at),
        "{at}: {error}"
    );
}

/// The error for a `rank-00000.json` with this content.
fn refusal(content: &str) -> String {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("rank-00000.json");
    fs::write(&path, content).unwrap();
    let message = dump::read_dir(dir.path()).unwrap_err().to_string();
    assert!(
        message.contains(path.to_str().unwrap()),
        "names the file: {message}"
    );
    message
}

#[test]
fn foreign_files_and_newer_versions_are_named_as_such() {
    let dir = tempfile::tempdir().unwrap();
    let path = dump::write_rank(dir.path(), &rank_dump(0)).unwrap();
    let good = fs::read_to_string(path).unwrap();
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
            good.replace("\"version\":1", "\"version\":2"),
            "version 2 of its format",
        ),
        (
            good.replace("\"version\":1", "\"version\":0"),
            "never was a version 0",
        ),
        (good.replace("\"version\":1,", ""), "it has no version"),
        (good.replace("MPI_Recv", "MPI_Receive"), "MPI_Receive"),
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
fn dumps_of_two_runs_in_one_directory_are_not_mixed() {
    let dir = tempfile::tempdir().unwrap();
    dump::write_rank(dir.path(), &rank_dump(0)).unwrap();
    let stale = RankDump {
        job: "job 0".to_owned(),
        ..rank_dump(1)
    };
    dump::write_rank(dir.path(), &stale).unwrap();
    let message = dump::read_dir(dir.path()).unwrap_err().to_string();
    assert!(
        message.contains("rank-00001.json") && message.contains("\"job 0\""),
        "{message}"
    );
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
fn a_dump_that_cannot_be_written_leaves_nothing_behind() {
    let dir = tempfile::tempdir().unwrap();
    // A directory stands where the file should go, so the rename fails after the partial file was written.
    fs::create_dir(dir.path().join("rank-00000.json")).unwrap();
    let error = dump::write_rank(dir.path(), &rank_dump(0)).unwrap_err();
    assert!(matches!(error, DumpError::Write { .. }), "{error}");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);

    let in_the_way = dir.path().join("file");
    fs::write(&in_the_way, "").unwrap();
    let error = dump::write_rank(Path::new(&in_the_way), &rank_dump(0)).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("failed to write the MDS dump"),
        "{error}"
    );
}
