//! Signals for the program, and the time between SIGTERM and SIGKILL.

use super::job::{Job, signal, text};
use rustix::process::Signal;
use std::time::Instant;

#[test]
fn user_signals_reach_every_rank_and_the_job_goes_on() {
    for (what, name) in [(Signal::USR1, "USR1"), (Signal::USR2, "USR2")] {
        // The marks are processes of the job: when all exist, all have their handlers.
        let script = format!(
            "trap 'echo got it; kill $!; exit 0' {name}; sleep 1000 & \
             wait"
        );
        let job = Job::start("run -n 4 --nodes 2 --nic-threads coprocessor", &script);
        job.find_all(4, |process| process.line.starts_with("sleep"));
        signal(job.pid(), what);
        let output = job.finish();
        assert!(output.status.success(), "{output:?}");
        assert_eq!(text(&output.stdout).matches("got it").count(), 4);
    }
}

#[test]
fn a_long_kill_delay_lets_ranks_finish() {
    // Longer than the default allows, and longer than the node manager would get with it.
    let job = Job::start(
        "run -n 2 --kill-delay 1m",
        "trap 'kill $!; sleep 1.5; echo saved; exit 0' TERM; sleep 1000 & wait",
    );
    job.find_all(2, |process| process.line.starts_with("sleep"));
    signal(job.pid(), Signal::TERM);
    let output = job.finish();
    assert_eq!(text(&output.stdout).matches("saved").count(), 2);
    assert_eq!(output.status.code(), Some(143));
}

#[test]
fn a_short_kill_delay_kills_soon() {
    let job = Job::start(
        "run -n 2 --kill-delay 0s",
        "trap '' TERM; while :; do sleep 1000; done",
    );
    job.find_all(2, |process| process.line.starts_with("sleep"));
    let start = Instant::now();
    signal(job.pid(), Signal::TERM);
    assert_eq!(job.finish().status.code(), Some(143));
    assert!(start.elapsed() < node_manager::limits::KILL_DELAY);
}
