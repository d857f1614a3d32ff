//! Ranks that wait for each other for ever: the report names who waits for whom.

use crate::program::fixture;
use std::process::{Command, Stdio};

/// Returns the exit code and the messages of `bcs run`.
fn crossed(layout: &str, way: &str) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_bcs"))
        .arg("run")
        .args(layout.split_whitespace())
        .arg(fixture("crossed"))
        .arg(way)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), said)
}

/// No message, or too few, would show the error otherwise.
#[test]
fn collectives_that_are_not_the_same_end_the_job() {
    let ways = [
        (
            "gather-scatter",
            ["a gather to rank 0", "a scatter from rank 0"],
            "MPI_COMM_WORLD",
        ),
        (
            "roots",
            ["a gather to rank 3", "a gather to rank 2"],
            "of the communicator made by MPI_Comm_split of MPI_COMM_WORLD)",
        ),
        (
            "barrier-alltoall",
            ["a barrier", "an all-to-all"],
            "of the communicator made by MPI_Comm_split of MPI_COMM_WORLD)",
        ),
        (
            "groups",
            [
                "a gather to rank 0",
                "a broadcast between two groups from rank 0 (collective 3",
            ],
            "of the communicator made by MPI_Intercomm_create of another one)",
        ),
    ];
    let layouts = [
        "-n 4 --intranode nic",
        "-n 4 --nodes 2 --nic-threads coprocessor",
        "-n 4 --nodes 4 --strobe fixed",
        "-n 4 --nodes 3",
    ];
    for (layout, (way, both, communicator)) in layouts.into_iter().zip(ways) {
        let (code, said) = crossed(&format!("--timeout 60s {layout}"), way);
        assert_eq!(code, Some(1), "{layout} {way}: {said}");
        let told = both.iter().all(|what| said.contains(what)) && said.contains(communicator);
        assert!(told && said.lines().count() == 1, "{layout} {way}: {said}");
    }
}

/// Within a node the members find out themselves.
#[test]
fn collectives_of_a_node_that_are_not_the_same_are_errors() {
    let ways = [
        (
            "gather-scatter",
            ["a gather to rank 0", "a scatter from rank 0"],
        ),
        ("roots", ["a gather to rank 1", "a gather to rank 0"]),
        ("barrier-alltoall", ["a barrier", "an all-to-all"]),
    ];
    for (way, both) in ways {
        let (code, said) = crossed("-n 4 --timeout 60s", way);
        assert_eq!(code, Some(1), "{way}: {said}");
        let told = both.iter().any(|what| said.contains(what));
        assert!(
            told && said.contains("did not call the same"),
            "{way}: {said}"
        );
    }
}

#[test]
fn a_time_limit_says_where_each_rank_was() {
    let waits = [
        (
            "receive",
            "waits for a message from rank 1 with tag 17 in MPI_COMM_WORLD",
            2,
        ),
        (
            "send",
            "waits for its message to be received by rank 1 with tag 17",
            2,
        ),
        (
            "receive-barrier",
            "waits for the others in a barrier (collective 7 of MPI_COMM_WORLD)",
            1,
        ),
    ];
    for (way, said_of_one, others) in waits {
        let (code, said) = crossed("-n 4 --nodes 2 --timeout 2s --on-deadlock report", way);
        assert_eq!(code, Some(124), "{said}");
        let lines: Vec<&str> = said.lines().collect();
        assert_eq!(lines.len(), 11, "each rank twice: {said}");
        for said in [&lines[..6], &lines[6..]] {
            let one = said.iter().any(|line| line.contains(said_of_one));
            assert!(one, "{way}: {said:?}");
        }
        let like_that = said.lines().filter(|line| line.contains("with tag 17"));
        assert!(like_that.count() >= others, "{way}: {said}");
    }
}

/// More ranks than a node manager could once report.
#[test]
fn a_standstill_of_more_than_512_ranks_of_a_node_is_told() {
    let (code, said) = crossed("-n 520 --timeout 90s", "receive-at-once");
    assert_eq!(code, Some(123), "{said}");
    let why = "no rank can ever go on: ranks 0 and 1 wait for each other (and 259 more)";
    assert!(said.contains(why), "{said}");
    let others = said
        .lines()
        .any(|line| line.ends_with("... and 504 others"));
    assert!(others, "{said}");
}
