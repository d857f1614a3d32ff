//! The examples of the workspace, and the fixtures like them, as jobs. Each checks its own answer.

use crate::program::{built, fixture};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Layouts that use different parts: one rank, one node, several nodes, ranks that do not divide,
/// each driver, all strobes, no eager sends, both transports within a node.
const LAYOUTS: [&str; 12] = [
    "-n 1",
    "-n 3",
    "-n 4 --nodes 2",
    "-n 5 --nodes 3 --nic-threads coprocessor",
    "-n 4 --nodes 2 --nic-threads dedicated --eager-limit 0",
    "-n 3 --nodes 2 --strobe fixed",
    "-n 3 --intranode smartmap",
    "-n 5 --nodes 2 --intranode smartmap --strobe fixed",
    "-n 4 --nodes 2 --intranode smartmap --eager-limit 0",
    "-n 5 --nodes 2 --intranode nic --strobe auto",
    "-n 5 --nodes 3 --fabric udp",
    "-n 4 --nodes 2 --fabric udp --strobe fixed --nic-threads dedicated --eager-limit 0",
];

/// Examples of which rank 0 prints one line.
const EXAMPLES: [&str; 8] = [
    "ring",
    "pi",
    "heat",
    "master_worker",
    "sample_sort",
    "heat_puts",
    "counter",
    "hash_table",
];

/// Returns the path of an example of the workspace.
pub(crate) fn example(name: &str) -> PathBuf {
    built(&format!("examples/{name}"), "--workspace --examples")
}

/// Runs an example in a layout and returns what it printed.
fn run(layout: &str, name: &str) -> String {
    run_with(layout, &example(name), &[])
}

fn run_with(layout: &str, program: &Path, arguments: &[&str]) -> String {
    let name = program.display();
    let output = Command::new(env!("CARGO_BIN_EXE_bcs"))
        .args(["run", "--timeout", "120s"])
        .args(layout.split_whitespace())
        .arg(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{name} {layout}: {}\n{told}",
        output.status
    );
    assert_eq!(told, "", "{name} {layout}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn every_example_finds_its_answer_in_every_layout() {
    for layout in LAYOUTS {
        for name in EXAMPLES {
            let lines = run(layout, name).lines().count();
            assert_eq!(lines, 1, "{name} {layout}: rank 0 prints its answer");
        }
    }
}

#[test]
fn a_sum_has_the_same_digits_in_every_run_of_a_layout() {
    let layout = "-n 5 --nodes 3";
    let first = run(layout, "pi");
    for _ in 0..5 {
        assert_eq!(run(layout, "pi"), first);
    }
}

#[test]
fn the_library_finds_no_fault_with_itself() {
    for layout in [
        "-n 1",
        "-n 4 --nodes 2",
        "-n 4 --intranode smartmap",
        "-n 5 --nodes 2 --intranode smartmap --strobe fixed",
        "-n 5 --nodes 2 --intranode nic --strobe auto",
        "-n 3 --nodes 3 --nic-threads dedicated",
    ] {
        let said = run_with(layout, &fixture("selftest"), &[]);
        assert_eq!(said.lines().count(), 15, "{layout}");
    }
}

/// By every transport: packed for a NIC, copied from piece to piece by both ranks, packed and
/// followed, in parts.
#[test]
fn small_pieces_arrive_each_at_its_place() {
    for layout in [
        "-n 2 --nodes 2",
        "-n 2 --nodes 2 --nic-threads dedicated --strobe fixed",
        "-n 2",
        "-n 2 --eager-limit 0",
        "-n 2 --copy-method kernel",
        "-n 2 --copy-method queues",
        "-n 2 --intranode nic",
    ] {
        assert_eq!(
            run_with(layout, &fixture("pieces"), &["check"]),
            "240 messages\n",
            "{layout}"
        );
    }
}

/// The rules that transports keep alone and in virtual time, too. A rank that copies from or to its
/// own memory dies if that does not exist, and cannot get an error. With slots the receiver copies,
/// with queues every rank does.
#[test]
fn roads_keep_the_rules_in_every_layout() {
    let near = LAYOUTS.iter().map(|layout| (*layout, &["unwritable"][..]));
    let others = [
        ("-n 4 --copy-method kernel", &[][..]),
        ("-n 4 --copy-method queues", &["unreadable", "unwritable"]),
        ("-n 4 --intranode nic", &[]),
        ("-n 5 --nodes 3 --intranode nic --strobe fixed", &[]),
        ("-n 64 --nodes 4", &["unwritable"]),
        ("-n 64 --nodes 4 --fabric udp", &["unwritable"]),
        (
            "-n 4 --nodes 4 --fabric udp --fabric-crypto aead --intranode nic",
            &[],
        ),
    ];
    for (layout, without) in near.chain(others) {
        let kept = 17 - without.len();
        let said = run_with(layout, &fixture("conformance"), without);
        assert_eq!(said, format!("{kept} rules\n"), "{layout}");
    }
}

/// Data in pieces, of more bytes than a slice may move: of the default budget, and of one in which
/// a chunk is smaller than a column.
#[test]
fn what_is_received_in_pieces_leaves_the_gaps_alone() {
    for layout in [
        "-n 1",
        "-n 4 --nodes 2",
        "-n 3 --nodes 3 --nic-threads dedicated --eager-limit 0",
        "-n 2 --nodes 2 --link-bandwidth 50MB",
        "-n 2 --nodes 2 --strobe fixed",
        "-n 4 --intranode smartmap",
        "-n 4 --intranode smartmap --eager-limit 0",
    ] {
        assert_eq!(run(layout, "halo").lines().count(), 4, "{layout}");
    }
}
