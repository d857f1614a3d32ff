//! Ranks that depart while the job goes on: nobody accesses their memory any more, since their
//! process id may soon be another process's.

use crate::program::fixture;
use std::process::{Command, Output, Stdio};

/// Runs two ranks of one node, of which the first departs.
fn run(options: &str, command: &[&str]) -> (Output, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_bcs"))
        .args(["run", "-n", "2", "--nodes", "1", "--timeout", "30s"])
        .args(options.split_whitespace())
        .args(command)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    (output, told)
}

/// The script goes on, and reaps the program: only then does the second rank end.
#[test]
fn the_pid_of_a_program_that_a_script_started_is_withdrawn_when_it_finalizes() {
    let directory = tempfile::tempdir().unwrap();
    let over = directory.path().join("over");
    let script = format!(
        "{} finalizes || exit; test $BCS_SLOT = 0 || touch {over}; \
         while [ ! -e {over} ]; do sleep 0.05; done",
        fixture("departed").display(),
        over = over.display(),
    );
    let (output, told) = run("", &["sh", "-c", &script]);
    assert!(output.status.success(), "{told}");
    assert_eq!(output.stdout, b"withdrawn\n", "{told}");
}

#[test]
fn the_pid_of_a_rank_is_withdrawn_when_it_finalizes() {
    let program = fixture("departed");
    let (output, told) = run("", &[program.to_str().unwrap(), "finalizes"]);
    assert!(output.status.success(), "{told}");
    assert_eq!(output.stdout, b"withdrawn\n", "{told}");
}

/// Ranks that were told to end may take their time, and messages go on meanwhile.
#[test]
fn the_pid_of_a_rank_that_is_dead_is_withdrawn() {
    let program = fixture("departed");
    let command = [program.to_str().unwrap(), "dies"];
    let (output, told) = run("--kill-delay 20s", &command);
    assert_eq!(output.status.code(), Some(137), "{told}");
    assert_eq!(output.stdout, b"withdrawn\n", "{told}");
}

/// The script goes on, however its program ended, and takes its time when it is told to end.
#[test]
fn the_pid_of_a_program_that_a_script_started_is_withdrawn_when_it_is_dead() {
    let directory = tempfile::tempdir().unwrap();
    let over = directory.path().join("over");
    let script = format!(
        "trap '' TERM; {} dies; test $BCS_SLOT = 0 || touch {over}; \
         while [ ! -e {over} ]; do sleep 0.05; done",
        fixture("departed").display(),
        over = over.display(),
    );
    let (output, told) = run("--kill-delay 20s", &["sh", "-c", &script]);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("left without calling MPI_Finalize"), "{told}");
    assert_eq!(output.stdout, b"withdrawn\n", "{told}");
}

/// Nobody writes by the id of such a program, and yet all messages arrive.
#[test]
fn programs_that_scripts_start_find_their_answers_on_all_roads() {
    let program = fixture("selftest");
    let script = format!("{}; exit $?", program.display());
    for layout in [
        "--nodes 1",
        "--nodes 2",
        "--nodes 2 --nic-threads coprocessor",
    ] {
        for road in [
            "--intranode smartmap",
            "--intranode smartmap --copy-method kernel",
            "--intranode nic",
        ] {
            let output = Command::new(env!("CARGO_BIN_EXE_bcs"))
                .args(["run", "-n", "4", "--timeout", "60s"])
                .args(layout.split_whitespace())
                .args(road.split_whitespace())
                .args(["sh", "-c", &script])
                .stdin(Stdio::null())
                .output()
                .unwrap();
            let told = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{layout} {road}: {told}");
        }
    }
}
