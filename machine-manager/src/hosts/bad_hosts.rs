//! Errors in the hosts of a job.

use crate::quantities::GivenQuantity;
use std::time::Duration;

/// An error in the hosts of a job.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadHosts {
    /// A name is empty, or there is a comma too many.
    #[error(
        "--hosts {0} names a host without a name, slots that are no number from 1, or a range that is \
         none: give names between commas, as in a,b or a:4,b:2 or n[01-16]"
    )]
    NoName(String),
    /// A word of the launcher has an unclosed quote.
    #[error("--launcher {0} cannot be taken apart into words: a quote is not closed")]
    Words(String),
    /// There is no such program.
    #[error("--launcher: {0}")]
    Launcher(String),
    /// The time for a node is too short.
    #[error("--node-timeout {0} is out of range: choose one from 100ms")]
    TooShort(GivenQuantity<Duration>),
}
