//! Ranks that are hit by events which their program does not cause: the reaction of the job, its
//! messages, and its exit code.

use crate::program::fixture;
use std::process::{Command, Stdio};

const LAYOUTS: [&str; 3] = [
    "-n 3 --nodes 1",
    "-n 3 --nodes 3",
    "-n 4 --nodes 2 --nic-threads coprocessor",
];

/// Runs a case in all layouts. Each time the exit code must be one of these, and the last line of
/// `bcs run`, if there is one, must have all of these words.
fn check(case: &str, codes: &[i32], words: &[&str]) {
    in_all_layouts(case, |layout, code, told| {
        let last = told.lines().last().unwrap_or_default();
        assert!(
            codes.contains(&code),
            "{case} {layout}: exit code {code}\n{told}"
        );
        assert_eq!(last.is_empty(), words.is_empty(), "{case} {layout}: {told}");
        for word in words {
            assert!(
                last.contains(word),
                "{case} {layout}: no `{word}` in: {told}"
            );
        }
    });
}

/// Runs a case in all layouts; passes on the exit code and the messages.
fn in_all_layouts(case: &str, found: impl Fn(&str, i32, &str)) {
    for layout in LAYOUTS {
        let output = Command::new(env!("CARGO_BIN_EXE_bcs"))
            .args(["run", "--timeout", &timeout()])
            .args(layout.split_whitespace())
            .arg(fixture("unlucky"))
            .arg(case)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        let code = output.status.code().expect("bcs run is not killed");
        found(layout, code, &told);
    }
}

/// Returns the time limit. A rank is stopped for `BCS_STOP_SECONDS`, which may be minutes.
fn timeout() -> String {
    let stop = std::env::var("BCS_STOP_SECONDS").ok();
    let stop = stop.and_then(|seconds| seconds.parse::<f64>().ok());
    format!("{}s", 30.0 + stop.unwrap_or(0.0))
}

#[test]
fn a_rank_may_finalize_while_its_sends_are_pending() {
    check("finalizes-with-sends-pending", &[0], &[]);
}

#[test]
fn a_rank_may_finalize_while_a_receive_is_pending() {
    check("finalizes-with-a-receive-pending", &[0], &[]);
}

#[test]
fn a_rank_may_have_children() {
    check("forks", &[0], &[]);
}

#[test]
fn a_forked_child_that_returns_does_not_finalize_for_its_parent() {
    let words = ["bcs: rank 0 on node 0", "left without calling MPI_Finalize"];
    check("has-a-child-that-returns", &[1], &words);
}

#[test]
fn a_forked_child_that_calls_mpi_is_told_and_takes_no_message() {
    check("has-a-child-that-calls", &[0], &[]);
}

#[test]
fn a_forked_child_that_waits_for_its_parent_s_request_ends_alone() {
    in_all_layouts("has-a-child-that-waits", |layout, code, told| {
        let panicked = told.contains("a forked child uses what belongs to its parent");
        assert!(code == 0 && panicked, "{layout}: exit code {code}\n{told}");
    });
}

#[test]
fn a_forked_child_that_aborts_ends_alone() {
    check(
        "has-a-child-that-aborts",
        &[0],
        &["aborted: the child's affair"],
    );
}

#[test]
fn a_program_of_mpi_that_a_rank_starts_is_a_world_of_one() {
    check("starts-a-program-of-mpi", &[0], &[]);
}

#[test]
fn a_rank_that_is_stopped_for_a_while_goes_on() {
    check("is-stopped", &[0], &[]);
}

#[test]
fn a_rank_that_becomes_another_program_is_missed() {
    let words = [
        "bcs: rank 0 on node 0",
        "without calling MPI_Finalize",
        "was ended",
    ];
    check("executes-another-program", &[1], &words);
}

#[test]
fn a_rank_that_panics_in_an_operation_ends_the_job() {
    let words = ["rank 0", "operation panicked: an unlucky number"];
    check("panics-in-an-operation", &[101], &words);
}

#[test]
fn a_rank_without_memory_is_named() {
    let words = ["bcs: rank 0 on node 0", "SIGABRT", "was ended"];
    check("runs-out-of-memory", &[134], &words);
}

#[test]
fn a_rank_that_closes_its_descriptors_is_named() {
    // 134: in debug builds the standard library checks that nobody closes its descriptors.
    check(
        "closes-its-descriptors",
        &[1, 134],
        &["bcs: rank 0 on node 0", "was ended"],
    );
}

#[test]
fn a_rank_that_maps_over_its_nic_memory_hangs_until_the_time_limit() {
    for layout in LAYOUTS {
        let output = Command::new(env!("CARGO_BIN_EXE_bcs"))
            .args(["run", "--timeout", "1s", "--intranode", "nic"])
            .args(layout.split_whitespace())
            .arg(fixture("unlucky"))
            .arg("maps-over-its-nic-memory")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(124), "{layout}: {told}");
    }
}
