//! `bcs mds top`: what a running job does, again and again.

use crate::cli::TopArgs;
use crate::exit_code;
use crate::live::call::{CallError, ask};
use crate::live::jobs;
use crate::live::moment::Moment;
use crate::live::name::JobName;
use crate::live::question::Question;
use crate::live::top::Figures;
use crate::live::top::screen::{Screen, Woken};
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
        Err(error) => return super::no_job(&error),
    };
    let process = Pid::from_raw(name.pid).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
    let Some(process) = process else {
        return super::no_answer(&CallError::Ended(name));
    };
    let is_seen = io::stdin().is_terminal() && io::stdout().is_terminal();
    let watch = Watch {
        name,
        process,
        arguments,
        source: RefCell::default(),
    };
    let watched = if is_seen { watch.live() } else { watch.plain() };
    match watched {
        Ok(Over::Shown) => ExitCode::SUCCESS,
        Ok(Over::Signal(signal)) => ExitCode::from(exit_code::for_signal(signal)),
        Ok(Over::NoAnswer(error)) => super::no_answer(&error),
        Err(error) => {
            eprintln!("bcs: failed to show job {}: {error}", watch.name);
            ExitCode::from(exit_code::RUNTIME)
        }
    }
}

struct Watch<'a> {
    name: JobName,
    /// Its `bcs run`.
    process: OwnedFd,
    arguments: &'a TopArgs,
    source: RefCell<SourceLines>,
}

/// How it ended.
enum Over {
    /// All was shown, or nobody wants to see more, or the job has ended.
    Shown,
    Signal(i32),
    NoAnswer(CallError),
}

impl Watch<'_> {
    /// A table at each look.
    fn plain(&self) -> io::Result<Over> {
        let mut before = None;
        for look in 1.. {
            let now = match self.look() {
                Ok(now) => now,
                Err(CallError::Ended(_)) if look > 1 => break,
                Err(error) => return Ok(Over::NoAnswer(error)),
            };
            let next = Instant::now() + self.arguments.interval;
            let figures = Figures::between(before.as_ref(), &now);
            let is_read = print(figures.plain());
            if !is_read || self.arguments.count == Some(look) {
                return Ok(Over::Shown);
            }
            before = Some(now);
            if self.ends_before(next) {
                break;
            }
        }
        print(self.last_words());
        Ok(Over::Shown)
    }

    /// A view on the terminal.
    fn live(&self) -> io::Result<Over> {
        let mut before = None;
        // Before the screen: what is wrong is said on the terminal as it was.
        let mut now = match self.look() {
            Ok(now) => now,
            Err(error) => return Ok(Over::NoAnswer(error)),
        };
        let mut screen = Screen::open()?;
        for look in 1.. {
            let next = Instant::now() + self.arguments.interval;
            let figures = Figures::between(before.as_ref(), &now);
            match screen.show(&figures, self.process.as_fd(), next)? {
                Woken::Time if self.arguments.count == Some(look) => return Ok(Over::Shown),
                Woken::Time => {}
                Woken::Left => return Ok(Over::Shown),
                Woken::Signal(signal) => return Ok(Over::Signal(signal)),
                Woken::Gone => break,
            }
            match self.look() {
                Ok(later) => before = Some(std::mem::replace(&mut now, later)),
                Err(CallError::Ended(_)) => break,
                Err(error) => return Ok(Over::NoAnswer(error)),
            }
        }
        drop(screen);
        print(self.last_words());
        Ok(Over::Shown)
    }

    fn look(&self) -> Result<Moment, CallError> {
        let source = &mut self.source.borrow_mut();
        ask(&self.name, Question::State).map(|answered| Moment::of(answered, source))
    }

    /// Waits; returns whether the job has ended before that.
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
