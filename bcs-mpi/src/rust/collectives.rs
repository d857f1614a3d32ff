//! Collectives that exchange slices: blocking, and in a scope. Those that combine slices are
//! [`super::reductions`].
//!
//! If the ranks' blocks lie side by side, a slice holds all of them and its length determines that
//! of a block. Vector collectives take [`Blocks`]. This layer refuses blocks outside of a slice,
//! and notifies the ranks that wait for this one ([`Communicator::notify_if_wrong`]); the untyped
//! core checks whether lengths fit each other.
#![expect(unsafe_code, reason = "hands slices to the untyped core by address")]

use super::communicator::Communicator;
use super::equivalence::{Equivalence, read, write};
use super::matching::as_rank;
use super::scope::{BorrowedSlice, LentSlice, Scope};
use crate::mpi::error::Operation as Call;
use crate::mpi::{self, Buffer, ErrorClass, InvalidArguments, Result};

/// Where in a slice the block of each rank is, in elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Blocks<'a> {
    /// The number of elements in each rank's block.
    pub counts: &'a [usize],
    /// Where each rank's block begins.
    pub displacements: &'a [usize],
}

/// Blocks in the form of the untyped core.
pub(super) struct Lists {
    buffer: Buffer,
    counts: Vec<i64>,
    displacements: Vec<i64>,
}

impl Lists {
    fn none() -> Self {
        Self {
            buffer: Buffer::EMPTY,
            counts: Vec::new(),
            displacements: Vec::new(),
        }
    }

    /// Returns blocks of a buffer, if all of them are in it.
    fn new(blocks: Blocks<'_>, buffer: &Buffer, call: &'static str) -> Result<Self> {
        let ends = blocks.counts.iter().zip(blocks.displacements).enumerate();
        for (rank, (&count, &displacement)) in ends {
            let end = displacement.checked_add(count);
            if end.is_none_or(|end| end > buffer.count()) {
                let reason = format!(
                    "{count} elements from {displacement} on, for rank {rank}, are not in a slice \
                     of {}",
                    buffer.count()
                );
                return Err(Call::plain(call).error(ErrorClass::Arg, reason));
            }
        }
        Ok(Self {
            buffer: buffer.clone(),
            counts: numbers(blocks.counts),
            displacements: numbers(blocks.displacements),
        })
    }

    pub(super) fn untyped(&self) -> mpi::Blocks<'_> {
        let (start, datatype) = (self.buffer.start(), self.buffer.datatype().clone());
        // SAFETY: the promise of the buffer, which they are in.
        unsafe { mpi::Blocks::new(start, &self.counts, &self.displacements, datatype) }
    }
}

/// Returns one of the blocks that a buffer consists of. There is one for each of `whom`.
pub(super) fn block_of(
    buffer: &Buffer,
    blocks: usize,
    whom: &str,
    call: &'static str,
) -> Result<Buffer> {
    let count = buffer.count();
    if !count.is_multiple_of(blocks) {
        let reason = format!("{count} elements are no whole number for each of {blocks} {whom}");
        return Err(Call::plain(call).error(ErrorClass::Count, reason));
    }
    let block = count.checked_div(blocks).unwrap_or(0);
    Ok(buffer.part(0, block))
}

impl Communicator {
    /// Returns an argument of a collective. If it is wrong, the collective is not called, and the
    /// ranks that wait for this one are notified. Otherwise the next collective here would meet
    /// this one of theirs.
    #[track_caller]
    pub(super) fn notify_if_wrong<V>(
        &self,
        argument: Result<V>,
        arguments: InvalidArguments,
    ) -> Result<V> {
        argument.map_err(|error| self.untyped().tell_of_invalid_call(error, arguments))
    }

    /// Returns one of the blocks that a buffer consists of, one for each rank.
    #[track_caller]
    pub(super) fn block(&self, buffer: &Buffer, call: &'static str) -> Result<Buffer> {
        self.block_with(buffer, call, InvalidArguments::default())
    }

    /// Does the same for a collective with a root or an operation.
    #[track_caller]
    pub(super) fn block_with(
        &self,
        buffer: &Buffer,
        call: &'static str,
        arguments: InvalidArguments,
    ) -> Result<Buffer> {
        self.notify_if_wrong(block_of(buffer, self.size(), "ranks", call), arguments)
    }

    /// Does the same as [`block`](Self::block) at the root. Elsewhere there are no blocks.
    #[track_caller]
    pub(super) fn block_at(
        &self,
        root: usize,
        buffer: &Buffer,
        call: &'static str,
    ) -> Result<Buffer> {
        if self.rank() == root {
            return self.block_with(buffer, call, InvalidArguments::of_root(as_rank(root)));
        }
        Ok(Buffer::EMPTY)
    }

    /// Returns blocks of a buffer, if all of them are in it.
    #[track_caller]
    pub(super) fn lists(
        &self,
        blocks: Blocks<'_>,
        buffer: &Buffer,
        call: &'static str,
    ) -> Result<Lists> {
        let lists = Lists::new(blocks, buffer, call);
        self.notify_if_wrong(lists, InvalidArguments::default())
    }

    /// Does the same at the root. Elsewhere there are no blocks.
    #[track_caller]
    pub(super) fn lists_at(
        &self,
        root: usize,
        blocks: Blocks<'_>,
        buffer: &Buffer,
        call: &'static str,
    ) -> Result<Lists> {
        if self.rank() == root {
            let lists = Lists::new(blocks, buffer, call);
            return self.notify_if_wrong(lists, InvalidArguments::of_root(as_rank(root)));
        }
        Ok(Lists::none())
    }
}

pub(super) fn numbers(counts: &[usize]) -> Vec<i64> {
    let number = |&count: &usize| i64::try_from(count).unwrap_or(i64::MAX);
    counts.iter().map(number).collect()
}

/// A collective in progress in a scope. [`wait`](Self::wait) returns the slice that it writes.
///
/// The slice cannot be read before:
///
/// ```compile_fail,E0502
/// # fn gather(world: &bcs_mpi::Communicator) -> bcs_mpi::Result<()> {
/// let (own, mut all) = ([world.rank()], vec![0; world.size()]);
/// bcs_mpi::scope(|scope| {
///     let request = world.iallgather(scope, &own, &mut all)?;
///     println!("{}", all[0]); // `all` is borrowed
///     request.wait()?;
///     Ok(())
/// })
/// # }
/// ```
#[derive(Debug)]
pub struct CollectiveRequest<'scope, 'env: 'scope, T: Equivalence>(
    pub(super) LentSlice<'scope, 'env, T>,
);

impl<'env, T: Equivalence> CollectiveRequest<'_, 'env, T> {
    /// Waits until this rank's part is done, and returns the slice. (`MPI_Wait`)
    ///
    /// # Errors
    /// When it failed.
    #[track_caller]
    pub fn wait(self) -> Result<&'env mut [T]> {
        Ok(self.0.wait()?.0)
    }

    /// Returns whether this rank's part is done. If so, [`wait`](Self::wait) does not wait.
    /// (`MPI_Test`)
    ///
    /// # Errors
    /// When it failed.
    #[track_caller]
    pub fn test(&mut self) -> Result<bool> {
        self.0.ticket.test()
    }
}

/// Defines a collective that blocks and one in a scope. Both turn slices into the buffers of the
/// untyped core's calls of the same names.
macro_rules! collectives {
    ($(
        $(#[doc = $text:literal])*
        $blocking:ident as $untyped:ident $nonblocking:ident as $iuntyped:ident $name:literal
        ($comm:ident, $call:ident; $($data:ident)? => $result:ident $(, $argument:ident: $type:ty)*)
        { $(let $variable:pat = $value:expr;)* ($($passed:expr),*) }
    )*) => {
        impl Communicator {
            $(
                $(#[doc = $text])*
                #[doc = concat!("(`", $name, "`)")]
                ///
                /// # Errors
                /// When an argument is wrong, the ranks disagree about a length, or a rank is
                /// gone.
                #[track_caller]
                pub fn $blocking<T: Equivalence>(
                    &self,
                    $($data: &[T],)?
                    $result: &mut [T]
                    $(, $argument: $type)*
                ) -> Result<()> {
                    let ($comm, $call) = (self, $name);
                    let _ = ($comm, $call); // Not all collectives need them.
                    // SAFETY: borrowed for the call.
                    $(let $data = unsafe { read($data) };)?
                    let slice = &raw mut *$result;
                    // SAFETY: as above.
                    let $result = unsafe { write($result) };
                    $(let $variable = $value;)*
                    let done = self.0.$untyped($($passed),*);
                    // SAFETY: as above.
                    unsafe { $crate::rust::unchecked_memory::settled(slice, $name, done) }
                }

                #[doc = concat!("Starts a [`", stringify!($blocking), "`](Self::",
                    stringify!($blocking), "), which ends before the scope does. All ranks have to \
                    start it, or this waits for ever. (`MPI_I` instead of `MPI_`)")]
                ///
                /// # Errors
                /// When an argument is wrong. Later errors are the request's.
                #[track_caller]
                pub fn $nonblocking<'scope, 'env, T: Equivalence>(
                    &self,
                    scope: &'scope Scope<'scope, 'env>,
                    $($data: &'env [T],)?
                    $result: &'env mut [T]
                    $(, $argument: $type)*
                ) -> Result<CollectiveRequest<'scope, 'env, T>> {
                    let ($comm, $call) = (self, $name);
                    let _ = ($comm, $call); // Not all collectives need them.
                    // SAFETY: borrowed for longer than the scope, which waits for the request.
                    $(let $data = unsafe { read($data) };)?
                    let slice = BorrowedSlice::new($result);
                    // SAFETY: as above.
                    let $result = unsafe { slice.buffer() };
                    $(let $variable = $value;)*
                    let request = self.0.$iuntyped($($passed),*)?;
                    Ok(CollectiveRequest(slice.lent(scope, request)))
                }
            )*
        }
    };
}
pub(super) use collectives;

/// Defines the same, and a collective that is started again and again.
macro_rules! startable {
    ($(
        $(#[doc = $text:literal])*
        $blocking:ident $nonblocking:ident $init:ident $name:literal $signature:tt $body:tt
    )*) => {
        $crate::rust::collectives::collectives! {
            $(
                $(#[doc = $text])*
                $blocking as $blocking $nonblocking as $nonblocking $name $signature $body
            )*
        }

        $crate::rust::persistent::persistent! {
            $($blocking $init $name $signature $body)*
        }
    };
}
pub(super) use startable;

startable! {
    /// Gives each rank its block of the root's `data`, which is ignored elsewhere.
    scatter iscatter scatter_init "MPI_Scatter"
    (comm, call; data => result, root: usize) {
        let data = comm.block_at(root, &data, call)?;
        (data, Some(result), as_rank(root))
    }

    /// Gives each rank its block of the root's `data`. `data` and `blocks` are ignored elsewhere.
    scatterv iscatterv scatterv_init "MPI_Scatterv"
    (comm, call; data => result, blocks: Blocks<'_>, root: usize) {
        let lists = comm.lists_at(root, blocks, &data, call)?;
        (lists.untyped(), Some(result), as_rank(root))
    }

    /// Collects the `data` of all ranks in the root's `result`, which is ignored elsewhere.
    gather igather gather_init "MPI_Gather"
    (comm, call; data => result, root: usize) {
        let blocks = comm.block_at(root, &result, call)?;
        (Some(data), blocks, as_rank(root))
    }

    /// Collects the `data` of all ranks in blocks of the root's `result`. `result` and `blocks` are
    /// ignored elsewhere.
    gatherv igatherv gatherv_init "MPI_Gatherv"
    (comm, call; data => result, blocks: Blocks<'_>, root: usize) {
        let lists = comm.lists_at(root, blocks, &result, call)?;
        (Some(data), lists.untyped(), as_rank(root))
    }

    /// Collects the `data` of all ranks in each rank's `result`.
    allgather iallgather allgather_init "MPI_Allgather"
    (comm, call; data => result) {
        let blocks = comm.block(&result, call)?;
        (Some(data), blocks)
    }

    /// Collects the `data` of all ranks in blocks of each rank's `result`.
    allgatherv iallgatherv allgatherv_init "MPI_Allgatherv"
    (comm, call; data => result, blocks: Blocks<'_>) {
        let lists = comm.lists(blocks, &result, call)?;
        (Some(data), lists.untyped())
    }

    /// Sends a block of `data` to each rank, and receives one of `result` from each.
    alltoall ialltoall alltoall_init "MPI_Alltoall"
    (comm, call; data => result) {
        let data = comm.block(&data, call)?;
        let result = comm.block(&result, call)?;
        (Some(data), result)
    }

    /// Sends a block of `data` (`out`) to each rank, and receives one of `result` (`into`) from
    /// each.
    alltoallv ialltoallv alltoallv_init "MPI_Alltoallv"
    (comm, call; data => result, out: Blocks<'_>, into: Blocks<'_>) {
        let out = comm.lists(out, &data, call)?;
        let into = comm.lists(into, &result, call)?;
        (Some(out.untyped()), into.untyped())
    }
}

collectives! {
    /// Copies `data` of the root to that of all ranks.
    bcast as bcast ibcast as ibcast "MPI_Bcast" (comm, call; => data, root: usize) {
        (data, as_rank(root))
    }

    /// Gives each rank its block of the root's `data`. The root keeps its own block where it is.
    /// Elsewhere `data` gets the block.
    scatter_in_place as scatter iscatter_in_place as iscatter "MPI_Scatter"
    (comm, call; => data, root: usize) {
        let blocks = comm.block_at(root, &data, call)?;
        (blocks, (comm.rank() != root).then_some(data), as_rank(root))
    }

    /// Gives each rank its block of the root's `data`. The root keeps its own block where it is.
    /// Elsewhere `data` gets the block, and `blocks` are ignored.
    scatterv_in_place as scatterv iscatterv_in_place as iscatterv "MPI_Scatterv"
    (comm, call; => data, blocks: Blocks<'_>, root: usize) {
        let lists = comm.lists_at(root, blocks, &data, call)?;
        (lists.untyped(), (comm.rank() != root).then_some(data), as_rank(root))
    }

    /// Collects the `data` of all ranks in the root's, where its own block is already.
    gather_in_place as gather igather_in_place as igather "MPI_Gather"
    (comm, call; => data, root: usize) {
        let blocks = comm.block_at(root, &data, call)?;
        ((comm.rank() != root).then_some(data), blocks, as_rank(root))
    }

    /// Collects the `data` of all ranks in blocks of the root's, where its own block is already.
    /// `blocks` are ignored elsewhere.
    gatherv_in_place as gatherv igatherv_in_place as igatherv "MPI_Gatherv"
    (comm, call; => data, blocks: Blocks<'_>, root: usize) {
        let lists = comm.lists_at(root, blocks, &data, call)?;
        ((comm.rank() != root).then_some(data), lists.untyped(), as_rank(root))
    }

    /// Collects the blocks of all ranks in each rank's `data`, where its own block is already.
    allgather_in_place as allgather iallgather_in_place as iallgather "MPI_Allgather"
    (comm, call; => data) {
        let blocks = comm.block(&data, call)?;
        (None, blocks)
    }

    /// Collects the blocks of all ranks in each rank's `data`, where its own block is already.
    allgatherv_in_place as allgatherv iallgatherv_in_place as iallgatherv "MPI_Allgatherv"
    (comm, call; => data, blocks: Blocks<'_>) {
        let lists = comm.lists(blocks, &data, call)?;
        (None, lists.untyped())
    }

    /// Sends a block of `data` to each rank, and replaces it by one from that rank.
    alltoall_in_place as alltoall ialltoall_in_place as ialltoall "MPI_Alltoall"
    (comm, call; => data) {
        let blocks = comm.block(&data, call)?;
        (None, blocks)
    }

    /// Sends a block of `data` to each rank, and replaces it by one from that rank.
    alltoallv_in_place as alltoallv ialltoallv_in_place as ialltoallv "MPI_Alltoallv"
    (comm, call; => data, blocks: Blocks<'_>) {
        let blocks = comm.lists(blocks, &data, call)?;
        (None, blocks.untyped())
    }
}
