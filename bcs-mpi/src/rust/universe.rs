//! The beginning and the end.

use super::communicator::Communicator;
use crate::forked;
use crate::mpi::process::claim_process;
use crate::mpi::{Process, Result, ThreadLevel};
use std::sync::Arc;

/// This process's part in the job, from `MPI_Init` to `MPI_Finalize`.
///
/// Dropping it finalises, unless the thread panics: then the process ends without that, and its
/// node manager ends the job. In a forked child, which is not a rank, this and all other
/// destructors do nothing, and calls are errors.
#[derive(Debug)]
pub struct Universe {
    process: Arc<Process>,
    world: Communicator,
}

impl Universe {
    /// Takes this process's place in the job that `bcs run` started, or, without a launcher, in a
    /// world of one. (`MPI_Init`)
    ///
    /// # Errors
    /// When it was called before, or the node manager does not accept this process.
    pub fn init() -> Result<Self> {
        claim_process()?;
        Process::init().map(Self::over)
    }

    /// [`init`](Self::init) of a program whose threads use MPI only up to this level, which `bcs
    /// run` relies on: if only the calling thread calls MPI, other threads cannot resolve its
    /// deadlock. (`MPI_Init_thread`)
    ///
    /// # Errors
    /// As `init`.
    pub fn init_thread(level: ThreadLevel) -> Result<Self> {
        let universe = Self::init()?;
        universe.process.promise(level);
        Ok(universe)
    }

    pub(crate) fn over(process: Arc<Process>) -> Self {
        let world = Communicator(process.world());
        Self { process, world }
    }

    /// Returns all ranks of the job. (`MPI_COMM_WORLD`)
    #[must_use]
    pub fn world(&self) -> &Communicator {
        &self.world
    }

    /// Returns this rank of the untyped core.
    #[must_use]
    pub fn process(&self) -> &Arc<Process> {
        &self.process
    }

    /// Returns this rank alone. (`MPI_COMM_SELF`)
    #[must_use]
    pub fn itself(&self) -> Communicator {
        Communicator(self.process.itself())
    }

    /// Returns the node this rank is on, and the number of nodes.
    #[must_use]
    pub fn node(&self) -> (usize, usize) {
        (
            self.process.endpoint().place().node.index(),
            self.process.placement().nodes(),
        )
    }

    /// Lets buffered sends use this number of bytes. (`MPI_Buffer_attach`)
    ///
    /// # Errors
    /// When a buffer is attached already.
    pub fn attach_buffer(&self, bytes: usize) -> Result<()> {
        self.process.attach_buffer(bytes)
    }

    /// Waits until all buffered messages have been sent, and returns the size of the buffer.
    /// (`MPI_Buffer_detach`)
    ///
    /// # Errors
    /// When no buffer is attached.
    #[track_caller]
    pub fn detach_buffer(&self) -> Result<usize> {
        self.process.detach_buffer()
    }

    /// Level 0 stops the recording of this rank's calls, any other level resumes it, if its job
    /// records. (`MPI_Pcontrol`: [`Process::pcontrol`])
    pub fn pcontrol(&self, level: i32) {
        self.process.pcontrol(level);
    }

    /// Waits until this rank's sends have completed, and leaves the job. (`MPI_Finalize`)
    ///
    /// # Errors
    /// When a message could not be delivered.
    #[track_caller]
    pub fn finalize(self) -> Result<()> {
        self.process.finalize()
    }
}

impl Drop for Universe {
    fn drop(&mut self) {
        if std::thread::panicking() || forked::is_child() {
            return;
        }
        if let Err(error) = self.process.finalize() {
            eprintln!("{error}");
        }
    }
}
