//! An acceptance check.

use anyhow::Result;

use crate::verdict::CheckOutcome;
use crate::workspace::Workspace;

/// An acceptance check.
#[derive(Debug, Clone, Copy)]
pub struct Check {
    /// Its name on the command line.
    pub name: &'static str,
    /// The property that it checks, in one line.
    pub about: &'static str,
    /// Whether it measures wall or CPU time, and so needs an otherwise idle machine.
    pub about_time: bool,
    /// Whether it takes about a minute at most.
    pub quick: bool,
    /// Runs it. An error is a miss, unless it is a
    /// [`UnsuitableMachine`](crate::verdict::UnsuitableMachine).
    pub run: fn(&Workspace) -> Result<CheckOutcome>,
}
