//! The beginning and the end.

use super::communicator::Communicator;
use crate::forked;
use crate::mpi::process::claim_process;
use crate::mpi::{Process, Result, ThreadLevel};
use std::sync::Arc;

/// This process's part in the job, from `MPI_Init` to `MPI_Finalize`.
///
/// Dropping it finalises, unless a panic is under way: then the process leaves without, and its
/// node manager ends the job. In a forked child, which is no rank, it does nothing, and neither does any
/// other destructor; calls are errors there.
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
    /// When it was called before, or the node manager does not receive this process.
    pub fn init() -> Result<Self> {
        claim_process()?;
        Process::init().map(Self::over)
    }

    /// [`init`](Self::init) of a program whose threads do only so much, for which `bcs run` takes its word: where only
    /// the calling thread calls MPI, others cannot help it out of a deadlock. (`MPI_Init_thread`)
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

    /// All ranks of the job. (`MPI_COMM_WORLD`)
    #[must_use]
    pub fn world(&self) -> &Communicator {
        &self.world
    }

    /// This rank as the untyped core knows it.
    #[must_use]
    pub fn process(&self) -> &Arc<Process> {
        &self.process
    }

    /// This rank alone. (`MPI_COMM_SELF`)
    #[must_use]
    pub fn itself(&self) -> Communicator {
        Communicator(self.process.itself())
    }

    /// The node this rank is on, and how many nodes there are.
    #[must_use]
    pub fn node(&self) -> (usize, usize) {
        (
            self.process.endpoint().place().node.index(),
            self.process.placement().nodes(),
        )
    }

    /// Lets buffered sends use so many bytes. (`MPI_Buffer_attach`)
    ///
    /// # Errors
    /// When a buffer is attached already.
    pub fn attach_buffer(&self, bytes: usize) -> Result<()> {
        self.process.attach_buffer(bytes)
    }

    /// Waits until all buffered messages have been sent, and gives the size of the buffer back.
    /// (`MPI_Buffer_detach`)
    ///
    /// # Errors
    /// When no buffer is attached.
    #[track_caller]
    pub fn detach_buffer(&self) -> Result<usize> {
        self.process.detach_buffer()
    }

    /// With level 0 calls of this rank are recorded no more, with any other they are again, if its job records.
    /// (`MPI_Pcontrol`: [`Process::pcontrol`])
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
