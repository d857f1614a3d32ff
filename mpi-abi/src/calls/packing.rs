//! Packed data (MPI 5.0, 5.2 and 5.3).

use super::calls;
use crate::answer::{at, error};
use crate::c::*;
use crate::objects::{Number, buffer, datatype, list, list_mut, place, text};
use crate::state;
use bcs_mpi::mpi::{ErrorClass, Result};
use std::ffi::{c_char, c_void};

/// Where in the packed data a call begins.
fn position(at: impl Number) -> Result<usize> {
    let at = at.wide();
    usize::try_from(at).map_err(|_| error(ErrorClass::Arg, format!("the position is {at}")))
}

fn too_far(at: usize) -> Box<bcs_mpi::mpi::Error> {
    let reason = format!("the position {at} does not fit where it is to be stored");
    error(ErrorClass::ValueTooLarge, reason)
}

calls! {
    fn PMPI_Pack | PMPI_Pack_c(inbuf: *const c_void, incount: N, datatype: MPI_Datatype, outbuf: *mut c_void, outsize: N, position: *mut N, comm: MPI_Comm) {
        at(comm)?.run(|comm| {
            let position = place(position)?;
            let mut next = self::position(*position)?;
            let out = list_mut(outbuf.cast::<u8>(), outsize)?;
            comm.pack(&buffer(inbuf, incount, datatype)?, out, &mut next)?;
            *position = N::try_from(next).map_err(|_| too_far(next))?;
            Ok(())
        })
    }

    fn PMPI_Unpack | PMPI_Unpack_c(inbuf: *const c_void, insize: N, position: *mut N, outbuf: *mut c_void, outcount: N, datatype: MPI_Datatype, comm: MPI_Comm) {
        at(comm)?.run(|comm| {
            let position = place(position)?;
            let mut next = self::position(*position)?;
            let packed = list(inbuf.cast::<u8>(), insize)?;
            comm.unpack(packed, &mut next, &buffer(outbuf, outcount, datatype)?)?;
            *position = N::try_from(next).map_err(|_| too_far(next))?;
            Ok(())
        })
    }

    fn PMPI_Pack_size | PMPI_Pack_size_c(incount: N, datatype: MPI_Datatype, comm: MPI_Comm, size: *mut N) {
        at(comm)?.run(|comm| {
            let bytes = comm.pack_size(incount.wide(), &self::datatype(datatype)?)?;
            *place(size)? = N::try_from(bytes).unwrap_or(N::from(MPI_UNDEFINED));
            Ok(())
        })
    }
    fn PMPI_Pack_external | PMPI_Pack_external_c(datarep: *const c_char, inbuf: *const c_void, incount: N, datatype: MPI_Datatype, outbuf: *mut c_void, outsize: A, position: *mut A) {
        state::process()?;
        let position = place(position)?;
        let mut next = self::position(*position)?;
        let out = list_mut(outbuf.cast::<u8>(), outsize)?;
        buffer(inbuf, incount, datatype)?.pack_external(text(datarep)?, out, &mut next)?;
        *position = A::try_from(next).map_err(|_| too_far(next))?;
        Ok(())
    }

    fn PMPI_Unpack_external | PMPI_Unpack_external_c(datarep: *const c_char, inbuf: *const c_void, insize: A, position: *mut A, outbuf: *mut c_void, outcount: N, datatype: MPI_Datatype) {
        state::process()?;
        let position = place(position)?;
        let mut next = self::position(*position)?;
        let packed = list(inbuf.cast::<u8>(), insize)?;
        buffer(outbuf, outcount, datatype)?.unpack_external(text(datarep)?, packed, &mut next)?;
        *position = A::try_from(next).map_err(|_| too_far(next))?;
        Ok(())
    }

    fn PMPI_Pack_external_size | PMPI_Pack_external_size_c(datarep: *const c_char, incount: N, datatype: MPI_Datatype, size: *mut A) {
        state::process()?;
        let bytes = self::datatype(datatype)?.pack_external_size(text(datarep)?, incount.wide())?;
        *place(size)? = A::try_from(bytes).map_err(|_| too_far(bytes))?;
        Ok(())
    }
}
