//! The calls of all ranks of a communicator. Arguments that matter only at another rank are
//! ignored.

use super::calls;
use super::modes::{BCS_All, BCS_Vectorial, all, vectorial};
use crate::answer::comm_of;
use crate::c::{MPI_BYTE, MPI_Comm, MPI_Datatype, MPI_Op};
use crate::calls::collectives::{
    VectorBlocks, apart, apart_at_root, apart_by_block, apart_from_own, apart_from_own_at_root,
    apart_with_own, at_root, blocks_at_root, not_beside, of_each, optional, peers, unless_in_place,
};
use crate::calls::reducing::{contribution, of_all, op_but_beside};
use crate::combining::op_on;
use crate::objects::buffer;
use bcs_mpi::mpi::Comm;
use std::ffi::{c_int, c_void};

calls! {
    fn bcs_barrier(comm: MPI_Comm) {
        comm_of(comm)?.run(Comm::barrier)
    }

    fn bcs_bcast(data: *mut c_void, bytes: usize, root: c_int, comm: MPI_Comm) {
        comm_of(comm)?.run(|comm| comm.bcast(not_beside(comm, root, data, bytes, MPI_BYTE)?, root))
    }

    fn bcs_reduce(all: BCS_All, data: *const c_void, result: *mut c_void, count: usize, datatype: MPI_Datatype, op: MPI_Op, root: c_int, comm: MPI_Comm) {
        let all = self::all(all)?;
        comm_of(comm)?.run(|comm| {
            if all {
                let given = of_all(data, result, count, datatype)?;
                return comm.allreduce(given, buffer(result, count, datatype)?, op_on(op, datatype)?);
            }
            let given = contribution(comm, root, (data, result), count, datatype)?;
            let taken = at_root(comm, root, result, count, datatype)?;
            comm.reduce(given, taken, op_but_beside(comm, root, op, datatype)?, root)
        })
    }

    fn bcs_scatter(vectorial: BCS_Vectorial, data: *const c_void, lengths: *const usize, places: *const usize, result: *mut c_void, bytes: usize, root: c_int, comm: MPI_Comm) {
        let vectorial = self::vectorial(vectorial)?;
        comm_of(comm)?.run(|comm| {
            let taken = of_each(comm, root, result, bytes, MPI_BYTE)?;
            if vectorial {
                apart_from_own_at_root(comm, root, (result, data), (lengths, places), MPI_BYTE)?;
                let given = blocks_at_root(comm, root, data, (lengths, places), MPI_BYTE)?;
                return comm.scatterv(given.blocks(), taken, root);
            }
            apart_at_root(comm, root, (result, data), bytes, MPI_BYTE)?;
            comm.scatter(at_root(comm, root, data, bytes, MPI_BYTE)?, taken, root)
        })
    }

    fn bcs_gather(vectorial: BCS_Vectorial, data: *const c_void, bytes: usize, result: *mut c_void, lengths: *const usize, places: *const usize, root: c_int, comm: MPI_Comm) {
        let vectorial = self::vectorial(vectorial)?;
        comm_of(comm)?.run(|comm| {
            let given = of_each(comm, root, data, bytes, MPI_BYTE)?;
            if vectorial {
                apart_from_own_at_root(comm, root, (data, result), (lengths, places), MPI_BYTE)?;
                let taken = blocks_at_root(comm, root, result, (lengths, places), MPI_BYTE)?;
                return comm.gatherv(given, taken.blocks(), root);
            }
            apart_at_root(comm, root, (data, result), bytes, MPI_BYTE)?;
            comm.gather(given, at_root(comm, root, result, bytes, MPI_BYTE)?, root)
        })
    }

    fn bcs_allgather(vectorial: BCS_Vectorial, data: *const c_void, bytes: usize, result: *mut c_void, lengths: *const usize, places: *const usize, comm: MPI_Comm) {
        let vectorial = self::vectorial(vectorial)?;
        comm_of(comm)?.run(|comm| {
            let given = optional(data, bytes, MPI_BYTE)?;
            if vectorial {
                apart_from_own(comm, data, result, (lengths, places), MPI_BYTE)?;
                let taken = VectorBlocks::of(result, (lengths, places), MPI_BYTE, peers(comm)?)?;
                return comm.allgatherv(given, taken.blocks());
            }
            apart_by_block(comm, (data, result), bytes, MPI_BYTE)?;
            comm.allgather(given, buffer(result, bytes, MPI_BYTE)?)
        })
    }

    fn bcs_alltoall(vectorial: BCS_Vectorial, data: *const c_void, lengths: *const usize, places: *const usize, result: *mut c_void, result_lengths: *const usize, result_places: *const usize, bytes: usize, comm: MPI_Comm) {
        let vectorial = self::vectorial(vectorial)?;
        comm_of(comm)?.run(|comm| {
            if vectorial {
                let (ranks, lists) = (peers(comm)?, ((lengths, places), (result_lengths, result_places)));
                apart_with_own(comm, (data, result), lists, (MPI_BYTE, MPI_BYTE))?;
                let given = unless_in_place(data, || VectorBlocks::of(data, lists.0, MPI_BYTE, ranks))?;
                let taken = VectorBlocks::of(result, lists.1, MPI_BYTE, ranks)?;
                return comm.alltoallv(given.as_ref().map(VectorBlocks::blocks), taken.blocks());
            }
            apart(data, result, bytes)?;
            comm.alltoall(optional(data, bytes, MPI_BYTE)?, buffer(result, bytes, MPI_BYTE)?)
        })
    }
}
