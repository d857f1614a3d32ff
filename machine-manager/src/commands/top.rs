//! `bcs mds top`: shows again and again what a running job does.

use super::live_errors::{no_answer, no_job};
use crate::cli::TopArgs;
use crate::exit_code;
use crate::live::client::{JobQueryError, ask};
use crate::live::jobs;
use crate::live::name::JobName;
use crate::live::question::Question;
use crate::live::snapshot::JobSnapshot;
use crate::live::top::TopFigures;
use crate::live::top::screen::{Screen, ScreenEvent};
use crate::standard_output::print;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use source_lines::SourceLines;
use std::cell::RefCell;
use std::io::{self, IsTerminal as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::process::ExitCode;
use std::time::Instant;

pub(super) fn run(arguments: &TopArgs) -> ExitCode {
    let name = match jobs::find(arguments.job.as_deref()) {
        Ok(name) => name,
        Err(error) => return no_job(&error),
    };
    let process = Pid::from_raw(name.pid).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
    let Some(process) = process else {
        return no_answer(&JobQueryError::Ended(name));
    };
    let is_seen = io::stdin().is_terminal() && io::stdout().is_terminal();
    let watch = TopSession {
        name,
        process,
        arguments,
        source: RefCell::default(),
    };
    let watched = if is_seen { watch.live() } else { watch.plain() };
    match watched {
        Ok(TopEnd::Shown) => ExitCode::SUCCESS,
        Ok(TopEnd::Signal(signal)) => ExitCode::from(exit_code::for_signal(signal)),
        Ok(TopEnd::NoAnswer(error)) => no_answer(&error),
        Err(error) => {
            eprintln!("bcs: failed to show job {}: {error}", watch.name);
            ExitCode::from(exit_code::RUNTIME)
        }
    }
}

struct TopSession<'a> {
    name: JobName,
    /// The job's `bcs run`.
    process: OwnedFd,
    arguments: &'a TopArgs,
    source: RefCell<SourceLines>,
}

/// How it ended.
enum TopEnd {
    /// All was shown, the user has left, or the job has ended.
    Shown,
    Signal(i32),
    NoAnswer(JobQueryError),
}

impl TopSession<'_> {
    /// Prints a table at each interval.
    fn plain(&self) -> io::Result<TopEnd> {
        let mut before = None;
        for look in 1.. {
            let now = match self.look() {
                Ok(now) => now,
                Err(JobQueryError::Ended(_)) if look > 1 => break,
                Err(error) => return Ok(TopEnd::NoAnswer(error)),
            };
            let next = Instant::now() + self.arguments.interval;
            let figures = TopFigures::between(before.as_ref(), &now);
            let is_read = print(figures.plain());
            if !is_read || self.arguments.count == Some(look) {
                return Ok(TopEnd::Shown);
            }
            before = Some(now);
            if self.ends_before(next) {
                break;
            }
        }
        print(self.last_words());
        Ok(TopEnd::Shown)
    }

    /// Shows a view on the terminal.
    fn live(&self) -> io::Result<TopEnd> {
        let mut before = None;
        // Query before opening the screen, so that an error appears on the terminal as it was.
        let mut now = match self.look() {
            Ok(now) => now,
            Err(error) => return Ok(TopEnd::NoAnswer(error)),
        };
        let mut screen = Screen::open()?;
        for look in 1.. {
            let next = Instant::now() + self.arguments.interval;
            let figures = TopFigures::between(before.as_ref(), &now);
            match screen.show(&figures, self.process.as_fd(), next)? {
                ScreenEvent::Time if self.arguments.count == Some(look) => {
                    return Ok(TopEnd::Shown);
                }
                ScreenEvent::Time => {}
                ScreenEvent::Left => return Ok(TopEnd::Shown),
                ScreenEvent::Signal(signal) => return Ok(TopEnd::Signal(signal)),
                ScreenEvent::Gone => break,
            }
            match self.look() {
                Ok(later) => before = Some(std::mem::replace(&mut now, later)),
                Err(JobQueryError::Ended(_)) => break,
                Err(error) => return Ok(TopEnd::NoAnswer(error)),
            }
        }
        drop(screen);
        print(self.last_words());
        Ok(TopEnd::Shown)
    }

    fn look(&self) -> Result<JobSnapshot, JobQueryError> {
        let source = &mut self.source.borrow_mut();
        ask(&self.name, Question::State).map(|answered| JobSnapshot::of(answered, source))
    }

    /// Waits until this time. Returns whether the job has ended before.
    fn ends_before(&self, next: Instant) -> bool {
        loop {
            let left = next.saturating_duration_since(Instant::now());
            let left = Timespec::try_from(left).unwrap_or_default();
            let mut fds = [PollFd::new(&self.process, PollFlags::IN)];
            match poll(&mut fds, Some(&left)) {
                Ok(0) => return false,
                Ok(_) => return true,
                Err(_) => {}
            }
        }
    }

    fn last_words(&self) -> String {
        format!("job {} has ended", self.name.id)
    }
}
