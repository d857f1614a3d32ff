//! The process of a node manager: what it inherits, and what it reports if it cannot run.

use crate::agent::Agent;
use crate::control::{FAR_RANK_LISTENER_FD, FromManager, RANK_LISTENER_FD};
use crate::frames::greeting;
use crate::job_memory::{self, ControlChannel, SharedJobMemory};
use crate::launcher_link::LauncherLink;
use crate::limits::READ_BYTES;
use crate::lost_launcher;
use crate::roles::by_hand;
use crate::supervisor;
use bcs_core::job::handshake::MAX_MESSAGE_BYTES;
use std::io::{self, IsTerminal as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::process::ExitCode;

/// Runs a node manager process from start to end. `adopts` is whether another launcher has started
/// its ranks.
#[must_use]
pub fn run(adopts: bool) -> ExitCode {
    let taken = SharedJobMemory::take();
    let rank_listener = adopts
        .then(|| job_memory::take(RANK_LISTENER_FD))
        .transpose();
    match (taken, rank_listener) {
        (Ok((channel, inherited)), Ok(rank_listener)) => {
            live(channel, Some(inherited), rank_listener)
        }
        _ => by_hand("a node manager is started by `bcs run`, not by hand"),
    }
}

/// Runs a node manager of several machines, which gets all its data from its standard input.
/// `parent` is the id of the process that ends what it leaves. Without it, this process becomes
/// that parent, and starts a node manager.
#[must_use]
pub fn run_far(parent: Option<&str>, adopts: bool) -> ExitCode {
    if io::stdin().is_terminal() {
        return by_hand(
            "the standard input of a node manager is a terminal: `bcs run` starts it, by a command that \
             makes no terminal for it (ssh without -t)",
        );
    }
    let Some(parent) = parent else {
        return supervisor::supervise(adopts);
    };
    let rank_listener = adopts
        .then(|| job_memory::take(FAR_RANK_LISTENER_FD))
        .transpose();
    let (Ok(channel), Ok(rank_listener)) = (job_memory::take_standard(), rank_listener) else {
        return by_hand("a node manager is started by `bcs run`, not by hand");
    };
    if let Err(error) = lost_launcher::watch(channel.input.as_fd(), parent) {
        return by_hand(&format!(
            "a node manager cannot watch its launcher: {error}"
        ));
    }
    let greeted = rustix::io::write(&channel.output, greeting().as_bytes());
    match greeted {
        Ok(len) if len == greeting().len() => live(channel, None, rank_listener),
        _ => ExitCode::FAILURE,
    }
}

fn live(
    channel: ControlChannel,
    inherited: Option<SharedJobMemory>,
    rank_listener: Option<OwnedFd>,
) -> ExitCode {
    let mut agent = Agent {
        link: LauncherLink::new(channel),
        buffer: vec![0; READ_BYTES.max(MAX_MESSAGE_BYTES)],
        rank_listener,
    };
    let code = match agent.run(inherited) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Report it, and leave no process behind.
            agent.link.end_descendants();
            agent.link.writer.message(&FromManager::ManagerFailed {
                message: error.to_string(),
            });
            agent.link.send_all();
            ExitCode::FAILURE
        }
    };
    agent.link.close();
    code
}
