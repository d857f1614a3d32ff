//! Persistent sends and receives that own the data they send and receive.
//!
//! As with [collectives](super::persistent), the result of a start borrows the request, so the
//! program cannot read its memory while a message is in progress. If the result is forgotten
//! (`std::mem::forget`), the next access waits.
#![expect(unsafe_code, reason = "hands vectors to the untyped core by address")]

use super::communicator::Communicator;
use super::equivalence::{Equivalence, read, write};
use super::matching::{Destination, Source, Status, Tag};
use super::unchecked_memory::settled;
use crate::forked;
use crate::mpi::{self, Result};

/// A send that is started again and again (MPI 5.0, 3.9).
///
/// ```
/// # fn main() -> bcs_mpi::Result<()> {
/// # use bcs_mpi::{Source, Tag};
/// # let universe = bcs_mpi::Universe::init()?;
/// # let world = universe.world();
/// let (next, before) = ((world.rank() + 1) % world.size(), Source::Any);
/// let mut out = world.send_init(vec![0.0; 100], next, 3)?;
/// let mut into = world.recv_init(vec![0.0; 100], before, Tag::Is(3))?;
/// for step in 0..10 {
///     out.data().fill(f64::from(step));
///     let (receive, send) = (into.start()?, out.start()?);
///     // ... compute ...
///     assert_eq!(receive.wait()?.count::<f64>(), Some(100));
///     send.wait()?;
///     assert_eq!(into.data()[99], f64::from(step));
/// }
/// # Ok(())
/// # }
/// ```
///
/// Its data cannot be written while it is in progress:
///
/// ```compile_fail,E0499
/// # fn sends(world: &bcs_mpi::Communicator) -> bcs_mpi::Result<()> {
/// let mut out = world.send_init(vec![1.0], 0, 0)?;
/// let started = out.start()?;
/// out.data()[0] = 2.0; // `out` is borrowed
/// started.wait()
/// # }
/// ```
///
/// Dropping it waits for the message that it has started, for ever if no rank receives it.
#[derive(Debug)]
pub struct PersistentSend<T: Equivalence> {
    request: mpi::Persistent,
    data: Vec<T>,
}

/// A persistent send in progress. Dropping it waits for it.
#[derive(Debug)]
#[must_use = "dropping it waits for it at once"]
pub struct StartedSend<'a, T: Equivalence>(&'a mut PersistentSend<T>);

/// A receive that is started again and again (MPI 5.0, 3.9): see [`PersistentSend`].
///
/// Its data cannot be read while it is in progress:
///
/// ```compile_fail,E0499
/// # use bcs_mpi::{Source, Tag};
/// # fn receives(world: &bcs_mpi::Communicator) -> bcs_mpi::Result<()> {
/// let mut into = world.recv_init(vec![0.0], Source::Any, Tag::Any)?;
/// let started = into.start()?;
/// println!("{}", into.data()[0]); // `into` is borrowed
/// started.wait()?;
/// # Ok(())
/// # }
/// ```
///
/// Dropping it cancels the receive that it has started.
#[derive(Debug)]
pub struct PersistentReceive<T: Equivalence> {
    request: mpi::Persistent,
    data: Vec<T>,
}

/// A persistent receive in progress. Dropping it cancels it.
#[derive(Debug)]
#[must_use = "dropping it cancels it"]
pub struct StartedReceive<'a, T: Equivalence> {
    of: &'a mut PersistentReceive<T>,
    /// The status that a test returned.
    done: Option<Status>,
}

/// Defines the calls that make sends. They differ in when a send is done.
macro_rules! sends {
    ($($(#[doc = $text:literal])* $init:ident $name:literal)*) => {
        impl Communicator {
            $(
                $(#[doc = $text])*
                #[doc = concat!("(`", $name, "`)")]
                ///
                /// # Errors
                /// When an argument is wrong.
                #[track_caller]
                pub fn $init<T: Equivalence>(
                    &self,
                    data: Vec<T>,
                    to: impl Into<Destination>,
                    tag: i32,
                ) -> Result<PersistentSend<T>> {
                    // SAFETY: the vector is the request's own and stays where it is; every access
                    // waits first, and so does the drop.
                    let buffer = unsafe { read(&data) };
                    let request = self.untyped().$init(buffer, to.into().rank(), tag)?;
                    Ok(PersistentSend { request, data })
                }
            )*
        }
    };
}

sends! {
    /// Makes a send that is done when its data may be written again.
    send_init "MPI_Send_init"

    /// Makes a send that is done when the receive was matched.
    ssend_init "MPI_Ssend_init"

    /// Makes a send whose receive is posted before each start.
    rsend_init "MPI_Rsend_init"

    /// Makes a send from a copy in the attached buffer
    /// ([`Universe::attach_buffer`](crate::Universe::attach_buffer)).
    bsend_init "MPI_Bsend_init"
}

impl Communicator {
    /// Makes a receive of at most as many elements as `data` has. (`MPI_Recv_init`)
    ///
    /// # Errors
    /// When an argument is wrong.
    #[track_caller]
    pub fn recv_init<T: Equivalence>(
        &self,
        mut data: Vec<T>,
        from: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<PersistentReceive<T>> {
        // SAFETY: as for sends.
        let buffer = unsafe { write(&mut data) };
        let request = self
            .untyped()
            .recv_init(buffer, from.into().rank(), tag.into().tag())?;
        Ok(PersistentReceive { request, data })
    }
}

impl<T: Equivalence> PersistentSend<T> {
    #[track_caller]
    fn finish(&mut self) -> Result<()> {
        self.request.started().wait().map(|_| ())
    }

    /// Returns the data that the next start sends.
    #[track_caller]
    pub fn data(&mut self) -> &mut [T] {
        let _nobody_asked = self.finish();
        &mut self.data
    }

    /// Starts it. (`MPI_Start`)
    ///
    /// # Errors
    /// When the NIC has no free request slot.
    #[track_caller]
    pub fn start(&mut self) -> Result<StartedSend<'_, T>> {
        self.finish()?;
        self.request.start()?;
        Ok(StartedSend(self))
    }
}

impl<T: Equivalence> StartedSend<'_, T> {
    /// Waits until it is done. (`MPI_Wait`)
    ///
    /// # Errors
    /// When it failed.
    #[track_caller]
    pub fn wait(self) -> Result<()> {
        self.0.finish()
    }

    /// Returns whether it is done. (`MPI_Test`)
    ///
    /// # Errors
    /// When it failed.
    #[track_caller]
    pub fn test(&mut self) -> Result<bool> {
        Ok(self.0.request.started().test()?.is_some())
    }
}

impl<T: Equivalence> PersistentReceive<T> {
    #[track_caller]
    fn finish(&mut self) -> Result<Status> {
        let done = self.request.started().wait();
        self.settled(done.map(Status::from))
    }

    /// Settles the data after the receive has ended with this status.
    fn settled(&mut self, status: Result<Status>) -> Result<Status> {
        // SAFETY: it is the request's, which is done.
        unsafe { settled(&raw mut *self.data, "MPI_Wait", status) }
    }

    /// Returns the data. The last received message is at the start of it.
    #[track_caller]
    pub fn data(&mut self) -> &mut [T] {
        let _nobody_asked = self.finish();
        &mut self.data
    }

    /// Starts it. (`MPI_Start`)
    ///
    /// # Errors
    /// When the NIC has no free request slot.
    #[track_caller]
    pub fn start(&mut self) -> Result<StartedReceive<'_, T>> {
        self.finish()?;
        self.request.start()?;
        let (of, done) = (self, None);
        Ok(StartedReceive { of, done })
    }

    fn cancel(&mut self) {
        let started = self.request.started();
        if started.is_active() && !forked::is_child() {
            started.cancel();
            let _nobody_asks = started.wait();
        }
    }
}

impl<T: Equivalence> StartedReceive<'_, T> {
    /// Waits until the message has come. (`MPI_Wait`)
    ///
    /// # Errors
    /// When it failed.
    #[track_caller]
    pub fn wait(self) -> Result<Status> {
        match self.done {
            Some(status) => self.of.settled(Ok(status)),
            None => self.of.finish(),
        }
    }

    /// Returns whether the message has come. If so, [`wait`](Self::wait) does not wait.
    /// (`MPI_Test`)
    ///
    /// # Errors
    /// When it failed.
    #[track_caller]
    pub fn test(&mut self) -> Result<bool> {
        if self.done.is_none() {
            self.done = self.of.request.started().test()?.map(Status::from);
        }
        Ok(self.done.is_some())
    }
}

impl<T: Equivalence> Drop for PersistentSend<T> {
    fn drop(&mut self) {
        if !forked::is_child() {
            let _nobody_asked = self.finish();
        }
    }
}

impl<T: Equivalence> Drop for StartedSend<'_, T> {
    fn drop(&mut self) {
        if !forked::is_child() {
            let _nobody_asked = self.0.finish();
        }
    }
}

impl<T: Equivalence> Drop for PersistentReceive<T> {
    fn drop(&mut self) {
        self.cancel();
    }
}

impl<T: Equivalence> Drop for StartedReceive<'_, T> {
    fn drop(&mut self) {
        self.of.cancel();
    }
}
