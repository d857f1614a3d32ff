//! `--gdb`: a rank under a debugger.

use super::job::{Job, bcs, run, text};
use super::placing::by_rank;
use std::io::Write as _;
use std::process::{Output, Stdio};

fn with_input(options: &str, words: &[&str], input: &str) -> Output {
    let mut command = bcs(options);
    command.args(words).stdin(Stdio::piped());
    let mut job = Job::spawn(command);
    let mut stdin = job.child().stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).unwrap();
    drop(stdin);
    job.finish()
}

#[test]
fn one_rank_is_started_by_the_debugger_and_reads_the_input() {
    let words = [
        "--debugger",
        "env DEBUGGED='so it is'",
        "sh",
        "-c",
        "echo ${DEBUGGED-no} $(cat)",
    ];
    let output = with_input("run -n 3 -l --gdb 1", &words, "told\n");
    assert_eq!(
        by_rank(&output.stdout),
        ["[0] no", "[1] so it is told", "[2] no"],
        "{output:?}"
    );
}

#[test]
fn a_built_in_program_can_be_debugged() {
    let output = with_input(
        "run -n 2 --nodes 2 --gdb 0",
        &["--debugger", "env", "hello"],
        "",
    );
    assert_eq!(text(&output.stdout).lines().count(), 2, "{output:?}");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn gdb_runs_a_rank_where_it_is_installed() {
    if std::process::Command::new("gdb")
        .arg("--version")
        .output()
        .is_err()
    {
        return;
    }
    let output = with_input("run -n 2 --gdb 1 hello", &[], "run\nquit\n");
    let said = text(&output.stdout);
    assert!(said.contains("(gdb) "), "its prompt: {output:?}");
    for rank in 0..2 {
        assert!(
            said.contains(&format!("hello from rank {rank} of 2")),
            "{output:?}"
        );
    }
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

#[test]
fn what_cannot_be_debugged_is_refused() {
    for (arguments, said) in [
        (
            "run -n 2 --gdb 2 hello",
            "--gdb 2 names none of the 2 ranks: give a number below that",
        ),
        (
            "run --gdb 0 --debugger ./none hello",
            "--debugger ./none: program ./none does not exist: check the path",
        ),
    ] {
        let output = run(arguments, "");
        assert_eq!(text(&output.stderr), format!("bcs: {said}\n"));
        assert_eq!(output.status.code(), Some(2));
    }
}
