//! Errors that stop a node manager which can still send messages.

use crate::control::FrameError;
use crate::handshake::HandshakeError;
use crate::nic::NicError;
use crate::shortage::advice;
use bcs_core::memory::MapError;
use rustix::io::Errno;

/// An error that stops a node manager which can still send messages.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AgentError {
    #[error("{0}: {1}{advice}", advice = advice(*.1))]
    Kernel(&'static str, Errno),
    #[error("invalid frame from the launcher: {0}")]
    Frame(#[from] FrameError),
    #[error(transparent)]
    Nic(#[from] NicError),
    #[error(transparent)]
    Meeting(#[from] HandshakeError),
    #[error(transparent)]
    Adoption(#[from] AdoptionError),
    #[error("failed to start the relay of its launch tree: {0}")]
    Relay(std::io::Error),
    #[error("a rank cannot record (--mds): {0}")]
    Recorder(MapError),
}

/// Adds the name of a failing call to its error.
pub(crate) fn kernel(what: &'static str) -> impl FnOnce(Errno) -> AgentError {
    move |errno| AgentError::Kernel(what, errno)
}

/// Ranks cannot be adopted.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AdoptionError {
    #[error("rank {rank} has not come within {seconds} s, though its launcher has started it")]
    Missing { rank: u32, seconds: u64 },
    #[error("a rank has ended before all ranks of its node had come")]
    Ended,
    #[error("bcs run is gone")]
    Alone,
}
