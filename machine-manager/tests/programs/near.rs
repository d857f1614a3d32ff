//! Difficult cases for jobs whose ranks send each other messages from memory to memory.

use crate::program::fixture;
use std::process::{Command, Stdio};

/// Runs a fixture in a layout, by the transport within the node, and returns its output.
fn run(layout: &str, program: &str, words: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_bcs"))
        .args(["run", "--timeout", "280s", "--intranode", "smartmap"])
        .args(layout.split_whitespace())
        .arg(fixture(program))
        .args(words.split_whitespace())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    let said = String::from_utf8_lossy(&output.stdout);
    let what = format!("{program} {words} {layout}: {}", output.status);
    assert!(output.status.success(), "{what}\n{said}\n{told}");
    assert_eq!(told, "", "{what}");
    said.into_owned()
}

/// `BCS_FORK_ROUNDS` sets the number of forks (50).
#[test]
fn a_rank_forks_while_others_send_to_it() {
    let rounds = std::env::var("BCS_FORK_ROUNDS").unwrap_or_else(|_| "50".to_owned());
    for layout in ["-n 2", "-n 4 --nic-threads coprocessor"] {
        let said = run(layout, "forks", &rounds);
        assert_eq!(said, format!("{rounds} forks\n"), "{layout}");
    }
}

/// The queue of a pair has 256 entries and 64 KiB.
#[test]
fn a_ring_full_of_messages_that_nobody_asks_for_holds_nobody_up() {
    for layout in ["-n 1", "-n 2", "-n 4", "-n 5 --nodes 2 --eager-limit 0"] {
        let said = run(layout, "queues", "unmatched 3000");
        assert_eq!(said, "3000 messages\n", "{layout}");
    }
}

/// Full queues hold the sends back; no rank takes part in a barrier by chance.
#[test]
fn a_barrier_follows_sends_that_are_held_back() {
    for words in ["10000 8", "10000 3000 reverse"] {
        let said = run("-n 2", "flood", words);
        assert!(said.starts_with("10000 messages"), "{words}: {said}");
    }
}

#[test]
fn a_flood_of_three_ranks_is_refused() {
    let output = Command::new(env!("CARGO_BIN_EXE_bcs"))
        .args(["run", "-n", "3"])
        .arg(fixture("flood"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("there are 3: run it with `-n 2`"), "{told}");
    assert!(!told.contains("panicked"), "{told}");
    assert_eq!(output.status.code(), Some(2), "{told}");
}

#[test]
fn a_hundred_thousand_sends_to_one_rank_are_outstanding() {
    for layout in ["-n 2", "-n 5", "-n 3 --eager-limit 0"] {
        let said = run(layout, "queues", "to-one 100000");
        assert_eq!(said, "100000 messages\n", "{layout}");
    }
}
