//! Collectives among neighbours (MPI 5.0, 8.6 to 8.8). They have no `MPI_IN_PLACE`.

use super::collectives::{VectorBlocks, collectives};
use crate::c::*;
use crate::objects::buffer;
use bcs_mpi::mpi::error::Operation;
use bcs_mpi::mpi::{Comm, Result};
use std::ffi::{c_int, c_void};

/// Returns how many neighbours this rank receives from, and how many it sends to.
fn degrees(comm: &Comm) -> Result<(c_int, c_int)> {
    let neighbors = comm.neighbors().map_err(|mut error| {
        // The error belongs to the calling function.
        error.operation = Operation::plain("");
        error
    });
    let (sources, destinations) = neighbors?;
    let count = |of: &[i32]| c_int::try_from(of.len()).unwrap_or(c_int::MAX);
    Ok((count(&sources), count(&destinations)))
}

collectives! {
    PMPI_Neighbor_allgather | PMPI_Neighbor_allgather_c = neighbor_allgather
    PMPI_Ineighbor_allgather | PMPI_Ineighbor_allgather_c = ineighbor_allgather
    PMPI_Neighbor_allgather_init | PMPI_Neighbor_allgather_init_c = neighbor_allgather_init
    (
        sendbuf: *const c_void, sendcount: N, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcount: N, recvtype: MPI_Datatype;
        comm
    )
    => (
        buffer(sendbuf, sendcount, sendtype)?,
        buffer(recvbuf, recvcount, recvtype)?,
    );

    PMPI_Neighbor_allgatherv | PMPI_Neighbor_allgatherv_c = neighbor_allgatherv
    PMPI_Ineighbor_allgatherv | PMPI_Ineighbor_allgatherv_c = ineighbor_allgatherv
    PMPI_Neighbor_allgatherv_init | PMPI_Neighbor_allgatherv_init_c = neighbor_allgatherv_init
    (
        sendbuf: *const c_void, sendcount: N, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcounts: *const N, displs: *const D, recvtype: MPI_Datatype;
        comm
    )
    =>
    let sources = degrees(comm)?.0;
    (
        buffer(sendbuf, sendcount, sendtype)?,
        VectorBlocks::of(recvbuf, (recvcounts, displs), recvtype, sources)?.blocks(),
    );

    PMPI_Neighbor_alltoall | PMPI_Neighbor_alltoall_c = neighbor_alltoall
    PMPI_Ineighbor_alltoall | PMPI_Ineighbor_alltoall_c = ineighbor_alltoall
    PMPI_Neighbor_alltoall_init | PMPI_Neighbor_alltoall_init_c = neighbor_alltoall_init
    (
        sendbuf: *const c_void, sendcount: N, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcount: N, recvtype: MPI_Datatype;
        comm
    )
    => (
        buffer(sendbuf, sendcount, sendtype)?,
        buffer(recvbuf, recvcount, recvtype)?,
    );

    PMPI_Neighbor_alltoallv | PMPI_Neighbor_alltoallv_c = neighbor_alltoallv
    PMPI_Ineighbor_alltoallv | PMPI_Ineighbor_alltoallv_c = ineighbor_alltoallv
    PMPI_Neighbor_alltoallv_init | PMPI_Neighbor_alltoallv_init_c = neighbor_alltoallv_init
    (
        sendbuf: *const c_void, sendcounts: *const N, sdispls: *const D, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcounts: *const N, rdispls: *const D, recvtype: MPI_Datatype;
        comm
    )
    =>
    let degrees = degrees(comm)?;
    (
        VectorBlocks::of(sendbuf, (sendcounts, sdispls), sendtype, degrees.1)?.blocks(),
        VectorBlocks::of(recvbuf, (recvcounts, rdispls), recvtype, degrees.0)?.blocks(),
    );

    PMPI_Neighbor_alltoallw | PMPI_Neighbor_alltoallw_c = neighbor_alltoallw
    PMPI_Ineighbor_alltoallw | PMPI_Ineighbor_alltoallw_c = ineighbor_alltoallw
    PMPI_Neighbor_alltoallw_init | PMPI_Neighbor_alltoallw_init_c = neighbor_alltoallw_init
    (
        sendbuf: *const c_void, sendcounts: *const N, sdispls: *const MPI_Aint, sendtypes: *const MPI_Datatype,
        recvbuf: *mut c_void, recvcounts: *const N, rdispls: *const MPI_Aint, recvtypes: *const MPI_Datatype;
        comm
    )
    =>
    let degrees = degrees(comm)?;
    (
        VectorBlocks::of_types(sendbuf, (sendcounts, sdispls), sendtypes, degrees.1)?.blocks(),
        VectorBlocks::of_types(recvbuf, (recvcounts, rdispls), recvtypes, degrees.0)?.blocks(),
    );
}
