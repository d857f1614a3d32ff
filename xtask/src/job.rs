//! A running `bcs run`, observed from outside while its ranks report their progress.
//!
//! A measured program of `apps` prints a line when its measured part begins and ends. Between the
//! two lines this module reads the CPU clocks of the runtime's processes: `bcs run` and its
//! managers, which host the NICs. The figure therefore excludes start, end, and the ranks.

use std::io::{PipeReader, Read, pipe};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group};

use crate::process::{self, processor_time};

/// The interval of clock reads while a line is awaited.
const SAMPLE: Duration = Duration::from_millis(10);

/// A running job. It is killed when it is dropped before [`WatchedJob::finish`].
#[derive(Debug)]
pub struct WatchedJob {
    command: String,
    pid: Pid,
    /// `bcs run` itself and the managers.
    runtime: Vec<Pid>,
    output: PipeReader,
    text: Vec<u8>,
    read: usize,
    deadline: Instant,
    ended: bool,
}

impl WatchedJob {
    /// Starts a `bcs run`, which must have the option `-v`, because its output identifies the
    /// runtime's processes.
    ///
    /// # Errors
    ///
    /// The command cannot be started.
    pub fn start(mut command: Command, limit: Duration) -> Result<Self> {
        let text = process::command_line(&command);
        let context = || format!("failed to run `{text}`");
        // Both outputs go into one pipe, so that their order is known: -v prints before any rank
        // does.
        let (output, input) = pipe().with_context(context)?;
        command
            .stdin(Stdio::null())
            .stdout(input.try_clone().with_context(context)?)
            .stderr(input)
            .process_group(0);
        let child = command.spawn().with_context(context)?;
        // The command still holds our copies of the pipe's writing end, which would hide the end of
        // the output.
        drop(command);
        Ok(Self {
            pid: Pid::from_child(&child),
            runtime: Vec::new(),
            output,
            text: Vec::new(),
            read: 0,
            deadline: Instant::now() + limit,
            ended: false,
            command: text,
        })
    }

    /// Returns the next line of output that starts with `head`; skips lines before it.
    ///
    /// # Errors
    ///
    /// The job ended, or ran past its limit, before it printed such a line.
    pub fn wait_for(&mut self, head: &str) -> Result<String> {
        loop {
            let Some(line) = self.line()? else {
                let end = self.last_lines();
                bail!("`{}` ended before it printed `{head}`:{end}", self.command);
            };
            if line.starts_with(head) {
                return Ok(line);
            }
        }
    }

    /// Returns `bcs run` itself and the managers, as far as the output has named them.
    #[must_use]
    pub fn runtime(&self) -> &[Pid] {
        &self.runtime
    }

    /// Returns the CPU time of `bcs run` and the managers until now.
    ///
    /// # Errors
    ///
    /// The processes are unknown or have ended.
    pub fn runtime_cpu(&self) -> Result<Duration> {
        ensure!(
            self.runtime.len() > 1,
            "`{}` has not said which processes it has: run it with -v",
            self.command
        );
        self.runtime
            .iter()
            .map(|pid| processor_time(*pid))
            .sum::<std::io::Result<Duration>>()
            .context("failed to read the processor time of the runtime")
    }

    /// Returns the next line that starts with `head`, and [`WatchedJob::runtime_cpu`] at that
    /// moment. A job that prints its last line may have ended before a read of the clocks. The
    /// clocks are therefore read every [`SAMPLE`] until then, and the last value counts.
    ///
    /// # Errors
    ///
    /// As [`WatchedJob::wait_for`] and [`WatchedJob::runtime_cpu`].
    pub fn runtime_cpu_at(&mut self, head: &str) -> Result<(String, Duration)> {
        let mut last = None;
        loop {
            while let Some(line) = self.line_at_hand() {
                if line.starts_with(head) {
                    let cpu = self.runtime_cpu().or_else(|gone| last.ok_or(gone))?;
                    return Ok((line, cpu));
                }
            }
            if !self.fill_within(SAMPLE)? {
                bail!(
                    "`{}` ended before it printed `{head}`:{}",
                    self.command,
                    self.last_lines()
                );
            }
            last = self.runtime_cpu().ok().or(last);
        }
    }

    /// Waits for the end. Returns the whole output and the CPU time of all processes of the job.
    ///
    /// # Errors
    ///
    /// The job failed, or ran past its limit.
    pub fn finish(mut self) -> Result<(String, Duration)> {
        while self.line()?.is_some() {}
        self.ended = true;
        let process::ReapedChild { status, cpu, .. } = process::reap(self.pid)?;
        ensure!(
            status.success(),
            "`{}` failed: {status}{}",
            self.command,
            self.last_lines()
        );
        Ok((String::from_utf8_lossy(&self.text).into_owned(), cpu))
    }

    /// Returns the next line without its line end, or `None` at the end of the output.
    fn line(&mut self) -> Result<Option<String>> {
        loop {
            let line = self.line_at_hand();
            if line.is_some() || !self.fill_within(Duration::MAX)? {
                return Ok(line);
            }
        }
    }

    /// Returns the next line of the data read so far.
    fn line_at_hand(&mut self) -> Option<String> {
        let rest = &self.text[self.read..];
        let length = rest.iter().position(|byte| *byte == b'\n')?;
        let line = String::from_utf8_lossy(&rest[..length]).into_owned();
        self.read += length + 1;
        self.note_process(&line);
        Some(line)
    }

    /// Reads more data if some arrive in that time; returns false at the end of the output.
    fn fill_within(&mut self, time: Duration) -> Result<bool> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        ensure!(!left.is_zero(), "`{}` took too long", self.command);
        let left = Timespec::try_from(left.min(time))?;
        match poll(&mut [PollFd::new(&self.output, PollFlags::IN)], Some(&left)) {
            Ok(0) | Err(Errno::INTR) => return Ok(true),
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        let mut block = [0; 16 * 1024];
        let length = self.output.read(&mut block)?;
        self.text.extend_from_slice(&block[..length]);
        Ok(length > 0)
    }

    /// Parses `bcs: WHO is process N`, which -v prints for `bcs run` and every manager.
    fn note_process(&mut self, line: &str) {
        let pid = line
            .strip_prefix("bcs: ")
            .and_then(|rest| rest.rsplit_once(" is process "))
            .and_then(|(_, number)| number.parse().ok())
            .and_then(Pid::from_raw);
        self.runtime.extend(pid);
    }

    fn last_lines(&self) -> String {
        let text = String::from_utf8_lossy(&self.text);
        let lines: Vec<&str> = text.lines().collect();
        let last = &lines[lines.len().saturating_sub(6)..];
        last.iter().map(|line| format!("\n    {line}")).collect()
    }
}

impl Drop for WatchedJob {
    fn drop(&mut self) {
        if !self.ended {
            // The job may have ended already, and its status does not matter here.
            let _ = kill_process_group(self.pid, Signal::KILL);
            let _ = process::reap(self.pid);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> WatchedJob {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        WatchedJob::start(command, Duration::from_secs(60)).unwrap()
    }

    #[test]
    fn lines_are_told_as_they_come_and_processes_are_known() {
        let mut job = sh(
            "echo \"bcs: bcs run is process $$\" >&2; echo \"bcs: it is process $$\" >&2;
            echo begin; sleep 0.05; echo end 7",
        );
        job.wait_for("begin").unwrap();
        let cpu = job.runtime_cpu().unwrap();
        let (line, later) = job.runtime_cpu_at("end").unwrap();
        assert!(line == "end 7" && later >= cpu);
        let (text, whole) = job.finish().unwrap();
        // Nothing orders the lines of two streams.
        assert!(
            text.contains("begin\n") && text.contains("end 7\n"),
            "{text}"
        );
        assert!(whole > Duration::ZERO && cpu > Duration::ZERO);
    }

    #[test]
    fn a_line_that_never_comes_and_a_failure_are_errors() {
        let error = sh("echo one").wait_for("two").unwrap_err().to_string();
        assert!(error.contains("ended before it printed `two`"), "{error}");
        let error = sh("echo one; exit 3").finish().unwrap_err().to_string();
        assert!(error.contains("exit status: 3"), "{error}");
        assert!(
            sh("sleep 1000").runtime_cpu().is_err(),
            "and the job is killed"
        );
    }
}
