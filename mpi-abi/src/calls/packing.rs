//! Packed data (MPI 5.0, 5.2 and 5.3).

use super::calls;
use crate::answer::{comm_of, error};
use crate::c::*;
use crate::objects::{Number, buffer, datatype, list, list_mut, place, text};
use crate::state;
use bcs_mpi::mpi::{Buffer, ErrorClass, Result};
use std::ffi::{c_char, c_void};

/// Returns where in the packed data a call begins.
fn position(at: impl Number) -> Result<usize> {
    let at = at.wide();
    usize::try_from(at).map_err(|_| error(ErrorClass::Arg, format!("the position is {at}")))
}

fn too_far(at: usize) -> Box<bcs_mpi::mpi::Error> {
    let reason = format!("the position {at} does not fit where it is to be stored");
    error(ErrorClass::ValueTooLarge, reason)
}

/// Returns whether data may share memory with packed data, which is an error of the program (2.3).
fn shares(data: *const c_void, of: &Buffer, packed: *const c_void, len: usize) -> bool {
    let (lower, length) = of.datatype().true_extent();
    let (_, extent) = of.datatype().extent();
    let last = (of.count() as i128 - 1).max(0) * i128::from(extent);
    let start = data.addr() as i128 + i128::from(lower);
    let end = start + last.max(0) + i128::from(length);
    let packed = packed.addr() as i128;
    start + last.min(0) < packed + len as i128 && packed < end
}

/// Lets a call write packed data. If they may share memory with the unpacked data, it writes to a
/// copy first.
fn packing(
    data: *const c_void,
    of: &Buffer,
    packed: *mut c_void,
    len: impl Number,
    call: impl FnOnce(&mut [u8]) -> Result<()>,
) -> Result<()> {
    if of.count() == 0 {
        return Ok(()); // No buffer is read.
    }
    let there = list(packed.cast_const().cast::<u8>(), len)?;
    if !shares(data, of, packed, there.len()) {
        return call(list_mut(packed.cast(), len)?);
    }
    let mut elsewhere = there.to_vec();
    call(&mut elsewhere)?;
    list_mut(packed.cast(), len)?.copy_from_slice(&elsewhere);
    Ok(())
}

/// Lets a call read packed data. If they may share memory with the unpacked data, it reads a copy.
fn unpacking(
    data: *const c_void,
    of: &Buffer,
    packed: *const c_void,
    len: impl Number,
    call: impl FnOnce(&[u8]) -> Result<()>,
) -> Result<()> {
    if of.count() == 0 {
        return Ok(()); // No buffer is written.
    }
    let packed = list(packed.cast::<u8>(), len)?;
    match shares(data, of, packed.as_ptr().cast(), packed.len()) {
        true => call(&Vec::from(packed)),
        false => call(packed),
    }
}

calls! {
    fn PMPI_Pack | PMPI_Pack_c(inbuf: *const c_void, incount: N, datatype: MPI_Datatype, outbuf: *mut c_void, outsize: N, position: *mut N, comm: MPI_Comm) {
        comm_of(comm)?.run(|comm| {
            let position = place(position)?;
            let mut next = self::position(*position)?;
            let data = buffer(inbuf, incount, datatype)?;
            packing(inbuf, &data, outbuf, outsize, |out| comm.pack(&data, out, &mut next))?;
            *position = N::try_from(next).map_err(|_| too_far(next))?;
            Ok(())
        })
    }

    fn PMPI_Unpack | PMPI_Unpack_c(inbuf: *const c_void, insize: N, position: *mut N, outbuf: *mut c_void, outcount: N, datatype: MPI_Datatype, comm: MPI_Comm) {
        comm_of(comm)?.run(|comm| {
            let position = place(position)?;
            let mut next = self::position(*position)?;
            let data = buffer(outbuf, outcount, datatype)?;
            unpacking(outbuf, &data, inbuf, insize, |packed| comm.unpack(packed, &mut next, &data))?;
            *position = N::try_from(next).map_err(|_| too_far(next))?;
            Ok(())
        })
    }

    fn PMPI_Pack_size | PMPI_Pack_size_c(incount: N, datatype: MPI_Datatype, comm: MPI_Comm, size: *mut N) {
        comm_of(comm)?.run(|comm| {
            let bytes = comm.pack_size(incount.wide(), &self::datatype(datatype)?)?;
            *place(size)? = N::try_from(bytes).unwrap_or(N::from(MPI_UNDEFINED));
            Ok(())
        })
    }
    fn PMPI_Pack_external | PMPI_Pack_external_c(datarep: *const c_char, inbuf: *const c_void, incount: N, datatype: MPI_Datatype, outbuf: *mut c_void, outsize: A, position: *mut A) {
        state::process()?;
        let position = place(position)?;
        let mut next = self::position(*position)?;
        let (named, data) = (text(datarep)?, buffer(inbuf, incount, datatype)?);
        packing(inbuf, &data, outbuf, outsize, |out| data.pack_external(named, out, &mut next))?;
        *position = A::try_from(next).map_err(|_| too_far(next))?;
        Ok(())
    }

    fn PMPI_Unpack_external | PMPI_Unpack_external_c(datarep: *const c_char, inbuf: *const c_void, insize: A, position: *mut A, outbuf: *mut c_void, outcount: N, datatype: MPI_Datatype) {
        state::process()?;
        let position = place(position)?;
        let mut next = self::position(*position)?;
        let (named, data) = (text(datarep)?, buffer(outbuf, outcount, datatype)?);
        unpacking(outbuf, &data, inbuf, insize, |packed| data.unpack_external(named, packed, &mut next))?;
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
