//! Persistent collectives that own the memory they read and write.
//!
//! A start gives the memory to the operation until it is complete, so the request owns the memory.
//! While the operation is in progress, the result of the start borrows the request, so the program
//! cannot read the memory. Forgetting that result (`std::mem::forget`) does no harm: the next
//! access waits first.
#![expect(unsafe_code, reason = "hands vectors to the untyped core by address")]

use super::communicator::Communicator;
use super::equivalence::{Equivalence, write};
use super::matching::as_rank;
use super::unchecked_memory::settled;
use crate::forked;
use crate::mpi::{self, Result};

/// A collective that is started again and again. All ranks make those of a communicator in the same
/// order, and may start them in any order.
///
/// ```
/// # fn main() -> bcs_mpi::Result<()> {
/// # let universe = bcs_mpi::Universe::init()?;
/// # let world = universe.world();
/// let mut sum = world.allreduce_init(vec![0.0; 3], vec![0.0; 3], bcs_mpi::Op::Sum)?;
/// for step in 0..10 {
///     sum.input().fill(f64::from(step));
///     let started = sum.start()?;
///     // ... compute ...
///     started.wait()?;
///     assert_eq!(sum.output()[2], f64::from(step) * world.size() as f64);
/// }
/// # Ok(())
/// # }
/// ```
///
/// The memory cannot be read while it is in progress:
///
/// ```compile_fail,E0499
/// # fn sums(world: &bcs_mpi::Communicator) -> bcs_mpi::Result<()> {
/// let mut sum = world.allreduce_init(vec![1.0], vec![0.0], bcs_mpi::Op::Sum)?;
/// let started = sum.start()?;
/// println!("{}", sum.output()[0]); // `sum` is borrowed
/// started.wait()
/// # }
/// ```
///
/// Dropping it waits for the operation that it has started.
#[derive(Debug)]
pub struct PersistentCollective<T: Equivalence> {
    request: mpi::Persistent,
    input: Vec<T>,
    output: Vec<T>,
}

/// A persistent collective in progress. Dropping it waits for it.
#[derive(Debug)]
#[must_use = "dropping it waits for it at once"]
pub struct Started<'a, T: Equivalence>(&'a mut PersistentCollective<T>);

impl<T: Equivalence> PersistentCollective<T> {
    pub(super) fn of(request: mpi::Persistent, input: Vec<T>, output: Vec<T>) -> Self {
        Self {
            request,
            input,
            output,
        }
    }

    #[track_caller]
    fn finish(&mut self) -> Result<()> {
        let done = self.request.started().wait().map(|_| ());
        // SAFETY: it is the request's, which is done.
        unsafe { settled(&raw mut *self.output, "MPI_Wait", done) }
    }

    /// Returns the data that the next start reads. A broadcast has only [`output`](Self::output).
    #[track_caller]
    pub fn input(&mut self) -> &mut [T] {
        let _nobody_asked = self.finish();
        &mut self.input
    }

    /// Returns the data that the last start has written.
    #[track_caller]
    pub fn output(&mut self) -> &mut [T] {
        let _nobody_asked = self.finish();
        &mut self.output
    }

    /// Starts it. (`MPI_Start`)
    ///
    /// # Errors
    /// When an argument is wrong, including those that it was made with.
    #[track_caller]
    pub fn start(&mut self) -> Result<Started<'_, T>> {
        self.finish()?;
        self.request.start()?;
        Ok(Started(self))
    }
}

impl<T: Equivalence> Drop for PersistentCollective<T> {
    fn drop(&mut self) {
        if !forked::is_child() {
            let _nobody_asked = self.finish();
        }
    }
}

impl<T: Equivalence> Started<'_, T> {
    /// Waits until this rank's part is done. (`MPI_Wait`)
    ///
    /// # Errors
    /// When it failed.
    #[track_caller]
    pub fn wait(self) -> Result<()> {
        self.0.finish()
    }

    /// Returns whether this rank's part is done. (`MPI_Test`)
    ///
    /// # Errors
    /// When it failed.
    #[track_caller]
    pub fn test(&mut self) -> Result<bool> {
        Ok(self.0.request.started().test()?.is_some())
    }
}

impl<T: Equivalence> Drop for Started<'_, T> {
    fn drop(&mut self) {
        if !forked::is_child() {
            let _nobody_asked = self.0.finish();
        }
    }
}

/// Defines collectives with a vector that is read and one that is written.
macro_rules! persistent {
    ($(
        $blocking:ident $init:ident $name:literal
        ($comm:ident, $call:ident; $data:ident => $result:ident $(, $argument:ident: $type:ty)*)
        { $(let $variable:pat = $value:expr;)* ($($passed:expr),*) }
    )*) => {
        impl Communicator {
            $(
                #[doc = concat!("A [`", stringify!($blocking), "`](Self::", stringify!($blocking),
                    ") that is started again and again. (`", $name, "_init`)")]
                ///
                /// # Errors
                /// When a vector does not consist of whole blocks, there are not enough context
                /// ids, or the NIC reports a failure. The start reports other wrong arguments.
                #[track_caller]
                pub fn $init<T: Equivalence>(
                    &self,
                    $data: Vec<T>,
                    mut $result: Vec<T>
                    $(, $argument: $type)*
                ) -> Result<$crate::PersistentCollective<T>> {
                    let ($comm, $call) = (self, concat!($name, "_init"));
                    let _ = $call; // Not all collectives need it.
                    let request = {
                        // SAFETY: the vectors are the request's own and stay where they are; every
                        // access waits first, and so does the drop.
                        let $data = unsafe { read(&$data) };
                        // SAFETY: as above.
                        let $result = unsafe { write(&mut $result) };
                        $(let $variable = $value;)*
                        $comm.untyped().$init($($passed),*)?
                    };
                    Ok($crate::PersistentCollective::of(request, $data, $result))
                }
            )*
        }
    };
}
pub(super) use persistent;

impl Communicator {
    /// Makes a barrier. Its [`input`](PersistentCollective::input) and
    /// [`output`](PersistentCollective::output) are empty. (`MPI_Barrier_init`)
    ///
    /// # Errors
    /// When there are not enough context ids, or the NIC reports a failure.
    #[track_caller]
    pub fn barrier_init(&self) -> Result<PersistentCollective<u8>> {
        let request = self.untyped().barrier_init()?;
        Ok(PersistentCollective::of(request, Vec::new(), Vec::new()))
    }

    /// Makes a broadcast of the root's [`output`](PersistentCollective::output) to that of all
    /// ranks. (`MPI_Bcast_init`)
    ///
    /// # Errors
    /// When there are not enough context ids, or the NIC reports a failure. The start reports a
    /// wrong argument.
    #[track_caller]
    pub fn bcast_init<T: Equivalence>(
        &self,
        mut data: Vec<T>,
        root: usize,
    ) -> Result<PersistentCollective<T>> {
        // SAFETY: the vector is the request's own and stays where it is; every access waits first,
        // and so does the drop.
        let buffer = unsafe { write(&mut data) };
        let request = self.untyped().bcast_init(buffer, as_rank(root))?;
        Ok(PersistentCollective::of(request, Vec::new(), data))
    }
}
