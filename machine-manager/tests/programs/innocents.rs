//! Programs that seem not to move, on a loaded machine: none may be reported as a deadlock.
//! `BCS_INNOCENT_SECONDS=60` makes each of them stand still for a minute. `BCS_INNOCENT_ROUNDS=10`
//! runs each ten times, by other transports each time, and adds those that move gigabytes.

use crate::program::fixture;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

const PROGRAMS: [&str; 40] = [
    "computes",
    "tests-in-a-loop",
    "tests-now-and-then",
    "reads-a-pipe",
    "waits-for-a-child",
    "stops-itself",
    "thread-sends-later",
    "thread-computes",
    "operation-takes-long",
    "initialises-late",
    "finalizes-early",
    "long-message",
    "pulses",
    "funneled-threads-compute",
    "long-broadcast",
    "long-reduction",
    "long-alltoall",
    "long-gather",
    "many-long-messages",
    "long-exchange",
    "writes-to-nobody",
    "all-write-to-nobody",
    "is-stopped-in-a-message",
    "all-are-stopped",
    "waits-for-any",
    "probes",
    "computes-beside-a-barrier",
    "computes-and-sends-beside",
    "starts-again",
    "finalizes-late",
    "poll-a-slow-sender",
    "poll-a-computation",
    "probe-a-slow-sender",
    "probe-for-anybody",
    "poll-and-compute",
    "poll-and-sleep",
    "poll-and-read-a-pipe",
    "poll-pulses",
    "poll-a-barrier",
    "poll-a-reader",
];

/// Programs of two ranks that take long without slow links, and need much memory: one runs at a
/// time.
const HUGE: [&str; 2] = ["huge-message", "huge-broadcast"];

/// The layouts of these.
const HUGE_LAYOUTS: [&str; 5] = [
    "-n 2",
    "-n 2 --copy-method kernel",
    "-n 2 --copy-method queues",
    "-n 2 --intranode nic",
    "-n 2 --nodes 2",
];

/// One node and several, all transports, and the longest possible slices.
const LAYOUTS: [&str; 6] = [
    "-n 3 --nodes 1",
    "-n 3 --nodes 3 --intranode nic --strobe fixed --time-slice 100ms",
    "-n 3 --nodes 2",
    "-n 3 --nodes 1 --copy-method kernel",
    "-n 3 --nodes 1 --intranode nic",
    "-n 3 --nodes 1 --copy-method queues",
];

const AT_ONCE: usize = 9;

fn seconds() -> f64 {
    let told = std::env::var("BCS_INNOCENT_SECONDS").ok();
    told.map_or(1.5, |told| told.parse().unwrap())
}

/// Returns how often each program is run, if the variable is set.
fn rounds() -> Option<usize> {
    let told = std::env::var("BCS_INNOCENT_ROUNDS").ok();
    told.map(|told| told.parse().expect("BCS_INNOCENT_ROUNDS is a number"))
}

/// Delays the event that a job waits for.
#[expect(clippy::disallowed_methods, reason = "that time passes is the point")]
fn wait(time: Duration) {
    std::thread::sleep(time);
}

/// Returns the error of a job, if there is one.
fn judge(name: &str, layout: &str) -> Option<String> {
    let time = Duration::from_secs_f64(seconds());
    // 20 MiB in the time.
    let bandwidth = format!("{:.0}", f64::from(20 << 20) / seconds());
    let mut job = Command::new(env!("CARGO_BIN_EXE_bcs"))
        .args(["run", "--timeout", "300s", "--link-bandwidth", &bandwidth])
        .args(layout.split(' '))
        .arg(fixture("innocents"))
        .args([name, &seconds().to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = job.stdin.take().unwrap();
    match name {
        "reads-a-pipe" => {
            wait(time);
            pipe.write_all(b"words\n").unwrap();
        }
        "stops-itself" => {
            let mut said = BufReader::new(job.stdout.take().unwrap()).lines();
            let line = said.next().unwrap().unwrap();
            let stopped = line.strip_prefix("stops ").unwrap().to_owned();
            wait(time);
            let went_on = Command::new("kill").args(["-CONT", &stopped]).status();
            assert!(went_on.unwrap().success());
        }
        "writes-to-nobody" | "all-write-to-nobody" => wait(time),
        _ => {}
    }
    drop(pipe);
    let output = job.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    // The report has a line for each rank.
    let possible = ["bcs: a deadlock is possible", "bcs:   rank "];
    let may_say =
        |line: &str| name == "thread-sends-later" && possible.iter().any(|it| line.starts_with(it));
    let is_quiet = said.lines().all(may_say);
    let right = output.status.success() && is_quiet;
    (!right).then(|| format!("{name} {layout}: {:?}: {said}", output.status.code()))
}

/// Returns the error of a job that moves gigabytes, if there is one.
fn judge_huge(name: &str, layout: &str) -> Option<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_bcs"))
        .args(["run", "--timeout", "300s"])
        .args(layout.split(' '))
        .arg(fixture("innocents"))
        .arg(name)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let right = output.status.success() && said.is_empty();
    (!right).then(|| format!("{name} {layout}: {:?}: {said}", output.status.code()))
}

/// Each single transfer takes many queries of the detector.
#[test]
fn nobody_says_that_a_transfer_of_gigabytes_is_a_deadlock() {
    for round in 0..rounds().unwrap_or(0) {
        let layout = HUGE_LAYOUTS[round % HUGE_LAYOUTS.len()];
        let wrong: Vec<_> = HUGE
            .iter()
            .filter_map(|name| judge_huge(name, layout))
            .collect();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

#[test]
fn nobody_says_that_what_only_takes_long_is_a_deadlock() {
    // A round has all layouts, and each program once. In the next round it is in the next layout.
    let of_round = |round: usize| {
        let layouts = LAYOUTS.iter().copied().cycle().skip(round);
        PROGRAMS.iter().copied().zip(layouts)
    };
    let jobs: Vec<_> = (0..rounds().unwrap_or(1)).flat_map(of_round).collect();
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let (left, over) = (AtomicUsize::new(AT_ONCE), AtomicBool::new(false));
    std::thread::scope(|threads| {
        for _ in 0..AT_ONCE {
            threads.spawn(|| {
                while let Some((name, layout)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let found = judge(name, layout); // Without the lock: others judge meanwhile.
                    wrong.lock().unwrap().extend(found);
                }
                if left.fetch_sub(1, Ordering::Relaxed) == 1 {
                    over.store(true, Ordering::Relaxed);
                }
            });
        }
        // Other threads want the cores, too.
        for _ in 0..2 {
            threads.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
