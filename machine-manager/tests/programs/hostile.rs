//! Ranks that write invalid data over the memory that they share with their NIC, and with the ranks
//! of their node.
//!
//! `BCS_RUBBISH_ROUNDS` sets the number of rounds (default 8), `BCS_RUBBISH_SEED` repeats a run.

use crate::examples::example;
use crate::program::{fixture, names};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// The exit code of an honest rank which finds that a byte has changed that nobody may write.
const CHANGED: i32 = 99;
/// The time limit was over.
const TIMED_OUT: i32 = 124;
/// A rank waits for an operation that the invalid data has lost.
const DEADLOCK: i32 = 123;
const RUNTIME: i32 = 125;
/// The rank that wrote over node memory has done so for long enough.
const GOES: i32 = 3;
/// The time in which a job with invalid node memory has to end. The rank that writes the data
/// leaves after 1 s.
const ENDED_WITHIN: Duration = Duration::from_secs(8);
const LAYOUTS: [&str; 4] = [
    "-n 3 --nodes 1",
    "-n 3 --nodes 2",
    "-n 4 --nodes 2 --nic-threads dedicated",
    "-n 4 --nodes 3 --nic-threads coprocessor --strobe fixed",
];
const NEAR_LAYOUTS: [&str; 4] = [
    "-n 3 --nodes 1",
    "-n 4 --nodes 1 --nic-threads dedicated",
    "-n 6 --nodes 2",
    "-n 5 --nodes 2 --nic-threads coprocessor --strobe fixed",
];

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

fn bcs(layout: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bcs"));
    command
        .arg("run")
        .args(layout.split_whitespace())
        .stdin(Stdio::null());
    command
}

/// Runs a hostile job in each of these layouts in turn, beside a job that must not be disturbed.
fn rounds(layouts: &[&str], words: &[&str], check: impl Fn(&Output, Duration, &str)) {
    let seed = number("BCS_RUBBISH_SEED").unwrap_or_else(|| {
        let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        time.unwrap().as_secs() << 10
    });
    println!("BCS_RUBBISH_SEED={seed}");
    for round in 0..number("BCS_RUBBISH_ROUNDS").unwrap_or(8) {
        let layout = layouts[usize::try_from(round).unwrap() % layouts.len()];
        let number = (seed + round).to_string();
        let start = Instant::now();
        let hostile = bcs(layout)
            .arg(fixture("rubbish"))
            .arg(&number)
            .args(words)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // Another job of this machine is not disturbed.
        let other = bcs("-n 3 --nodes 2 --timeout 60s")
            .arg(example("ring"))
            .output()
            .unwrap();
        let output = hostile.wait_with_output().unwrap();
        let took = start.elapsed();
        let told = String::from_utf8_lossy(&output.stderr);
        let what = format!("seed {number}, {layout}: {told}");
        assert!(other.status.success(), "another job was disturbed; {what}");
        let code = output.status.code().expect("bcs run is not killed");
        assert_ne!(code, CHANGED, "{what}");
        let last = told.lines().last().unwrap_or_default();
        assert!(
            last.starts_with("bcs: ") && last.ends_with("was ended"),
            "{what}"
        );
        for crash in ["panicked", "signal", "node manager"] {
            assert!(!told.contains(crash), "{what}");
        }
        check(&output, took, &what);
    }
}

#[test]
fn rubbish_ends_its_own_job_and_changes_nothing_else() {
    let layouts = LAYOUTS.map(|layout| format!("{layout} --intranode nic --timeout 1s"));
    let layouts = layouts.each_ref().map(String::as_str);
    rounds(&layouts, &[], |output, _, what| {
        // A rank that fails an honest call ends the job by its own exit code.
        let code = output.status.code();
        assert!(
            [TIMED_OUT, DEADLOCK, RUNTIME, 1].map(Some).contains(&code),
            "exit code {code:?}; {what}"
        );
    });
}

/// Ranks that post valid descriptors in a wrong order get errors, and the other ranks are not
/// disturbed: they go on until this rank leaves.
#[test]
fn descriptors_in_disorder_harm_nobody_but_who_posts_them() {
    let layouts = LAYOUTS.map(|layout| format!("{layout} --intranode nic --timeout 60s"));
    let layouts = layouts.each_ref().map(String::as_str);
    rounds(&layouts, &["disorder"], |output, took, what| {
        assert_eq!(output.status.code(), Some(GOES), "{what}");
        assert!(took < ENDED_WITHIN, "{took:?}; {what}");
        let last = what.lines().last().unwrap_or_default();
        assert!(last.contains("bcs: rank 0 "), "{what}");
    });
}

/// A process that finds invalid data ends the job and names the writer. An error that nobody can
/// find (a lost message) ends with the rank that writes the data. Nothing waits for a time limit.
#[test]
fn rubbish_in_node_memory_ends_its_own_job_and_changes_nothing_else() {
    let layouts = NEAR_LAYOUTS.map(|layout| format!("{layout} --intranode smartmap --timeout 60s"));
    let layouts = layouts.each_ref().map(String::as_str);
    let before = names();
    rounds(&layouts, &["node-memory"], |output, took, what| {
        let code = output.status.code();
        assert!(
            [GOES, RUNTIME, 1].map(Some).contains(&code),
            "exit code {code:?}; {what}"
        );
        assert!(took < ENDED_WITHIN, "{took:?}; {what}");
        let last = what.lines().last().unwrap_or_default();
        assert!(last.contains("bcs: rank "), "a rank is named; {what}");
        if code == Some(RUNTIME) {
            let by_whom = last.split_once("MPI_Abort with code 125: rank ");
            let by_whom = by_whom.is_some_and(|(_, found)| found.contains("was overwritten"));
            assert!(by_whom, "and the one that it was told by; {what}");
        }
    });
    assert_eq!(names(), before, "nothing is left");
}
