//! Persistent collectives that own what they read and write.
//!
//! A start hands the memory out until it is over, so the request owns it, and while something is
//! under way it is borrowed by what the start returned: nobody can look at it then. Forgetting
//! that (`std::mem::forget`) does no harm: the next access waits first.
#![expect(unsafe_code, reason = "hands vectors to the untyped core by address")]

use super::collectives::{Blocks, Lists, numbers};
use super::communicator::Communicator;
use super::equivalence::{Equivalence, read, write};
use super::matching::as_rank;
use super::operation::Operation;
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
    fn finish(&mut self) -> Result<()> {
        self.request.started().wait().map(|_| ())
    }

    /// What the next start reads. A broadcast has only [`output`](Self::output).
    pub fn input(&mut self) -> &mut [T] {
        let _nobody_asked = self.finish();
        &mut self.input
    }

    /// What the last start has written.
    pub fn output(&mut self) -> &mut [T] {
        let _nobody_asked = self.finish();
        &mut self.output
    }

    /// Starts it. (`MPI_Start`)
    ///
    /// # Errors
    /// When an argument is wrong, also one that it was made with.
    pub fn start(&mut self) -> Result<Started<'_, T>> {
        self.finish()?;
        // SAFETY: the vectors are this request's own and stay where they are; whoever wants to
        // touch them waits first, and so does the drop. Any bytes are values of their type.
        unsafe { self.request.start()? };
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
    pub fn wait(self) -> Result<()> {
        self.0.finish()
    }

    /// Whether this rank's part is done. (`MPI_Test`)
    ///
    /// # Errors
    /// When it failed.
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
        $(#[doc = $text:literal])*
        $init:ident $name:literal ($comm:ident, $call:ident; $input:ident => $output:ident
        $(, $argument:ident: $type:ty)*) ($($passed:expr),*)
    )*) => {
        impl Communicator {
            $(
                $(#[doc = $text])*
                #[doc = concat!("(`", $name, "`)")]
                ///
                /// # Errors
                /// When a vector does not consist of whole blocks, there are not enough context
                /// ids, or the NIC reports a failure. What else is wrong with an argument is said
                /// by the start.
                pub fn $init<T: Equivalence>(
                    &self,
                    $input: Vec<T>,
                    mut $output: Vec<T>
                    $(, $argument: $type)*
                ) -> Result<PersistentCollective<T>> {
                    let ($comm, $call) = (self, $name);
                    let _ = $call; // Not all collectives need it.
                    let request = {
                        let ($input, $output) = (read(&$input), write(&mut $output));
                        $comm.untyped().$init($($passed),*)?
                    };
                    Ok(PersistentCollective { request, input: $input, output: $output })
                }
            )*
        }
    };
}

persistent! {
    /// Combines everybody's `input`, element by element.
    allreduce_init "MPI_Allreduce_init"
    (comm, call; input => output, op: impl Operation<T>)
    (input, output, op.untyped())

    /// Combines everybody's `input`, element by element, at the root.
    reduce_init "MPI_Reduce_init"
    (comm, call; input => output, op: impl Operation<T>, root: usize)
    (input, output, op.untyped(), as_rank(root))

    /// Collects everybody's `input`.
    allgather_init "MPI_Allgather_init" (comm, call; input => output)
    (Some(input), comm.block(&output, call)?)

    /// Sends a block of `input` to each rank, and receives one of `output` from each.
    alltoall_init "MPI_Alltoall_init" (comm, call; input => output)
    (Some(comm.block(&input, call)?), comm.block(&output, call)?)

    /// Gives each rank its block of the root's `input`.
    scatter_init "MPI_Scatter_init" (comm, call; input => output, root: usize)
    (comm.block_at(root, &input, call)?, Some(output), as_rank(root))

    /// Gives each rank its block of the root's `input`. `blocks` are ignored elsewhere.
    scatterv_init "MPI_Scatterv_init"
    (comm, call; input => output, blocks: Blocks<'_>, root: usize)
    (comm.lists_at(root, blocks, &input, call)?.untyped(), Some(output), as_rank(root))

    /// Collects everybody's `input` in the root's `output`.
    gather_init "MPI_Gather_init" (comm, call; input => output, root: usize)
    (Some(input), comm.block_at(root, &output, call)?, as_rank(root))

    /// Collects everybody's `input` in blocks of the root's `output`. `blocks` are ignored elsewhere.
    gatherv_init "MPI_Gatherv_init"
    (comm, call; input => output, blocks: Blocks<'_>, root: usize)
    (Some(input), comm.lists_at(root, blocks, &output, call)?.untyped(), as_rank(root))

    /// Collects everybody's `input` in blocks of everybody's `output`.
    allgatherv_init "MPI_Allgatherv_init" (comm, call; input => output, blocks: Blocks<'_>)
    (Some(input), Lists::new(blocks, &output, call)?.untyped())

    /// Sends a block of `input` (`out`) to each rank, and receives one of `output` (`into`) from
    /// each.
    alltoallv_init "MPI_Alltoallv_init"
    (comm, call; input => output, out: Blocks<'_>, into: Blocks<'_>)
    (
        Some(Lists::new(out, &input, call)?.untyped()),
        Lists::new(into, &output, call)?.untyped()
    )

    /// Combines everybody's `input`, element by element, and gives each rank its block of that.
    reduce_scatter_block_init "MPI_Reduce_scatter_block_init"
    (comm, call; input => output, op: impl Operation<T>)
    (Some(input), output, op.untyped())

    /// Combines everybody's `input`, element by element, and gives each rank as many elements of
    /// that as `counts` says.
    reduce_scatter_init "MPI_Reduce_scatter_init"
    (comm, call; input => output, counts: &[usize], op: impl Operation<T>)
    (Some(input), output, &numbers(counts)[..], op.untyped())

    /// Combines, element by element and in the order of the ranks, the `input` of all ranks up to
    /// this one.
    scan_init "MPI_Scan_init" (comm, call; input => output, op: impl Operation<T>)
    (Some(input), output, op.untyped())

    /// Combines, element by element and in the order of the ranks, the `input` of all ranks below
    /// this one. Rank 0's `output` is left alone.
    exscan_init "MPI_Exscan_init" (comm, call; input => output, op: impl Operation<T>)
    (Some(input), output, op.untyped())

    /// Sends `input` to each neighbour, and receives a block of `output` from each.
    neighbor_allgather_init "MPI_Neighbor_allgather_init" (comm, call; input => output)
    (input, comm.neighbor_block(&output, comm.sources()?, call)?)

    /// Sends a block of `input` to each neighbour, and receives one of `output` from each.
    neighbor_alltoall_init "MPI_Neighbor_alltoall_init" (comm, call; input => output)
    (
        comm.neighbor_block(&input, comm.destinations()?, call)?,
        comm.neighbor_block(&output, comm.sources()?, call)?
    )

    /// Sends `input` to each neighbour, and receives one of `blocks` in `output` from each.
    neighbor_allgatherv_init "MPI_Neighbor_allgatherv_init"
    (comm, call; input => output, blocks: Blocks<'_>)
    (input, Lists::new(blocks, &output, call)?.untyped())

    /// Sends a block of `input` (`out`) to each neighbour, and receives one of `output` (`into`)
    /// from each.
    neighbor_alltoallv_init "MPI_Neighbor_alltoallv_init"
    (comm, call; input => output, out: Blocks<'_>, into: Blocks<'_>)
    (Lists::new(out, &input, call)?.untyped(), Lists::new(into, &output, call)?.untyped())
}

impl Communicator {
    /// A barrier: there is nothing in its [`input`](PersistentCollective::input) and
    /// [`output`](PersistentCollective::output). (`MPI_Barrier_init`)
    ///
    /// # Errors
    /// When there are not enough context ids, or the NIC reports a failure.
    pub fn barrier_init(&self) -> Result<PersistentCollective<u8>> {
        Ok(PersistentCollective {
            request: self.untyped().barrier_init()?,
            input: Vec::new(),
            output: Vec::new(),
        })
    }

    /// Gives everybody's [`output`](PersistentCollective::output) what is in the root's.
    /// (`MPI_Bcast_init`)
    ///
    /// # Errors
    /// When there are not enough context ids, or the NIC reports a failure. What is wrong with an
    /// argument is said by the start.
    pub fn bcast_init<T: Equivalence>(
        &self,
        mut data: Vec<T>,
        root: usize,
    ) -> Result<PersistentCollective<T>> {
        let request = self.untyped().bcast_init(write(&mut data), as_rank(root))?;
        Ok(PersistentCollective {
            request,
            input: Vec::new(),
            output: data,
        })
    }
}
