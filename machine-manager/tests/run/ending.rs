//! Signals to `bcs run`, ranks that resist their end, processes that ranks have started.

use super::job::{GONE_WITHIN, Job, Process, is_rank, managers_of, run, signal, text};
use super::program::fixture;
use rustix::process::Signal;
use std::io::{Read as _, Seek as _};
use std::time::Instant;

#[test]
fn a_signal_to_bcs_run_ends_the_job() {
    for (what, number, name) in [
        (Signal::INT, 2, "SIGINT"),
        (Signal::TERM, 15, "SIGTERM"),
        (Signal::HUP, 1, "SIGHUP"),
    ] {
        let job = Job::start("run -n 4 --nodes 2", "sleep 1000 & wait");
        job.find_all(4, |process| process.line.starts_with("sleep"));
        signal(job.pid(), what);
        let output = job.finish();
        assert_eq!(output.status.code(), Some(128 + number));
        assert_eq!(
            text(&output.stderr),
            format!(
                "bcs: bcs run received signal {number} ({name}); the job of 4 ranks was ended\n"
            )
        );
    }
}

#[test]
fn ranks_may_use_the_time_before_they_are_killed() {
    let job = Job::start(
        "run -n 2",
        "trap 'echo saved; exit 0' TERM; echo up; sleep 1000 & wait",
    );
    job.find_all(2, |process| process.line.starts_with("sleep"));
    signal(job.pid(), Signal::TERM);
    let output = job.finish();
    assert_eq!(
        text(&output.stdout).matches("saved").count(),
        2,
        "{output:?}"
    );
    assert_eq!(output.status.code(), Some(143));
}

#[test]
fn ranks_that_ignore_sigterm_are_killed() {
    let job = Job::start("run -n 2", "trap '' TERM; while :; do sleep 1000; done");
    job.find_all(2, |process| process.line.starts_with("sleep"));
    let start = Instant::now();
    signal(job.pid(), Signal::INT);
    assert_eq!(job.finish().status.code(), Some(130));
    assert!(start.elapsed() < GONE_WITHIN);
}

#[test]
fn a_second_signal_kills_at_once() {
    let job = Job::start("run -n 2", "trap '' TERM; while :; do sleep 1000; done");
    job.find_all(2, |process| process.line.starts_with("sleep"));
    let start = Instant::now();
    signal(job.pid(), Signal::INT);
    signal(job.pid(), Signal::TERM);
    let output = job.finish();
    assert!(
        matches!(output.status.code(), Some(130 | 143)),
        "{output:?}"
    );
    assert!(
        start.elapsed() < node_manager::limits::KILL_DELAY,
        "{:?}",
        start.elapsed()
    );
}

#[test]
fn a_node_manager_that_is_stopped_does_not_keep_the_job_alive() {
    let job = Job::start(
        "run -n 2 --nodes 2 --nic-threads coprocessor",
        "sleep 1000 & wait",
    );
    job.find_all(2, |process| process.line.starts_with("sleep"));
    signal(job.find(managers_of(&job)).pid, Signal::STOP);
    let start = Instant::now();
    signal(job.pid(), Signal::TERM);
    assert_eq!(job.finish().status.code(), Some(143));
    assert!(start.elapsed() < GONE_WITHIN, "{:?}", start.elapsed());
}

#[test]
fn what_ranks_leave_running_is_ended_with_the_job() {
    let output = run("run -n 2", "setsid sleep 1000 & sleep 1000 & exit 0");
    assert!(output.status.success(), "{output:?}");
}

/// SIGTERM alone would wait until it continues, and SIGKILL leaves it no time.
#[test]
fn a_stopped_rank_goes_on_to_end_as_it_likes() {
    let script = "trap 'echo saved; exit 0' TERM; kill -STOP $$; while :; do :; done";
    let job = Job::start("run -n 2 --kill-delay 20s", script);
    for rank in job.find_all(2, is_rank) {
        let stat = format!("/proc/{}/stat", rank.pid);
        while !std::fs::read_to_string(&stat).unwrap().contains(") T ") {
            std::thread::yield_now();
        }
    }
    signal(job.pid(), Signal::TERM);
    let start = Instant::now();
    let output = job.finish();
    assert_eq!(output.status.code(), Some(143));
    let saved = text(&output.stdout).matches("saved").count();
    assert_eq!(saved, 2, "after {:?}: {output:?}", start.elapsed());
}

#[test]
fn a_stopped_rank_is_ended() {
    let job = Job::start("run -n 2", "sleep 1000 & wait");
    let rank = job.find_all(2, is_rank)[1].pid;
    signal(rank, Signal::STOP);
    signal(job.pid(), Signal::TERM);
    assert_eq!(job.finish().status.code(), Some(143));
}

#[test]
fn children_of_a_shell_that_became_bcs_are_left_alone() {
    let bcs = env!("CARGO_BIN_EXE_bcs");
    let mut shell = std::process::Command::new("sh");
    shell.args([
        "-c",
        &format!("sleep 1000 & echo $!; exec {bcs} run -n 2 hello"),
    ]);
    // A file, because the child that is left would hold a pipe open.
    let mut file = tempfile::tempfile().unwrap();
    assert!(
        shell
            .stdout(file.try_clone().unwrap())
            .status()
            .unwrap()
            .success()
    );
    file.rewind().unwrap();
    let mut all = String::new();
    file.read_to_string(&mut all).unwrap();
    assert!(all.contains("hello from rank 1 of 2"));
    let child = all.lines().next().unwrap().parse().unwrap();
    let lives = std::path::Path::new(&format!("/proc/{child}")).exists();
    signal(child, Signal::KILL);
    assert!(lives, "the shell's own child was killed");
}

/// Runs a script in a filter that refuses `kill`, instead of a program that has become another
/// user's, like `sudo`.
fn run_without_kill(script: &str) -> (std::process::Output, Vec<Process>) {
    let mut command = std::process::Command::new(fixture("sandbox"));
    command
        .args([
            "--no-kill",
            env!("CARGO_BIN_EXE_bcs"),
            "run",
            "-n",
            "2",
            "sh",
            "-c",
            script,
        ])
        .stdin(std::process::Stdio::null())
        .env("XDG_CONFIG_HOME", "/dev/null");
    let mut job = Job::spawn(command);
    let start = Instant::now();
    let output = job.output();
    assert!(start.elapsed() < 2 * GONE_WITHIN, "{:?}", start.elapsed());
    (output, job.left())
}

#[test]
fn what_may_not_be_killed_is_named_and_left() {
    for (exit, expected) in [("exit 0", 125), ("exit 3", 3)] {
        let script = format!("test $BCS_SLOT = 0 || {exit}; setsid sleep 1000 & {exit}");
        let (output, left) = run_without_kill(&script);
        let told = text(&output.stderr);
        if output.status.code() == Some(77) {
            eprintln!("skipped: {told}");
            return;
        }
        assert_eq!(output.status.code(), Some(expected), "{told}");
        let [sleeper] = &left[..] else {
            panic!("{left:?}: {told}");
        };
        let named = format!(
            "bcs: process {} (sleep 1000), which a rank has started, may not be killed",
            sleeper.pid
        );
        assert!(told.starts_with(&named), "{told}");
    }
}

#[test]
fn what_may_not_be_killed_has_a_while_to_end_by_itself() {
    let (output, left) = run_without_kill("setsid sleep 0.4 & exit 0");
    let told = text(&output.stderr);
    if output.status.code() == Some(77) {
        eprintln!("skipped: {told}");
        return;
    }
    assert!(
        output.status.success() && left.is_empty(),
        "{left:?} {told}"
    );
}
