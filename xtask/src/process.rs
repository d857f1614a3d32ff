//! Runs a program from outside: with a time limit, its output, and its resource usage.

mod cpu_clock;
mod reap;

pub use cpu_clock::processor_time;
pub(crate) use reap::{ReapedChild, reap};

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

/// The time for a program to clean up after SIGTERM; `bcs run` ends the ranks of its job in it.
const TERM_GRACE: Duration = Duration::from_secs(5);

/// How long output may stay open after the program itself has ended, and how long killing may take.
const DRAIN_GRACE: Duration = Duration::from_secs(2);

/// A program that has ended.
#[derive(Debug, Clone)]
pub struct ProcessResult {
    /// The command line, as typed.
    pub command: String,
    /// Its exit status.
    pub status: ExitStatus,
    /// Whether it ran past its limit and was ended.
    pub timed_out: bool,
    /// Whether a process that it had started still held its output open after its end.
    pub output_held_open: bool,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
    /// The time from its start to its end, without processes that it left behind.
    pub wall: Duration,
    /// User and system time of it and of all descendants that were waited for.
    pub cpu: Duration,
    /// The most memory, in bytes, that it or one of those descendants had at a time.
    pub peak_memory: u64,
    /// How often an OS thread of it or of those descendants went to sleep.
    pub sleeps: u64,
}

impl ProcessResult {
    /// Returns itself if the program succeeded.
    ///
    /// # Errors
    ///
    /// The program was ended for running too long, failed, or left processes behind. The message
    /// contains the end of its standard error.
    pub fn succeeded(self) -> Result<Self> {
        let said = last_lines(&self.stderr, 12);
        ensure!(
            !self.timed_out,
            "`{}` was ended after {:.1?}{said}",
            self.command,
            self.wall
        );
        ensure!(
            self.status.success(),
            "`{}` failed: {}{said}",
            self.command,
            self.status
        );
        ensure!(
            !self.output_held_open,
            "`{}` left processes behind{said}",
            self.command
        );
        Ok(self)
    }
}

fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let last = &lines[lines.len().saturating_sub(count)..];
    last.iter().map(|line| format!("\n    {line}")).collect()
}

/// Runs `command` in its own process group, without input. If it is not done after `limit`, the
/// group gets SIGTERM and, after a while, SIGKILL.
///
/// # Errors
///
/// The program cannot be started, or cannot be killed. A failing program is no error: see
/// [`ProcessResult::succeeded`].
pub fn run(command: &mut Command, limit: Duration) -> Result<ProcessResult> {
    let text = command_line(command);
    let context = || format!("failed to run `{text}`");
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    let start = Instant::now();
    let mut child = command.spawn().with_context(context)?;
    let pid = Pid::from_child(&child);
    let stdout = Pipe::new(child.stdout.take().map(OwnedFd::from));
    let stderr = Pipe::new(child.stderr.take().map(OwnedFd::from));
    // Only this function reaps the child, so its number cannot have been reused.
    let pidfd = pidfd_open(pid, PidfdFlags::empty()).with_context(context)?;
    let mut watch = Watch {
        pid,
        pidfd,
        pipes: [stdout, stderr],
        stage: Stage::Runs,
        act_at: start + limit,
        ended: None,
        timed_out: false,
        left_behind: false,
    };
    while !watch.is_over() {
        watch.step().with_context(context)?;
    }
    let Some(ended) = watch.ended else {
        bail!("failed to kill `{text}` (process {pid:?})")
    };
    if watch.timed_out {
        // Members of the group may have closed their output and still run.
        watch.signal_group(Signal::KILL).with_context(context)?;
    }
    let reaped = reap(pid).with_context(context)?;
    let [stdout, stderr] = watch
        .pipes
        .map(|pipe| String::from_utf8_lossy(&pipe.text).into_owned());
    let wall = ended.duration_since(start);
    let Watch {
        timed_out,
        left_behind,
        ..
    } = watch;
    Ok(ProcessResult {
        command: text,
        status: reaped.status,
        timed_out,
        output_held_open: left_behind,
        stdout,
        stderr,
        wall,
        cpu: reaped.cpu,
        peak_memory: reaped.peak_memory,
        sleeps: reaped.sleeps,
    })
}

/// Returns the command line as typed, without quotes: it is for people.
pub(crate) fn command_line(command: &Command) -> String {
    let words = [command.get_program()]
        .into_iter()
        .chain(command.get_args());
    words
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}

/// An output of the program.
#[derive(Debug)]
struct Pipe {
    /// `None` at the end of the output.
    file: Option<File>,
    text: Vec<u8>,
}

impl Pipe {
    fn new(end: Option<OwnedFd>) -> Self {
        Self {
            file: end.map(File::from),
            text: Vec::new(),
        }
    }

    /// Reads once; poll has said that this does not block.
    fn read(&mut self) -> io::Result<()> {
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        let mut block = [0; 16 * 1024];
        match file.read(&mut block) {
            Ok(0) => self.file = None,
            Ok(length) => self.text.extend_from_slice(&block[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

/// The present stage; its end leads to the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The program runs; next it gets SIGTERM.
    Runs,
    /// The program got SIGTERM; next it is killed.
    Terminates,
    /// The program has ended, and its output is read to the end; next the processes that hold it
    /// open are killed.
    Drains,
    /// The whole group was killed; next the watch gives up.
    Killed,
    /// The watch waits no longer.
    GivenUp,
}

/// A running program and the state of the wait for it.
struct Watch {
    pid: Pid,
    pidfd: OwnedFd,
    pipes: [Pipe; 2],
    stage: Stage,
    act_at: Instant,
    ended: Option<Instant>,
    timed_out: bool,
    left_behind: bool,
}

impl Watch {
    fn is_over(&self) -> bool {
        let drained = self.pipes.iter().all(|pipe| pipe.file.is_none());
        self.stage == Stage::GivenUp || (self.ended.is_some() && drained)
    }

    /// Waits for the next event, or until the stage ends, and handles it.
    fn step(&mut self) -> io::Result<()> {
        let left = self.act_at.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return self.act();
        }
        let ended = self.ended.is_some();
        let mut polled = Vec::with_capacity(3);
        if !ended {
            polled.push(PollFd::new(&self.pidfd, PollFlags::IN));
        }
        for file in self.pipes.iter().filter_map(|pipe| pipe.file.as_ref()) {
            polled.push(PollFd::new(file, PollFlags::IN));
        }
        let left = Timespec::try_from(left).map_err(io::Error::other)?;
        match poll(&mut polled, Some(&left)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let ready: Vec<bool> = polled.iter().map(|fd| !fd.revents().is_empty()).collect();
        let mut ready = ready.into_iter();
        if !ended && ready.next() == Some(true) {
            let now = Instant::now();
            self.ended = Some(now);
            self.stage = Stage::Drains;
            self.act_at = now + DRAIN_GRACE;
        }
        for pipe in self.pipes.iter_mut().filter(|pipe| pipe.file.is_some()) {
            if ready.next() == Some(true) {
                pipe.read()?;
            }
        }
        Ok(())
    }

    /// Ends the present stage and begins the next one.
    fn act(&mut self) -> io::Result<()> {
        let (stage, grace) = match self.stage {
            Stage::Runs => {
                self.timed_out = true;
                self.signal_group(Signal::TERM)?;
                (Stage::Terminates, TERM_GRACE)
            }
            Stage::Terminates => {
                self.signal_group(Signal::KILL)?;
                (Stage::Killed, DRAIN_GRACE)
            }
            Stage::Drains => {
                self.left_behind = true;
                self.signal_group(Signal::KILL)?;
                (Stage::Killed, DRAIN_GRACE)
            }
            Stage::Killed | Stage::GivenUp => (Stage::GivenUp, Duration::ZERO),
        };
        self.stage = stage;
        self.act_at = Instant::now() + grace;
        Ok(())
    }

    /// Sends a signal to the group. The group is still the child's own, because the child is not
    /// reaped before the watch is over. If the group is gone already, nothing is left to do.
    fn signal_group(&self, signal: Signal) -> io::Result<()> {
        match kill_process_group(self.pid, signal) {
            Ok(()) | Err(Errno::SRCH) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn output_and_status_come_back() {
        let finished = run(&mut sh("echo out; echo err >&2; exit 3"), LONG).unwrap();
        assert_eq!(
            (finished.stdout.as_str(), finished.stderr.as_str()),
            ("out\n", "err\n")
        );
        assert_eq!(finished.status.code(), Some(3));
        assert!(!finished.timed_out && !finished.output_held_open);
        let message = finished.succeeded().unwrap_err().to_string();
        assert!(
            message.contains("exit status: 3") && message.contains("    err"),
            "{message}"
        );
    }

    #[test]
    fn output_larger_than_a_pipe_is_read_while_the_program_runs() {
        let finished = run(&mut sh("head -c 1000000 /dev/zero"), LONG)
            .unwrap()
            .succeeded()
            .unwrap();
        assert_eq!(finished.stdout.len(), 1_000_000);
    }

    #[test]
    fn a_program_past_its_limit_is_ended_with_what_it_started() {
        let start = Instant::now();
        let script = "echo begun; sleep 1000 & sleep 1000";
        let finished = run(&mut sh(script), Duration::from_millis(200)).unwrap();
        assert!(finished.timed_out && !finished.status.success());
        // The background sleep holds the output, so it was ended too; otherwise `run` would not
        // have returned.
        assert!(!finished.output_held_open);
        assert_eq!(finished.stdout, "begun\n");
        assert!(start.elapsed() < TERM_GRACE, "SIGTERM is enough for sh");
        assert!(finished.succeeded().is_err());
    }

    #[test]
    fn a_program_deaf_to_sigterm_is_killed() {
        let script = "trap '' TERM; while :; do sleep 1000; done";
        let finished = run(&mut sh(script), Duration::from_millis(200)).unwrap();
        assert!(finished.timed_out);
        assert!(finished.wall >= TERM_GRACE);
    }

    #[test]
    fn a_process_left_behind_is_noticed_and_killed() {
        let finished = run(&mut sh("sleep 1000 & echo gone"), LONG).unwrap();
        assert!(finished.status.success() && finished.output_held_open);
        assert!(
            finished.wall < DRAIN_GRACE,
            "the program itself was done at once"
        );
        let message = finished.succeeded().unwrap_err().to_string();
        assert!(message.contains("left processes behind"), "{message}");
    }

    #[test]
    fn processor_time_counts_the_descendants() {
        let burn = "sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done'";
        let busy = run(&mut sh(burn), LONG).unwrap();
        let idle = run(&mut sh("sleep 0.2"), LONG).unwrap();
        assert!(busy.cpu > idle.cpu * 2, "{:?} and {:?}", busy.cpu, idle.cpu);
        assert!(idle.wall >= Duration::from_millis(200));
    }

    #[test]
    fn a_program_that_does_not_exist_is_an_error_that_names_it() {
        let error = run(&mut Command::new("/nowhere/to/be/found"), LONG).unwrap_err();
        assert!(format!("{error:#}").contains("/nowhere/to/be/found"));
    }
}
