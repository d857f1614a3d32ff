//! Programs whose ranks only poll for what never comes: each is told as a possible livelock within
//! two seconds, and ended some seconds later. (Legal pollers are among the innocents.)

use crate::program::fixture;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Programs that are told on all layouts.
const PROGRAMS: [&str; 10] = [
    "polls-test",
    "polls-test-beside-a-receive",
    "polls-test-of-the-gone",
    "polls-sends",
    "polls-all",
    "polls-any",
    "polls-some",
    "polls-status",
    "polls-part",
    "polls-barrier",
];

/// Programs that are told if all ranks are on one node: a probe asks a NIC again and again, so the
/// NICs never sleep.
const PROBES: [&str; 2] = ["polls-probe", "polls-matched-probe"];

const LAYOUTS: [&str; 3] = ["--nodes 1", "--nodes 2", "--nodes 2 --fabric udp"];

const SOON: Duration = Duration::from_secs(2);

/// A job whose report came later is tried again, with none of this test beside it: other tests may
/// have used all cores.
const RETRIES: usize = 3;

const AT_ONCE: usize = 2;

/// The job ends some ten seconds after the report. Only these are waited for; the others are ended
/// when they were told.
const WAITED_FOR: [(&str, &str); 2] = [("polls-test", LAYOUTS[0]), ("polls-barrier", LAYOUTS[2])];

/// Returns the messages, and the time from the first poll to the first of them.
fn run(name: &str, layout: &str, policy: &str) -> (Option<i32>, String, Duration) {
    let mut job = Command::new(env!("CARGO_BIN_EXE_bcs"))
        .args([
            "run",
            "-n",
            "2",
            "--timeout",
            "20s",
            "--on-deadlock",
            policy,
        ])
        .args(layout.split(' '))
        .arg(fixture("deadlocks"))
        .arg(name)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut said, mut told_at) = (String::new(), None);
    for line in BufReader::new(job.stderr.take().unwrap()).lines() {
        told_at.get_or_insert_with(bcs_core::clock::now_ns);
        said += &(line.unwrap() + "\n");
        if policy == "abort" && !WAITED_FOR.contains(&(name, layout)) && said.lines().count() == 3 {
            let pid = Pid::from_child(&job);
            kill_process(pid, Signal::TERM).unwrap();
        }
    }
    let output = job.wait_with_output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    let times = stdout
        .lines()
        .filter_map(|line| line.strip_prefix("blocks "));
    let last = times.map(|time| time.parse::<u64>().unwrap()).max();
    let after = told_at.zip(last).map(|(at, last)| at.saturating_sub(last));
    let after = after.map_or(Duration::MAX, Duration::from_nanos);
    (output.status.code(), said, after)
}

enum Verdict {
    Right,
    /// The report came late, or none did.
    Late(String),
    Wrong(String),
}

/// Judges the report about a program.
fn judge(name: &str, layout: &str) -> Verdict {
    let (code, said, after) = run(name, layout, "abort");
    let is_told = said.contains("possible livelock: all ranks only wait or poll")
        && said.contains("rank 0 on node 0 polls for");
    let has_ended = code == Some(123) || !WAITED_FOR.contains(&(name, layout));
    let text = format!("{name} {layout}: {code:?} after {after:?}: {said}");
    match has_ended && is_told {
        _ if after > SOON => Verdict::Late(text),
        true => Verdict::Right,
        false => Verdict::Wrong(text),
    }
}

#[test]
fn ranks_that_only_poll_are_told_within_two_seconds() {
    let near = PROBES.iter().map(|name| (*name, LAYOUTS[0]));
    let all = PROGRAMS
        .iter()
        .flat_map(|name| LAYOUTS.iter().map(move |layout| (*name, *layout)));
    let jobs: Vec<_> = all.chain(near).collect();
    let next = AtomicUsize::new(0);
    let (late, wrong) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
    std::thread::scope(|threads| {
        for _ in 0..AT_ONCE {
            threads.spawn(|| {
                while let Some((name, layout)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    match judge(name, layout) {
                        Verdict::Right => {}
                        Verdict::Late(_) => late.lock().unwrap().push((*name, *layout)),
                        Verdict::Wrong(text) => wrong.lock().unwrap().push(text),
                    }
                }
            });
        }
    });
    let mut wrong = wrong.into_inner().unwrap();
    for (name, layout) in late.into_inner().unwrap() {
        let mut retries = (0..RETRIES).map(|_| judge(name, layout));
        let last = retries.find(|verdict| !matches!(verdict, Verdict::Late(_)));
        match last.unwrap_or_else(|| judge(name, layout)) {
            Verdict::Right => {}
            Verdict::Late(text) | Verdict::Wrong(text) => wrong.push(text),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
