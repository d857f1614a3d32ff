//! Persistent collectives that own what they read and write.
//!
//! A start hands the memory out until it is over, so the request owns it, and while something is
//! under way it is borrowed by what the start returned: nobody can look at it then. Forgetting
//! that (`std::mem::forget`) does no harm: the next access waits first.
#![expect(unsafe_code, reason = "hands vectors to the untyped core by address")]

use super::communicator::Communicator;
use super::equivalence::{Equivalence, write};
use super::matching::as_rank;
use super::unchecked_memory::settled;
use crate::forked;
use crate::mpi::{self, Result};

/// A collective that is started again and again. All ranks make those of a communicator in the
/// same order, and may start them in any.
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
/// Nobody can look at its memory while it is under way:
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
/// Dropping it waits for what it has started.
#[derive(Debug)]
pub struct PersistentCollective<T: Equivalence> {
    request: mpi::Persistent,
    input: Vec<T>,
    output: Vec<T>,
}

/// A persistent collective under way. Dropping it waits for it.
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

    /// What the next start reads. A broadcast has only [`output`](Self::output).
    #[track_caller]
    pub fn input(&mut self) -> &mut [T] {
        let _nobody_asked = self.finish();
        &mut self.input
    }

    /// What the last start has written.
    #[track_caller]
    pub fn output(&mut self) -> &mut [T] {
        let _nobody_asked = self.finish();
        &mut self.output
    }

    /// Starts it. (`MPI_Start`)
    ///
    /// # Errors
    /// When an argument is wrong, also one that it was made with.
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

    /// Whether this rank's part is done. (`MPI_Test`)
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

/// Collectives with a vector that is read and one that is written.
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
                /// ids, or the NIC reports a failure. What else is wrong with an argument is said
                /// by the start.
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
                        // SAFETY: the vectors are the request's own and stay where they are; whoever
                        // wants to touch them waits first, and so does the drop.
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
    /// A barrier: there is nothing in its [`input`](PersistentCollective::input) and
    /// [`output`](PersistentCollective::output). (`MPI_Barrier_init`)
    ///
    /// # Errors
    /// When there are not enough context ids, or the NIC reports a failure.
    #[track_caller]
    pub fn barrier_init(&self) -> Result<PersistentCollective<u8>> {
        let request = self.untyped().barrier_init()?;
        Ok(PersistentCollective::of(request, Vec::new(), Vec::new()))
    }

    /// Gives everybody's [`output`](PersistentCollective::output) what is in the root's.
    /// (`MPI_Bcast_init`)
    ///
    /// # Errors
    /// When there are not enough context ids, or the NIC reports a failure. What is wrong with an
    /// argument is said by the start.
    #[track_caller]
    pub fn bcast_init<T: Equivalence>(
        &self,
        mut data: Vec<T>,
        root: usize,
    ) -> Result<PersistentCollective<T>> {
        // SAFETY: the vector is the request's own and stays where it is; whoever wants to touch it waits first, and
        // so does the drop.
        let buffer = unsafe { write(&mut data) };
        let request = self.untyped().bcast_init(buffer, as_rank(root))?;
        Ok(PersistentCollective::of(request, Vec::new(), data))
    }
}
