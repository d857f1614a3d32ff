//! The process that a launcher's command starts on another host. It starts the node manager, and
//! outlives it.
//!
//! A node manager that is killed takes its ranks with it, and their children become orphans. On the
//! launcher's machine `bcs run` adopts them, as a subreaper; on another host the supervisor does.
//! The node manager in turn watches the supervisor ([`lost_launcher`](crate::lost_launcher)). So
//! whichever of the two is killed, no process is left.

use crate::control::FAR_RANK_LISTENER_FD;
use crate::job_memory;
use crate::limits::IMMORTAL_PATIENCE;
use crate::reaper;
use crate::roles::{ADOPTING, FAR_ROLE, by_hand};
use crate::spawn::{Image, Setup, SpawnError, SpawnedProcess, Spawner};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Signal, WaitId, WaitIdOptions, WaitIdStatus, waitid};
use std::os::fd::{AsFd as _, OwnedFd};
use std::process::ExitCode;

/// Starts a node manager that gets all its data from our standard input, and ends all that is left
/// after it. Exits as the node manager does.
pub(crate) fn supervise(adopts: bool) -> ExitCode {
    if let Err(error) = reaper::find_proc() {
        return by_hand(&error.to_string());
    }
    // If the launcher's end kills the command that starts us, we must not be killed with it.
    let spared = rustix::process::set_parent_process_death_signal(None);
    if let Err(errno) = spared.and_then(|()| reaper::adopt_orphans()) {
        return by_hand(&format!("failed to become a subreaper: {errno}"));
    }
    let SpawnedProcess { pidfd, .. } = match start(adopts) {
        Ok(child) => child,
        Err(error) => return by_hand(&format!("failed to start a node manager: {error}")),
    };
    let status = wait_for(&pidfd);
    // Leave the processes that we may not kill.
    let _immortal = reaper::end_descendants(&[], IMMORTAL_PATIENCE);
    let Some(status) = status else {
        return ExitCode::FAILURE;
    };
    if let Some(signal) = status.terminating_signal().and_then(Signal::from_named_raw) {
        let _ends_here = rustix::process::kill_process(rustix::process::getpid(), signal);
    }
    let code = status
        .exit_status()
        .and_then(|code| u8::try_from(code).ok());
    code.map_or(ExitCode::FAILURE, ExitCode::from)
}

fn start(adopts: bool) -> Result<SpawnedProcess, SpawnError> {
    let own = rustix::process::getpid().as_raw_nonzero().to_string();
    let mut arguments = vec!["bcs", FAR_ROLE, &own];
    let no_listener = |errno| SpawnError {
        step: "there is no socket for its ranks",
        errno,
    };
    let rank_listener = match adopts {
        true => Some(job_memory::take(FAR_RANK_LISTENER_FD).map_err(no_listener)?),
        false => None,
    };
    arguments.extend(adopts.then_some(ADOPTING));
    let image = Image::new("/proc/self/exe".as_ref(), &arguments, [], None)?;
    let inherited: Vec<_> = rank_listener
        .iter()
        .map(|rank_listener| rank_listener.as_fd())
        .collect();
    let (input, output) = (rustix::stdio::stdin(), rustix::stdio::stdout());
    let setup = Setup {
        standard: [input, output, rustix::stdio::stderr()],
        inherited: &inherited,
        dies_with_parent: false,
        open_files: None,
        cores: &[],
        variables: &[],
    };
    let child = Spawner::default().spawn(&image, &setup)?;
    // The node manager takes our standard streams.
    let failed = |errno| SpawnError {
        step: "failed to let go of the standard streams",
        errno,
    };
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    let null = rustix::fs::open("/dev/null", flags, Mode::empty()).map_err(failed)?;
    rustix::stdio::dup2_stdin(&null).map_err(failed)?;
    rustix::stdio::dup2_stdout(&null).map_err(failed)?;
    Ok(child)
}

fn wait_for(pidfd: &OwnedFd) -> Option<WaitIdStatus> {
    loop {
        match waitid(WaitId::PidFd(pidfd.as_fd()), WaitIdOptions::EXITED) {
            Err(Errno::INTR) => (),
            ended => return ended.ok().flatten(),
        }
    }
}
