//! What goes wrong with a network, and why.

use std::io;

use thiserror::Error;

/// Something that was to be done to a network was not.
#[derive(Debug, Error)]
pub enum NetworkError {
    /// A program is not here.
    #[error("failed to start {program} (Debian's package {package}): {source}")]
    Absent {
        /// Its name.
        program: &'static str,
        /// What it comes with.
        package: &'static str,
        /// Why it did not start.
        source: io::Error,
    },
    /// A program that is part of this project is not built.
    #[error("{0} was not built: run `cargo build -p test-network` or `cargo test --workspace`")]
    NotBuilt(String),
    /// A command did not do what it was to do.
    #[error("`{command}` failed: {said}")]
    Refused {
        /// Its words, and its input if it had any.
        command: String,
        /// What it said.
        said: String,
    },
    /// There is no such thing as faults of a bridge.
    #[error(
        "the hosts are joined by a bridge, which has no faults: make the network with Joined::Lossy"
    )]
    Bridge,
    /// The switch does not answer.
    #[error(
        "the lossy switch has ended, or says what no switch says (its reason is on standard error): {0}"
    )]
    Switch(String),
    /// Something else of the system's.
    #[error("failed to {what}: {source}")]
    System {
        /// What was tried.
        what: String,
        /// Why it was not done.
        source: io::Error,
    },
}

/// Hosts cannot be made here.
#[derive(Debug, Error)]
#[error("hosts cannot be made here, which takes root with CAP_SYS_ADMIN and CAP_NET_ADMIN: {0}")]
pub struct NetworkUnavailable(#[from] pub NetworkError);
