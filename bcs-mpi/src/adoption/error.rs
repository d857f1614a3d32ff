//! Why a job cannot be formed.

use super::pmi_client::PmiError;
use rustix::io::Errno;

/// The variable with the path of the command.
pub(super) const COMMAND_VARIABLE: &str = "BCS_COMMAND";

/// Why the processes of another launcher cannot become a job.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AdoptionError {
    /// The other launcher does not answer as PMI-1 says.
    #[error("the launcher of this process speaks no PMI-1 that we understand: {0}; use bcs run")]
    Pmi(#[from] PmiError),
    /// There is no command.
    #[error(
        "there is no command bcs beside the library ({beside}) or in PATH: set {variable} to its path, or start the \
         program with bcs run",
        variable = COMMAND_VARIABLE
    )]
    NoCommand {
        /// Where it was looked for.
        beside: String,
    },
    /// The command cannot be started, or has failed at once.
    #[error("{command} could not start the job: {reason}")]
    Command {
        /// Its path.
        command: String,
        /// Why.
        reason: String,
    },
    /// Rank 0 has reported why.
    #[error("rank 0 could not start the job, and says why")]
    NotStarted,
    /// The variable with the most ranks on a node is no such number.
    #[error("{variable} is {value:?}: it has to be a number of ranks, 1 or more")]
    RanksPerNode {
        /// The variable.
        variable: &'static str,
        /// Its value.
        value: String,
    },
    /// The kernel refuses something.
    #[error("failed to {0}: {1}")]
    Kernel(&'static str, Errno),
    /// The process at the other end belongs to another user.
    #[error("the node manager of this node belongs to another user")]
    Stranger,
}

/// Adds the name of a failing call to its error.
pub(super) fn kernel(what: &'static str) -> impl FnOnce(Errno) -> AdoptionError {
    move |errno| AdoptionError::Kernel(what, errno)
}
