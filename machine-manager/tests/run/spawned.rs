//! Ranks that ranks start, from outside: they end as others do, whatever is killed.
//!
//! `BCS_KILL_ROUNDS` and `BCS_KILL_SEED` as in `kill.rs`.

use super::job::{GONE_WITHIN, Job, Process, bcs, managers_of, signal, text};
use super::kill::{fresh_moment, rounds_of};
use super::program::fixture;
use rand::Rng as _;
use rustix::process::Signal;
use std::io::{BufRead as _, BufReader};
use std::process::Output;
use std::time::Instant;

/// On one node, on two, on two with memory of their own, and below a launch tree.
const JOBS: [&str; 4] = [
    "run -n 2",
    "run -n 3 --nodes 2 --nic-threads coprocessor",
    "run -n 3 --nodes 2 --fabric udp",
    "run -n 6 --nodes 6 --launch-degree 2 --nic-threads coprocessor",
];

fn spawner(job: &str, words: &str) -> Job {
    let mut command = bcs(job);
    command.args(["--timeout", "120s"]).arg(fixture("spawner"));
    command.args(words.split_whitespace());
    Job::spawn(command)
}

fn finished(job: &str, words: &str) -> Output {
    let output = spawner(job, words).finish();
    assert!(output.status.success(), "{job}: {}", text(&output.stderr));
    output
}

/// Starts a job whose spawned ranks stay, and returns it when they are there.
fn staying(job: &str) -> Job {
    let mut job = spawner(job, "3 stays");
    let mut said = BufReader::new(job.child().stdout.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert_eq!(line, "all are there\n");
    job
}

fn is_child(process: &Process) -> bool {
    process.line.contains("spawner child")
}

fn is_parent(process: &Process) -> bool {
    process.line.contains("spawner 3")
}

#[test]
fn spawned_ranks_talk_to_their_parents_and_spawn_others() {
    for job in JOBS {
        for words in ["1 ends", "3 ends", "2 again 3"] {
            finished(job, words);
        }
        finished(&format!("{job} --checked"), "2 ends");
    }
    finished("run -n 2 --nodes 2 --strobe fixed", "2 ends");
    finished("run -n 2 --intranode nic", "2 ends");
    finished("run -n 2 --nodes 2 --collectives nic", "3 ends");
}

#[test]
fn spawned_ranks_leave_nothing_that_is_reported() {
    let output = finished("run -n 2 --nodes 2 --at-finalize errors", "3 ends");
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn groups_connect_by_ports_and_sockets() {
    for job in [
        "run -n 2",
        "run -n 2 --nodes 2",
        "run -n 2 --nodes 2 --fabric udp",
    ] {
        let mut command = bcs(job);
        command.args(["--timeout", "120s"]).arg(fixture("ports"));
        let output = Job::spawn(command).finish();
        assert!(output.status.success(), "{job}: {}", text(&output.stderr));
    }
}

#[test]
fn a_job_has_the_places_that_the_user_gives_it() {
    let output = spawner("run -n 2 --universe-size 4", "3 ends").finish();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let told = text(&output.stderr);
    let expected = "places for 4 ranks, of which 2 are used, and 3 more were asked for";
    assert!(told.contains(expected), "{told}");
    assert!(told.contains("--universe-size 5"), "{told}");
    finished("run -n 2 --universe-size 5", "3 ends");
    let output = spawner("run -n 3 --universe-size 2", "1 ends").finish();
    assert_eq!(output.status.code(), Some(2));
    let told = text(&output.stderr);
    assert!(
        told.contains("--universe-size 2 is less than the 3 ranks"),
        "{told}"
    );
}

#[test]
fn a_process_without_a_launcher_says_what_starts_others() {
    let output = std::process::Command::new(fixture("spawner"))
        .args(["1", "ends"])
        .output();
    let output = output.unwrap();
    assert!(!output.status.success());
    assert!(
        text(&output.stderr).contains("bcs run -n 1 PROGRAM"),
        "{output:?}"
    );
}

#[test]
fn a_killed_rank_of_either_kind_ends_the_job_and_is_named() {
    rounds_of("spawned rank", (&JOBS, 8), |rng, job| {
        let mut job = staying(job);
        let kind = if rng.random() { is_child } else { is_parent };
        let found = job.find_all(1, kind);
        let victim = found[rng.random_range(0..found.len())].pid;
        fresh_moment(rng, 20_000);
        signal(victim, Signal::KILL);
        let killed = Instant::now();
        let output = job.output();
        assert!(killed.elapsed() < GONE_WITHIN, "{:?}", killed.elapsed());
        assert_eq!(output.status.code(), Some(137), "{output:?}");
        let told = text(&output.stderr);
        let by = format!("(pid {victim}) was killed by signal 9 (SIGKILL); the job of");
        assert!(told.contains(&by), "{told}");
        assert_eq!(job.left(), [], "{told}");
    });
}

#[test]
fn a_killed_launcher_leaves_no_spawned_rank() {
    rounds_of("launcher of spawned ranks", (&JOBS, 6), |rng, job| {
        let job = staying(job);
        fresh_moment(rng, 20_000);
        signal(job.pid(), Signal::KILL);
        job.finish_later();
    });
}

/// The kill may come at any moment of the spawn.
#[test]
fn a_node_manager_that_is_killed_while_ranks_start_leaves_nothing() {
    rounds_of(
        "node manager while ranks start",
        (&JOBS[..3], 12),
        |rng, job| {
            let mut job = spawner(job, "3 stays");
            let managers = job.find_all(1, managers_of(&job));
            let victim = managers[rng.random_range(0..managers.len())].pid;
            fresh_moment(rng, 150_000);
            signal(victim, Signal::KILL);
            let killed = Instant::now();
            let output = job.output();
            assert!(killed.elapsed() < GONE_WITHIN, "{:?}", killed.elapsed());
            assert_eq!(output.status.code(), Some(125), "{output:?}");
            assert_eq!(job.left(), [], "{output:?}");
        },
    );
}

#[test]
fn running_spawned_ranks_are_seen_and_ended_from_outside() {
    let job = staying("run -n 2 --nodes 2");
    let listed = bcs("ps").output().unwrap();
    let pid = job.pid().to_string();
    let line = text(&listed.stdout);
    let line = line
        .lines()
        .find(|line| line.contains(&format!(" {pid} ")))
        .unwrap()
        .to_owned();
    let fields: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(fields[2..4], ["2", "5"], "{line}");
    let state = bcs(&format!("state {pid}")).output().unwrap();
    let state = text(&state.stdout);
    assert!(
        state.contains("ranks 2-4 on nodes 0-1: each computes"),
        "{state}"
    );
    let killed = bcs(&format!("kill {pid}")).output().unwrap();
    assert!(killed.status.success(), "{killed:?}");
    job.finish();
}
