//! A run of the program: a `bcs run` of its own, from its start to its end.

use crate::exit_code;
use crate::signals::Signals;
use anyhow::Context as _;
use node_manager::spawn::{Image, Setup, SpawnedProcess, Spawner};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Signal, WaitId, WaitIdOptions};
use std::ffi::OsString;
use std::fs::File;
use std::io::Write as _;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

/// How much of a run's standard error is held: its last words.
const LAST_BYTES: usize = 2 << 10;

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrialEnd {
    /// By itself.
    Exited {
        /// With this exit code.
        code: u8,
        /// Its duration.
        took: Duration,
        /// Its last words on standard error.
        last_words: String,
    },
    /// A signal told us to end.
    Interrupted(i32),
}

/// A runner of programs, one after the other.
#[derive(Debug)]
pub struct TrialRunner {
    signals: Signals,
    spawner: Spawner,
    null: OwnedFd,
    /// The file for the output of programs.
    output: Option<File>,
}

impl TrialRunner {
    /// Makes a runner. Call it before any OS thread is started, since it takes signals over. The
    /// output of programs is appended to the file, if there is one.
    ///
    /// # Errors
    /// The kernel's error; a file that cannot be written.
    pub fn new(output: Option<&Path>) -> anyhow::Result<Self> {
        let open = |path: &Path| {
            let opened = File::options().create(true).append(true).open(path);
            opened.with_context(|| format!("failed to write {}", path.display()))
        };
        let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty());
        Ok(Self {
            output: output.map(open).transpose()?,
            signals: Signals::take_over().context("failed to take signals over")?,
            spawner: Spawner::default(),
            null: null.context("failed to open /dev/null")?,
        })
    }

    /// Runs `bcs run` with these words. It dies with this process.
    ///
    /// # Errors
    /// It could not be started, or its output could not be passed on.
    pub fn run(&mut self, words: &[OsString]) -> anyhow::Result<TrialEnd> {
        let line: Vec<OsString> = ["bcs", "run"].into_iter().map(OsString::from).collect();
        let line = [line.as_slice(), words].concat();
        let image = Image::new("/proc/self/exe".as_ref(), &line, [], None)?;
        let (said, says) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        let written = match &self.output {
            Some(file) => file.as_fd(),
            None => self.null.as_fd(),
        };
        let setup = Setup {
            standard: [self.null.as_fd(), written, says.as_fd()],
            inherited: &[],
            dies_with_parent: true,
            open_files: None,
            cores: &[],
            variables: &[],
        };
        let start = Instant::now();
        let child = self.spawner.spawn(&image, &setup);
        let child = child.context("failed to start bcs run")?;
        drop(says);
        self.watch(&child, &said, start)
    }

    fn watch(
        &mut self,
        child: &SpawnedProcess,
        said: &OwnedFd,
        start: Instant,
    ) -> anyhow::Result<TrialEnd> {
        let mut last_words = Vec::new();
        let mut told = None;
        let mut is_open = true;
        loop {
            let mut events = [
                PollFd::new(&child.pidfd, PollFlags::IN),
                PollFd::from_borrowed_fd(self.signals.fd(), PollFlags::IN),
                PollFd::new(said, PollFlags::IN),
            ];
            // A pipe at its end would always be ready.
            match poll(&mut events[..if is_open { 3 } else { 2 }], None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(errno).context("failed to wait for a run"),
            }
            let has_ended = !events[0].revents().is_empty();
            let took = start.elapsed();
            is_open &= self.listen(said, &mut last_words)?;
            while let Some(signal) = self.signals.next() {
                told = told.or((!is_passed_on(signal)).then_some(signal));
                if let Some(signal) = Signal::from_named_raw(signal) {
                    // It may have ended meanwhile.
                    let _ = rustix::process::pidfd_send_signal(&child.pidfd, signal);
                }
            }
            if !has_ended {
                continue;
            }
            let reap = WaitIdOptions::EXITED;
            let status = rustix::process::waitid(WaitId::PidFd(child.pidfd.as_fd()), reap)?;
            let code = status.as_ref().map_or(exit_code::RUNTIME, |status| {
                match (status.exit_status(), status.terminating_signal()) {
                    (Some(code), _) => u8::try_from(code).unwrap_or(exit_code::RUNTIME),
                    (None, signal) => exit_code::for_signal(signal.unwrap_or_default()),
                }
            });
            return Ok(match told {
                Some(signal) => TrialEnd::Interrupted(signal),
                None => TrialEnd::Exited {
                    code,
                    took,
                    last_words: String::from_utf8_lossy(&last_words).into_owned(),
                },
            });
        }
    }

    /// Reads from standard error, passes it on and holds the last of it. Returns false at its end.
    fn listen(&mut self, said: &OwnedFd, last_words: &mut Vec<u8>) -> anyhow::Result<bool> {
        let mut block = [0; 4096];
        loop {
            let length = match rustix::io::read(said, &mut block) {
                Ok(0) => return Ok(false),
                Ok(length) => length,
                Err(_) => return Ok(true),
            };
            if let Some(file) = &mut self.output {
                let written = file.write_all(&block[..length]);
                written.context("failed to write what the program says")?;
            }
            last_words.extend_from_slice(&block[..length]);
            let too_many = last_words.len().saturating_sub(LAST_BYTES);
            last_words.drain(..too_many);
        }
    }
}

/// Returns whether a signal is for the program, and ends nothing.
fn is_passed_on(signal: i32) -> bool {
    [libc::SIGUSR1, libc::SIGUSR2].contains(&signal)
}
