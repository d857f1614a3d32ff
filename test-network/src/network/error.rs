//! The errors of a network, with their causes.

use std::io;

use thiserror::Error;

/// An operation on a network failed.
#[derive(Debug, Error)]
pub enum NetworkError {
    /// A program is not installed.
    #[error("failed to start {program} (Debian's package {package}): {source}")]
    Absent {
        /// Its name.
        program: &'static str,
        /// The package that contains it.
        package: &'static str,
        /// The reason why it did not start.
        source: io::Error,
    },
    /// A program that is part of this project is not built.
    #[error("{0} was not built: run `cargo build -p test-network` or `cargo test --workspace`")]
    NotBuilt(String),
    /// A command failed.
    #[error("`{command}` failed: {said}")]
    Refused {
        /// Its words, and its input if it had any.
        command: String,
        /// Its error output.
        said: String,
    },
    /// A bridge has no faults.
    #[error(
        "the hosts are joined by a bridge, which has no faults: make the network with Joined::Lossy"
    )]
    Bridge,
    /// The switch does not answer.
    #[error(
        "the lossy switch has ended, or says what no switch says (its reason is on standard error): {0}"
    )]
    Switch(String),
    /// Another operation of the system failed.
    #[error("failed to {what}: {source}")]
    System {
        /// The operation.
        what: String,
        /// The reason.
        source: io::Error,
    },
}

/// Hosts cannot be made here.
#[derive(Debug, Error)]
#[error("hosts cannot be made here, which takes root with CAP_SYS_ADMIN and CAP_NET_ADMIN: {0}")]
pub struct NetworkUnavailable(#[from] pub NetworkError);
