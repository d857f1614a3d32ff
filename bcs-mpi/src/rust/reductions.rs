//! Collectives that combine slices, element by element: blocking, and in a scope.
//!
//! The order in which elements are combined is fixed, so the result is the same to the bit in every
//! run: see the root of the crate.
#![expect(unsafe_code, reason = "hands slices to the untyped core by address")]

use super::collectives::{CollectiveRequest, collectives, numbers, startable};
use super::communicator::Communicator;
use super::equivalence::{Equivalence, read, write};
use super::matching::as_rank;
use super::operation::Operation;
use super::scope::{BorrowedSlice, Scope};
use crate::mpi::error::Operation as Call;
use crate::mpi::{AnyOp, Buffer, ErrorClass, InvalidArguments, Result};

impl Communicator {
    /// Returns this rank's part of a buffer that consists of the numbers of elements in `counts`.
    #[track_caller]
    fn counted(
        &self,
        buffer: &Buffer,
        counts: &[usize],
        call: &'static str,
        op: &AnyOp,
    ) -> Result<(Buffer, Vec<i64>)> {
        let sum = counts
            .iter()
            .try_fold(0usize, |sum, &count| sum.checked_add(count));
        if counts.len() != self.size() || sum != Some(buffer.count()) {
            let reason = format!(
                "{} counts, which together make {sum:?}, are given for {} ranks and {} elements",
                counts.len(),
                self.size(),
                buffer.count()
            );
            let error = Call::plain(call).error(ErrorClass::Count, reason);
            return self.notify_if_wrong(Err(error), reducing(op, buffer));
        }
        let own = buffer.part(0, counts[self.rank()]);
        Ok((own, numbers(counts)))
    }
}

/// Returns what decides how others wait for a rank whose reduction has a wrong argument.
fn reducing(op: &AnyOp, of: &Buffer) -> InvalidArguments {
    InvalidArguments::default().reducing(Some(op), Some(of.datatype()))
}

startable! {
    /// Combines the `data` of all ranks, element by element, into `result` of the root. Elsewhere
    /// `result` is ignored and may be empty.
    reduce ireduce reduce_init "MPI_Reduce"
    (comm, call; data => result, op: impl Operation<T>, root: usize) {
        (data, result, op.untyped(), as_rank(root))
    }

    /// Combines the `data` of all ranks, element by element, into each rank's `result`.
    allreduce iallreduce allreduce_init "MPI_Allreduce"
    (comm, call; data => result, op: impl Operation<T>) {
        (data, result, op.untyped())
    }

    /// Combines the `data` of all ranks, element by element, and gives each rank its block of the
    /// result.
    reduce_scatter_block ireduce_scatter_block reduce_scatter_block_init "MPI_Reduce_scatter_block"
    (comm, call; data => result, op: impl Operation<T>) {
        (Some(data), result, op.untyped())
    }

    /// Combines the `data` of all ranks, element by element, and gives each rank the number of
    /// elements of the result that `counts` holds.
    reduce_scatter ireduce_scatter reduce_scatter_init "MPI_Reduce_scatter"
    (comm, call; data => result, counts: &[usize], op: impl Operation<T>) {
        let counts = numbers(counts);
        (Some(data), result, &counts, op.untyped())
    }

    /// Combines, element by element and in the order of the ranks, the `data` of all ranks up to
    /// this one.
    scan iscan scan_init "MPI_Scan"
    (comm, call; data => result, op: impl Operation<T>) {
        (Some(data), result, op.untyped())
    }

    /// Combines, element by element and in the order of the ranks, the `data` of all ranks below
    /// this one. Rank 0's `result` stays unchanged.
    exscan iexscan exscan_init "MPI_Exscan"
    (comm, call; data => result, op: impl Operation<T>) {
        (Some(data), result, op.untyped())
    }
}

collectives! {
    /// Replaces the root's `data` by the combination of all ranks' `data`. Elsewhere `data` is only
    /// read.
    reduce_in_place as reduce ireduce_in_place as ireduce "MPI_Reduce"
    (comm, call; => data, op: impl Operation<T>, root: usize) {
        (data.clone(), data, op.untyped(), as_rank(root))
    }

    /// Replaces each rank's `data` by the combination of all.
    allreduce_in_place as allreduce iallreduce_in_place as iallreduce "MPI_Allreduce"
    (comm, call; => data, op: impl Operation<T>) {
        (data.clone(), data, op.untyped())
    }

    /// Combines the `data` of all ranks, element by element, and gives each rank its block of the
    /// result at the start of `data`.
    reduce_scatter_block_in_place as reduce_scatter_block
    ireduce_scatter_block_in_place as ireduce_scatter_block "MPI_Reduce_scatter_block"
    (comm, call; => data, op: impl Operation<T>) {
        let blocks = comm.block_with(&data, call, reducing(&op.untyped(), &data))?;
        (None, blocks, op.untyped())
    }

    /// Combines the `data` of all ranks, element by element, and gives each rank the number of
    /// elements of the result that `counts` holds, at the start of `data`.
    reduce_scatter_in_place as reduce_scatter
    ireduce_scatter_in_place as ireduce_scatter "MPI_Reduce_scatter"
    (comm, call; => data, counts: &[usize], op: impl Operation<T>) {
        let (own, counts) = comm.counted(&data, counts, call, &op.untyped())?;
        (None, own, &counts, op.untyped())
    }

    /// Replaces `data` by the combination of the `data` of all ranks up to this one.
    scan_in_place as scan iscan_in_place as iscan "MPI_Scan"
    (comm, call; => data, op: impl Operation<T>) {
        (None, data, op.untyped())
    }

    /// Replaces `data` by the combination of the `data` of all ranks below this one. Rank 0's
    /// `data` stays unchanged.
    exscan_in_place as exscan iexscan_in_place as iexscan "MPI_Exscan"
    (comm, call; => data, op: impl Operation<T>) {
        (None, data, op.untyped())
    }
}
