//! Programs that seem not to move, on a machine that is loaded: nobody may say that they are in a deadlock.
//! `BCS_INNOCENT_SECONDS=60` makes each of them stand still for a minute.

use crate::program::fixture;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

const PROGRAMS: [&str; 14] = [
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
];

const LAYOUTS: [&str; 2] = [
    "-n 3 --nodes 1",
    "-n 3 --nodes 3 --intranode nic --strobe fixed --time-slice 100ms",
];

const AT_ONCE: usize = 9;

fn seconds() -> f64 {
    let told = std::env::var("BCS_INNOCENT_SECONDS").ok();
    told.map_or(1.5, |told| told.parse().unwrap())
}

/// What a job waits for comes so much later.
#[expect(clippy::disallowed_methods, reason = "that time passes is the point")]
fn wait(time: Duration) {
    std::thread::sleep(time);
}

/// What is wrong with a job, if anything is.
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
        _ => {}
    }
    drop(pipe);
    let output = job.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let possible = "bcs: a deadlock is possible";
    let may_say = |line: &str| name == "thread-sends-later" && line.starts_with(possible);
    let is_quiet = said.lines().all(may_say);
    let right = output.status.success() && is_quiet;
    (!right).then(|| format!("{name} {layout}: {:?}: {said}", output.status.code()))
}

#[test]
fn nobody_says_that_what_only_takes_long_is_a_deadlock() {
    let jobs: Vec<_> = PROGRAMS
        .iter()
        .flat_map(|name| LAYOUTS.iter().map(move |layout| (*name, *layout)))
        .collect();
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let (left, over) = (AtomicUsize::new(AT_ONCE), AtomicBool::new(false));
    std::thread::scope(|threads| {
        for _ in 0..AT_ONCE {
            threads.spawn(|| {
                while let Some((name, layout)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    wrong.lock().unwrap().extend(judge(name, layout));
                }
                if left.fetch_sub(1, Ordering::Relaxed) == 1 {
                    over.store(true, Ordering::Relaxed);
                }
            });
        }
        // Others want the cores, too.
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
