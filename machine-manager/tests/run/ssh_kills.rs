//! SIGKILL to any process of a job at any moment while ssh starts it: no process is left, on any
//! host.
//!
//! `BCS_KILL_ROUNDS` and `BCS_KILL_SEED` as in `kill.rs`.

use super::job::{GONE_WITHIN, Job, Process, signal, text};
use super::kill::rounds_of;
use super::program::names;
use super::ssh::over_ssh;
use super::sshd::{Sshd, USER};
use rand::Rng as _;
use rand::seq::IndexedRandom as _;
use rustix::process::Signal;
use std::time::{Duration, Instant};

/// Two hosts with one node each, two nodes of one host in two processes, and in one, and four that
/// start each other.
const CLUSTERS: [&str; 4] = [
    "-n 2",
    "-n 4 --nodes 4 --nic-threads coprocessor",
    "-n 4 --nodes 4 --nic-threads shared",
    "-n 8 --nodes 8 --nic-threads coprocessor --launch-degree 2",
];

/// Somewhat longer than a start takes, so that some kills come after it.
const START: Duration = Duration::from_millis(800);

/// Ranks with children of all kinds.
const SCRIPT: &str = "sleep 1000 & setsid sleep 1000 & (setsid sleep 1000 &) ; wait";

fn is_ssh(process: &Process) -> bool {
    process.line.starts_with("ssh ")
}

fn is_far(process: &Process) -> bool {
    !is_ssh(process) && process.line.contains("far-node-manager")
}

#[test]
fn of_any_process_while_a_job_is_started_by_ssh() {
    let Some(sshd) = Sshd::start_or_skip(&[]) else {
        return;
    };
    let before = names();
    rounds_of("start by ssh", (&CLUSTERS, 9), |rng, cluster| {
        let mut command = over_ssh(&sshd, USER, 2, cluster);
        command.args(["sh", "-c", SCRIPT]);
        let moment = rng.random_range(Duration::ZERO..START);
        let who = rng.random_range(0..3);
        let begin = Instant::now();
        let mut job = Job::spawn(command);
        while begin.elapsed() < moment {
            std::thread::yield_now();
        }
        let left = job.left();
        let those = left.iter().filter(|process| match who {
            0 => false,
            1 => is_ssh(process),
            _ => is_far(process),
        });
        let those: Vec<&Process> = those.collect();
        let victim = those.choose(rng).copied();
        println!("after {moment:?}: {victim:?} (none: bcs run)");
        signal(victim.map_or(job.pid(), |victim| victim.pid), Signal::KILL);
        let killed = Instant::now();
        if victim.is_some() {
            let output = job.output();
            let told = text(&output.stderr);
            assert_eq!(output.status.code(), Some(125), "{told}");
            assert!(
                killed.elapsed() < GONE_WITHIN,
                "{:?}: {told}",
                killed.elapsed()
            );
            assert!(
                told.contains("node manager") || told.contains("NIC"),
                "{told}"
            );
            job.wait_until_gone();
        } else {
            let _by_us = job.finish_later();
        }
    });
    assert_eq!(names(), before, "nothing is left");
}
