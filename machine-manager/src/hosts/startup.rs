//! The time until all node managers have answered: their answers, their failures, and the events
//! that end the wait.
//!
//! A signal and the end of `--timeout` are handled all the time. A command that exits before its
//! node manager has answered (ssh cannot reach the host, there is no `bcs` there) has failed, and
//! is reported at once with its own last words.

use super::advice::Attempt;
use super::{Hosts, this_program};
use crate::agent_links::{ManagerHandle, Route, hand_out};
use crate::exit_code;
use crate::launcher_standard_error::lines;
use crate::quantities::GivenQuantity;
use crate::signals::{self, Signals};
use crate::verdict::job_ended;
use anyhow::Context as _;
use bcs_core::job::Placement;
use node_manager::control::{Frame, FrameReadOutcome, FromManager};
use node_manager::launch_tree::AgentEnd;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Signal, WaitId, WaitIdOptions, WaitIdStatus, waitid};
use rustix::time::Timespec;
use std::os::fd::{AsFd as _, OwnedFd};
use std::time::{Duration, Instant};

/// A node manager that does not answer for this long was not started. A login may wait for a
/// directory service, or for a home to be mounted. ssh reports a host that it cannot reach, and
/// earlier.
const PATIENCE: Duration = Duration::from_secs(60);

/// The time for a command that has closed its output to exit, so that we can report how.
const EXIT_PATIENCE: Duration = Duration::from_millis(500);

/// The number of a command's last lines that are reported with its failure.
const LAST_WORDS: usize = 3;

/// The number of node managers that are named if they have not answered.
const NAMED: usize = 3;

/// The events that may end a start from outside.
#[derive(Clone, Copy, Debug)]
pub struct Limits<'a> {
    /// The signals of this process.
    pub signals: &'a Signals,
    /// `--timeout`, and when it ends.
    pub timeout: Option<&'a (Instant, GivenQuantity<Duration>)>,
}

/// A job that its user ended before it was started.
#[derive(Debug, thiserror::Error)]
pub enum StartInterruption {
    /// By a signal.
    #[error("{}", job_ended(&format!("bcs run received {}", signals::describe(*.signal)), *.ranks))]
    Signal {
        /// Its number.
        signal: i32,
        /// Ranks of the job.
        ranks: usize,
    },
    /// By `--timeout`.
    #[error("{}", job_ended(&format!("the time limit of {limit} was over, and {missing}"), *.ranks))]
    TimedOut {
        /// As it was given.
        limit: GivenQuantity<Duration>,
        /// The node managers that have not answered.
        missing: String,
        /// Ranks of the job.
        ranks: usize,
    },
}

impl StartInterruption {
    /// Returns the exit code of `bcs run`.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Signal { signal, .. } => exit_code::for_signal(*signal),
            Self::TimedOut { .. } => exit_code::TIMED_OUT,
        }
    }
}

/// The wait for the answers of node managers.
#[derive(Debug)]
pub(super) struct Startup<'a> {
    hosts: &'a Hosts,
    placement: &'a Placement,
    limits: Limits<'a>,
    end: Instant,
    /// Signals for the ranks that have come meanwhile.
    for_ranks: Vec<Signal>,
    buffer: Vec<u8>,
}

/// The owner of a descriptor in the poll set.
#[derive(Clone, Copy, Debug)]
enum StartupPollSource {
    Signals,
    Control(usize),
    StandardError(usize),
    Process(usize),
}

/// Turns a message into an answer, or returns it.
type Take<'a, T> = &'a dyn Fn(FromManager) -> Result<T, FromManager>;

impl<'a> Startup<'a> {
    pub(super) fn new(hosts: &'a Hosts, placement: &'a Placement, limits: Limits<'a>) -> Self {
        Self {
            hosts,
            placement,
            limits,
            end: Instant::now() + PATIENCE,
            for_ranks: Vec::new(),
            buffer: vec![0; 1 << 16],
        }
    }

    /// Waits for the answers of all node managers, as `take` finds them among their messages.
    pub(super) fn answers<T>(
        &mut self,
        managers: &mut [ManagerHandle],
        take: Take<'_, T>,
    ) -> anyhow::Result<Vec<T>> {
        self.all(managers, |manager| {
            let name = manager.name(false);
            loop {
                let frame = manager.reader.frame();
                match frame.with_context(|| format!("{name}: what it says makes no sense"))? {
                    Some(Frame::Message(FromManager::ManagerFailed { message })) => {
                        anyhow::bail!("{name} failed: {message}")
                    }
                    Some(Frame::Message(message)) => match take(message) {
                        Ok(answer) => return Ok(Some(answer)),
                        Err(other) => anyhow::bail!("{name} says {other:?} before it is started"),
                    },
                    Some(Frame::Output { .. }) => (),
                    None => return Ok(None),
                }
            }
        })
    }

    /// Waits until `find` has found something in the messages of each node manager. It is called
    /// again whenever one has sent more.
    pub(super) fn all<T>(
        &mut self,
        managers: &mut [ManagerHandle],
        mut find: impl FnMut(&mut ManagerHandle) -> anyhow::Result<Option<T>>,
    ) -> anyhow::Result<Vec<T>> {
        let mut found: Vec<Option<T>> = managers.iter().map(|_| None).collect();
        loop {
            for (manager, found) in managers.iter_mut().zip(&mut found) {
                if found.is_none() {
                    *found = find(manager)?;
                }
            }
            let missing: Vec<bool> = found.iter().map(Option::is_none).collect();
            if !missing.contains(&true) {
                return Ok(found.into_iter().flatten().collect());
            }
            if let Some(gone) = self.wait(managers, &missing)? {
                // All its messages have been read.
                match find(&mut managers[gone])? {
                    Some(answer) => found[gone] = Some(answer),
                    None => return Err(self.not_started(managers, gone)),
                }
            }
        }
    }

    /// Waits until something has come from one that is missing, and reads it. Returns one that
    /// sends nothing any more.
    fn wait(
        &mut self,
        managers: &mut [ManagerHandle],
        missing: &[bool],
    ) -> anyhow::Result<Option<usize>> {
        let is_missing = |index: &usize| missing[*index];
        let absent = (0..managers.len()).filter(is_missing);
        if let Some(index) = absent.clone().find(|&index| managers[index].is_gone()) {
            return Ok(Some(index));
        }
        // The link of one that has answered may lead to one that has not.
        let leads = |index: usize| managers[index].below(index).any(|below| missing[below]);
        let heard: Vec<usize> = (0..managers.len())
            .filter(|&index| missing[index] || leads(index))
            .collect();
        let (left, limit) = self.time_left(managers, missing)?;
        let mut fds = Vec::with_capacity(1 + 3 * managers.len());
        let mut watched = Vec::with_capacity(fds.capacity());
        let mut watch = |fd, what| {
            fds.push(fd);
            watched.push(what);
        };
        let signals = PollFd::from_borrowed_fd(self.limits.signals.fd(), PollFlags::IN);
        watch(signals, StartupPollSource::Signals);
        for index in heard {
            let manager = &managers[index];
            if let Some(control) = &manager.control {
                let mut flags = PollFlags::IN;
                flags.set(PollFlags::OUT, manager.writer.waiting() > 0);
                watch(
                    PollFd::new(control, flags),
                    StartupPollSource::Control(index),
                );
            }
            if let Some(fd) = manager.standard_error.as_ref().and_then(|it| it.fd()) {
                let fd = PollFd::from_borrowed_fd(fd, PollFlags::IN);
                watch(fd, StartupPollSource::StandardError(index));
            }
            if let Some(pidfd) = &manager.pidfd {
                watch(
                    PollFd::new(pidfd, PollFlags::IN),
                    StartupPollSource::Process(index),
                );
            }
        }
        match poll(&mut fds, Some(&left)) {
            Ok(_) | Err(Errno::INTR) => (),
            Err(errno) => anyhow::bail!("failed to wait for {limit}: {errno}"),
        }
        let ready = fds.iter().zip(watched);
        let ready = ready.filter(|(fd, _)| !fd.revents().is_empty());
        let ready: Vec<StartupPollSource> = ready.map(|(_, what)| what).collect();
        let mut gone = None;
        for what in ready {
            match what {
                StartupPollSource::Signals => self.signalled()?,
                StartupPollSource::Control(index) => {
                    managers[index].send();
                    let _later = self.hear(managers, index)?;
                }
                StartupPollSource::StandardError(index) => {
                    let _later = self.hear(managers, index)?;
                }
                StartupPollSource::Process(index) => {
                    while self.hear(managers, index)? {}
                    // Without it, those below it are not heard any more.
                    let mut lost = (index..index + 1).chain(managers[index].below(index));
                    gone = lost.find(|&lost| missing[lost]);
                }
            }
        }
        Ok(gone)
    }

    /// Returns the time that is left, or the error that names the missing node managers.
    fn time_left(
        &self,
        managers: &[ManagerHandle],
        missing: &[bool],
    ) -> anyhow::Result<(Timespec, String)> {
        let names = managers
            .iter()
            .zip(missing)
            .filter(|(_, missing)| **missing);
        let names: Vec<String> = names.map(|(manager, _)| manager.name(false)).collect();
        let mut who = names[..names.len().min(NAMED)].join(", ");
        if names.len() > NAMED {
            who.push_str(&format!(" and {} others", names.len() - NAMED));
        }
        let (now, ranks) = (Instant::now(), self.placement.ranks());
        let timeout = self.limits.timeout;
        if let Some((_, limit)) = timeout.filter(|(end, _)| *end <= now) {
            let has = if names.len() == 1 { "has" } else { "have" };
            return Err(anyhow::Error::new(StartInterruption::TimedOut {
                limit: limit.clone(),
                missing: format!("{who} {has} not answered"),
                ranks,
            }));
        }
        if self.end <= now {
            let launcher = self.hosts.launcher.join(" ");
            let seconds = PATIENCE.as_secs();
            let said: Vec<String> = managers
                .iter()
                .zip(missing)
                .filter(|(_, missing)| **missing)
                .flat_map(|(manager, _)| last_words(manager))
                .take(1)
                .collect();
            let said = said
                .first()
                .map_or(String::new(), |said| format!(": {said}"));
            anyhow::bail!(
                "no answer for {seconds} s from {who}{said}; does `{launcher}` start a program there?"
            );
        }
        let end = timeout.map_or(self.end, |(end, _)| self.end.min(*end));
        let left = Timespec::try_from(end.saturating_duration_since(now));
        Ok((left.expect("at most PATIENCE"), who))
    }

    fn signalled(&mut self) -> anyhow::Result<()> {
        while let Some(signal) = self.limits.signals.next() {
            match signal {
                libc::SIGUSR1 => self.for_ranks.push(Signal::USR1),
                libc::SIGUSR2 => self.for_ranks.push(Signal::USR2),
                _ => {
                    let ranks = self.placement.ranks();
                    return Err(anyhow::Error::new(StartInterruption::Signal {
                        signal,
                        ranks,
                    }));
                }
            }
        }
        Ok(())
    }

    /// Ends the wait, as all have answered. Signals for the ranks wait for them in the kernel, like
    /// those that come from here on.
    pub(super) fn end(self) {
        let own = rustix::process::getpid();
        for signal in self.for_ranks {
            let _cannot_fail = rustix::process::kill_process(own, signal);
        }
    }

    /// Reads what comes over the link of a node manager, and from its command. Returns whether
    /// there may be more.
    fn hear(&mut self, managers: &mut [ManagerHandle], index: usize) -> anyhow::Result<bool> {
        let manager = &mut managers[index];
        if let Some(words) = &mut manager.standard_error {
            words.read(&mut self.buffer);
        }
        let more = matches!(
            manager.receive(&mut self.buffer),
            Ok(FrameReadOutcome::Bytes)
        );
        let name = manager.name(false);
        // The readers and states of those below it have the news.
        let _news = hand_out(managers, index)
            .with_context(|| format!("{name}: what it sends makes no sense"))?;
        Ok(more)
    }

    /// Returns the reason why a node manager has ended, or was not started at all.
    fn not_started(&mut self, managers: &mut [ManagerHandle], index: usize) -> anyhow::Error {
        let status = managers[index].pidfd.as_ref().and_then(exit_of);
        while self.hear(managers, index).unwrap_or(false) {}
        let manager = &managers[index];
        let name = manager.name(false);
        let mut end = AgentEnd {
            signal: status.as_ref().and_then(WaitIdStatus::terminating_signal),
            code: status.as_ref().and_then(WaitIdStatus::exit_status),
        };
        let mut from = String::new();
        if let Route::Below(below) = &manager.route {
            let starter = managers[below.parent].name(false);
            match &below.fate {
                Some(Ok(known)) => end = *known,
                Some(Err(why)) => {
                    return anyhow::anyhow!(
                        "failed to start {name} from {starter}: {why}: {}",
                        from_here(self.hosts.names.is_some())
                    );
                }
                None => {
                    let what = format!("{starter}, which leads to {name}, ended");
                    return anyhow::anyhow!(job_ended(&what, self.placement.ranks()));
                }
            }
            from = format!(" from {starter}");
        }
        let AgentEnd { signal, code } = end;
        let Some(host) = &manager.host else {
            let how = match signal {
                Some(signal) => format!("was killed by {}", signals::describe(signal)),
                None => "ended before it was joined to the others".to_owned(),
            };
            let what = format!("{name} (pid {}) {how}", manager.process());
            return anyhow::anyhow!(job_ended(&what, self.placement.ranks()));
        };
        let command = &self.hosts.launcher[0];
        let how = match (signal, code) {
            (Some(signal), _) => format!("{command} was killed by {}", signals::describe(signal)),
            (None, Some(code)) => format!("{command} exited with code {code}"),
            (None, None) => format!("{command} has closed its standard output"),
        };
        let words = last_words(manager);
        let advice = Attempt {
            launcher: &self.hosts.launcher,
            host,
            bcs: &this_program(),
            code,
            words: &words,
        };
        let advice = advice.advice();
        let said = match words.is_empty() {
            true => String::new(),
            false => format!(": {}", words.join("; ")),
        };
        if !from.is_empty() {
            let here = from_here(true);
            return anyhow::anyhow!(
                "failed to start {name}{from}: {how}{said}: {advice}, or {here}"
            );
        }
        anyhow::anyhow!("failed to start {name}: {how}{said}: {advice}")
    }
}

/// Returns the advice about a node manager that another one could not start.
fn from_here(has_hosts: bool) -> &'static str {
    match has_hosts {
        true => {
            "let hosts log in to each other without a password, or start all from here with a --launch-degree \
             that is no less than the number of node managers"
        }
        false => "see ulimit -u, and pids.max of the control group (of the container)",
    }
}

/// Returns the last words of a node manager's command, or else its output that is no message of a
/// node manager.
fn last_words(manager: &ManagerHandle) -> Vec<String> {
    let said = manager.standard_error.as_ref().map(|it| it.lines());
    let mut said = said.unwrap_or_default();
    if said.is_empty() {
        said = lines(manager.reader.rest());
    }
    said.split_off(said.len().saturating_sub(LAST_WORDS))
}

/// Returns how a process has ended whose output is at its end. It is not reaped.
fn exit_of(pidfd: &OwnedFd) -> Option<WaitIdStatus> {
    let soon = Timespec::try_from(EXIT_PATIENCE).ok()?;
    poll(&mut [PollFd::new(pidfd, PollFlags::IN)], Some(&soon)).ok()?;
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    waitid(WaitId::PidFd(pidfd.as_fd()), look).ok()?
}
