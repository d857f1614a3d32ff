//! Jobs whose node managers start each other: the same as others, from outside, whatever is killed.
//!
//! `BCS_KILL_ROUNDS` and `BCS_KILL_SEED` as in `kill.rs`.

use super::job::{GONE_WITHIN, Job, bcs, is_rank, run, signal, text};
use super::kill::{fresh_moment, rounds_of};
use rand::Rng as _;
use rustix::process::Signal;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::Stdio;
use std::time::Instant;

/// Ranks with children of all kinds: in their process group, in a session of their own, orphaned.
const SCRIPT: &str = "sleep 1000 & setsid sleep 1000 & (setsid sleep 1000 &) ; wait";

/// Eight agents in three levels, with 32 ranks; with memory that is inherited, and with memory that
/// each makes.
const TREES: [&str; 2] = [
    "run -v -n 32 --nodes 8 --launch-degree 2 --nic-threads coprocessor",
    "run -v -n 32 --nodes 8 --launch-degree 2 --fabric udp",
];

/// Returns node and process of a node manager that `-v` prints.
fn agent_in(line: &str) -> Option<(u32, i32)> {
    let rest = line.strip_prefix("bcs: the node manager of node ")?;
    let (node, pid) = rest.trim_end().split_once(" is process ")?;
    Some((node.parse().ok()?, pid.parse().ok()?))
}

/// Starts a job, and returns it with the first agents that it has printed and the reader of the
/// rest.
fn start(tree: &str, agents: usize) -> (Job, Vec<(u32, i32)>, impl std::io::BufRead + use<>) {
    let mut command = bcs(tree);
    command.args(["sh", "-c", SCRIPT]);
    let mut job = Job::spawn(command);
    let mut words = BufReader::new(job.child().stderr.take().unwrap());
    let mut found = Vec::new();
    let mut line = String::new();
    while found.len() < agents && words.read_line(&mut line).unwrap() > 0 {
        found.extend(agent_in(&line));
        line.clear();
    }
    (job, found, words)
}

#[test]
fn a_killed_agent_ends_the_job_and_is_named() {
    rounds_of("agent of a tree", (&TREES, 8), |rng, tree| {
        let known = rng.random_range(1..=8);
        let (mut job, found, mut words) = start(tree, known);
        assert_eq!(found.len(), known);
        let (node, victim) = found[rng.random_range(0..known)];
        fresh_moment(rng, 20_000);
        signal(victim, Signal::KILL);
        let killed = Instant::now();
        let mut told = String::new();
        words.read_to_string(&mut told).unwrap();
        let output = job.output();
        assert!(killed.elapsed() < GONE_WITHIN, "{:?}", killed.elapsed());
        assert_eq!(output.status.code(), Some(125), "{told}");
        let expected = format!(
            "bcs: the node manager of node {node} (pid {victim}) was killed by signal 9 (SIGKILL); \
             the job of 32 ranks was ended"
        );
        assert_eq!(told.lines().last(), Some(&expected[..]), "{told}");
        assert_eq!(job.left(), [], "{told}");
    });
}

#[test]
fn a_killed_rank_below_agents_ends_the_job_and_is_named() {
    rounds_of("rank of a tree", (&TREES, 6), |rng, tree| {
        let (mut job, _, mut words) = start(tree, 8);
        let ranks = job.find_all(rng.random_range(1..=32), is_rank);
        let victim = ranks[rng.random_range(0..ranks.len())].pid;
        fresh_moment(rng, 20_000);
        signal(victim, Signal::KILL);
        let killed = Instant::now();
        let mut told = String::new();
        words.read_to_string(&mut told).unwrap();
        let output = job.output();
        assert!(killed.elapsed() < GONE_WITHIN, "{:?}", killed.elapsed());
        assert_eq!(output.status.code(), Some(137), "{told}");
        let by = format!(
            "(pid {victim}) was killed by signal 9 (SIGKILL); the job of 32 ranks was ended"
        );
        let last = told.lines().last().unwrap_or_default();
        let names_it = last.starts_with("bcs: rank ") && last.contains(" on node ");
        assert!(names_it && last.ends_with(&by), "{told}");
        assert_eq!(job.left(), [], "{told}");
    });
}

#[test]
fn a_killed_launcher_leaves_no_agent() {
    rounds_of("launcher of a tree", (&TREES, 6), |rng, tree| {
        let (job, _, words) = start(tree, rng.random_range(0..=8));
        if rng.random() {
            job.find_all(rng.random_range(1..=32), is_rank);
        }
        fresh_moment(rng, 20_000);
        signal(job.pid(), Signal::KILL);
        drop(words);
        let status = job.finish_later();
        let by = std::os::unix::process::ExitStatusExt::signal(&status);
        assert_eq!(by, Some(9));
    });
}

/// Most of these jobs have gone when the signal comes, some are just being started, some end.
#[test]
fn an_agent_that_is_killed_in_a_short_job_leaves_nothing() {
    rounds_of("agent of a short job", (&TREES, 10), |rng, tree| {
        let mut command = bcs(tree);
        command.arg("hello");
        let mut job = Job::spawn(command);
        let mut words = BufReader::new(job.child().stderr.take().unwrap());
        let (mut line, mut found) = (String::new(), Vec::new());
        let known = rng.random_range(1..=8);
        while found.len() < known && words.read_line(&mut line).unwrap() > 0 {
            found.extend(agent_in(&line));
            line.clear();
        }
        let (_, victim) = found[rng.random_range(0..found.len())];
        fresh_moment(rng, 60_000);
        signal(victim, Signal::KILL);
        let killed = Instant::now();
        let mut told = String::new();
        words.read_to_string(&mut told).unwrap();
        let output = job.output();
        assert!(killed.elapsed() < GONE_WITHIN, "{:?}", killed.elapsed());
        let code = output.status.code();
        assert!(matches!(code, Some(0 | 125)), "{code:?}: {told}");
        assert_eq!(job.left(), [], "{told}");
    });
}

#[test]
fn exit_codes_input_and_lines_pass_through_the_tree() {
    for tree in TREES {
        let tree = tree.replace(" -v", "");
        let output = run(&tree, "[ $PMI_RANK != 31 ] || exit 7; sleep 1000");
        assert_eq!(output.status.code(), Some(7), "{}", text(&output.stderr));
        let mut command = bcs(&format!("{tree} --stdin 29 -l cat"));
        command.stdin(Stdio::piped());
        let mut job = Job::spawn(command);
        let mut input = job.child().stdin.take().unwrap();
        input.write_all(b"through the tree\n").unwrap();
        drop(input);
        let output = job.finish();
        assert_eq!(text(&output.stdout), "[29] through the tree\n");
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
}

/// A launcher's command that starts the program here, whatever the host, and says so.
const LOGIN: &str =
    "sh -c 'echo login at {host} >&2; [ {host} != gone ] || exit 255; exec \"$0\" \"$@\"'";

fn by_login(options: &str) -> (Option<i32>, String, String) {
    let mut command = bcs("run --fabric udp --host-interface lo --launch-degree 2");
    command.args(["--launcher", LOGIN]);
    command.args(options.split_whitespace()).arg("hello");
    let output = Job::spawn(command).finish();
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

#[test]
fn hosts_log_in_to_each_other_and_once_to_each() {
    for (options, hosts) in [
        ("-n 5 --hosts a,b,c,d,e", "abcde"),
        ("-n 10 --nodes 10 --hosts a,b", "ab"),
        ("-n 12 --nodes 12 --hosts a,b,c", "abc"),
    ] {
        let (code, output, errors) = by_login(options);
        assert_eq!(code, Some(0), "{options}: {errors}");
        let mut logins: Vec<&str> = errors.lines().collect();
        logins.sort_unstable();
        let expected: Vec<String> = hosts
            .chars()
            .map(|host| format!("login at {host}"))
            .collect();
        assert_eq!(logins, expected, "{options}");
        assert!(output.contains("hello from rank 4 of"), "{output}");
    }
}

#[test]
fn a_host_that_another_one_cannot_start_is_named() {
    let (code, _, errors) = by_login("-n 5 --hosts a,b,c,gone,e");
    assert_eq!(code, Some(125), "{errors}");
    for part in [
        "the node manager of node 3 on host gone from the node manager of node 2 on host c",
        "exited with code 255: login at gone",
        "--launch-degree",
    ] {
        assert!(errors.contains(part), "{errors}");
    }
    assert_eq!(errors.lines().count(), 1, "{errors}");
}

/// Ranks write much faster than the reader reads. So every queue of the tree is full, and agents
/// and launcher still hold no more than their queues.
#[test]
fn lines_of_a_tree_stay_whole_and_in_order_when_the_reader_is_slow() {
    const LINES: usize = 4_000;
    let mut command = bcs("run -n 32 --nodes 8 --launch-degree 2 --nic-threads coprocessor sh -c");
    command.arg(format!(
        "i=0; while [ $i -lt {LINES} ]; do echo $PMI_RANK $i {}; i=$((i+1)); done",
        "x".repeat(200)
    ));
    let mut job = Job::spawn(command);
    let mut lines = BufReader::with_capacity(512, job.child().stdout.take().unwrap());
    let mut next = [0; 32];
    let mut line = String::new();
    let mut most_kib = 0;
    let mut count = 0;
    while lines.read_line(&mut line).unwrap() > 0 {
        let mut words = line.split_ascii_whitespace();
        let rank: usize = words.next().unwrap().parse().unwrap();
        let number: usize = words.next().unwrap().parse().unwrap();
        assert_eq!(
            (number, words.next().map(str::len)),
            (next[rank], Some(200))
        );
        next[rank] += 1;
        line.clear();
        count += 1;
        if count % 8_000 == 0 {
            let agents = job
                .left()
                .into_iter()
                .filter(|it| it.line.contains("node-manager"));
            let agents = agents.map(|process| process.pid).chain([job.pid()]);
            most_kib = agents.filter_map(peak_kib).chain([most_kib]).max().unwrap();
        }
    }
    assert_eq!(next, [LINES; 32]);
    let output = job.finish();
    assert!(output.status.success(), "{}", text(&output.stderr));
    println!("the largest of agents and launcher had {most_kib} KiB");
    assert!((1..64 << 10).contains(&most_kib), "{most_kib} KiB");
}

/// Returns the largest resident memory that a process has had.
fn peak_kib(pid: i32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}
