//! Reductions and scans (MPI 5.0, 6.9 to 6.11).

use super::collectives::{
    RootRole, apart, at_root, collectives, of_root_alone, optional, unless_in_place, wide,
};
use crate::answer::error;
use crate::c::*;
use crate::combining::op_on;
use crate::objects::{Number, buffer};
use bcs_mpi::mpi::{AnyOp, Buffer, Comm, ErrorClass, Op, Result};
use std::ffi::{c_int, c_void};

/// Returns a contribution that is not where the result will be. Its datatype may be another one
/// than that of the result: sections of arrays in Fortran lie in different places.
fn given(sendbuf: *const c_void, count: impl Number, of: MPI_Datatype) -> Result<Buffer> {
    buffer(sendbuf, count, of).map(Buffer::as_contribution)
}

/// Returns the contribution of a rank to a reduction to one rank. On an intercommunicator only the
/// group without the root contributes.
pub(crate) fn contribution(
    comm: &Comm,
    root: c_int,
    (sendbuf, recvbuf): (*const c_void, *const c_void),
    count: impl Number,
    of: MPI_Datatype,
) -> Result<Buffer> {
    match RootRole::of(comm, root) {
        RootRole::Root | RootRole::Beside if comm.is_inter() => Ok(Buffer::EMPTY),
        RootRole::Root if sendbuf.addr() != IN_PLACE => {
            of_root_alone(apart(sendbuf, recvbuf, count))?;
            given(sendbuf, count, of)
        }
        RootRole::Root => of_all(sendbuf, recvbuf, count, of),
        RootRole::Beside | RootRole::Other => given(sendbuf, count, of),
    }
}

/// Returns the contribution of a rank to a reduction. In place it is where the result will be.
pub(crate) fn of_all(
    sendbuf: *const c_void,
    recvbuf: *const c_void,
    count: impl Number,
    of: MPI_Datatype,
) -> Result<Buffer> {
    match sendbuf.addr() {
        IN_PLACE => buffer(recvbuf, count, of),
        _ => {
            apart(sendbuf, recvbuf, count)?;
            given(sendbuf, count, of)
        }
    }
}

/// Returns the operation of a reduction to one rank. The ranks beside the root have no part in it.
pub(crate) fn op_but_beside(
    comm: &Comm,
    root: c_int,
    op: MPI_Op,
    of: MPI_Datatype,
) -> Result<AnyOp> {
    match RootRole::of(comm, root) {
        RootRole::Beside => Ok(Op::Sum.into()),
        RootRole::Root | RootRole::Other => op_on(op, of),
    }
}

/// Returns where an exclusive scan puts its result: nowhere at rank 0, unless its contribution is
/// in place.
fn but_at_first(
    comm: &Comm,
    (sendbuf, recvbuf): (*const c_void, *const c_void),
    count: impl Number,
    of: MPI_Datatype,
) -> Result<Buffer> {
    match (comm.rank(), sendbuf.addr()) {
        (0, address) if address != IN_PLACE => Ok(Buffer::EMPTY),
        _ => buffer(recvbuf, count, of),
    }
}

/// Returns the number of elements of all blocks. Negative counts are 0 here: the core reports them.
fn all(counts: &[i64]) -> Result<i64> {
    let sum = |sum: i64, count: &i64| sum.checked_add((*count).max(0));
    counts.iter().try_fold(0, sum).ok_or_else(|| {
        let reason = format!(
            "{} blocks have more elements than can be counted",
            counts.len()
        );
        error(ErrorClass::Count, reason)
    })
}

/// Returns the number of elements of all blocks of equal length. A negative count is 0 here: the
/// check of a single buffer reports it.
fn all_alike(comm: &Comm, count: impl Number) -> Result<i64> {
    let (count, ranks) = (count.wide().max(0), comm.size());
    count.checked_mul(i64::from(ranks)).ok_or_else(|| {
        let reason = format!("{ranks} blocks of {count} elements are more than can be counted");
        error(ErrorClass::Count, reason)
    })
}

/// Returns the count of this rank.
fn own(comm: &Comm, counts: &[i64]) -> i64 {
    let place = usize::try_from(comm.rank()).ok();
    let own = place.and_then(|place| counts.get(place));
    own.copied().unwrap_or(0)
}

collectives! {
    PMPI_Reduce | PMPI_Reduce_c = reduce
    PMPI_Ireduce | PMPI_Ireduce_c = ireduce
    PMPI_Reduce_init | PMPI_Reduce_init_c = reduce_init
    (
        sendbuf: *const c_void, recvbuf: *mut c_void, count: N, datatype: MPI_Datatype,
        op: MPI_Op, root: c_int; comm, root root, op op of datatype
    )
    => (
        contribution(comm, root, (sendbuf, recvbuf), count, datatype)?,
        at_root(comm, root, recvbuf, count, datatype)?,
        op_but_beside(comm, root, op, datatype)?,
        root,
    );

    PMPI_Allreduce | PMPI_Allreduce_c = allreduce
    PMPI_Iallreduce | PMPI_Iallreduce_c = iallreduce
    PMPI_Allreduce_init | PMPI_Allreduce_init_c = allreduce_init
    (
        sendbuf: *const c_void, recvbuf: *mut c_void, count: N, datatype: MPI_Datatype,
        op: MPI_Op; comm, op op of datatype
    )
    => (
        of_all(sendbuf, recvbuf, count, datatype)?,
        buffer(recvbuf, count, datatype)?,
        op_on(op, datatype)?,
    );

    PMPI_Reduce_scatter_block | PMPI_Reduce_scatter_block_c = reduce_scatter_block
    PMPI_Ireduce_scatter_block | PMPI_Ireduce_scatter_block_c = ireduce_scatter_block
    PMPI_Reduce_scatter_block_init | PMPI_Reduce_scatter_block_init_c = reduce_scatter_block_init
    (
        sendbuf: *const c_void, recvbuf: *mut c_void, recvcount: N, datatype: MPI_Datatype,
        op: MPI_Op; comm, op op of datatype
    )
    =>
    let _apart = apart(sendbuf, recvbuf, recvcount)?;
    (
        unless_in_place(sendbuf, || buffer(sendbuf, all_alike(comm, recvcount)?, datatype))?,
        buffer(recvbuf, recvcount, datatype)?,
        op_on(op, datatype)?,
    );

    PMPI_Reduce_scatter | PMPI_Reduce_scatter_c = reduce_scatter
    PMPI_Ireduce_scatter | PMPI_Ireduce_scatter_c = ireduce_scatter
    PMPI_Reduce_scatter_init | PMPI_Reduce_scatter_init_c = reduce_scatter_init
    (
        sendbuf: *const c_void, recvbuf: *mut c_void, recvcounts: *const N, datatype: MPI_Datatype,
        op: MPI_Op; comm, op op of datatype
    )
    =>
    let counts = wide(recvcounts, comm.size())?;
    let _apart = apart(sendbuf, recvbuf, all(&counts)?)?;
    (
        unless_in_place(sendbuf, || buffer(sendbuf, all(&counts)?, datatype))?,
        buffer(recvbuf, own(comm, &counts), datatype)?,
        counts.as_slice(),
        op_on(op, datatype)?,
    );

    PMPI_Scan | PMPI_Scan_c = scan
    PMPI_Iscan | PMPI_Iscan_c = iscan
    PMPI_Scan_init | PMPI_Scan_init_c = scan_init
    (
        sendbuf: *const c_void, recvbuf: *mut c_void, count: N, datatype: MPI_Datatype,
        op: MPI_Op; comm, op op of datatype
    )
    =>
    let _apart = apart(sendbuf, recvbuf, count)?;
    (
        optional(sendbuf, count, datatype)?.map(Buffer::as_contribution),
        buffer(recvbuf, count, datatype)?,
        op_on(op, datatype)?,
    );

    PMPI_Exscan | PMPI_Exscan_c = exscan
    PMPI_Iexscan | PMPI_Iexscan_c = iexscan
    PMPI_Exscan_init | PMPI_Exscan_init_c = exscan_init
    (
        sendbuf: *const c_void, recvbuf: *mut c_void, count: N, datatype: MPI_Datatype,
        op: MPI_Op; comm, op op of datatype
    )
    =>
    let _apart = apart(sendbuf, recvbuf, count)?;
    (
        optional(sendbuf, count, datatype)?.map(Buffer::as_contribution),
        but_at_first(comm, (sendbuf, recvbuf), count, datatype)?,
        op_on(op, datatype)?,
    );
}
