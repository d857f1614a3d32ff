//! SIGKILL to any one process of a job, at any moment: no process is left, and all that is still
//! possible is reported.
//!
//! `BCS_KILL_ROUNDS` sets the number of rounds (5; 20 for a rank among messages of its node),
//! `BCS_KILL_SEED` repeats a run.

use super::job::{GONE_WITHIN, Job, Process, bcs, is_rank, managers_of, signal, text};
use super::program::{fixture, names};
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use rustix::process::Signal;
use std::io::{BufRead as _, BufReader};
use std::time::{Duration, Instant};

/// Ranks with children of all kinds: in their process group, in a session of their own, orphaned.
const SCRIPT: &str = "sleep 1000 & setsid sleep 1000 & (setsid sleep 1000 &) ; wait";

/// Ranks of one node, of two, of two in two processes, and NIC threads of their own.
const NEIGHBOURS: [&str; 5] = [
    "run -n 2 --intranode smartmap",
    "run -n 6 --nodes 2 --intranode smartmap",
    "run -n 2 --nodes 2 --nic-threads coprocessor",
    "run -n 4 --intranode smartmap --nic-threads dedicated",
    "run -n 4 --nodes 2 --fabric udp",
];

/// Two nodes in one process, in two, and joined by a network.
const CLUSTERS: [&str; 3] = [
    "run -n 4 --nodes 2 --nic-threads shared",
    "run -n 4 --nodes 2 --nic-threads coprocessor",
    "run -n 4 --nodes 2 --fabric udp",
];

fn rounds(name: &str, round: impl FnMut(&mut ChaCha8Rng, &str)) {
    rounds_of(name, (&CLUSTERS, 5), round);
}

/// Runs this number of rounds, or that of the variable, in these clusters in turn.
pub(crate) fn rounds_of(
    name: &str,
    (clusters, count): (&[&str], u64),
    mut round: impl FnMut(&mut ChaCha8Rng, &str),
) {
    let number = |variable| {
        std::env::var(variable)
            .ok()
            .map(|text| text.parse::<u64>().unwrap())
    };
    let seed = number("BCS_KILL_SEED").unwrap_or_else(fresh_seed);
    println!("{name}: BCS_KILL_SEED={seed}");
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    for index in 0..number("BCS_KILL_ROUNDS").unwrap_or(count) {
        let cluster = clusters[usize::try_from(index).unwrap() % clusters.len()];
        println!("{name}: round {index} of seed {seed}: {cluster}");
        round(&mut rng, cluster);
    }
    let left: Vec<_> = std::fs::read_dir("/dev/shm")
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert!(
        !left
            .iter()
            .any(|path| path.to_string_lossy().contains("bcs")),
        "{left:?}"
    );
}

fn fresh_seed() -> u64 {
    let time = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    u64::from(time.subsec_nanos()) ^ (time.as_secs() << 20)
}

/// Waits for a random moment within this time.
#[expect(clippy::disallowed_methods, reason = "the moment is the point")]
pub(crate) fn fresh_moment(rng: &mut ChaCha8Rng, within_us: u64) {
    std::thread::sleep(Duration::from_micros(rng.random_range(0..within_us)));
}

/// Kills a process at a random moment from now on.
fn kill(rng: &mut ChaCha8Rng, pid: i32) -> Instant {
    fresh_moment(rng, 20_000);
    signal(pid, Signal::KILL);
    Instant::now()
}

fn pick(rng: &mut ChaCha8Rng, job: &Job, what: impl Fn(&Process) -> bool, at_least: usize) -> i32 {
    let found = job.find_all(at_least, what);
    found[rng.random_range(0..found.len())].pid
}

#[test]
fn of_a_rank() {
    rounds("rank", |rng, cluster| {
        let job = Job::start(cluster, SCRIPT);
        let at_least = rng.random_range(1..=4);
        let victim = pick(rng, &job, is_rank, at_least);
        let killed = kill(rng, victim);
        let output = job.finish();
        assert!(killed.elapsed() < GONE_WITHIN, "{:?}", killed.elapsed());
        assert_eq!(output.status.code(), Some(137), "{output:?}");
        let message = text(&output.stderr);
        let expected = format!(
            "(pid {victim}) was killed by signal 9 (SIGKILL); the job of 4 ranks was ended\n"
        );
        assert!(
            message.starts_with("bcs: rank ") && message.ends_with(&expected),
            "{message}"
        );
        assert!(message.contains(" on node "), "{message}");
    });
}

/// Ranks copy megabytes from each other's memory, or are in collectives, or in epochs of windows,
/// all the time. So any moment is in the middle of one.
fn of_a_rank_among(what: &str) {
    let program = fixture("endless");
    let path = program.to_str().unwrap();
    let before = names();
    rounds_of(what, (&NEIGHBOURS, 20), |rng, cluster| {
        let mut command = bcs(cluster);
        command.arg(&program).arg(what);
        let mut job = Job::spawn(command);
        let mut said = BufReader::new(job.child().stdout.take().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        assert_eq!(line, "under way\n");
        let is_rank =
            |process: &Process| process.line.starts_with(path) && process.group == process.pid;
        let victim = pick(rng, &job, is_rank, 2);
        let killed = kill(rng, victim);
        let output = job.finish();
        assert!(killed.elapsed() < GONE_WITHIN, "{:?}", killed.elapsed());
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(137), "{told}");
        let by = format!("(pid {victim}) was killed by signal 9 (SIGKILL); the job of ");
        // A rank of another node may have had an error, but that must not be the reason for the
        // job's end.
        let last = told.lines().last().unwrap_or_default();
        assert!(
            last.starts_with("bcs: rank ") && last.contains(" on node ") && last.contains(&by),
            "{told}"
        );
    });
    assert_eq!(names(), before, "nothing is left");
}

#[test]
fn of_a_rank_in_the_middle_of_copies() {
    of_a_rank_among("copies");
}

#[test]
fn of_a_rank_in_the_middle_of_collectives() {
    of_a_rank_among("collectives");
}

#[test]
fn of_a_rank_in_the_middle_of_epochs() {
    of_a_rank_among("epochs");
}

#[test]
fn of_a_node_manager() {
    rounds("node manager", |rng, cluster| {
        let job = Job::start(cluster, SCRIPT);
        let victim = pick(rng, &job, managers_of(&job), 1);
        let killed = kill(rng, victim);
        let output = job.finish();
        assert!(killed.elapsed() < GONE_WITHIN, "{:?}", killed.elapsed());
        assert_eq!(output.status.code(), Some(125), "{output:?}");
        let message = text(&output.stderr);
        let expected = format!(
            "(pid {victim}) was killed by signal 9 (SIGKILL); the job of 4 ranks was ended\n"
        );
        let who = if cluster.ends_with("shared") {
            "bcs: the NIC host of nodes 0 to 1 "
        } else {
            "bcs: the node manager of node "
        };
        assert!(
            message.starts_with(who) && message.ends_with(&expected),
            "{message}"
        );
    });
}

#[test]
fn of_bcs_run() {
    rounds("bcs run", |rng, cluster| {
        let job = Job::start(cluster, SCRIPT);
        if rng.random() {
            // In half of the cases ranks run already.
            job.find_all(rng.random_range(1..=4), is_rank);
        }
        kill(rng, job.pid());
        let status = job.finish_later();
        assert_eq!(
            std::os::unix::process::ExitStatusExt::signal(&status),
            Some(9)
        );
    });
}
