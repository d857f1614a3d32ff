//! `bcs kill`: ends a job, and waits until it is gone.

use super::live_errors::no_job;
use crate::cli::KillArgs;
use crate::exit_code;
use crate::live::client::{JobConnection, JobQueryError};
use crate::live::jobs;
use crate::live::name::JobName;
use crate::standard_output::print;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::os::fd::OwnedFd;
use std::process::ExitCode;

pub(super) fn run(arguments: &KillArgs) -> ExitCode {
    let name = match jobs::find(Some(&arguments.job)) {
        Ok(name) => name,
        Err(error) => return no_job(&error),
    };
    match end(&name, arguments.now) {
        // It has ended by itself, which is as good.
        Ok(()) | Err(Errno::SRCH) => {
            print(format_args!("job {} has ended", name.id));
            ExitCode::SUCCESS
        }
        Err(errno) => {
            eprintln!("bcs: failed to end job {name}: {errno}");
            ExitCode::from(exit_code::RUNTIME)
        }
    }
}

/// Signals `bcs run`, which does the rest: it can end a job in whatever state its processes are. It
/// need not answer us for that.
fn end(name: &JobName, now: bool) -> Result<(), Errno> {
    let process = process(name)?;
    pidfd_send_signal(&process, Signal::TERM)?;
    if now {
        // The second signal kills.
        pidfd_send_signal(&process, Signal::INT)?;
    }
    // A stopped process takes its signals only when it continues.
    pidfd_send_signal(&process, Signal::CONT)?;
    let mut fds = [PollFd::new(&process, PollFlags::IN)];
    while poll(&mut fds, None) == Err(Errno::INTR) {}
    Ok(())
}

/// Returns the process of the job's `bcs run`, and no other one that has got its id since.
fn process(name: &JobName) -> Result<OwnedFd, Errno> {
    let call = JobConnection::connect(name);
    let process = pidfd_open(
        Pid::from_raw(name.pid).ok_or(Errno::SRCH)?,
        PidfdFlags::empty(),
    )?;
    let is_it = match call {
        // The listener is alive, so the process is the right one.
        Ok(call) => call.is_connected(),
        // The queue of clients is full, so it accepts no more. It was alive a moment ago.
        Err(JobQueryError::Silent(_)) => true,
        Err(_) => false,
    };
    if is_it { Ok(process) } else { Err(Errno::SRCH) }
}
