//! Functions that MPI 3 removed and MPICH's library still has.

use super::by_hand;
use crate::codes::to_mpich;
use crate::entries::*;
use crate::handles::Handle;
use crate::places::HandleResult;
use mpi_abi::c::*;
use std::ffi::{c_int, c_void};

by_hand! {
    fn PMPI_Address(location: *const c_void, address: *mut MPI_Aint) {
        to_mpich(entry_PMPI_Get_address(location, address))
    }

    fn PMPI_Errhandler_get(comm: c_int, errhandler: *mut c_int) {
        let mut place = HandleResult::<MPI_Errhandler>::new(errhandler);
        let code = entry_PMPI_Comm_get_errhandler(MPI_Comm::ours(comm), place.place());
        place.store();
        to_mpich(code)
    }

    fn PMPI_Errhandler_set(comm: c_int, errhandler: c_int) {
        let (comm, errhandler) = (MPI_Comm::ours(comm), MPI_Errhandler::ours(errhandler));
        to_mpich(entry_PMPI_Comm_set_errhandler(comm, errhandler))
    }

    fn PMPI_Type_extent(datatype: c_int, extent: *mut MPI_Aint) {
        let mut lower = 0;
        to_mpich(entry_PMPI_Type_get_extent(MPI_Datatype::ours(datatype), &raw mut lower, extent))
    }

    fn PMPI_Type_lb(datatype: c_int, displacement: *mut MPI_Aint) {
        let mut extent = 0;
        to_mpich(entry_PMPI_Type_get_extent(MPI_Datatype::ours(datatype), displacement, &raw mut extent))
    }

    fn PMPI_Type_ub(datatype: c_int, displacement: *mut MPI_Aint) {
        let (mut lower, mut extent) = (0, 0);
        let code = entry_PMPI_Type_get_extent(MPI_Datatype::ours(datatype), &raw mut lower, &raw mut extent);
        if code == MPI_SUCCESS && !displacement.is_null() {
            *displacement = lower.wrapping_add(extent);
        }
        to_mpich(code)
    }

    fn PMPI_Type_hindexed(count: c_int, blocks: *mut c_int, places: *mut MPI_Aint, oldtype: c_int, newtype: *mut c_int) {
        let mut made = HandleResult::<MPI_Datatype>::new(newtype);
        let oldtype = MPI_Datatype::ours(oldtype);
        let code = entry_PMPI_Type_create_hindexed(count, blocks, places, oldtype, made.place());
        made.store();
        to_mpich(code)
    }

    fn PMPI_Type_hvector(count: c_int, block: c_int, stride: MPI_Aint, oldtype: c_int, newtype: *mut c_int) {
        let mut made = HandleResult::<MPI_Datatype>::new(newtype);
        let oldtype = MPI_Datatype::ours(oldtype);
        let code = entry_PMPI_Type_create_hvector(count, block, stride, oldtype, made.place());
        made.store();
        to_mpich(code)
    }

    fn PMPI_Type_struct(count: c_int, blocks: *mut c_int, places: *mut MPI_Aint, kinds: *mut c_int, newtype: *mut c_int) {
        super::PMPI_Type_create_struct(count, blocks, places, kinds, newtype)
    }
}
