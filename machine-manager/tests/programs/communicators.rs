//! As many communicators as are promised, whatever the transport.

use crate::program::fixture;
use std::process::{Command, Stdio};

/// Runs the fixture in a layout: it must end this way three times.
fn ends_with(layout: &str, words: &str, end: &str) {
    let output = Command::new(env!("CARGO_BIN_EXE_bcs"))
        .args(["run", "--timeout", "120s"])
        .args(layout.split_whitespace())
        .arg(fixture("communicators"))
        .args(words.split_whitespace())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let told = String::from_utf8_lossy(&output.stderr);
    let what = format!("{words} {layout}: {said}{told}");
    assert!(output.status.success(), "{what}");
    let (count, why) = end.split_once("rank R ").unwrap();
    let ends = said
        .lines()
        .filter(|line| line.starts_with(count) && line.contains(why));
    assert_eq!(ends.count(), 3, "{what}");
}

/// After 1,884 one node got an error, and the other waited for ever. The world is split first.
#[test]
fn there_are_2047_communicators_and_no_rank_gets_one_more() {
    let end = "2046 communicators: rank R failed to MPI_Comm_dup: no context id is free";
    for layout in [
        "-n 2 --nodes 1",
        "-n 2 --nodes 2",
        "-n 3 --nodes 2 --intranode nic --nic-threads coprocessor",
    ] {
        ends_with(layout, "", end);
    }
}

/// Independent pairs have ids of their own, but share the slots of their nodes.
#[test]
fn a_communicator_that_the_nics_have_no_room_for_leaves_its_parent_as_it_was() {
    let end = "2045 communicators: rank R failed to MPI_Comm_dup: the NICs have no room";
    for layout in [
        "-n 4 --nodes 1 --intranode nic",
        "-n 4 --nodes 2",
        "-n 4 --nodes 2 --nic-threads coprocessor",
    ] {
        ends_with(layout, "pairs", end);
    }
}
