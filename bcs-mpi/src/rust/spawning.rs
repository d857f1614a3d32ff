//! Processes that processes start (MPI 5.0, 11.8).

use super::communicator::Communicator;
use super::intercommunicator::Intercommunicator;
use super::matching::as_rank;
use super::universe::Universe;
use crate::mpi::{self, Info, Result, SpawnOutcome};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;

/// A program to start as ranks.
///
/// ```no_run
/// # fn main() -> bcs_mpi::Result<()> {
/// use bcs_mpi::{SpawnedProgram, Universe};
///
/// let universe = Universe::init()?;
/// let workers = SpawnedProgram::new("./worker", 4).argument("--fast");
/// let workers = universe.world().spawn(&[workers], 0)?;
/// workers.barrier()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpawnedProgram {
    name: OsString,
    arguments: Vec<OsString>,
    ranks: usize,
    directory: Option<String>,
}

impl SpawnedProgram {
    /// Names a program, of which there are to be this many ranks. A name without a slash is
    /// searched for in `PATH`.
    #[must_use]
    pub fn new(name: impl AsRef<OsStr>, ranks: usize) -> Self {
        Self {
            name: name.as_ref().to_owned(),
            arguments: Vec::new(),
            ranks,
            directory: None,
        }
    }

    /// Adds an argument.
    #[must_use]
    pub fn argument(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.arguments.push(argument.as_ref().to_owned());
        self
    }

    /// Runs it in a directory, instead of in that of the root. The hint `wdir` is text, so the name
    /// is, too.
    #[must_use]
    pub fn directory(mut self, directory: impl Into<String>) -> Self {
        self.directory = Some(directory.into());
        self
    }

    fn command(&self) -> Result<mpi::Command<'_>> {
        let info = Info::new();
        if let Some(directory) = &self.directory {
            info.set("wdir", directory)?;
        }
        let arguments = self.arguments.iter();
        Ok(mpi::Command {
            program: self.name.as_bytes(),
            arguments: arguments.map(|argument| argument.as_bytes()).collect(),
            ranks: as_rank(self.ranks),
            info,
        })
    }
}

impl Communicator {
    /// Starts ranks that run these programs, of which only the root's count. All ranks of this
    /// communicator call it. The world of the new ranks consists of them alone. (`MPI_Comm_spawn`,
    /// `MPI_Comm_spawn_multiple`)
    ///
    /// # Errors
    /// When there is no launcher, the job has not enough places (`bcs run --universe-size`), or a
    /// program cannot be started.
    #[track_caller]
    pub fn spawn(&self, programs: &[SpawnedProgram], root: usize) -> Result<Intercommunicator> {
        let commands = programs.iter().map(SpawnedProgram::command);
        let commands = commands.collect::<Result<Vec<_>>>()?;
        let SpawnOutcome { comm, .. } =
            self.untyped()
                .spawn("MPI_Comm_spawn_multiple", &commands, as_rank(root));
        comm.map(Intercommunicator::over)
    }
}

impl Universe {
    /// Returns the communicator with the ranks that have started this one, if it was started by
    /// ranks. (`MPI_Comm_get_parent`)
    #[must_use]
    pub fn parent(&self) -> Option<Intercommunicator> {
        self.process().parent().map(Intercommunicator::over)
    }
}
